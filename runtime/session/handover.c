/*
 * handover.c - CUPTI serves one client at a time: letting go of it for another profiler, and
 * coming back.
 *
 * Collector thread only. When the other one begins is known from its import slots
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
#define FINISH_NS (500 * SL_COLLECTOR_MS)
/* After its last sign: libkineto changes an attribute behind its last flush. */
#define SETTLE_NS (20 * SL_COLLECTOR_MS)
/* From one flush to the next, of ours in its stead. */
#define STRANDED_NS (100 * SL_COLLECTOR_MS)
/* From its last kind that goes off to its own flush. libkineto works through all that the CPU did
 * before it, and changes an attribute behind it. */
#define MAY_FLUSH_NS (10000 * SL_COLLECTOR_MS)

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

void sl_collector_tell_gap(struct sl_collector *c, uint64_t until_ns)
{
    uint64_t from_ns = later(c->away_ns, c->window.opened_ns);

    if (c->away_ns && sl_pipeline_is_open(c->pipeline) && from_ns < until_ns)
        sl_pipeline_gap(c->pipeline, from_ns, until_ns);
}

static void begin_gap(struct sl_collector *c, uint64_t from_ns)
{
    c->away_ns = from_ns;
    c->marks = 0; /* what they wait for is in, or lost */
    sl_stats_add(SL_STAT_HANDOVERS, 1);
    sl_pipeline_kinds_off(c->pipeline);
    if (sl_pipeline_is_open(c->pipeline))
        sl_pipeline_gap(c->pipeline, from_ns, 0);
}

/* ---- letting go ---- */

/* Everything that was recorded, as far as it comes. */
static int empty_buffers(struct sl_collector *c)
{
    uint64_t deadline = sl_clock_monotonic() + FINISH_NS;
    int back = 0;

    while (back < 2 && sl_clock_monotonic() < deadline) {
        if (sl_collector_flush(c, 0) || sl_collector_take_buffers(c))
            return -ECANCELED;
        c->drain_turn = sl_cupti_pool_turn();
        back = sl_cupti_pool_all_back(c->drain_turn) ? back + 1 : 0;
        /* A buffer without records waits for some: there will be none. */
        if (!back && !sl_collector_look(c, c->drain_turn).records)
            break;
        if (sl_collector_wait_for_cupti(c))
            return -ECANCELED;
    }
    return back < 2 ? sl_collector_force_out(c) : sl_collector_take_buffers(c);
}

static int turn_off(struct sl_collector *c)
{
    if (sl_collector_enter_cupti(c))
        return -ECANCELED;
    sl_cupti_disable(c->opt.cupti, c->opt.kinds);
    return sl_collector_leave_cupti(c);
}

static int detach(struct sl_collector *c)
{
    if (sl_collector_enter_cupti(c))
        return -ECANCELED;
    sl_cupti_detach(c->opt.cupti);
    return sl_collector_leave_cupti(c);
}

int sl_collector_release(struct sl_collector *c)
{
    return turn_off(c) || detach(c) ? -ECANCELED : 0;
}

static int let_go(struct sl_collector *c)
{
    uint64_t from_ns = sl_clock_now();
    struct sl_decode_held held;

    /* Robbed, by this one or by another, what is on may be its; away still, nothing is ours. */
    if (c->taken_over || c->handed_over) {
        sl_peer_let_go();
        return 0;
    }
    c->is_off_due = 0;
    if (turn_off(c) || empty_buffers(c))
        return -ECANCELED;
    sl_pipeline_flush(c->pipeline);
    /* A mark wants two looks. */
    sl_collector_deliver(c);
    sl_collector_deliver(c);
    held = sl_collector_look(c, c->drain_turn);
    sl_collector_tell_missing(c, c->drain_turn, &held);
    if (c->opt.cupti->is_v2)
        sl_graph_nodes_give_up(); /* they come by the subscriber that goes now */
    if (detach(c))
        return -ECANCELED;
    begin_gap(c, from_ns);
    c->handed_over = 1;
    sl_log(SL_LOG_DEBUG, "CUPTI is handed over to another profiler");
    sl_peer_let_go();
    return 0;
}

/* ---- coming back ---- */

static int turn_on(struct sl_collector *c)
{
    uint32_t set = c->are_kinds_wanted ? c->opt.kinds : c->opt.kinds & SL_COLLECTOR_ALWAYS;
    int filter, err;

    if (sl_collector_look_at_clock(c) || sl_collector_enter_cupti(c))
        return -ECANCELED;
    err = sl_cupti_attach(c->opt.cupti, sl_cupti_pool_request, sl_cupti_pool_complete);
    if (!err && !sl_cupti_enable(c->opt.cupti, set, c->opt.config->api_all, &filter))
        err = -EIO;
    return sl_collector_leave_cupti(c) ? -ECANCELED : err;
}

/* The gap goes on. Whoever is next need not wait: there is nothing to let go of. */
static int stay_away(struct sl_collector *c)
{
    if (c->opt.cupti->is_v2)
        sl_graph_nodes_give_up();
    if (sl_collector_release(c))
        return -ECANCELED;
    c->handed_over = 1;
    c->taken_over = 0;
    sl_log_once(&c->refused_said, SL_LOG_WARN,
                "CUPTI could not be taken back from the other profiler: no GPU work and no calls "
                "of CUDA's are recorded from now on; it is tried again when that one's next "
                "session ends, else start the job anew");
    sl_peer_back();
    return 0;
}

