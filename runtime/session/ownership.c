/*
 * ownership.c - decides who owns CUPTI: a pure state machine.
 *
 * Threads: the recorder thread. Memory: the caller's.
 *
 * A client that takes CUPTI without notice need not change CUPTI's clock, and CUPTI does not report
 * whose callbacks are registered. But if our callbacks are registered, CUPTI requests buffers from
 * us and returns them to us. A *sign* is such a request or return. As long as there is no sign, we
 * do nothing that would spoil another client's trace. Two rules follow.
 *
 * First, we turn kinds off only at the next sign. If CUPTI is ours, waiting for the sign costs
 * little, because CUPTI cannot record much without requesting or returning a buffer.
 *
 * Second, we force no flush once CUPTI is silent. CUPTI documents that a plain flush returns every
 * buffer whose records are complete. Suppose that all our records in CUPTI are complete, and that
 * in a second of plain flushes CUPTI has not returned, written to or requested any buffer. Then
 * CUPTI returns our buffers to another client. If CUPTI is only late, a forced flush would not make
 * CUPTI faster.
 */
#include "session/ownership.h"

#define NS_PER_MS 1000000ull

/* Time between two flushes on the peer's behalf (the peer is another profiler, see peer.h). */
#define STRANDED_NS (100 * NS_PER_MS)
/* How long the peer may take to flush after it has turned off its last kind. libkineto first
 * processes all CPU records. After the flush, libkineto still changes an attribute. */
#define MAY_FLUSH_NS (10000 * NS_PER_MS)
/* CUPTI counts as silent only after this time and this number of flushes, because both CUPTI's
 * thread and the recorder thread may be late on a busy machine. */
#define SILENT_NS      (1000 * NS_PER_MS)
#define SILENT_FLUSHES 4

void sl_ownership_init(struct sl_ownership *o, int is_handed_over, uint64_t on_since_ns,
                       uint64_t now_ns)
{
    *o = (struct sl_ownership){
        .state = is_handed_over ? SL_OWN_HANDED_OVER : SL_OWN_OURS,
        .are_kinds_wanted = on_since_ns != 0,
        .sure_ns = on_since_ns ? on_since_ns : now_ns,
        .gap_since_ns = is_handed_over ? on_since_ns : 0,
    };
}

int sl_ownership_is_same(struct sl_ownership_buffers a, struct sl_ownership_buffers b)
{
    return a.turn == b.turn && a.count == b.count;
}

uint64_t sl_ownership_gap_from(const struct sl_ownership *o, uint64_t opened_ns)
{
    if (!o->gap_since_ns)
        return 0;
    return o->gap_since_ns > opened_ns ? o->gap_since_ns : opened_ns;
}

/* ---- CUPTI is ours, until another client takes it ---- */

static uint32_t ask(struct sl_ownership *o, const struct sl_ownership_now *now)
{
    /* If CUPTI was taken over, the kinds that are on may be the peer's kinds. If CUPTI was handed
     * over, none of the kinds is ours. In both cases we have nothing to release. */
    if (o->state != SL_OWN_OURS)
        return SL_OWN_ACT_PEER_GOES_ON;
    o->is_off_due = 0;
    o->release_ns = now->real_ns;
    return SL_OWN_ACT_RELEASE;
}

static uint32_t release(struct sl_ownership *o)
{
    o->state = SL_OWN_HANDED_OVER;
    o->gap_since_ns = o->release_ns;
    return SL_OWN_ACT_BEGIN_GAP | SL_OWN_ACT_PEER_GOES_ON;
}

/* The other client profiles GPU work, so the window gets a file, which reports the gap. */
static uint32_t take_over(struct sl_ownership *o, const struct sl_ownership_now *now)
{
    if (o->state != SL_OWN_OURS)
        return 0;
    o->state = SL_OWN_TAKEN_OVER;
    o->taken_over_turn = now->buffers.turn;
    o->gap_since_ns = o->sure_ns;
    return SL_OWN_ACT_NEED_FILE | SL_OWN_ACT_BEGIN_GAP |
           (now->has_subscriber ? 0 : SL_OWN_ACT_YIELD);
}

