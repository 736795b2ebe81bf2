/*
 * graph.h - inside of graphs, for graph.c (building them), exec.c (running them) and capture.c.
 * Everything is under sim_lock().
 */
#ifndef SIM_GRAPH_H
#define SIM_GRAPH_H

#include "core/sim.h"

struct sim_node {
    uint32_t magic;
    uint64_t id;                     /* CUPTI's graph node id */
    const struct sim_node *original; /* it was copied from; NULL: it was not */
    struct sim_graph *graph;
    struct sim_node *next;             /* in order of creation */
    struct sim_node *copy, *exit_copy; /* while copying; a child graph has two ends */
    struct sim_work work;
    struct sim_nodes before, after;
    bool disabled;
    /* of an exec's node */
    struct sim_set result; /* while a launch is enqueued: what stands for it */
    int order;             /* predecessors left, then the number of its branch */
    bool passed_on;        /* its lane has a later node */
};

struct sim_graph {
    uint32_t magic;
    uint32_t id;
    struct sim_node *nodes, **last;
    size_t count;
    uint32_t made; /* nodes, removed ones included */
};

/* graph_tell.c: a node that was made, by hand or as a copy; a dependency made or taken away; and,
 * without the lock, all that was told so far on this thread. */
void sim_graph_tell_node(const struct sim_node *node);
void sim_graph_tell_link(const struct sim_node *from, const struct sim_node *to, bool added);

bool sim_nodes_add(struct sim_nodes *list, struct sim_node *node);
bool sim_nodes_merge(struct sim_nodes *list, const struct sim_nodes *from);
void sim_nodes_clear(struct sim_nodes *list);

/* Is `node` one of `sinks`, or before one? */
bool sim_node_reaches(struct sim_node *node, const struct sim_nodes *sinks);
int sim_graph_add_locked(struct sim_graph *graph, const struct sim_work *work,
                         struct sim_node **behind, size_t count, struct sim_node **out);
struct sim_graph *sim_graph_copy_locked(const struct sim_graph *graph, bool flatten);
void sim_graph_free_locked(struct sim_graph *graph);
void sim_event_leave_capture(const struct sim_capture *capture);

#endif
