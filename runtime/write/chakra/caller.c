/*
 * caller.c - finds the thread that called autograd.
 *
 * A backward operator has the sequence number of its forward operator. We assume that the thread
 * that ran the forward operator called `backward`, if only ranges are open on that thread. Each
 * thread counts its own sequence numbers. So several threads may have run forward operators with
 * the same sequence number. Then the PyTorch thread number in the backward operator says which of
 * these threads is meant. The writer learns the PyTorch number of a thread from cases in which only
 * one thread ran a forward operator with the sequence number.
 *
 * Threads: one owner. Memory: fixed tables.
 */
#include <string.h>

#include "write/chakra/chakra_internal.h"

static int is_no_range(const struct sl_event *row)
{
    return !sl_chakra_is_range(row);
}

static struct sl_chakra_forward *forward_slot(const struct sl_chakra *c, const struct sl_event *op)
{
    return &c->forward[(uint64_t)op->u.row.sequence & (SL_CHAKRA_SEQUENCES - 1)];
}

static struct sl_chakra_number *number_slot(const struct sl_chakra *c, const struct sl_event *op)
{
    return &c->number[op->forward_thread & (SL_CHAKRA_NUMBERS - 1)];
}

/* Returns the threads that ran forward operators with the operator's sequence number. Returns NULL
 * if no thread did, or if the operator has no sequence number. */
static const struct sl_chakra_forward *forward_of(const struct sl_chakra *c,
                                                  const struct sl_event *op)
{
    const struct sl_chakra_forward *f = forward_slot(c, op);

    return op->u.row.sequence >= 0 && op->forward_thread && f->threads &&
                   f->sequence == op->u.row.sequence
               ? f
               : NULL;
}

static int has_run(const struct sl_chakra_forward *f, uint32_t thread)
{
    for (uint32_t i = 0; i < f->threads; i++)
        if (f->thread[i] == thread)
            return 1;
    return 0;
}

static void note_forward(struct sl_chakra *c, const struct sl_event *op)
{
    struct sl_chakra_forward *f = forward_slot(c, op);

    if (f->sequence != op->u.row.sequence)
        f->threads = 0;
    f->sequence = op->u.row.sequence;
    if (has_run(f, op->thread))
        return;
    if (f->threads == SL_CHAKRA_FORWARD_THREADS)
        memmove(f->thread, f->thread + 1, --f->threads * sizeof(*f->thread));
    f->thread[f->threads++] = op->thread;
}

static int is_known(const struct sl_chakra_number *n)
{
    return n->votes >= SL_CHAKRA_VOTES;
}

/* A thread has only one PyTorch number. So if two numbers were learned for one thread, both numbers
 * are dropped. */
static void forget_doubles(struct sl_chakra *c, struct sl_chakra_number *n)
{
    int is_double = 0;

    for (unsigned i = 0; i < SL_CHAKRA_NUMBERS; i++) {
        struct sl_chakra_number *other = &c->number[i];

        if (other == n || !is_known(other) || other->thread != n->thread)
            continue;
        other->votes = 0;
        is_double = 1;
    }
    if (is_double)
        n->votes = 0;
}

/* Counts an observation that a PyTorch number belongs to a thread. A single observation may be
 * wrong: if the true thread's forward operator ran before the window, only another thread's
 * operator with the same sequence number is known. So several observations must agree, and contrary
 * observations are subtracted. */
static void learn(struct sl_chakra *c, const struct sl_event *op, uint32_t thread)
{
    struct sl_chakra_number *n = number_slot(c, op);

    if (n->number == op->forward_thread && n->sequence == op->u.row.sequence)
        return;
    if (n->number != op->forward_thread || (n->thread != thread && n->votes <= 1)) {
        *n = (struct sl_chakra_number){op->forward_thread, thread, 1, op->u.row.sequence};
        return;
    }
    n->sequence = op->u.row.sequence;
    if (n->thread != thread)
        n->votes--;
    else if (n->votes < SL_CHAKRA_VOTES_MAX && ++n->votes == SL_CHAKRA_VOTES)
        forget_doubles(c, n);
}

