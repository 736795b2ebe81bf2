/*
 * chakra_thread.c - the table of threads, and who called autograd.
 *
 * A backward operator has the sequence number of its forward one, so the thread that ran that is
 * known, and it is the one that called `backward` if nothing but a range is open on it.
 *
 * Threads: one owner. Memory: fixed tables; when that of threads is nearly full it starts anew.
 */
#include <string.h>

#include "write/chakra_internal.h"

static struct sl_chakra_thread *probe(const struct sl_chakra *c, uint32_t id)
{
    size_t at = (id * 2654435761u >> 8) & (SL_CHAKRA_THREADS - 1);
    struct sl_chakra_thread *t = &c->thread[at];

    while (t->taken && t->id != id)
        t = &c->thread[at = (at + 1) & (SL_CHAKRA_THREADS - 1)];
    return t;
}

struct sl_chakra_thread *sl_chakra_find_thread(const struct sl_chakra *c, uint32_t id)
{
    struct sl_chakra_thread *t = probe(c, id);

    return t->taken ? t : NULL;
}

struct sl_chakra_thread *sl_chakra_get_thread(struct sl_chakra *c, uint32_t id)
{
    struct sl_chakra_thread *t = probe(c, id);

    if (t->taken)
        return t;
    if (c->threads > SL_CHAKRA_THREADS / 4 * 3) {
        sl_chakra_close_threads(c);
        c->count.lanes_forgotten += c->threads;
        memset(c->thread, 0, SL_CHAKRA_THREADS * sizeof(*c->thread));
        c->threads = 0;
        t = probe(c, id);
    }
    t->id = id;
    t->taken = 1;
    t->frontier_ns = c->base_ns;
    c->threads++;
    return t;
}

static int is_busy(const struct sl_chakra_thread *t, uint64_t ns)
{
    unsigned i;

    if (t->pending && t->row.end_ns > ns && !sl_chakra_is_range(&t->row))
        return 1;
    for (i = 0; i < t->depth; i++)
        if (t->open[i].end_ns > ns && !sl_chakra_is_range(&t->open[i]))
            return 1;
    return 0;
}

static struct sl_chakra_forward *forward_slot(const struct sl_chakra *c, const struct sl_event *op)
{
    return &c->forward[(uint64_t)op->u.row.sequence & (SL_CHAKRA_SEQUENCES - 1)];
}

void sl_chakra_note_forward(struct sl_chakra *c, const struct sl_event *op)
{
    if (op->u.row.sequence >= 0 && !op->context)
        *forward_slot(c, op) = (struct sl_chakra_forward){op->u.row.sequence, op->thread, 1};
}

struct sl_chakra_thread *sl_chakra_caller_of(const struct sl_chakra *c, const struct sl_event *ev)
{
    const struct sl_chakra_forward *f = forward_slot(c, ev);
    struct sl_chakra_thread *t;

    if (ev->u.row.sequence < 0 || !ev->context)
        return NULL;
    if (!f->taken || f->sequence != ev->u.row.sequence || f->thread == ev->thread)
        return NULL;
    t = sl_chakra_find_thread(c, f->thread);
    return t && (t->last || t->pending) && !is_busy(t, ev->start_ns) ? t : NULL;
}
