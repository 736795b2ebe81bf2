/*
 * early.c - handles GPU operations whose recorded start is before their call's start, or whose call
 * has not returned when the window ends.
 *
 * GPU and CPU clocks agree only to some microseconds. So an operation on an idle stream may have a
 * recorded start that is earlier than the start of its launching call. Rows are written in order of
 * start, so such an operation is moved to the position after its call. Later operations of its
 * stream are moved behind the moved operation.
 *
 * Threads: one owner. Memory: the array that the sort used before.
 */
#include <string.h>

#include "write/chakra/chakra_internal.h"

enum {
    CALLS = 4096, /* number of entries for recent calls, by correlation id; a power of two */
    /* number of entries for streams; if two streams share an entry, their operations stay in order
     */
    LANES = 1024
};

static void note(struct sl_chakra_turn *call, const struct sl_event *ev, uint32_t index)
{
    if (sl_chakra_is_call(ev))
        call[ev->correlation & (CALLS - 1)] = (struct sl_chakra_turn){ev->correlation, index};
}

/* Returns the operation's call. Returns NULL if the call is not in the table, or began far too
 * late. */
static const struct sl_event *find(const struct sl_chakra *c, const struct sl_chakra_turn *call,
                                   const struct sl_event *op)
{
    const struct sl_chakra_turn *found = &call[op->correlation & (CALLS - 1)];
    const struct sl_event *ev = &c->held[found->index];

    if (!op->correlation || found->key != op->correlation)
        return NULL;
    return ev->start_ns <= op->start_ns || ev->start_ns - op->start_ns <= SL_CHAKRA_SKEW_NS ? ev
                                                                                            : NULL;
}

/* Stores calls that are not written yet, so that their operations can wait for them. If the table
 * is full, further calls are not stored. */
static void note_later(struct sl_chakra *c, struct sl_chakra_turn *call, uint64_t until_ns)
{
    size_t i;

    for (i = 0; i < c->held_count && !c->hurried; i++) {
        const struct sl_event *ev = &c->held[i];

        if (ev->end_ns > until_ns &&
            (ev->start_ns <= until_ns || ev->start_ns - until_ns <= SL_CHAKRA_SKEW_NS))
            note(call, ev, (uint32_t)i);
    }
}

static uint64_t *lane_of(uint64_t *lane, const struct sl_event *op)
{
    uint64_t h = ((uint64_t)op->context << 32 | op->stream) * 0x9e3779b97f4a7c15u + op->device;

    return &lane[(h ^ h >> 32) & (LANES - 1)];
}

struct sl_chakra_turn *sl_chakra_behind_calls(struct sl_chakra *c, struct sl_chakra_turn *turn,
                                              size_t at, size_t *count, uint64_t *until_ns)
{
    struct sl_chakra_turn *room = turn == c->turn ? c->turn_spare : c->turn;
    struct sl_chakra_turn *ready = room, *later = room + CALLS;
    /* for each stream: the key (time) after which the last moved operation of the stream is sorted
     */
    uint64_t lane[LANES] = {0};
    uint64_t stays_ns = UINT64_MAX;
    size_t ahead = at, i;

    memset(room, 0, 2 * CALLS * sizeof(*room));
    note_later(c, later, *until_ns);
    for (i = at; i < *count; i++) {
        const struct sl_event *ev = &c->held[turn[i].index], *launch;
        uint64_t *last = lane_of(lane, ev);

        for (; ahead < *count && turn[ahead].key - ev->start_ns <= SL_CHAKRA_SKEW_NS; ahead++)
            note(ready, &c->held[turn[ahead].index], turn[ahead].index);
        if (sl_chakra_is_cpu(ev))
            continue;
        if (find(c, later, ev)) {
            stays_ns = ev->start_ns;
            *until_ns = sl_chakra_before(stays_ns);
            break;
        }
        launch = find(c, ready, ev);
        if (launch && launch->start_ns > turn[i].key)
            turn[i].key = launch->start_ns;
        if (*last > turn[i].key)
            turn[i].key = *last;
        *last = turn[i].key;
    }
    turn = sl_chakra_order(c->held, turn + at, room + at, i - at) - at;
    /* All rows after an operation that is still held are held, too. */
    while (i > at && turn[i - 1].key > stays_ns)
        i--;
    *count = i;
    return turn;
}

/* ---- operations whose call outlasts the window ----
 *
 * Such a call has no record. The thread that made such a call has made no later call. We assume
 * that this is the thread that launched last on the operation's stream, if no other thread has
 * launched on that stream, or if no other thread can have made such a call. Any other guess is
 * often wrong, and would connect the operation with unrelated work. A call that has not returned
 * yet looks the same, so the operation is held for SL_CHAKRA_OUTLAST_NS. Two threads may share an
 * entry in the table of SL_CHAKRA_CALLED ids. A later call of one thread then counts as a later
 * call of both threads.
 */

static uint64_t *called_by(const struct sl_chakra *c, uint32_t thread)
{
    return &c->called[(thread * 2654435761u >> 16) & (SL_CHAKRA_CALLED - 1)];
}

void sl_chakra_note_call(struct sl_chakra *c, const struct sl_event *call)
{
    uint64_t *called = called_by(c, call->thread);

    if (call->correlation > *called)
        *called = call->correlation;
    if (call->correlation == c->unseen.correlation)
        c->unseen.until_ns = 0;
}

/* Returns 1 if the thread can have made the operation's call. As far as the events show, such a
 * thread was in no other call at that time, and has made no later call. */
static int can_be_in(const struct sl_chakra *c, const struct sl_chakra_thread *t,
                     const struct sl_event *op)
{
    uint64_t called = *called_by(c, t->id);

    return called && called < op->correlation && (!t->unseen || t->unseen == op->correlation) &&
           !t->waits_for && t->frontier_ns <= op->start_ns &&
           !sl_chakra_is_in(t, op->start_ns, sl_chakra_is_call);
}

static struct sl_chakra_thread *last_launcher(const struct sl_chakra *c,
                                              const struct sl_chakra_stream *s,
                                              const struct sl_event *op)
{
    struct sl_chakra_thread *t = s->thread ? sl_chakra_find_thread(c, s->thread) : NULL;

    return t && can_be_in(c, t, op) ? t : NULL;
}

static int another_can_be_in(const struct sl_chakra *c, const struct sl_chakra_thread *t,
                             const struct sl_event *op)
{
    for (size_t i = 0; i < c->threads; i++)
        if (&c->thread[i] != t && can_be_in(c, &c->thread[i], op))
            return 1;
    return 0;
}

int sl_chakra_is_undecided(struct sl_chakra *c, const struct sl_event *op, uint64_t complete_ns)
{
    uint64_t until_ns = op->end_ns + SL_CHAKRA_OUTLAST_NS;

    if (until_ns <= complete_ns)
        return 0;
    c->unseen = (struct sl_chakra_unseen){until_ns, op->correlation};
    return 1;
}

struct sl_chakra_thread *sl_chakra_unseen_caller(struct sl_chakra *c,
                                                 const struct sl_chakra_stream *s,
                                                 const struct sl_event *op)
{
    struct sl_chakra_thread *t;

    if (!c->ending || c->last_ns > op->end_ns + SL_CHAKRA_OUTLAST_NS)
        return NULL;
    t = last_launcher(c, s, op);
    if (!t || (s->shared && another_can_be_in(c, t, op)))
        return NULL;
    t->unseen = op->correlation;
    return t;
}