static uint32_t take_over_and_say(struct sl_ownership *o, const struct sl_ownership_now *now,
                                  uint32_t say)
{
    uint32_t actions = take_over(o, now);

    return actions ? actions | say : 0;
}

static uint32_t miss_requests(struct sl_ownership *o, const struct sl_ownership_now *now)
{
    if (now->buffers.turn)
        return 0; /* CUPTI has requested a buffer meanwhile */
    o->never_asked = 1;
    return take_over_and_say(o, now, SL_OWN_ACT_SAY_NEVER_ASKED);
}

/* ---- CUPTI is ours again ---- */

static uint32_t attach(struct sl_ownership *o, const struct sl_ownership_now *now)
{
    o->state = SL_OWN_OURS;
    o->sure_ns = now->real_ns;
    return SL_OWN_ACT_END_GAP | SL_OWN_ACT_PEER_RETURNED |
           (o->are_kinds_wanted ? SL_OWN_ACT_TELL_KINDS_ON : 0);
}

/* Called if CUPTI refuses to be attached. The gap continues. The next client need not wait, because
 * none of our kinds is on. */
static uint32_t refuse(struct sl_ownership *o)
{
    o->state = SL_OWN_HANDED_OVER;
    return SL_OWN_ACT_DETACH | SL_OWN_ACT_SAY_REFUSED | SL_OWN_ACT_PEER_RETURNED;
}

/* CUPTI has requested a buffer from us since it was taken over, so our callbacks are still
 * registered. The other client has changed only CUPTI's clock, so CUPTI is ours again. A window may
 * have opened meanwhile. */
static uint32_t look_at_buffers(struct sl_ownership *o, const struct sl_ownership_now *now)
{
    if (o->state != SL_OWN_TAKEN_OVER || now->buffers.turn == o->taken_over_turn)
        return 0;
    o->state = SL_OWN_OURS;
    return (now->has_subscriber ? 0 : SL_OWN_ACT_SET_UP) | SL_OWN_ACT_END_GAP |
           (o->are_kinds_wanted ? SL_OWN_ACT_KINDS_BACK | SL_OWN_ACT_TELL_KINDS_ON : 0);
}

/* ---- flushing on the peer's behalf ---- */

/* The peer has turned its kinds off, but CUPTI still holds a buffer of the peer. If nobody flushes,
 * the peer never counts as gone, and we never get CUPTI back. (In state TAKEN_OVER our own flushes
 * return the buffer.) */
static uint32_t fetch(struct sl_ownership *o, const struct sl_ownership_now *now, uint64_t wait_ns)
{
    if (o->state != SL_OWN_HANDED_OVER) {
        o->fetch_due_ns = 0;
        return 0;
    }
    /* The second condition is true if the peer has flushed since. Then the wait is shorter. */
    if (!o->fetch_due_ns || o->fetch_due_ns > now->monotonic_ns + wait_ns) {
        o->fetch_due_ns = now->monotonic_ns + wait_ns;
        return 0;
    }
    if (now->monotonic_ns < o->fetch_due_ns)
        return 0;
    o->fetch_due_ns = now->monotonic_ns + STRANDED_NS;
    return SL_OWN_ACT_FETCH;
}

/* ---- kinds ---- */

/* Before kinds are turned off, CUPTI's clock is checked, because another client may have taken
 * CUPTI since the last flush. */
static uint32_t look_for_sign(const struct sl_ownership *o, const struct sl_ownership_now *now)
{
    int has_sign = now->has_subscriber || !sl_ownership_is_same(o->awaited, now->buffers);

    return o->is_off_due && o->state == SL_OWN_OURS && has_sign ? SL_OWN_ACT_CHECK_CLOCK : 0;
}

static uint32_t turn_off(struct sl_ownership *o)
{
    if (!o->is_off_due || o->state != SL_OWN_OURS)
        return 0;
    o->is_off_due = 0;
    return SL_OWN_ACT_KINDS_OFF;
}

