/*
 * captures.h - which operators created the nodes of CUDA graphs.
 *
 * An operator's launch during a graph capture becomes a node of the graph. A replay runs a copy of
 * that node, which was created at instantiation, perhaps from another copy. Copies may be reported
 * before their originals.
 *
 * Threads: one owner. Memory: the owner's, SL_CAPTURES zeroed entries. If a job creates more nodes,
 * the oldest entries are overwritten.
 */
#ifndef SL_CAPTURES_H
#define SL_CAPTURES_H

#include <stdint.h>

#include "event/event.h"

enum {
    SL_CAPTURES = 1 << 17, /* 4 MiB, touched only as nodes are created */
};

struct sl_capture {
    uint64_t node;    /* 0: free */
    uint64_t handle;  /* of the operator's record function; without a name: the original node */
    int64_t sequence; /* -1: none */
    uint32_t name;    /* interned; 0: the original is not known to have a name */
    uint32_t made;    /* the node's number in order of creation */
};

struct sl_captures {
    struct sl_capture *capture;
    uint32_t made;
};

/* Applies an event of kind SL_EV_META_NODE. */
void sl_captures_tell(struct sl_captures *c, const struct sl_event *ev);

/* Returns the node's entry; NULL: not known. */
const struct sl_capture *sl_captures_find(struct sl_captures *c, uint64_t node);

#endif
