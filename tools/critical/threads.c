/*
 * threads.c - the moments of each thread, in order, and the time between them.
 *
 * Time inside of several operators belongs to the innermost. What a thread waits for between two of
 * its outermost calls and operators is not recorded. If another thread finished something
 * meanwhile, the last such end is taken for the cause.
 *
 * Threads, memory: see build.h.
 */
#include <errno.h>
#include <stdlib.h>

#include "critical/build.h"
#include "read/grow.h"

/* An end of an outermost call or operator. */
struct top_end {
    uint64_t at_ns;
    uint32_t node, thread;
};

/* The time between two outermost calls or operators of a thread. */
struct gap {
    uint64_t from_ns;
    uint32_t from, to; /* nodes; `from` is SL_GRAPH_NONE at the begin of the thread */
    uint32_t thread;
};

struct walk {
    struct sl_build *build;
    uint32_t *stack; /* indices into sl_build.cpu */
    size_t depth, stack_slots;
    struct top_end *end;
    struct gap *gap;
    size_t ends, end_slots, gaps, gap_slots;
    uint32_t thread;
    uint32_t last; /* the last node of the thread; SL_GRAPH_NONE: none yet */
    int failed;
};

static uint64_t at_ns(const struct walk *w, uint32_t node)
{
    return w->build->out->graph.node[node].at_ns;
}

/* These calls have no time of their own in HTA. */
static int is_blocking_in_hta(const struct sl_build *b, const struct sl_report_cpu *row)
{
    static const char *const names[] = {"cudaDeviceSynchronize",
                                        "cudaStreamSynchronize",
                                        "cudaEventQuery",
                                        "cudaEventSynchronize",
                                        "cudaMemcpy",
                                        "cudaMemcpyAsync"};
    const char *name = sl_intern_get(b->out->all->names, row->name, NULL);

    for (size_t i = 0; name && i < sizeof(names) / sizeof(names[0]); i++)
        if (sl_critical_matches(names[i], __builtin_strlen(names[i]), name))
            return 1;
    return 0;
}

/* Adds the time since the last node of the thread, which was spent in `cpu`. */
static void add_time(struct walk *w, uint32_t to, const struct sl_build_cpu *cpu, int is_end)
{
    struct sl_build *b = w->build;
    uint64_t ns = at_ns(w, to) - at_ns(w, w->last);
    enum sl_critical_kind kind =
        cpu->row->kind == SL_CPU_CALL ? SL_CRITICAL_CALL : SL_CRITICAL_OPERATOR;
    struct sl_graph_edge *edge;

    if (is_end && b->options->hta && is_blocking_in_hta(b, cpu->row)) {
        ns = 0;
    } else if (is_end && cpu->awaited_ns && !b->options->hta) {
        uint64_t wake_ns = at_ns(w, to) - cpu->awaited_ns;

        ns = wake_ns < ns ? wake_ns : ns; /* what the call takes without a wait, about */
    } else if (is_end && cpu->row->waits && ns >= SL_CRITICAL_LONG_WAIT_NS) {
        kind = SL_CRITICAL_WAIT;
    }
    if (cpu->is_removed)
        ns = 0;
    else if (cpu->factor != 1)
        ns = (uint64_t)((double)ns * (double)cpu->factor);
    edge = sl_build_edge(b, w->last, to, ns, kind, cpu->row->name, cpu->row->thread);
    if (edge)
        edge->line = cpu->row->line;
}

static void pop(struct walk *w)
{
    struct sl_build_cpu *cpu = &w->build->cpu[w->stack[--w->depth]];

    add_time(w, cpu->end, cpu, 1);
    w->last = cpu->end;
    if (w->depth == 0) {
        struct top_end *end = sl_grow((void **)&w->end, &w->ends, &w->end_slots, sizeof(*end));

        if (end)
            *end = (struct top_end){at_ns(w, cpu->end), cpu->end, cpu->row->thread};
        else
            w->failed = 1;
    }
}

