/*
 * build.c - selects what belongs to the chosen time, and finds it by correlation id.
 *
 * Threads, memory: see build.h.
 */
#include "critical/build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STORE_BYTES (2ull << 30)

/* HTA leaves out what has no length. */
static int is_chosen_cpu(const struct sl_build *b, const struct sl_report_cpu *cpu)
{
    const struct sl_critical_window *w = &b->out->window;

    if (cpu->kind == SL_CPU_RANGE || (cpu->is_step && !b->options->hta) ||
        cpu->start_ns < w->begin_ns)
        return 0;
    if (b->options->hta)
        return cpu->start_ns <= w->end_ns && cpu->end_ns > cpu->start_ns;
    return cpu->start_ns < w->end_ns || (w->what == SL_CRITICAL_ALL && cpu->start_ns == w->end_ns);
}

static int is_chosen_op(const struct sl_build *b, const struct sl_report_op *op)
{
    const struct sl_critical_window *w = &b->out->window;
    const struct sl_report_launch *launch =
        op->launch ? &b->out->recording->launch[op->launch - 1] : NULL;
    uint64_t ns = launch ? launch->start_ns : op->start_ns;

    if (ns < w->begin_ns)
        return 0;
    if (b->options->hta)
        return launch && ns <= w->end_ns && launch->end_ns > launch->start_ns;
    return ns < w->end_ns || (w->what == SL_CRITICAL_ALL && ns == w->end_ns);
}

/* By thread and start, outer ones first. A call inside an operator of the same times is inner. */
static int order_of_cpu(const void *a, const void *b)
{
    const struct sl_report_cpu *x = ((const struct sl_build_cpu *)a)->row,
                               *y = ((const struct sl_build_cpu *)b)->row;

    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    if (x->end_ns != y->end_ns)
        return x->end_ns > y->end_ns ? -1 : 1;
    if (x->kind != y->kind)
        return x->kind > y->kind ? -1 : 1;
    if (x->correlation != y->correlation)
        return x->correlation < y->correlation ? -1 : 1;
    return (x > y) - (x < y);
}

static uint64_t key_of_op(uint64_t correlation, uint64_t start_ns)
{
    return (correlation * 0x9e3779b97f4a7c15u + start_ns) | 1ull << 63;
}

/* Returns the factor of a name, and counts it. */
static float factor_of(const struct sl_build *b, uint32_t id, int is_op)
{
    const char *name = b->options->scales ? sl_intern_get(b->out->all->names, id, NULL) : NULL;
    double factor = 1;

    for (size_t i = 0; name && i < b->options->scales; i++) {
        struct sl_critical_scale *s = &b->options->scale[i];

        if (!sl_critical_matches(s->name, s->size, name))
            continue;
        factor *= s->factor;
        s->ops += (uint64_t)is_op;
        s->operators += (uint64_t)!is_op;
    }
    return (float)factor;
}

static int add_calls(struct sl_build *b)
{
    for (size_t i = 0; i < b->cpus; i++) {
        struct sl_build_cpu *cpu = &b->cpu[i];
        uint64_t *slot;

        cpu->start = cpu->end = SL_GRAPH_NONE;
        cpu->factor = cpu->row->kind == SL_CPU_CALL ? 1 : factor_of(b, cpu->row->name, 0);
        if (cpu->row->kind != SL_CPU_CALL)
            continue;
        slot = sl_map_put(&b->calls, cpu->row->correlation + 1);
        if (!slot)
            return -ENOMEM;
        if (!*slot) /* an inner call may have the id of the outer one */
            *slot = i + 1;
    }
    return 0;
}

static int add_ops(struct sl_build *b)
{
    for (size_t i = 0; i < b->ops; i++) {
        struct sl_build_op *op = &b->op[i];
        struct sl_build_cpu *call = sl_build_call(b, op->row->correlation);
        uint64_t *slot = sl_map_put(&b->starts, key_of_op(op->row->correlation, op->row->start_ns));

        if (!slot)
            return -ENOMEM;
        *slot = i + 1;
        op->awaited = op->start = op->end = SL_GRAPH_NONE;
        op->factor = factor_of(b, op->row->name, 1);
        op->launch = call ? (uint32_t)(call - b->cpu) + 1 : 0;
        b->out->no_launch += !call;
        if (call) {
            call->is_removed = (uint8_t)(op->factor == 0 && (call->is_removed || !call->launches));
            call->launches = 1;
        }
    }
    return 0;
}

int sl_build_select(struct sl_build *b)
{
    const struct sl_recording *r = b->out->recording;
    int rc;

    b->store.cap_bytes = STORE_BYTES;
    sl_map_init(&b->calls, &b->store);
    sl_map_init(&b->starts, &b->store);
    for (size_t i = 0; i < r->cpus; i++)
        b->cpus += (size_t)is_chosen_cpu(b, &r->cpu[i]);
    for (size_t i = 0; i < r->ops; i++)
        b->ops += (size_t)is_chosen_op(b, &r->op[i]);
    b->out->cpus = b->cpus;
    b->out->ops = b->ops;
    if (b->cpus + b->ops > SL_CRITICAL_EVENTS)
        return -EFBIG;
    b->cpu = calloc(b->cpus + 1, sizeof(*b->cpu));
    b->op = calloc(b->ops + 1, sizeof(*b->op));
    if (!b->cpu || !b->op)
        return -ENOMEM;
    b->cpus = b->ops = 0;
    for (size_t i = 0; i < r->cpus; i++)
        if (is_chosen_cpu(b, &r->cpu[i]))
            b->cpu[b->cpus++].row = &r->cpu[i];
    for (size_t i = 0; i < r->ops; i++)
        if (is_chosen_op(b, &r->op[i]))
            b->op[b->ops++].row = &r->op[i];
    if (b->cpus)
        qsort(b->cpu, b->cpus, sizeof(*b->cpu), order_of_cpu);
    rc = add_calls(b);
    return rc ? rc : add_ops(b);
}

struct sl_build_cpu *sl_build_call(const struct sl_build *b, uint64_t correlation)
{
    const uint64_t *at = sl_map_find(&b->calls, correlation + 1);

    return at ? &b->cpu[*at - 1] : NULL;
}

struct sl_build_op *sl_build_op(const struct sl_build *b, uint64_t correlation, uint64_t start_ns)
{
    const uint64_t *at = sl_map_find(&b->starts, key_of_op(correlation, start_ns));
    struct sl_build_op *op = at ? &b->op[*at - 1] : NULL;

    return op && op->row->correlation == correlation && op->row->start_ns == start_ns ? op : NULL;
}

struct sl_graph_edge *sl_build_edge(struct sl_build *b, uint32_t from, uint32_t to, uint64_t ns,
                                    enum sl_critical_kind kind, uint32_t name, uint32_t lane)
{
    struct sl_graph_edge *edge = sl_graph_edge(&b->out->graph, from, to, ns);

    if (!edge)
        return NULL;
    edge->kind = (uint8_t)kind;
    edge->name = name;
    edge->lane = lane;
    return edge;
}
