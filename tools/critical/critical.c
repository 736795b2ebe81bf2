/*
 * critical.c - builds the graph of the chosen time and finds the path to its last moment.
 *
 * Threads, memory: see critical.h.
 */
#include "critical/critical.h"

#include <errno.h>
#include <stdlib.h>

#include "critical/build.h"

const char *sl_critical_kind_name(enum sl_critical_kind kind)
{
    static const char *const names[SL_CRITICAL_KINDS] = {
        "operator", "call",  "outside", "launch", "kernel",  "communication",
        "copy",     "queue", "sync",    "wait",   "earlier", "unknown"};

    return names[kind];
}

/* Adds the last moment of the chosen time. On the CPU it is its end, though the last call or
 * operator may have ended before. */
static void add_end(struct sl_build *b)
{
    struct sl_graph *g = &b->out->graph;
    uint64_t end_ns = b->out->window.end_ns, last_ns = 0;
    uint32_t end;

    for (size_t i = 0; i < g->nodes; i++)
        last_ns = g->node[i].at_ns > last_ns ? g->node[i].at_ns : last_ns;
    if (b->options->hta || last_ns >= end_ns)
        return;
    end = sl_graph_node(g, end_ns);
    if (end != SL_GRAPH_NONE)
        sl_build_edge(b, b->last_cpu, end, end_ns - g->node[b->last_cpu].at_ns, SL_CRITICAL_OUTSIDE,
                      0, 0);
}

/* Counts the long calls that wait by their nature, but for nothing that is known. */
static void count_unexplained(struct sl_build *b)
{
    for (size_t i = 0; i < b->cpus; i++)
        b->out->unexplained_waits +=
            b->cpu[i].row->waits && !b->cpu[i].awaited_ns &&
            b->cpu[i].row->end_ns - b->cpu[i].row->start_ns >= SL_CRITICAL_LONG_WAIT_NS;
}

static int build(struct sl_build *b)
{
    int rc = sl_build_select(b);

    b->source = b->last_cpu = SL_GRAPH_NONE;
    if (rc == 0 && !b->options->hta)
        b->source = sl_graph_node(&b->out->graph, b->out->window.begin_ns);
    if (rc == 0)
        rc = sl_build_awaited(b);
    if (rc == 0)
        rc = sl_build_threads(b);
    if (rc == 0)
        rc = sl_build_streams(b);
    if (rc == 0)
        rc = sl_build_syncs(b);
    if (rc)
        return rc;
    add_end(b);
    count_unexplained(b);
    return b->out->graph.failed ? -ENOMEM : 0;
}

/* Follows the longest path back from the moment at its end. */
static int take_path(struct sl_critical *c)
{
    const struct sl_graph *g = &c->graph;
    uint32_t last = SL_GRAPH_NONE, node;

    for (uint32_t i = (uint32_t)g->nodes; i-- > 0;)
        if (last == SL_GRAPH_NONE || g->node[i].longest_ns > g->node[last].longest_ns)
            last = i;
    for (node = last; node != SL_GRAPH_NONE && g->node[node].via != SL_GRAPH_NONE;
         node = g->edge[g->node[node].via].from)
        c->path_edges++;
    c->path = calloc(c->path_edges + 1, sizeof(*c->path));
    if (!c->path)
        return -ENOMEM;
    c->total_ns = last != SL_GRAPH_NONE ? g->node[last].longest_ns : 0;
    node = last;
    for (size_t i = c->path_edges; i-- > 0; node = g->edge[c->path[i]].from) {
        const struct sl_graph_edge *edge = &g->edge[g->node[node].via];

        c->path[i] = g->node[node].via;
        c->kind_ns[edge->kind] += edge->weight_ns;
        c->kind_edges[edge->kind] += edge->weight_ns != 0;
    }
    return 0;
}

int sl_critical_make(struct sl_critical *out, const struct sl_recordings *all,
                     const struct sl_recording *r, const struct sl_critical_window *window,
                     const struct sl_critical_options *options)
{
    struct sl_build b = {.out = out, .options = options};
    int64_t circles = 0;
    int rc;

    *out = (struct sl_critical){.all = all, .recording = r, .window = *window};
    rc = build(&b);
    sl_map_free(&b.calls);
    sl_map_free(&b.starts);
    free(b.cpu);
    free(b.op);
    if (rc == 0 && (circles = sl_graph_solve(&out->graph)) < 0)
        rc = (int)circles;
    out->circles = (size_t)circles;
    return rc ? rc : take_path(out);
}

void sl_critical_free(struct sl_critical *c)
{
    sl_graph_free(&c->graph);
    free(c->path);
    c->path = NULL;
}