static uint32_t want_kinds(struct sl_ownership *o, const struct sl_ownership_now *now)
{
    int were_off_due = o->is_off_due;

    o->are_kinds_wanted = 1;
    o->is_off_due = 0;
    if (were_off_due)
        return 0; /* the kinds are still on */
    o->awaited = now->buffers;
    switch (o->state) {
    case SL_OWN_OURS:
        return SL_OWN_ACT_KINDS_ON | SL_OWN_ACT_TELL_KINDS_ON;
    case SL_OWN_TAKEN_OVER:
        return SL_OWN_ACT_TELL_KINDS_ON;
    default:
        return 0;
    }
}

static uint32_t unwant_kinds(struct sl_ownership *o, const struct sl_ownership_now *now)
{
    o->are_kinds_wanted = 0;
    o->is_off_due = o->state != SL_OWN_HANDED_OVER;
    return look_for_sign(o, now);
}

/* ---- the machine ---- */

uint32_t sl_ownership_step(struct sl_ownership *o, enum sl_ownership_event event,
                           const struct sl_ownership_now *now)
{
    switch (event) {
    case SL_OWN_EV_PEER_ASKED:
        return ask(o, now);
    case SL_OWN_EV_PEER_DID_NOT_WAIT:
        return take_over(o, now);
    case SL_OWN_EV_PEER_LEFT:
        return SL_OWN_ACT_ATTACH;
    case SL_OWN_EV_PEER_COMPLETE:
        o->fetch_due_ns = 0;
        return 0;
    case SL_OWN_EV_PEER_MAY_FLUSH:
        return fetch(o, now, MAY_FLUSH_NS);
    case SL_OWN_EV_PEER_STRANDED:
        return fetch(o, now, STRANDED_NS);
    case SL_OWN_EV_RELEASED:
        return release(o);
    case SL_OWN_EV_ATTACHED:
        return attach(o, now);
    case SL_OWN_EV_ATTACH_REFUSED:
        return refuse(o);
    case SL_OWN_EV_CLOCK_CHECKED:
        return turn_off(o);
    case SL_OWN_EV_GAP_ENDED:
        o->gap_since_ns = 0;
        o->sure_ns = now->real_ns;
        return 0;
    case SL_OWN_EV_CLOCK_KEPT:
        o->sure_ns = now->real_ns;
        return 0;
    case SL_OWN_EV_CLOCK_CHANGED:
        return take_over_and_say(o, now, SL_OWN_ACT_SAY_TAKEN_OVER);
    case SL_OWN_EV_BUFFERS:
        return look_at_buffers(o, now);
    case SL_OWN_EV_SIGN:
        return look_for_sign(o, now);
    case SL_OWN_EV_NEVER_ASKED:
        return miss_requests(o, now);
    case SL_OWN_EV_KINDS_WANTED:
        return want_kinds(o, now);
    case SL_OWN_EV_KINDS_UNWANTED:
        return unwant_kinds(o, now);
    case SL_OWN_EV_WINDOW_ENDED:
        o->awaited = now->buffers;
        return 0;
    case SL_OWN_EVENTS:
        break;
    }
    return 0;
}

/* ---- silence ---- */

void sl_ownership_note_flush(struct sl_ownership *o, const struct sl_ownership_now *now,
                             int is_complete, size_t records)
{
    struct sl_ownership_silence *s = &o->silence;

    if (is_complete && sl_ownership_is_same(s->buffers, now->buffers) && records == s->records)
        s->flushes++;
    else
        *s = (struct sl_ownership_silence){
            .buffers = now->buffers, .records = records, .since_ns = now->monotonic_ns};
}

int sl_ownership_may_force(const struct sl_ownership *o, const struct sl_ownership_now *now)
{
    const struct sl_ownership_silence *s = &o->silence;
    int is_silent = !now->has_subscriber && s->flushes >= SILENT_FLUSHES &&
                    now->monotonic_ns - s->since_ns >= SILENT_NS;

    return o->state == SL_OWN_OURS && !is_silent;
}
