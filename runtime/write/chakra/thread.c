/*
 * thread.c - the table of threads.
 *
 * A job may make any number of threads, many for a moment. Where there is no room for one more,
 * those are forgotten that have been idle for longer than the average. Should such a one go on, it
 * looks like a new one, and a new one's time begins at the window's opening: it would stand twice.
 * So from then on it begins behind the last node of all that were forgotten.
 *
 * Threads: one owner. Memory: a fixed table.
 */
#include <string.h>

#include "write/chakra/chakra_internal.h"

/* Where the thread stands, or its index would. */
static uint16_t *place_of(const struct sl_chakra *c, uint32_t id)
{
    size_t at = (id * 2654435761u >> 8) & (SL_CHAKRA_THREAD_PLACES - 1);

    while (c->thread_at[at] && c->thread[c->thread_at[at] - 1].id != id)
        at = (at + 1) & (SL_CHAKRA_THREAD_PLACES - 1);
    return &c->thread_at[at];
}

struct sl_chakra_thread *sl_chakra_find_thread(const struct sl_chakra *c, uint32_t id)
{
    uint16_t index = *place_of(c, id);

    return index ? &c->thread[index - 1] : NULL;
}

/* Nothing of it, or of what it works for, is still to be written. */
static int is_idle(const struct sl_chakra_thread *t, uint64_t ns)
{
    return !t->pending && !t->open && !t->waits_for && !t->has_caller && t->frontier_ns <= ns;
}

/* For how long the idle ones are, on average. */
static uint64_t usual_idle_ns(const struct sl_chakra *c, uint64_t ns)
{
    uint64_t sum_ns = 0, idle = 0;

    for (size_t i = 0; i < c->threads; i++) {
        if (!is_idle(&c->thread[i], ns))
            continue;
        sum_ns += ns - c->thread[i].frontier_ns;
        idle++;
    }
    return idle ? sum_ns / idle : 0;
}

static void forget_thread(struct sl_chakra *c, const struct sl_chakra_thread *t)
{
    c->count.lanes_forgotten++;
    if (t->last && t->frontier_ns >= c->forgotten.end_ns)
        c->forgotten = (struct sl_chakra_forgotten){t->last, t->frontier_ns};
}

static void forget_idle(struct sl_chakra *c, uint64_t ns)
{
    uint64_t usual_ns;
    size_t i, kept = 0;

    sl_chakra_settle_idle(c, ns);
    usual_ns = usual_idle_ns(c, ns);
    memset(c->thread_at, 0, SL_CHAKRA_THREAD_PLACES * sizeof(*c->thread_at));
    for (i = 0; i < c->threads; i++) {
        const struct sl_chakra_thread *t = &c->thread[i];

        if (is_idle(t, ns) && ns - t->frontier_ns >= usual_ns) {
            forget_thread(c, t);
            continue;
        }
        c->thread[kept] = *t;
        *place_of(c, t->id) = (uint16_t)(kept + 1);
        kept++;
    }
    c->threads = kept;
}

struct sl_chakra_thread *sl_chakra_get_thread(struct sl_chakra *c, uint32_t id, uint64_t ns)
{
    uint16_t index = *place_of(c, id);
    struct sl_chakra_thread *t;

    if (index)
        return &c->thread[index - 1];
    if (c->threads == SL_CHAKRA_THREADS)
        forget_idle(c, ns);
    if (c->threads == SL_CHAKRA_THREADS)
        return NULL;
    t = &c->thread[c->threads++];
    *t = (struct sl_chakra_thread){.id = id, .frontier_ns = c->base_ns};
    if (c->forgotten.id) {
        t->after = c->forgotten.id;
        t->frontier_ns = c->forgotten.end_ns;
    }
    *place_of(c, id) = (uint16_t)c->threads;
    return t;
}
