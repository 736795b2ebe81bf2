/*
 * captures.h - remembers which operators created the nodes of CUDA graphs.
 *
 * An operator's launch during a graph capture becomes a node of the graph. A replay runs a copy of
 * that node. The copy is created when the graph is instantiated, perhaps from another copy, and may
 * be reported before its original.
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
    uint64_t handle;  /* id of the operator's record function; if `name` is 0: id of the original
                       * node */
    int64_t sequence; /* -1: none */
    uint32_t name;    /* the operator's name, interned; 0: not known yet */
    uint32_t made;    /* the node's number in order of creation */
};

struct sl_captures {
    struct sl_capture *capture;
    uint32_t made;
};

/* Applies an event of kind SL_EV_META_NODE. */
void sl_captures_tell(struct sl_captures *c, const struct sl_event *ev);

/* Returns the node's entry, NULL if the node is not known. */
const struct sl_capture *sl_captures_find(struct sl_captures *c, uint64_t node);

#endif
