/*
 * early.c - operations that began before their call, by the clocks.
 *
 * GPU and CPU times are matched to some microseconds, so on an idle stream an operation's recorded
 * start may lie before that of the call that launched it. Rows go out by start: such an operation
 * is put behind its call, and those behind it on its stream stay behind it.
 *
 * Threads: one owner. Memory: the array that the sort has left free.
 */
#include <string.h>

#include "write/chakra/chakra_internal.h"

enum {
    CALLS = 4096, /* of one moment, by correlation; a power of two, less than a sort's room */
    LANES = 1024  /* streams; two that share a place are kept in order with each other */
};

static void note(struct sl_chakra_turn *call, const struct sl_event *ev, uint32_t index)
{
    if (sl_chakra_is_call(ev))
        call[ev->correlation & (CALLS - 1)] = (struct sl_chakra_turn){ev->correlation, index};
}

/* The call of the operation, by correlation; NULL: not there, or it began far too late. */
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

/* Calls that stay in `held`: their operations wait for them, if there is room. */
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
    uint64_t lane[LANES] = {0}; /* when the last operation there goes out */
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
    /* Behind one that stays, their calls stay too. */
    while (i > at && turn[i - 1].key > stays_ns)
        i--;
    *count = i;
    return turn;
}
