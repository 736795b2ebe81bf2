/*
 * ownership.c - who owns CUPTI: a pure state machine. Entered by the recorder thread alone; owns
 * nothing.
 *
 * A client that takes CUPTI without a word need not change its clock, and CUPTI does not say whose
 * callbacks it has. But a CUPTI whose callbacks are ours asks us for buffers and gives them back: a
 * sign. Without a sign, nothing is done that would spoil another client's trace:
 *
 * Kinds are turned off with the next sign, not before. If CUPTI is ours, nothing is recorded in
 * between: there is no record without a buffer.
 *
 * A forced flush is not made once CUPTI is silent. By CUPTI's documentation a plain flush brings
 * every buffer whose records are completed. If for a second of plain flushes CUPTI holds nothing
 * but completed records, and has neither given back a buffer, nor written to one, nor asked for
 * another, then it has given them to somebody else. If it is only late, force would not hasten it.
 */
#include "session/ownership.h"

#define NS_PER_MS 1000000ull

/* Time between two flushes on the peer's behalf. */
#define STRANDED_NS (100 * NS_PER_MS)
/* From the peer's last kind that goes off to its own flush. libkineto first works through all that
 * the CPU did, and changes an attribute behind the flush. */
#define MAY_FLUSH_NS (10000 * NS_PER_MS)
/* CUPTI's thread may be late on a busy machine, and so may the recorder: both must be over. */
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

/* ---- ours, until another client has it ---- */

static uint32_t ask(struct sl_ownership *o, const struct sl_ownership_now *now)
{
    /* Taken over, by this client or by another, what is on may be its. Handed over, nothing is
     * ours. */
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

/* The other client uses the GPU, so the window gets a file that reports what it lacks. */
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
        return 0; /* CUPTI has asked meanwhile */
    o->never_asked = 1;
    return take_over_and_say(o, now, SL_OWN_ACT_SAY_NEVER_ASKED);
}

/* ---- ours again ---- */

static uint32_t attach(struct sl_ownership *o, const struct sl_ownership_now *now)
{
    o->state = SL_OWN_OURS;
    o->sure_ns = now->real_ns;
    return SL_OWN_ACT_END_GAP | SL_OWN_ACT_PEER_RETURNED |
           (o->are_kinds_wanted ? SL_OWN_ACT_TELL_KINDS_ON : 0);
}

/* The gap goes on. The next client need not wait: there is nothing to let go of. */
static uint32_t refuse(struct sl_ownership *o)
{
    o->state = SL_OWN_HANDED_OVER;
    return SL_OWN_ACT_DETACH | SL_OWN_ACT_SAY_REFUSED | SL_OWN_ACT_PEER_RETURNED;
}

/* CUPTI has asked us for a buffer since it was taken over: somebody had changed its clock, and
 * nothing else. A window may have opened meanwhile. */
static uint32_t look_at_buffers(struct sl_ownership *o, const struct sl_ownership_now *now)
{
    if (o->state != SL_OWN_TAKEN_OVER || now->buffers.turn == o->taken_over_turn)
        return 0;
    o->state = SL_OWN_OURS;
    return (now->has_subscriber ? 0 : SL_OWN_ACT_SET_UP) | SL_OWN_ACT_END_GAP |
           (o->are_kinds_wanted ? SL_OWN_ACT_KINDS_BACK | SL_OWN_ACT_TELL_KINDS_ON : 0);
}

/* ---- in the peer's stead ---- */

/* The peer's kinds are off, but it does not fetch what CUPTI still has for it. Nobody else would,
 * and CUPTI would never be ours again. (Taken over, our own flushes bring it.) */
static uint32_t fetch(struct sl_ownership *o, const struct sl_ownership_now *now, uint64_t wait_ns)
{
    if (o->state != SL_OWN_HANDED_OVER) {
        o->fetch_due_ns = 0;
        return 0;
    }
    /* The second condition: the peer has flushed since. */
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

/* Another client may have taken CUPTI since the last flush, so its clock is checked first. */
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
        return 0; /* they are still on */
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
