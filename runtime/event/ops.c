/*
 * ops.c - keeps the PyTorch operators that are running, and emits the slices of operators that have
 * ended.
 *
 * This file keeps the data for an operator's slice only while the operator runs. ops_call.c keeps
 * the data that the records of CUDA calls need later.
 *
 * Threads, memory: see ops.h.
 */
#include "event/ops.h"

#include <errno.h>

#include "base/pages.h"
#include "event/ops_impl.h"

/* ---- backward operators: their forward operator, and the thread that called the pass ---- */

static struct sl_ops_forward *forward_of(struct sl_ops *o, uint32_t number, int64_t sequence)
{
    uint64_t hash = ((uint64_t)sequence ^ (uint64_t)number << 40) * 0x9e3779b97f4a7c15u;

    return &o->forward[hash >> 49];
}

_Static_assert(SL_OPS_FORWARDS == 1 << (64 - 49), "hash >> 49 is an index of the table");

/* If several forward operators have the same sequence number, the backward operator belongs to the
 * forward operator that began last. */
static void note_forward(struct sl_ops *o, uint32_t thread, uint64_t ns, const struct sl_op *op)
{
    *forward_of(o, op->number, op->sequence) =
        (struct sl_ops_forward){op->sequence, ns, op->number, thread};
}

static void show_flow(struct sl_ops *o, const struct sl_op *op, uint32_t thread, uint64_t ns)
{
    struct sl_ops_forward *f = forward_of(o, op->forward_number, op->sequence);
    struct sl_event ev = {.kind = SL_EV_FLOW_BACK,
                          .u.flow = {.head_ns = ns, .head_thread = thread}};

    if (!f->start_ns || f->sequence != op->sequence || f->number != op->forward_number)
        return;
    ev.start_ns = f->start_ns;
    ev.thread = f->thread;
    ev.arrow = ++o->flows;
    f->start_ns = 0;
    o->opt.sink(o->opt.sink_user, &ev);
}

/* Returns the thread for which a backward operator runs, that is, the thread that called the
 * backward pass. If the id of that thread is not known, returns the thread that ran the forward
 * operator. An `is_evaluation` operator runs for the same thread as the backward operator inside
 * it. */
static uint32_t for_thread_of(struct sl_ops *o, struct sl_ops_thread *t, const struct sl_op *op)
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

/* Stores a beginning operator's sequence number. The caller calls this function before it makes the
 * operator the thread's last operator. */
