/*
 * ops_forward.c - which forward operator a backward one belongs to, and whom it runs for.
 *
 * Threads, memory: see ops.h.
 */
#include "event/ops_impl.h"

static struct sl_ops_forward *forward_of(struct sl_ops *o, uint32_t number, int64_t sequence)
{
    uint64_t hash = ((uint64_t)sequence ^ (uint64_t)number << 40) * 0x9e3779b97f4a7c15u;

    return &o->forward[hash >> 49];
}

_Static_assert(SL_OPS_FORWARDS == 1 << (64 - 49), "the hash has as many bits as the table");

/* Among those with one sequence number the last to begin is what autograd comes back to. */
static void note_forward(struct sl_ops *o, uint32_t thread, uint64_t ns, const struct sl_op *op)
{
    *forward_of(o, op->number, op->sequence) =
        (struct sl_ops_forward){op->sequence, ns, op->number, thread};
}

static void show_flow(struct sl_ops *o, const struct sl_op *op, uint32_t thread, uint64_t ns)
{
    struct sl_ops_forward *f = forward_of(o, op->forward_number, op->sequence);
    struct sl_event ev = {.kind = SL_EV_FLOW_BACK, .end_ns = ns, .context = thread};

    if (!f->start_ns || f->sequence != op->sequence || f->number != op->forward_number)
        return;
    ev.start_ns = f->start_ns;
    ev.thread = f->thread;
    ev.correlation = ++o->flows;
    f->start_ns = 0;
    o->opt.sink(o->opt.sink_user, &ev);
}

/* Where the caller of a backward pass could not leave its id, the thread that made the graph stands
 * for it. What autograd's engine does around a node, it does for the same thread. */
uint32_t sl_ops_for_thread(struct sl_ops *o, struct sl_ops_thread *t, const struct sl_op *op)
{
    struct sl_ops_number *own = &o->number[op->number & (SL_OPS_NUMBERS - 1)];
    struct sl_ops_number *forward = &o->number[op->forward_number & (SL_OPS_NUMBERS - 1)];
    const struct sl_ops_running *around = t->last ? &o->running[t->last] : NULL;

    *own = (struct sl_ops_number){op->number, t->id};
    if (op->caller == t->id)
        return 0;
    if (op->caller) {
        t->works = 1;
        return op->caller;
    }
    if (!op->forward_number || forward->number != op->forward_number)
        return 0;
    if (op->is_backward && around && around->op.is_evaluation && around->place)
        sl_ops_at(o, around->place)->for_thread = forward->thread;
    return forward->thread;
}

void sl_ops_note_sequence(struct sl_ops *o, struct sl_ops_thread *t, uint64_t ns,
                          const struct sl_op *op)
{
    struct sl_ops_running *around = t->last ? &o->running[t->last] : NULL;

    if (op->sequence < 0)
        return;
    if (op->forward_number == 0) {
        note_forward(o, t->id, ns, op);
        return;
    }
    if (op->is_backward && around && around->op.is_evaluation) {
        around->op.sequence = op->sequence;
        around->op.forward_number = op->forward_number;
    }
    show_flow(o, op, t->id, ns);
}
