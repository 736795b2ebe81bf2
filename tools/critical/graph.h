/*
 * graph.h - a directed graph whose edges take time, and its longest path.
 *
 * A node is a moment, such as the end of a kernel. An edge says that its target cannot come earlier
 * than `weight_ns` after its source. So the earliest moment of a node is the length of the longest
 * path to it.
 *
 * Threads: one owner. Memory: 24 bytes for each node and 32 for each edge, and 12 and 4 more while
 * the paths are searched.
 */
#ifndef SL_CRITICAL_GRAPH_H
#define SL_CRITICAL_GRAPH_H

#include <stddef.h>
#include <stdint.h>

#define SL_GRAPH_NONE UINT32_MAX

struct sl_graph_edge {
    uint64_t weight_ns;
    uint32_t from, to; /* nodes */
    uint32_t name;     /* of the cause, for the caller */
    uint32_t line;     /* the user's line of code; 0: not known */
    uint32_t lane;     /* thread or stream, for the caller */
    uint8_t kind;      /* of the cause, for the caller */
    uint8_t device;
};

struct sl_graph_node {
    uint64_t at_ns;      /* when the moment was, for the caller */
    uint64_t longest_ns; /* the length of the longest path to the node */
    uint32_t via;        /* the last edge of that path; SL_GRAPH_NONE: the path begins here */
};

/* A struct of zeroes is an empty graph. */
struct sl_graph {
    struct sl_graph_node *node;
    struct sl_graph_edge *edge;
    size_t nodes, edges, node_slots, edge_slots;
    int failed; /* 1: there was no memory for a node or edge */
};

void sl_graph_free(struct sl_graph *g);

/* Returns the number of a new node, or SL_GRAPH_NONE if there is no memory. */
uint32_t sl_graph_node(struct sl_graph *g, uint64_t at_ns);

/* Adds an edge. Returns it, valid until the next one, or NULL if there is no memory. */
struct sl_graph_edge *sl_graph_edge(struct sl_graph *g, uint32_t from, uint32_t to,
                                    uint64_t weight_ns);

/* Finds the longest path to each node. Of two paths of equal length, the edge that was added first
 * counts. If edges form a circle, which only wrong input has, the edges that close it are left out
 * and counted. Returns their number, or -ENOMEM. */
int64_t sl_graph_solve(struct sl_graph *g);

#endif
