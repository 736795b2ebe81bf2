/*
 * captures.h - remembers which operators created the nodes of CUDA graphs, and which work NCCL has
 * reported about them.
 *
 * An operator's launch during a graph capture becomes a node of the graph. When the graph is
 * launched, a copy of that node runs. CUDA creates the copy when the graph is instantiated, perhaps
 * from another copy. The copy may be reported before its original.
 *
 * Threads: one owner. Memory: SL_CAPTURES zeroed entries, which the owner provides. If a job
 * creates more nodes, the oldest entries are overwritten.
 */
#ifndef SL_CAPTURES_H
#define SL_CAPTURES_H

#include <stdint.h>

#include "event/event.h"

enum {
    /* number of entries in the table. The table has 6 MiB. A page of the table is touched only when
     * a node needs it. */
    SL_CAPTURES = 1 << 17,
};

struct sl_capture {
    uint64_t node;     /* 0: free */
    uint64_t original; /* the node that this node is a copy of; 0: it is no copy */
    uint64_t handle;   /* id of the operator's record function */
    int64_t sequence;  /* -1: none */
    uint32_t name;     /* interned name of the operator; 0 if the name is not known yet */
    uint32_t work;     /* interned JSON members about the node's work; 0: none known yet */
    uint32_t made;     /* number of the node in the order of creation */
};

struct sl_captures {
    struct sl_capture *capture;
    uint32_t made;
    int has_work; /* 1: `work` of some node was set */
};

/* Applies an event of kind SL_EV_META_NODE. */
void sl_captures_tell(struct sl_captures *c, const struct sl_event *ev);

/* Returns the node's entry, or NULL if neither operator nor work of the node are known. */
const struct sl_capture *sl_captures_find(struct sl_captures *c, uint64_t node);

#endif
