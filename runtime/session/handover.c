/*
 * handover.c - CUPTI serves one client at a time: letting go of it for another profiler, and
 * coming back.
 *
 * Recorder thread only. When the other one begins is known from its import slots
 * (session/peer.h): its thread waits there until what we have recorded is in and nothing
 * of ours is on. A client that takes CUPTI without passing there is noticed by its clock, too late
 * to make room: from then on nothing is done that would spoil its trace, and our own tells the gap.
 */
#include "session/session.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/stats.h"
#include "collect/cupti/buffer.h"
#include "collect/cupti/graph_nodes.h"
#include "collect/nvtx/nvtx.h"
#include "collect/python/boot.h"
#include "collect/torch/ops.h"
#include "session/peer.h"

/* How long what runs on the GPU is waited for, before it is cut off: the other profiler's thread
 * waits for us meanwhile. */
#define FINISH_NS (500 * SL_NS_PER_MS)
/* After its last sign: libkineto changes an attribute behind its last flush. */
#define SETTLE_NS (20 * SL_NS_PER_MS)
/* From one flush to the next, of ours in its stead. */
#define STRANDED_NS (100 * SL_NS_PER_MS)
/* From its last kind that goes off to its own flush. libkineto works through all that the CPU did
 * before it, and changes an attribute behind it. */
#define MAY_FLUSH_NS (10000 * SL_NS_PER_MS)

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

void sl_handover_tell_gap(struct sl_session *s, uint64_t until_ns)
{
    uint64_t from_ns = later(s->gap_since_ns, s->opt.window->opened_ns);

    if (s->gap_since_ns && sl_pipeline_is_open(s->pipeline) && from_ns < until_ns)
        sl_pipeline_gap(s->pipeline, from_ns, until_ns);
}

static void begin_gap(struct sl_session *s, uint64_t from_ns)
{
    s->gap_since_ns = from_ns;
    s->outstanding.marks = 0; /* what they wait for is in, or lost */
    sl_stats_add(SL_STAT_HANDOVERS, 1);
    sl_pipeline_kinds_off(s->pipeline);
    if (sl_pipeline_is_open(s->pipeline))
        sl_pipeline_gap(s->pipeline, from_ns, 0);
}

/* ---- letting go ---- */

/* Everything that was recorded, as far as it comes. */
static int empty_buffers(struct sl_session *s)
{
    uint64_t deadline = sl_clock_monotonic() + FINISH_NS;
    int back = 0;

    while (back < 2 && sl_clock_monotonic() < deadline) {
        if (sl_session_flush(s, 0) || sl_session_take_buffers(s))
            return -ECANCELED;
        s->outstanding.drain_turn = sl_cupti_pool_turn();
        back = sl_cupti_pool_all_back(s->outstanding.drain_turn) ? back + 1 : 0;
        /* A buffer without records waits for some: there will be none. */
        if (!back && !sl_outstanding_look(s, s->outstanding.drain_turn).records)
            break;
        if (sl_session_wait_for_cupti(s))
            return -ECANCELED;
    }
    return back < 2 ? sl_session_force_out(s) : sl_session_take_buffers(s);
}

static int turn_off(struct sl_session *s)
{
    if (sl_session_enter(s))
        return -ECANCELED;
    sl_cupti_disable(s->opt.cupti, s->opt.kinds);
    return sl_session_leave(s);
}

static int detach(struct sl_session *s)
{
    if (sl_session_enter(s))
        return -ECANCELED;
    sl_cupti_detach(s->opt.cupti);
    return sl_session_leave(s);
}

int sl_handover_release(struct sl_session *s)
{
    return turn_off(s) || detach(s) ? -ECANCELED : 0;
}

