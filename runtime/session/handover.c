/*
 * handover.c - carries out the actions of the ownership machine (ownership.c). The actions release
 * CUPTI for another profiler and take CUPTI back.
 *
 * Threads: the recorder thread. peer.c notices when another profiler begins, and makes that
 * profiler's thread wait until we have fetched our records and turned off our kinds of records.
 * Another client whose calls do not go through our functions is noticed only after it has taken
 * CUPTI. From then on we do nothing that would spoil that client's trace, and our trace reports the
 * gap. Memory: see session.h.
 */
#include "session/session.h"

#include <errno.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/stats.h"
#include "collect/cupti/buffer.h"
#include "collect/cupti/graph_nodes.h"
#include "session/peer.h"

/* How long we wait for pending GPU work before a forced flush truncates it. The other profiler's
 * thread waits for us meanwhile. */
#define FINISH_NS (500 * SL_NS_PER_MS)
/* Time between the peer's last call and the moment when we take CUPTI back. libkineto still changes
 * an attribute after its last flush. */
#define SETTLE_NS (20 * SL_NS_PER_MS)

struct sl_ownership_now sl_handover_now(const struct sl_session *s)
{
    return (struct sl_ownership_now){
        .monotonic_ns = sl_clock_monotonic(),
        .real_ns = sl_clock_now(),
        .buffers = sl_outstanding_buffers(),
        .has_subscriber = s->opt.cupti->is_v2,
    };
}

/* ---- the gap ---- */

void sl_handover_tell_gap(struct sl_session *s, uint64_t until_ns)
{
    uint64_t from_ns = sl_ownership_gap_from(&s->ownership, s->opt.window->opened_ns);

    if (from_ns && sl_pipeline_is_open(s->pipeline) && from_ns < until_ns)
        sl_pipeline_gap(s->pipeline, from_ns, until_ns);
}

static int begin_gap(struct sl_session *s)
{
    s->outstanding.marks = 0; /* no mark (session.h) is awaited any more, because our records have
                               * arrived or are lost */
    sl_stats_add(SL_STAT_HANDOVERS, 1);
    sl_pipeline_kinds_off(s->pipeline);
    if (sl_pipeline_is_open(s->pipeline))
        sl_pipeline_gap(s->pipeline, s->ownership.gap_since_ns, 0);
    return 0;
}

/* Reports the gap first, and only then clears the gap in the machine. So if the recorder thread is
 * cut off in between, the exiting thread reports the gap. */
static int end_gap(struct sl_session *s)
{
    struct sl_ownership_now now = sl_handover_now(s);

    sl_handover_tell_gap(s, now.real_ns);
    sl_ownership_step(&s->ownership, SL_OWN_EV_GAP_ENDED, &now);
    return 0;
}

static int need_file(struct sl_session *s)
{
    sl_pipeline_use(s->pipeline);
    return 0;
}

/* ---- releasing CUPTI ---- */

