/*
 * node_state.h - what is known of the nodes of graphs: which come behind which.
 *
 * Told while graphs are built (SL_EV_META_NODE), if a subscriber of CUPTI's could be had. A graph
 * that is launched is a copy of the one that was built, or a copy of a copy; dependencies are kept
 * by the ids of the first originals, which the copies of a node share.
 *
 * Threads: the engine's owner alone. Memory: pools of the store. Nodes take at most an eighth of
 * it: past that those that were made first are forgotten. Dependencies that do not fit into their
 * nodes take at most as much: past that it is not known what a node comes behind.
 */
#ifndef SL_NODE_STATE_H
#define SL_NODE_STATE_H

#include "base/store.h"
#include "event/event.h"

enum {
    SL_NODE_DEPS = 3
};

/* Some of a node's dependencies; few have more than these. */
struct sl_node_deps {
    uint64_t original[SL_NODE_DEPS]; /* 0: free */
    struct sl_node_deps *more;
};

struct sl_node {
    uint64_t id, original;
    struct sl_node_deps deps;
    struct sl_node *newer;
    uint32_t home;   /* the graph in which its original was made */
    uint8_t unclear; /* what it comes behind is not known */
    uint8_t copied;  /* an original: there are copies of it */
    uint8_t varies;  /* the same: not all of them come behind the same as it does now */
    /* Of an original, the launch that is being looked at: */
    uint64_t launch; /* its correlation id + 1 */
    uint32_t look;   /* which one it is: a launch's records may come in several parts */
    uint32_t place;  /* of its item there, + 1; 0: it made no record */
    uint32_t visit;  /* the last item whose dependencies led here, + 1 */
};

struct sl_nodes {
    struct sl_pool pool, deps;
    struct sl_map by_id;
    struct sl_node *oldest, *newest;
    size_t count, most;
    size_t more, more_most; /* dependencies outside of nodes */
    uint32_t looks;         /* at launches */
};

void sl_nodes_init(struct sl_nodes *n, struct sl_store *store);
void sl_nodes_free(struct sl_nodes *n);

/* An event of kind SL_EV_META_NODE. */
void sl_nodes_tell(struct sl_nodes *n, const struct sl_event *ev);

/* NULL: never told, or forgotten. */
struct sl_node *sl_nodes_find(const struct sl_nodes *n, uint64_t id);

#endif