void sl_chakra_note_sequence(struct sl_chakra *c, const struct sl_event *op)
{
    const struct sl_chakra_forward *f = forward_of(c, op);

    if (op->u.row.sequence >= 0 && !op->forward_thread)
        note_forward(c, op);
    else if (f && f->threads == 1)
        learn(c, op, f->thread[0]);
}

/* ---- the sequence number of an evaluation ----
 *
 * PyTorch's engine runs each backward operator inside an operator of its own, the evaluation, which
 * has no sequence number. The job gives it the number of the backward operator if that operator is
 * the first one inside (event/ops.c). So an evaluation that is reported at its begin may lack its
 * number.
 */

static int is_evaluation(const struct sl_chakra *c, const struct sl_event *ev)
{
    static const char prefix[] = "autograd::engine::evaluate_function";
    size_t length = 0;
    const char *name =
        ev->name && c->opt.intern ? sl_intern_get(c->opt.intern, ev->name, &length) : NULL;

    return name && length >= sizeof(prefix) - 1 && memcmp(name, prefix, sizeof(prefix) - 1) == 0;
}

int sl_chakra_lacks_sequence(struct sl_chakra *c, const struct sl_chakra_turn *rows, size_t count,
                             uint64_t complete_ns)
{
    struct sl_event *ev = &c->held[rows[0].index];

    if (ev->kind != SL_EV_CPU_OP || ev->end_ns != SL_END_UNKNOWN || ev->u.row.sequence >= 0 ||
        !is_evaluation(c, ev))
        return 0;
    for (size_t i = 1; i < count; i++) {
        const struct sl_event *inside = &c->held[rows[i].index];

        if (!sl_chakra_is_cpu(inside) || inside->thread != ev->thread)
            continue;
        if (inside->kind == SL_EV_NVTX_RANGE && inside->value_type == SL_NOTE_RECORD_FUNCTION)
            return 0;
        if (inside->kind != SL_EV_CPU_OP ||
            (sl_chakra_is_end(inside) && inside->order != ev->order))
            continue;
        if (sl_chakra_is_end(inside) || inside->forward_thread) {
            ev->u.row.sequence = inside->u.row.sequence;
            ev->forward_thread = inside->forward_thread;
        }
        return 0;
    }
    if (!c->hurried && !c->ending && ev->start_ns + SL_CHAKRA_CUT_NS > complete_ns)
        return 1;
    c->count.sequences_late++;
    return 0;
}

/* Returns the thread among `f` that ran the forward operator. A single thread in `f` is returned
 * unless its PyTorch number differs. Returns 0 if no thread in `f` ran the operator, or if it is
 * not known which thread did. */
static uint32_t forward_thread_of(const struct sl_chakra *c, const struct sl_chakra_forward *f,
                                  const struct sl_event *op)
{
    const struct sl_chakra_number *n = number_slot(c, op);
    int is_met = n->number == op->forward_thread;

    if (is_met && is_known(n))
        return has_run(f, n->thread) ? n->thread : 0;
    return f->threads == 1 && (!is_met || n->thread == f->thread[0]) ? f->thread[0] : 0;
}

struct sl_chakra_thread *sl_chakra_caller_of(struct sl_chakra *c, const struct sl_event *ev)
{
    const struct sl_chakra_forward *f = forward_of(c, ev);
    struct sl_chakra_thread *t;
    uint32_t thread;

    if (!f)
        return NULL;
    thread = forward_thread_of(c, f, ev);
    if (!thread)
        c->count.callers_unknown++;
    if (!thread || thread == ev->thread)
        return NULL;
    t = sl_chakra_find_thread(c, thread);
    return t && (t->last || t->pending) && !sl_chakra_is_in(t, ev->start_ns, is_no_range) ? t
                                                                                          : NULL;
}