static void note_sequence(struct sl_ops *o, struct sl_ops_thread *t, uint64_t ns,
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

#define DEFAULT_CAP_BYTES ((size_t)8 << 20)

/* ---- slices ---- */

static void show(struct sl_ops *o, const struct sl_op *op, uint32_t thread, uint32_t order,
                 uint64_t start_ns, uint64_t end_ns, uint16_t flags)
{
    struct sl_event ev = {.kind = SL_EV_CPU_OP, .flags = flags, .thread = thread};

    ev.start_ns = start_ns;
    ev.end_ns = end_ns > start_ns ? end_ns : start_ns;
    ev.name = op->name;
    ev.forward_thread = op->forward_number;
    ev.order = order;
    ev.inputs = op->detail;
    ev.device = op->device;
    ev.comm.seq = op->seq;
    ev.comm.batch = op->batch;
    ev.u.row.record_function = op->handle;
    ev.u.row.sequence = op->sequence;
    o->counts.ops += end_ns != SL_END_UNKNOWN;
    o->opt.sink(o->opt.sink_user, &ev);
}

/* ---- begin and end ---- */

static uint32_t new_running(struct sl_ops *o)
{
    uint32_t index = o->running_free;

    if (index)
        o->running_free = o->running[index].below;
    else if (o->running_used < SL_OPS_RUNNING)
        index = o->running_used++;
    return index;
}

/* Returns the place (the index of the entry in ops_call.c) of the innermost operator that is not a
 * user scope. */
static uint32_t parent_of(const struct sl_ops *o, const struct sl_ops_thread *t)
{
    uint32_t at = t->innermost;

    while (at && o->running[at].op.is_user)
        at = o->running[at].below;
    return at ? o->running[at].place : 0;
}

void sl_ops_begin(struct sl_ops *o, uint32_t thread, uint64_t ns, const struct sl_op *op)
{
    struct sl_ops_thread *t = sl_ops_get_thread(o, thread);
    uint32_t index = t ? new_running(o) : 0, place = 0, parent;
    struct sl_ops_running *r = &o->running[index];

    if (!index) {
        o->counts.lost++;
        return;
    }
    note_sequence(o, t, ns, op);
    if (!op->is_user) {
        place = sl_ops_new_place(o, t);
        /* must follow sl_ops_new_place(), because sl_ops_new_place() may evict the parent */
        parent = parent_of(o, t);
        *sl_ops_at(o, place) =
            (struct sl_op_known){.start_ns = ns,
                                 .end_ns = UINT64_MAX,
                                 .parent = parent,
                                 .handle = (uint32_t)op->handle,
                                 .line = op->line,
                                 .collective = op->is_collective ? op->detail : 0,
                                 .for_thread = for_thread_of(o, t, op),
                                 .order = t->order};
    }
    *r = (struct sl_ops_running){.op = *op, .start_ns = ns, .place = place, .below = t->innermost};
    r->order = t->order++;
    t->innermost = t->last = index;
}

static int has_row(const struct sl_ops_running *r)
{
    return !r->op.is_user && !r->op.is_site;
}

static void end(struct sl_ops *o, struct sl_ops_thread *t, uint32_t index, uint64_t ns)
{
    struct sl_ops_running *r = &o->running[index];
    uint32_t *link = &t->innermost;

    while (*link != index)
        link = &o->running[*link].below;
    if (r->place)
        sl_ops_at(o, r->place)->end_ns = ns;
    if (has_row(r) && !r->is_shown)
        show(o, &r->op, t->id, r->order, r->start_ns, ns, r->is_begun ? SL_EVF_BEGUN : 0);
    if (t->last == index)
        t->last = 0;
    *link = r->below;
    r->below = o->running_free;
    o->running_free = index;
}

/* Returns the index of the running operator with this handle, or 0 if no such operator runs. */
static uint32_t find_running(const struct sl_ops *o, const struct sl_ops_thread *t, uint32_t handle)
{
    uint32_t at = t->taken ? t->innermost : 0;

    while (at && (uint32_t)o->running[at].op.handle != handle)
        at = o->running[at].below;
    return at;
}

/* Ends an operator. Also ends the operators inside it that still run, because the report of their
 * end was lost or is made on another thread. User scopes inside the operator stay open, because
 * coroutines that run alternately may end their scopes in any order. */
int sl_ops_end(struct sl_ops *o, uint32_t thread, uint32_t handle, uint64_t ns)
{
    struct sl_ops_thread *t = sl_ops_find_thread(o, thread);
    uint32_t it = find_running(o, t, handle), below;
    int is_user = o->running[it].op.is_user;

    if (!it)
        return 0;
    for (uint32_t at = t->innermost; at != it; at = below) {
        below = o->running[at].below;
        if (!o->running[at].op.is_user)
            end(o, t, at, ns);
    }
    end(o, t, it, ns);
    return is_user;
}

/* Operators inside the ended operator stay open, because they may have begun after its end. */
int sl_ops_end_anywhere(struct sl_ops *o, uint64_t handle, uint64_t ns, uint32_t *thread)
{
    for (uint32_t i = 0; i < SL_OPS_THREADS; i++) {
        struct sl_ops_thread *t = &o->thread[i];
        uint32_t it = find_running(o, t, (uint32_t)handle);
        int is_user = o->running[it].op.is_user;

        if (!it || o->running[it].op.handle != handle)
            continue;
        *thread = t->id;
        end(o, t, it, ns);
        return is_user;
    }
    return -ENOENT;
}

uint32_t sl_ops_line(struct sl_ops *o, uint32_t thread)
{
    const struct sl_ops_thread *t = sl_ops_find_thread(o, thread);
    uint32_t at = t->taken ? t->innermost : 0;

    while (at && !o->running[at].op.line)
        at = o->running[at].below;
    return at ? o->running[at].op.line : 0;
}

void sl_ops_set_batch(struct sl_ops *o, uint32_t thread, uint32_t handle, uint32_t batch)
{
    uint32_t at = find_running(o, sl_ops_find_thread(o, thread), handle);

    if (at)
        o->running[at].op.batch = batch;
}

void sl_ops_node(struct sl_ops *o, uint32_t thread, uint64_t node)
{
    const struct sl_ops_thread *t = sl_ops_find_thread(o, thread);
    uint32_t at = t->taken ? t->innermost : 0;
    struct sl_event ev = {.kind = SL_EV_META_NODE, .fact = SL_NODE_CAPTURED};
    const struct sl_op *op;

    while (at && !has_row(&o->running[at]))
        at = o->running[at].below;
    op = &o->running[at].op;
    if (!at || !op->name)
        return;
    ev.name = op->name;
    ev.node_sequence = op->sequence;
    ev.u.node.id = node;
    ev.u.node.other = op->handle;
    o->opt.sink(o->opt.sink_user, &ev);
}

void sl_ops_end_thread(struct sl_ops *o, uint32_t thread, uint64_t ns)
{
    struct sl_ops_thread *t = sl_ops_find_thread(o, thread);

    while (t->taken && t->innermost)
        end(o, t, t->innermost, ns);
}

void sl_ops_start(struct sl_ops *o, uint32_t thread, uint64_t ns, const struct sl_op *op)
{
    for (uint32_t i = 0; i < SL_OPS_STARTED; i++) {
        if (o->started[i].start_ns)
            continue;
        o->started[i] = (struct sl_ops_started){*op, ns, thread};
        return;
    }
    o->counts.lost++;
}

int sl_ops_finish(struct sl_ops *o, uint64_t handle, uint64_t ns)
{
    for (uint32_t i = 0; i < SL_OPS_STARTED; i++) {
        struct sl_ops_started *s = &o->started[i];

        if (!s->start_ns || s->op.handle != handle)
            continue;
        show(o, &s->op, s->thread, 0, s->start_ns, ns, SL_EVF_ASYNC);
        s->start_ns = 0;
        return 0;
    }
    return -ENOENT;
}

/* ---- windows ---- */

/* Emits the begin of the operator `at` and of the operators around it, the outermost operator
 * first. */
static void tell_begun(struct sl_ops *o, const struct sl_ops_thread *t, uint32_t at)
{
    struct sl_ops_running *r = &o->running[at];

    if (!at || r->is_begun)
        return;
    tell_begun(o, t, r->below);
    r->is_begun = 1;
    if (has_row(r) && !r->is_shown)
        show(o, &r->op, t->id, r->order, r->start_ns, SL_END_UNKNOWN, 0);
}

void sl_ops_tell_begun(struct sl_ops *o)
{
    for (uint32_t i = 0; o->opt.begins && i < SL_OPS_THREADS; i++)
        if (o->thread[i].taken)
            tell_begun(o, &o->thread[i], o->thread[i].innermost);
}

void sl_ops_open(struct sl_ops *o)
{
    for (uint32_t i = 0; i < SL_OPS_THREADS; i++) {
        struct sl_ops_running *r;

        for (uint32_t at = o->thread[i].taken ? o->thread[i].innermost : 0; at; at = r->below) {
            r = &o->running[at];
            r->is_shown = r->is_begun = 0;
        }
    }
}

void sl_ops_close(struct sl_ops *o, uint64_t closed_ns)
{
    for (uint32_t i = 0; i < SL_OPS_THREADS; i++) {
        struct sl_ops_running *r;

        for (uint32_t at = o->thread[i].taken ? o->thread[i].innermost : 0; at; at = r->below) {
            uint8_t begun;

            r = &o->running[at];
            begun = r->is_begun ? SL_EVF_BEGUN : 0;
            if (has_row(r) && !r->is_shown && r->start_ns < closed_ns)
                show(o, &r->op, o->thread[i].id, r->order, r->start_ns, closed_ns,
                     SL_EVF_CUT_END | begun);
            r->is_shown |= r->start_ns < closed_ns;
        }
    }
}

void sl_ops_get_counts(const struct sl_ops *o, struct sl_ops_counts *out)
{
    *out = o->counts;
}

/* ---- creation and destruction ---- */

int sl_ops_create(struct sl_ops **out, const struct sl_ops_options *opt)
{
    size_t cap = opt->cap_bytes ? opt->cap_bytes : DEFAULT_CAP_BYTES;
    struct sl_ops *o;

    if (cap < sizeof(*o) + 64 * sizeof(*o->chunk))
        return -EINVAL;
    o = sl_pages_map(sizeof(*o));
    if (!o)
        return -ENOMEM;
    o->opt = *opt;
    o->chunks = (uint32_t)((cap - sizeof(*o)) / sizeof(*o->chunk));
    o->chunk_bytes = o->chunks * sizeof(*o->chunk);
    o->chunk = sl_pages_map(o->chunk_bytes);
    if (!o->chunk) {
        sl_pages_unmap(o, sizeof(*o));
        return -ENOMEM;
    }
    o->chunk_used = o->running_used = 1;
    *out = o;
    return 0;
}

void sl_ops_destroy(struct sl_ops *o)
{
    if (!o)
        return;
    sl_pages_unmap(o->chunk, o->chunk_bytes);
    sl_pages_unmap(o, sizeof(*o));
}
