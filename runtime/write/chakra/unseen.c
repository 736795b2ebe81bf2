/*
 * unseen.c - operations whose call outlasts the window: which thread is in it.
 *
 * Such a call is in no file. Its thread is in it to the end, so it has made no later one. It is
 * taken to be the thread that launched on the operation's stream last, if that is the only one that
 * launched there or the only one that can be in the call: any other guess is often wrong, and hangs
 * the operation on work that it has nothing to do with. A record that was lost in the middle looks
 * the same until the thread's next call comes: the operation is held back for that.
 *
 * Threads: one owner. Memory: a table of SL_CHAKRA_CALLED ids. Two threads that share a place there
 * are taken to be in no such call once either has made a later one.
 */
#include "write/chakra/chakra_internal.h"

static uint64_t *called_by(const struct sl_chakra *c, uint32_t thread)
{
    return &c->called[(thread * 2654435761u >> 16) & (SL_CHAKRA_CALLED - 1)];
}

void sl_chakra_note_call(struct sl_chakra *c, const struct sl_event *call)
{
    uint64_t *called = called_by(c, call->thread);

    if (call->correlation > *called)
        *called = call->correlation;
    if (call->thread == c->unseen.thread || call->correlation == c->unseen.correlation)
        c->unseen.until_ns = 0;
}

static int is_in_call(const struct sl_chakra_thread *t, uint64_t ns)
{
    int is_in = t->pending && sl_chakra_is_call(&t->row) && t->row.end_ns > ns;

    for (const struct sl_chakra_open *o = t->open; o; o = o->around)
        is_in |= sl_chakra_is_call(&o->row) && o->row.end_ns > ns;
    return is_in;
}

/* By what is known: it was in no other call then, and has made no later one. */
static int can_be_in(const struct sl_chakra *c, const struct sl_chakra_thread *t,
                     const struct sl_event *op)
{
    uint64_t called = *called_by(c, t->id);

    return called && called < op->correlation && (!t->unseen || t->unseen == op->correlation) &&
           !t->waits_for && t->frontier_ns <= op->start_ns && !is_in_call(t, op->start_ns);
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

int sl_chakra_is_undecided(struct sl_chakra *c, const struct sl_chakra_stream *s,
                           const struct sl_event *op, uint64_t complete_ns)
{
    uint64_t until_ns = op->end_ns + SL_CHAKRA_OUTLAST_NS;

    if (until_ns <= complete_ns || !last_launcher(c, s, op))
        return 0;
    c->unseen = (struct sl_chakra_unseen){until_ns, op->correlation, s->thread};
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
