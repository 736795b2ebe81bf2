/*
 * graph.c - finds the longest path to each node, in an order in which every node comes after all
 * nodes that have an edge to it.
 *
 * Threads, memory: see graph.h.
 */
#include "critical/graph.h"

#include <errno.h>
#include <stdlib.h>

#include "read/grow.h"

void sl_graph_free(struct sl_graph *g)
{
    free(g->node);
    free(g->edge);
    *g = (struct sl_graph){0};
}

uint32_t sl_graph_node(struct sl_graph *g, uint64_t at_ns)
{
    struct sl_graph_node *node = g->nodes < SL_GRAPH_NONE ? sl_grow((void **)&g->node, &g->nodes,
                                                                    &g->node_slots, sizeof(*node))
                                                          : NULL;

    if (!node) {
        g->failed = 1;
        return SL_GRAPH_NONE;
    }
    node->at_ns = at_ns;
    node->via = SL_GRAPH_NONE;
    return (uint32_t)(g->nodes - 1);
}

struct sl_graph_edge *sl_graph_edge(struct sl_graph *g, uint32_t from, uint32_t to,
                                    uint64_t weight_ns)
{
    struct sl_graph_edge *edge;

    if (from == SL_GRAPH_NONE || to == SL_GRAPH_NONE || g->edges >= SL_GRAPH_NONE ||
        !(edge = sl_grow((void **)&g->edge, &g->edges, &g->edge_slots, sizeof(*edge)))) {
        g->failed = 1;
        return NULL;
    }
    edge->from = from;
    edge->to = to;
    edge->weight_ns = weight_ns;
    return edge;
}

/* The search for an order of the nodes. */
struct order {
    struct sl_graph *graph;
    uint32_t *first; /* edges of node i: list[first[i]] to list[first[i + 1] - 1] */
    uint32_t *list;
    uint32_t *waits; /* number of edges to the node whose source has no place yet */
    uint32_t *queue; /* nodes in the order found so far */
    size_t placed, done;
};

/* Lists the edges by their sources. */
static void list_edges(struct order *o)
{
    const struct sl_graph *g = o->graph;

    for (size_t i = 0; i < g->edges; i++) {
        o->first[g->edge[i].from + 1]++;
        o->waits[g->edge[i].to]++;
    }
    for (size_t i = 0; i < g->nodes; i++)
        o->first[i + 1] += o->first[i];
    for (size_t i = g->edges; i-- > 0;) /* `first` moves to its final place from the end */
        o->list[--o->first[g->edge[i].from + 1]] = (uint32_t)i;
    for (size_t i = 0; i < g->nodes; i++)
        o->first[i] = o->first[i + 1];
    o->first[g->nodes] = (uint32_t)g->edges;
}

static void leave(struct order *o, uint32_t node)
{
    struct sl_graph *g = o->graph;

    for (uint32_t at = o->first[node]; at < o->first[node + 1]; at++) {
        const struct sl_graph_edge *edge = &g->edge[o->list[at]];
        struct sl_graph_node *to = &g->node[edge->to];
        uint64_t ns = g->node[node].longest_ns + edge->weight_ns;

        if (o->waits[edge->to] == 0)
            continue; /* it has its place already, so the edge closes a circle */
        if (to->via == SL_GRAPH_NONE || ns > to->longest_ns ||
            (ns == to->longest_ns && o->list[at] < to->via)) {
            to->longest_ns = ns;
            to->via = o->list[at];
        }
        if (--o->waits[edge->to] == 0)
            o->queue[o->placed++] = edge->to;
    }
}

/* Gives all nodes their place. Returns the number of edges that close a circle. */
static int64_t place_all(struct order *o)
{
    struct sl_graph *g = o->graph;
    int64_t left_out = 0;
    uint32_t stuck = 0;

    for (uint32_t i = 0; i < g->nodes; i++)
        if (o->waits[i] == 0)
            o->queue[o->placed++] = i;
    while (o->placed < g->nodes || o->done < o->placed) {
        if (o->done < o->placed) {
            leave(o, o->queue[o->done++]);
            continue;
        }
        while (o->waits[stuck] == 0)
            stuck++;
        left_out += o->waits[stuck];
        o->waits[stuck] = 0;
        o->queue[o->placed++] = stuck;
    }
    return left_out;
}

int64_t sl_graph_solve(struct sl_graph *g)
{
    struct order o = {.graph = g,
                      .first = calloc(g->nodes + 1, sizeof(*o.first)),
                      .list = calloc(g->edges + 1, sizeof(*o.list)),
                      .waits = calloc(g->nodes + 1, sizeof(*o.waits)),
                      .queue = calloc(g->nodes + 1, sizeof(*o.queue))};
    int64_t left_out = -ENOMEM;

    if (o.first && o.list && o.waits && o.queue) {
        list_edges(&o);
        for (size_t i = 0; i < g->nodes; i++)
            g->node[i] = (struct sl_graph_node){.at_ns = g->node[i].at_ns, .via = SL_GRAPH_NONE};
        left_out = place_all(&o);
    }
    free(o.first);
    free(o.list);
    free(o.waits);
    free(o.queue);
    return left_out;
}
