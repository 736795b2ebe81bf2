/*
 * graph.h - internals of graphs, shared by graph.c (building), exec.c (launching) and capture.c.
 * sim_lock() guards everything.
 */
#ifndef SIM_GRAPH_H
#define SIM_GRAPH_H

#include "core/sim.h"

struct sim_node {
    uint32_t magic;
    uint64_t id;                     /* graph node id of CUPTI */
    const struct sim_node *original; /* source of a copied node; NULL if the node is not a copy */
    struct sim_graph *graph;
    struct sim_node *next;             /* in order of creation */
    struct sim_node *copy, *exit_copy; /* the node's copy, set while the graph is copied. A
                                          flattened child graph has two: entry and exit */
    struct sim_work work;
    struct sim_nodes before, after;
    bool disabled;
    /* The members below are set only for a node of an executable graph. */
    struct sim_set result; /* operations of the node, while a launch is enqueued */
    int order;      /* while nodes are sorted: number of unsorted predecessors; later: number of the
                       branch */
    bool passed_on; /* true if a later node uses the same lane */
};

struct sim_graph {
    uint32_t magic;
    uint32_t id;
    struct sim_node *nodes, **last;
    size_t count;
    uint32_t made; /* number of nodes ever added, including removed nodes */
};

/* These functions (graph_tell.c) queue a report for CUPTI: of a new node (added or copied), or of
 * an added or removed dependency. sim_graph_tell_kept() sends the queued reports of this thread to
 * CUPTI; its caller must not hold the lock. */
void sim_graph_tell_node(const struct sim_node *node);
void sim_graph_tell_link(const struct sim_node *from, const struct sim_node *to, bool added);

bool sim_nodes_add(struct sim_nodes *list, struct sim_node *node);
bool sim_nodes_merge(struct sim_nodes *list, const struct sim_nodes *from);
void sim_nodes_clear(struct sim_nodes *list);

/* Returns whether `node` is one of `sinks`, or precedes one of them. */
bool sim_node_reaches(struct sim_node *node, const struct sim_nodes *sinks);
int sim_graph_add_locked(struct sim_graph *graph, const struct sim_work *work,
                         struct sim_node **behind, size_t count, struct sim_node **out);
struct sim_graph *sim_graph_copy_locked(const struct sim_graph *graph, bool flatten);
void sim_graph_free_locked(struct sim_graph *graph);
void sim_event_leave_capture(const struct sim_capture *capture);

#endif