static int come_back(struct sl_collector *c)
{
    int err;

    if (sl_peer_take())
        return 0; /* it has begun again */
    err = turn_on(c);
    if (err)
        return err == -ECANCELED ? err : stay_away(c);
    c->handed_over = c->taken_over = 0;
    c->sure_ns = sl_clock_now();
    sl_collector_tell_gap(c, c->sure_ns);
    c->away_ns = 0;
    if (c->are_kinds_wanted)
        sl_pipeline_kinds_on(c->pipeline, 1);
    sl_peer_back();
    sl_log(SL_LOG_DEBUG, "CUPTI is taken back");
    return 0;
}

/* ---- robbed ---- */

static int set_robbed(struct sl_collector *c)
{
    c->taken_over = 1;
    c->robbed_turn = sl_cupti_pool_turn();
    sl_pipeline_use(c->pipeline); /* the other does: the file says what we lack */
    begin_gap(c, c->sure_ns);
    if (c->opt.cupti->is_v2)
        return 0; /* a subscriber of ours has settings of its own */
    if (sl_collector_enter_cupti(c))
        return -ECANCELED;
    sl_cupti_yield(c->opt.cupti);
    return sl_collector_leave_cupti(c);
}

int sl_collector_suspect(struct sl_collector *c, enum sl_cupti_clock_domain before)
{
    if (before != SL_CUPTI_CLOCK_REALTIME || c->clock.domain != SL_CUPTI_CLOCK_TICKS ||
        c->taken_over)
        return 0;
    sl_log_once(&c->robbed_said, SL_LOG_WARN,
                "another profiler has taken CUPTI in the middle of the recording: what it records, "
                "syncline does not, and its trace may lack its first quarter of a second; leave "
                "SYNCLINE_HANDOVER on, or profile with one tool at a time");
    return set_robbed(c);
}

int sl_collector_set_unasked(struct sl_collector *c)
{
    if (sl_cupti_pool_turn()) {
        c->taken_before_start = 0;
        return 0;
    }
    /* It has changed the clock, too, or had CUPTI before us: that is known. */
    if (c->taken_over || c->handed_over)
        return 0;
    sl_log(SL_LOG_WARN,
           "another profiler has taken CUPTI before its first record: no GPU work and no calls of "
           "CUDA's are recorded; leave SYNCLINE_HANDOVER and SYNCLINE_PYTHON on and load that "
           "profiler "
           "before CUDA starts, or profile with one tool at a time");
    return set_robbed(c);
}

/* A buffer was asked of us since: only the clock had been changed. */
int sl_collector_look_again(struct sl_collector *c)
{
    if (!c->taken_over || sl_cupti_pool_turn() == c->robbed_turn)
        return 0;
    if (!c->opt.cupti->is_v2) {
        if (sl_collector_enter_cupti(c))
            return -ECANCELED;
        sl_cupti_set_up(c->opt.cupti);
        if (sl_collector_leave_cupti(c))
            return -ECANCELED;
    }
    c->taken_over = 0;
    /* A window may have opened since. That none can be turned on is told by sl_cupti_enable(). */
    if (c->are_kinds_wanted && sl_collector_set_kinds(c, 1) == -ECANCELED)
        return -ECANCELED;
    sl_collector_tell_gap(c, sl_clock_now());
    c->away_ns = 0;
    if (c->are_kinds_wanted)
        sl_pipeline_kinds_on(c->pipeline, 1);
    return 0;
}

/* Its kinds are off, but it does not fetch what CUPTI still has for it: nobody else would, and we
 * would stay away for good. (Robbed, our own flushes bring it.) */
static int fetch_for_it(struct sl_collector *c)
{
    enum sl_peer_stranded stranded = c->handed_over ? sl_peer_stranded() : SL_PEER_AFLOAT;
    uint64_t now = sl_clock_monotonic();
    uint64_t wait_ns = stranded == SL_PEER_STRANDED ? STRANDED_NS : MAY_FLUSH_NS;

    if (stranded == SL_PEER_AFLOAT) {
        c->fetch_due_ns = 0;
        return 0;
    }
    if (!c->fetch_due_ns || c->fetch_due_ns > now + wait_ns) { /* it has flushed since */
        c->fetch_due_ns = now + wait_ns;
    } else if (now >= c->fetch_due_ns) {
        c->fetch_due_ns = now + STRANDED_NS;
        if (sl_collector_enter_cupti(c))
            return -ECANCELED;
        sl_peer_fetch();
        if (sl_collector_leave_cupti(c))
            return -ECANCELED;
    }
    if (c->flush_due_ns > c->fetch_due_ns)
        c->flush_due_ns = c->fetch_due_ns;
    return 0;
}

int sl_collector_share(struct sl_collector *c)
{
    uint64_t left_ns;

    sl_peer_rescan();
    if (c->opt.config->nvtx)
        sl_nvtx_attach_all();
    if (sl_torch_ops_attach(c->opt.config->ops, c->opt.config->home) && c->opt.config->python)
        sl_python_boot_again(c->opt.config->home);
    if (sl_collector_look_again(c) || fetch_for_it(c))
        return -ECANCELED;
    switch (sl_peer_state()) {
    case SL_PEER_ASKED:
        return let_go(c);
    case SL_PEER_LEFT:
        left_ns = sl_peer_left_ns();
        if (sl_peer_is_settled() || sl_clock_monotonic() >= left_ns + SETTLE_NS)
            return come_back(c);
        c->flush_due_ns = left_ns + SETTLE_NS;
        return 0;
    case SL_PEER_THEIRS:
        /* It did not wait until we had let go. */
        return c->handed_over || c->taken_over ? 0 : set_robbed(c);
    default:
        return 0;
    }
}
