/*
 * node_state.h - stores the dependencies between the nodes of a graph.
 *
 * CUPTI reports dependencies while graphs are built (SL_EV_META_NODE), if syncline could subscribe
 * to CUPTI's callbacks. A launched graph is a copy of the graph that was built, or a copy of a
 * copy. The table stores dependencies between the originals, that is, the nodes of the graph that
 * was built. All copies of a node share its dependencies.
 *
 * Threads: only the thread that owns the engine (edge.h). Memory: pools of the engine's store
 * (base/store.h). Nodes use at most an eighth of the store. When this eighth is full, the oldest
 * nodes are forgotten. Dependencies that do not fit into their nodes use at most another eighth.
 * When this second eighth is full, the dependencies of a node whose dependencies do not fit count
 * as not known.
 */
#ifndef SL_NODE_STATE_H
#define SL_NODE_STATE_H

#include "base/store.h"
#include "event/event.h"

enum {
    SL_NODE_DEPS = 3
};

/* A block of a node's dependencies. Few nodes have more dependencies than one block holds. */
struct sl_node_deps {
    uint64_t original[SL_NODE_DEPS]; /* ids of original nodes on which the node depends; 0: free
                                      * entry */
    struct sl_node_deps *more;
};

struct sl_node {
    uint64_t id, original;
    struct sl_node_deps deps;
    struct sl_node *newer;
    uint32_t home;   /* the graph in which the node's original was created */
    uint8_t unclear; /* 1: the node's dependencies are not known */
    uint8_t copied;  /* for an original: 1 if the node has copies */
    /* for an original: 1 if some copies have other dependencies than the original has now */
    uint8_t varies;
    /* The fields below are used only if the node is an original. They describe the launch that is
     * being applied. */
    uint64_t launch; /* correlation id of the launch, + 1 */
    /* number of the search in which `place` and `visit` were set; a launch may need several
     * searches, because its records may arrive in several parts */
    uint32_t look;
    uint32_t place; /* index of the node's item in the launch, + 1; 0 if the node made no record */
    uint32_t visit; /* index, + 1, of the last item in whose dependencies this node was found */
};

struct sl_nodes {
    struct sl_pool pool, deps;
    struct sl_map by_id;
    struct sl_node *oldest, *newest;
    size_t count, most;
    /* `more`: number of dependency blocks outside of nodes. `more_most`: limit for that number. */
    size_t more, more_most;
    uint32_t looks; /* number of searches through launches so far */
};

void sl_nodes_init(struct sl_nodes *n, struct sl_store *store);
void sl_nodes_free(struct sl_nodes *n);

/* Applies an event of kind SL_EV_META_NODE. */
void sl_nodes_tell(struct sl_nodes *n, const struct sl_event *ev);

/* Returns the node, or NULL if the node was never reported or was forgotten. */
struct sl_node *sl_nodes_find(const struct sl_nodes *n, uint64_t id);

#endif