static int let_go(struct sl_session *s)
{
    uint64_t from_ns = sl_clock_now();
    struct sl_decode_held held;

    /* Robbed, by this one or by another, what is on may be its; away still, nothing is ours. */
    if (s->taken_over || s->handed_over) {
        sl_peer_let_go();
        return 0;
    }
    s->is_off_due = 0;
    if (turn_off(s) || empty_buffers(s))
        return -ECANCELED;
    sl_pipeline_flush(s->pipeline);
    /* A mark wants two looks. */
    sl_outstanding_deliver(s);
    sl_outstanding_deliver(s);
    held = sl_outstanding_look(s, s->outstanding.drain_turn);
    sl_outstanding_tell_missing(s, s->outstanding.drain_turn, &held);
    if (s->opt.cupti->is_v2)
        sl_graph_nodes_give_up(); /* they come by the subscriber that goes now */
    if (detach(s))
        return -ECANCELED;
    begin_gap(s, from_ns);
    s->handed_over = 1;
    sl_log(SL_LOG_DEBUG, "CUPTI is handed over to another profiler");
    sl_peer_let_go();
    return 0;
}

/* ---- coming back ---- */

static int turn_on(struct sl_session *s)
{
    uint32_t set = s->are_kinds_wanted ? s->opt.kinds : s->opt.kinds & SL_KINDS_ALWAYS;
    int filter, err;

    if (sl_session_look_at_clock(s) || sl_session_enter(s))
        return -ECANCELED;
    err = sl_cupti_attach(s->opt.cupti, sl_cupti_pool_request, sl_cupti_pool_complete);
    if (!err && !sl_cupti_enable(s->opt.cupti, set, s->opt.config->api_all, &filter))
        err = -EIO;
    return sl_session_leave(s) ? -ECANCELED : err;
}

/* The gap goes on. Whoever is next need not wait: there is nothing to let go of. */
static int stay_away(struct sl_session *s)
{
    if (s->opt.cupti->is_v2)
        sl_graph_nodes_give_up();
    if (sl_handover_release(s))
        return -ECANCELED;
    s->handed_over = 1;
    s->taken_over = 0;
    sl_log_once(&s->refused_said, SL_LOG_WARN,
                "CUPTI could not be taken back from the other profiler: no GPU work and no calls "
                "of CUDA's are recorded from now on; it is tried again when that one's next "
                "session ends, else start the job anew");
    sl_peer_back();
    return 0;
}

static int come_back(struct sl_session *s)
{
    int err;

    if (sl_peer_take())
        return 0; /* it has begun again */
    err = turn_on(s);
    if (err)
        return err == -ECANCELED ? err : stay_away(s);
    s->handed_over = s->taken_over = 0;
    s->sure_ns = sl_clock_now();
    sl_handover_tell_gap(s, s->sure_ns);
    s->gap_since_ns = 0;
    if (s->are_kinds_wanted)
        sl_pipeline_kinds_on(s->pipeline, 1);
    sl_peer_back();
    sl_log(SL_LOG_DEBUG, "CUPTI is taken back");
    return 0;
}

/* ---- robbed ---- */

static int set_robbed(struct sl_session *s)
{
    s->taken_over = 1;
    s->taken_over_turn = sl_cupti_pool_turn();
    sl_pipeline_use(s->pipeline); /* the other does: the file says what we lack */
    begin_gap(s, s->sure_ns);
    if (s->opt.cupti->is_v2)
        return 0; /* a subscriber of ours has settings of its own */
    if (sl_session_enter(s))
        return -ECANCELED;
    sl_cupti_yield(s->opt.cupti);
    return sl_session_leave(s);
}

int sl_handover_suspect(struct sl_session *s, enum sl_cupti_clock_domain before)
{
    if (before != SL_CUPTI_CLOCK_REALTIME || s->clock.domain != SL_CUPTI_CLOCK_TICKS ||
        s->taken_over)
        return 0;
    sl_log_once(&s->taken_over_said, SL_LOG_WARN,
                "another profiler has taken CUPTI in the middle of the recording: what it records, "
                "syncline does not, and its trace may lack its first quarter of a second; leave "
                "SYNCLINE_HANDOVER on, or profile with one tool at a time");
    return set_robbed(s);
}

