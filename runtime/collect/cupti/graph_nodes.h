/*
 * graph_nodes.h - receives from CUPTI callbacks the nodes of CUDA graphs, their dependencies, and
 * which node is a copy of which.
 *
 * CUPTI records have neither the dependencies between the nodes of a graph nor the operator that
 * created a node. Callbacks report both while the graph is built. Callbacks need CUPTI's only
 * subscriber slot, which other tools in the process may need. So we subscribe only if the user asks
 * for it (SYNCLINE_GRAPH_EDGES) and the slot is free, and unsubscribe when another tool wants the
 * slot.
 *
 * Threads: CUPTI calls back on application threads, which put facts into a lock-free queue; only
 * the recorder thread takes facts out. Memory: 8 MiB, mapped by sl_graph_nodes_start(). Pages take
 * memory only once they are used.
 */
#ifndef SL_CUPTI_GRAPH_NODES_H
#define SL_CUPTI_GRAPH_NODES_H

#include "collect/cupti/api.h"
#include "event/event.h"

/* Subscribes; call once in a process. Returns 0, -EBUSY if another tool has subscribed, -ENOTSUP if
 * this CUPTI lacks the functions, -ENOMEM, or another -errno for CUPTI's error. After a failure,
 * logs which facts are not recorded. */
int sl_graph_nodes_start(const struct sl_cupti_api *api);

/* Sets a function that is called inside the callback, on the application thread that creates a
 * node. Call before sl_graph_nodes_start(). */
void sl_graph_nodes_on_made(void (*made)(uint64_t node));

/* Any thread. Unsubscribes, so that another tool can subscribe. The facts received so far are
 * discarded, because the graphs may change from now on without a callback to us. The first call
 * logs one line. */
void sl_graph_nodes_give_up(void);

/* Writes the next fact to *out, in the form of an SL_EV_META_NODE event. Returns 1, or 0 if no fact
 * is in the queue. */
int sl_graph_nodes_next(struct sl_event *out);

#endif
