/*
 * recent_ops.h - numbers the GPU operations of a file, and finds a recent operation by its ids.
 *
 * Threads: one owner. Memory: 8 MiB of mapped pages. An operation is forgotten after 131072 others.
 */
#ifndef SL_EDGES_RECENT_OPS_H
#define SL_EDGES_RECENT_OPS_H

#include "event/event.h"
#include "sync/edge.h"

struct sl_recent_op {
    uint64_t correlation, graph_node, start_ns, end_ns;
    uint32_t stream;
    uint32_t number;  /* number of the operation in the file, from 1; 0: the entry was never used */
    uint32_t chained; /* number of the operation before it with the same hash of ids */
    uint8_t device;
};

struct sl_recent_ops;

/* 0 or -ENOMEM. */
int sl_recent_ops_create(struct sl_recent_ops **out);
void sl_recent_ops_destroy(struct sl_recent_ops *r); /* NULL is fine */

/* Adds a row of the trace. Returns the number of the operation, or 0 for a row that is not a GPU
 * operation. */
uint32_t sl_recent_ops_add(struct sl_recent_ops *r, const struct sl_event *ev);

/* Returns the operation at one end of an edge, or NULL if it has no row. If several operations
 * match, because graph nodes may lack ids, the latest match is returned. */
const struct sl_recent_op *sl_recent_ops_find(const struct sl_recent_ops *r,
                                              const struct sl_edge_op *op);

#endif