int sl_handover_set_never_asked(struct sl_session *s)
{
    if (sl_cupti_pool_turn()) {
        s->never_asked = 0;
        return 0;
    }
    /* It has changed the clock, too, or had CUPTI before us: that is known. */
    if (s->taken_over || s->handed_over)
        return 0;
    sl_log(SL_LOG_WARN,
           "another profiler has taken CUPTI before its first record: no GPU work and no calls of "
           "CUDA's are recorded; leave SYNCLINE_HANDOVER and SYNCLINE_PYTHON on and load that "
           "profiler "
           "before CUDA starts, or profile with one tool at a time");
    return set_robbed(s);
}

/* A buffer was asked of us since: only the clock had been changed. */
int sl_handover_look_again(struct sl_session *s)
{
    if (!s->taken_over || sl_cupti_pool_turn() == s->taken_over_turn)
        return 0;
    if (!s->opt.cupti->is_v2) {
        if (sl_session_enter(s))
            return -ECANCELED;
        sl_cupti_set_up(s->opt.cupti);
        if (sl_session_leave(s))
            return -ECANCELED;
    }
    s->taken_over = 0;
    /* A window may have opened since. That none can be turned on is told by sl_cupti_enable(). */
    if (s->are_kinds_wanted && sl_kinds_set(s, 1) == -ECANCELED)
        return -ECANCELED;
    sl_handover_tell_gap(s, sl_clock_now());
    s->gap_since_ns = 0;
    if (s->are_kinds_wanted)
        sl_pipeline_kinds_on(s->pipeline, 1);
    return 0;
}

/* Its kinds are off, but it does not fetch what CUPTI still has for it: nobody else would, and we
 * would stay away for good. (Robbed, our own flushes bring it.) */
static int fetch_for_it(struct sl_session *s)
{
    enum sl_peer_stranded stranded = s->handed_over ? sl_peer_stranded() : SL_PEER_AFLOAT;
    uint64_t now = sl_clock_monotonic();
    uint64_t wait_ns = stranded == SL_PEER_STRANDED ? STRANDED_NS : MAY_FLUSH_NS;

    if (stranded == SL_PEER_AFLOAT) {
        s->fetch_due_ns = 0;
        return 0;
    }
    if (!s->fetch_due_ns || s->fetch_due_ns > now + wait_ns) { /* it has flushed since */
        s->fetch_due_ns = now + wait_ns;
    } else if (now >= s->fetch_due_ns) {
        s->fetch_due_ns = now + STRANDED_NS;
        if (sl_session_enter(s))
            return -ECANCELED;
        sl_peer_fetch();
        if (sl_session_leave(s))
            return -ECANCELED;
    }
    if (s->flush_due_ns > s->fetch_due_ns)
        s->flush_due_ns = s->fetch_due_ns;
    return 0;
}

int sl_handover_share(struct sl_session *s)
{
    uint64_t left_ns;

    sl_peer_rescan();
    if (s->opt.config->nvtx)
        sl_nvtx_attach_all();
    if (sl_torch_ops_attach(s->opt.config->ops, s->opt.config->home) && s->opt.config->python)
        sl_python_boot_again(s->opt.config->home);
    if (sl_handover_look_again(s) || fetch_for_it(s))
        return -ECANCELED;
    switch (sl_peer_state()) {
    case SL_PEER_ASKED:
        return let_go(s);
    case SL_PEER_LEFT:
        left_ns = sl_peer_left_ns();
        if (sl_peer_is_settled() || sl_clock_monotonic() >= left_ns + SETTLE_NS)
            return come_back(s);
        s->flush_due_ns = left_ns + SETTLE_NS;
        return 0;
    case SL_PEER_THEIRS:
        /* It did not wait until we had let go. */
        return s->handed_over || s->taken_over ? 0 : set_robbed(s);
    default:
        return 0;
    }
}