/* Fetches all our records that CUPTI returns in time. */
static int empty_buffers(struct sl_session *s)
{
    uint64_t deadline = sl_clock_monotonic() + FINISH_NS, turn;
    int back = 0;

    while (back < 2 && sl_clock_monotonic() < deadline) {
        if (sl_session_flush(s, 0) || sl_session_take_buffers(s))
            return -ECANCELED;
        turn = s->outstanding.drain_turn = sl_cupti_pool_turn();
        back = sl_cupti_pool_all_back(turn) ? back + 1 : 0;
        /* The buffers that CUPTI still holds have no records. All kinds are off, so no records will
         * be added to them. */
        if (!back && !sl_outstanding_look(s, turn).records)
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

/* Graph nodes are reported to our v2 subscriber, which detach() ends for good. */
static void give_up_graph_nodes(const struct sl_session *s)
{
    if (s->opt.cupti->is_v2)
        sl_graph_nodes_give_up();
}

static int in_cupti(struct sl_session *s, void (*call)(struct sl_cupti_api *api))
{
    if (sl_session_enter(s))
        return -ECANCELED;
    call(s->opt.cupti);
    return sl_session_leave(s);
}

static int detach(struct sl_session *s)
{
    return in_cupti(s, sl_cupti_detach);
}

static int release(struct sl_session *s)
{
    struct sl_decode_held held;

    if (turn_off(s) || empty_buffers(s))
        return -ECANCELED;
    sl_pipeline_flush(s->pipeline);
    /* A mark (session.h) counts as delivered only after two checks. */
    sl_outstanding_deliver(s);
    sl_outstanding_deliver(s);
    held = sl_outstanding_look(s, s->outstanding.drain_turn);
    sl_outstanding_tell_missing(s, s->outstanding.drain_turn, &held);
    give_up_graph_nodes(s);
    if (detach(s))
        return -ECANCELED;
    sl_log(SL_LOG_DEBUG, "handed CUPTI over to another profiler");
    return sl_handover_step(s, SL_OWN_EV_RELEASED);
}

int sl_handover_detach(struct sl_session *s)
{
    return turn_off(s) || detach(s) ? -ECANCELED : 0;
}

static int let_peer_go_on(struct sl_session *s)
{
    (void)s;
    sl_peer_let_go();
    return 0;
}

/* ---- another client has taken CUPTI ---- */

static int say_taken_over(struct sl_session *s)
{
    sl_log_once(&s->taken_over_said, SL_LOG_WARN,
                "another profiler took CUPTI while syncline was recording: syncline misses what "
                "that profiler records, and that profiler may miss its first quarter of a second; "
                "leave SYNCLINE_HANDOVER on, or run one profiler at a time");
    return 0;
}

static int say_never_asked(struct sl_session *s)
{
    (void)s;
    sl_log(SL_LOG_WARN, "another profiler took CUPTI before the first record: no GPU work and no "
                        "CUDA calls are recorded; leave SYNCLINE_HANDOVER and SYNCLINE_PYTHON on "
                        "and load that profiler before CUDA starts, or run one profiler at a time");
    return 0;
}

static int yield(struct sl_session *s)
{
    return in_cupti(s, sl_cupti_yield);
}

static int set_up(struct sl_session *s)
{
    return in_cupti(s, sl_cupti_set_up);
}

/* ---- taking CUPTI back ---- */

static int register_and_enable(struct sl_session *s)
{
    uint32_t set = s->opt.kinds;
    int filter, err;

    if (!s->ownership.are_kinds_wanted)
        set &= SL_KINDS_ALWAYS;
    if (sl_session_look_at_clock(s) || sl_session_enter(s))
        return -ECANCELED;
    err = sl_cupti_attach(s->opt.cupti, sl_cupti_pool_request, sl_cupti_pool_complete);
    if (!err && !sl_cupti_enable(s->opt.cupti, set, s->opt.config->api_all, &filter))
        err = -EIO;
    return sl_session_leave(s) ? -ECANCELED : err;
}

static int attach(struct sl_session *s)
{
    int err = register_and_enable(s);

    if (err == -ECANCELED)
        return err;
    if (err)
        return sl_handover_step(s, SL_OWN_EV_ATTACH_REFUSED);
    sl_log(SL_LOG_DEBUG, "took CUPTI back");
    return sl_handover_step(s, SL_OWN_EV_ATTACHED);
}

static int stay_detached(struct sl_session *s)
{
    give_up_graph_nodes(s);
    return sl_handover_detach(s);
}

static int say_refused(struct sl_session *s)
{
    sl_log_once(&s->refused_said, SL_LOG_WARN,
                "CUPTI could not be taken back from the other profiler: GPU work and CUDA calls "
                "are no longer recorded; syncline tries again after that profiler's next session; "
                "otherwise restart the job");
    return 0;
}

static int let_peer_return(struct sl_session *s)
{
    (void)s;
    sl_peer_back();
    return 0;
}

static int fetch(struct sl_session *s)
{
    if (sl_session_enter(s))
        return -ECANCELED;
    sl_peer_fetch();
    return sl_session_leave(s);
}

/* ---- the machine ---- */

static int carry_out(struct sl_session *s, uint32_t actions)
{
    static const struct {
        enum sl_ownership_action action;
        int (*carry_out)(struct sl_session *s);
    } parts[] = {
        {SL_OWN_ACT_RELEASE, release},
        {SL_OWN_ACT_ATTACH, attach},
        {SL_OWN_ACT_DETACH, stay_detached},
        {SL_OWN_ACT_SAY_TAKEN_OVER, say_taken_over},
        {SL_OWN_ACT_SAY_NEVER_ASKED, say_never_asked},
        {SL_OWN_ACT_SAY_REFUSED, say_refused},
        {SL_OWN_ACT_NEED_FILE, need_file},
        {SL_OWN_ACT_BEGIN_GAP, begin_gap},
        {SL_OWN_ACT_YIELD, yield},
        {SL_OWN_ACT_SET_UP, set_up},
        {SL_OWN_ACT_KINDS_BACK, sl_kinds_turn_back_on},
        {SL_OWN_ACT_KINDS_ON, sl_kinds_turn_on},
        {SL_OWN_ACT_CHECK_CLOCK, sl_kinds_check_clock},
        {SL_OWN_ACT_KINDS_OFF, sl_kinds_turn_off},
        {SL_OWN_ACT_END_GAP, end_gap},
        {SL_OWN_ACT_TELL_KINDS_ON, sl_kinds_tell_on},
        {SL_OWN_ACT_FETCH, fetch},
        {SL_OWN_ACT_PEER_GOES_ON, let_peer_go_on},
        {SL_OWN_ACT_PEER_RETURNED, let_peer_return},
    };

    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
        int err = actions & (uint32_t)parts[i].action ? parts[i].carry_out(s) : 0;

        if (err)
            return err;
    }
    return 0;
}

int sl_handover_step(struct sl_session *s, enum sl_ownership_event event)
{
    struct sl_ownership_now now = sl_handover_now(s);

    return carry_out(s, sl_ownership_step(&s->ownership, event, &now));
}

/* ---- each tick ---- */

static int see_stranded(struct sl_session *s)
{
    static const enum sl_ownership_event event[] = {
        [SL_PEER_AFLOAT] = SL_OWN_EV_PEER_COMPLETE,
        [SL_PEER_MAY_FLUSH] = SL_OWN_EV_PEER_MAY_FLUSH,
        [SL_PEER_STRANDED] = SL_OWN_EV_PEER_STRANDED,
    };
    uint64_t due_ns;

    if (sl_handover_step(s, event[sl_peer_stranded()]))
        return -ECANCELED;
    due_ns = s->ownership.fetch_due_ns;
    if (due_ns && s->flush_due_ns > due_ns)
        s->flush_due_ns = due_ns;
    return 0;
}

static int see_peer_left(struct sl_session *s)
{
    uint64_t settled_ns = sl_peer_left_ns() + SETTLE_NS;

    if (!sl_peer_is_settled() && sl_clock_monotonic() < settled_ns) {
        s->flush_due_ns = settled_ns;
        return 0;
    }
    if (sl_peer_take())
        return 0; /* the peer has begun again */
    return sl_handover_step(s, SL_OWN_EV_PEER_LEFT);
}

int sl_handover_share(struct sl_session *s)
{
    sl_peer_rescan();
    if (sl_handover_step(s, SL_OWN_EV_BUFFERS) || see_stranded(s))
        return -ECANCELED;
    switch (sl_peer_state()) {
    case SL_PEER_ASKED:
        return sl_handover_step(s, SL_OWN_EV_PEER_ASKED);
    case SL_PEER_LEFT:
        return see_peer_left(s);
    case SL_PEER_THEIRS:
        return sl_handover_step(s, SL_OWN_EV_PEER_DID_NOT_WAIT);
    default:
        return 0;
    }
}
