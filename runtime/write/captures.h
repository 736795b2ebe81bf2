/*
 * captures.h - which operators made the nodes of CUDA graphs.
 *
 * What an operator launches while a graph is captured becomes a node of it; what runs at a replay
 * is a copy of that node, made when the graph was instantiated, perhaps of a copy. Copies may be
 * told of before their originals are.
 *
 * Threads: one owner. Memory: the owner's, SL_CAPTURES entries of zeros; a job that makes more
 * nodes than that loses those that were made first.
 */
#ifndef SL_CAPTURES_H
#define SL_CAPTURES_H

#include <stdint.h>

#include "event/event.h"

enum {
    SL_CAPTURES = 1 << 17, /* 4 MiB, touched as nodes are made */
};

struct sl_capture {
    uint64_t node;    /* 0: free */
    uint64_t handle;  /* of the operator's record function; without a name: the node's original */
    int64_t sequence; /* -1: none */
    uint32_t name;    /* interned; 0: its original is not known to have one */
    uint32_t made;    /* counts nodes */
};

struct sl_captures {
    struct sl_capture *capture;
    uint32_t made;
};

/* An event of kind SL_EV_META_NODE. */
void sl_captures_tell(struct sl_captures *c, const struct sl_event *ev);

/* NULL: it is not known. */
const struct sl_capture *sl_captures_find(struct sl_captures *c, uint64_t node);

#endif