static void push(struct walk *w, struct sl_build_cpu *cpu)
{
    struct sl_build *b = w->build;
    const struct sl_build_cpu *outer = w->depth ? &b->cpu[w->stack[w->depth - 1]] : NULL;
    uint64_t end_ns = cpu->row->end_ns;
    uint32_t *slot;

    if (outer && at_ns(w, outer->end) < end_ns)
        end_ns = at_ns(w, outer->end); /* rows of a thread are nested; it is cut else */
    cpu->start = sl_graph_node(&b->out->graph, cpu->row->start_ns);
    cpu->end = sl_graph_node(&b->out->graph, end_ns);
    slot = sl_grow((void **)&w->stack, &w->depth, &w->stack_slots, sizeof(*slot));
    if (cpu->start == SL_GRAPH_NONE || cpu->end == SL_GRAPH_NONE || !slot) {
        w->failed = 1;
        return;
    }
    *slot = (uint32_t)(cpu - b->cpu);
    if (cpu->awaited_ns > end_ns || cpu->awaited_ns <= cpu->row->start_ns)
        cpu->awaited_ns = 0;
    if (outer) {
        add_time(w, cpu->start, outer, 0);
        cpu->factor *= outer->factor;
    } else {
        struct gap *gap = sl_grow((void **)&w->gap, &w->gaps, &w->gap_slots, sizeof(*gap));

        if (gap)
            *gap =
                (struct gap){w->last != SL_GRAPH_NONE ? at_ns(w, w->last) : b->out->window.begin_ns,
                             w->last, cpu->start, cpu->row->thread};
        else
            w->failed = 1;
    }
    w->last = cpu->start;
}

static void walk_all(struct walk *w)
{
    struct sl_build *b = w->build;

    for (size_t i = 0; i < b->cpus && !w->failed; i++) {
        struct sl_build_cpu *cpu = &b->cpu[i];
        int is_other = i && cpu->row->thread != b->cpu[i - 1].row->thread;

        while (w->depth && !w->failed &&
               (is_other || at_ns(w, b->cpu[w->stack[w->depth - 1]].end) <= cpu->row->start_ns))
            pop(w);
        if (is_other)
            w->last = SL_GRAPH_NONE;
        push(w, cpu);
    }
    while (w->depth && !w->failed)
        pop(w);
}

static int by_end(const void *a, const void *b)
{
    const struct top_end *x = a, *y = b;

    if (x->at_ns != y->at_ns)
        return x->at_ns < y->at_ns ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

/* Returns the last end in (from_ns, to_ns] of another thread, or NULL. */
static const struct top_end *last_end(const struct walk *w, uint64_t from_ns, uint64_t to_ns,
                                      uint32_t thread)
{
    size_t low = 0, high = w->ends;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (w->end[middle].at_ns <= to_ns)
            low = middle + 1;
        else
            high = middle;
    }
    while (low && w->end[low - 1].at_ns > from_ns && w->end[low - 1].thread == thread)
        low--;
    return low && w->end[low - 1].at_ns > from_ns ? &w->end[low - 1] : NULL;
}

/* Adds what a thread waited for between two outermost calls or operators. */
static void add_gap(const struct walk *w, const struct gap *gap)
{
    struct sl_build *b = w->build;
    uint64_t to_ns = at_ns(w, gap->to);
    uint32_t from = gap->from != SL_GRAPH_NONE ? gap->from : b->source;
    const struct top_end *other;

    if (b->options->hta) { /* the time between operators counts as none */
        if (gap->from != SL_GRAPH_NONE)
            sl_build_edge(b, gap->from, gap->to, 0, SL_CRITICAL_OUTSIDE, 0, gap->thread);
        return;
    }
    other = last_end(w, gap->from_ns, to_ns, gap->thread);
    if (other)
        sl_build_edge(b, other->node, gap->to, to_ns - other->at_ns, SL_CRITICAL_OUTSIDE, 0,
                      gap->thread);
    sl_build_edge(b, from, gap->to, other ? 0 : to_ns - gap->from_ns, SL_CRITICAL_OUTSIDE, 0,
                  gap->thread);
}

int sl_build_threads(struct sl_build *b)
{
    struct walk w = {.build = b, .last = SL_GRAPH_NONE};

    walk_all(&w);
    if (w.ends)
        qsort(w.end, w.ends, sizeof(*w.end), by_end);
    for (size_t i = 0; i < w.gaps && !w.failed; i++)
        add_gap(&w, &w.gap[i]);
    b->last_cpu = w.ends ? w.end[w.ends - 1].node : b->source;
    free(w.stack);
    free(w.end);
    free(w.gap);
    return w.failed || b->out->graph.failed ? -ENOMEM : 0;
}
