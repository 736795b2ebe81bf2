/*
 * node_state.h - stores which nodes of a graph depend on which.
 *
 * CUPTI reports dependencies while graphs are built (SL_EV_META_NODE), if we could subscribe. A
 * launched graph is a copy of the graph that was built, or a copy of a copy. Dependencies are
 * stored by the ids of the first originals, which all copies of a node share.
 *
 * Threads: the engine's owner alone. Memory: pools of the store. Nodes take at most an eighth of
 * the store; past that the oldest nodes are forgotten. Dependencies that do not fit into their
 * nodes take at most another eighth. Past that, further dependencies of a node count as not known.
 */
#ifndef SL_NODE_STATE_H
#define SL_NODE_STATE_H

#include "base/store.h"
#include "event/event.h"

enum {
    SL_NODE_DEPS = 3
};

/* Some of a node's dependencies; few nodes have more than these. */
struct sl_node_deps {
    uint64_t original[SL_NODE_DEPS]; /* 0: free */
    struct sl_node_deps *more;
};

struct sl_node {
    uint64_t id, original;
    struct sl_node_deps deps;
    struct sl_node *newer;
    uint32_t home;   /* the graph in which its original was created */
    uint8_t unclear; /* 1: its dependencies are not known */
    uint8_t copied;  /* an original: 1 if there are copies of it */
    uint8_t varies;  /* an original: 1 if not all copies have the dependencies that it has now */
    /* Fields of an original for the launch that is being applied: */
    uint64_t launch; /* correlation id of the launch, + 1 */
    uint32_t look;   /* number of the examination, because a launch's records may arrive in several
                      * parts */
    uint32_t place;  /* index of its item in the launch, + 1; 0: it made no record */
    uint32_t visit;  /* the last item in whose dependencies this node was found, + 1 */
};

struct sl_nodes {
    struct sl_pool pool, deps;
    struct sl_map by_id;
    struct sl_node *oldest, *newest;
    size_t count, most;
    size_t more, more_most; /* dependency blocks outside of nodes */
    uint32_t looks;         /* number of launches examined */
};

void sl_nodes_init(struct sl_nodes *n, struct sl_store *store);
void sl_nodes_free(struct sl_nodes *n);

/* Applies an event of kind SL_EV_META_NODE. */
void sl_nodes_tell(struct sl_nodes *n, const struct sl_event *ev);

/* Returns the node, NULL if it was never reported or is forgotten. */
struct sl_node *sl_nodes_find(const struct sl_nodes *n, uint64_t id);

#endif
