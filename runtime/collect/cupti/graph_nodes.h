/*
 * graph_nodes.h - what a subscriber of CUPTI's is told of CUDA graphs: which nodes there are, which
 * come behind which, which are copies of which.
 *
 * No record tells the dependencies between the nodes of a graph, or which operator made them;
 * callbacks do, when it is made.
 * They need CUPTI's one subscriber, which other tools in the process may want, so it is taken only
 * when the user asks for it (SYNCLINE_GRAPH_EDGES), never from somebody else, and given up for a
 * tool that is seen to want it later.
 *
 * Threads: callbacks come on application threads and put what they are told into a queue without
 * locks; the recorder thread alone takes it out. Memory: 8 MiB, mapped at the start, taken as it is
 * used.
 */
#ifndef SL_CUPTI_GRAPH_NODES_H
#define SL_CUPTI_GRAPH_NODES_H

#include "collect/cupti/api.h"
#include "event/event.h"

/* 0; -EBUSY: somebody else is the subscriber; -ENOTSUP: this CUPTI has no such functions; -ENOMEM;
 * or what CUPTI said. What is left out then has been said. Once in a process. */
int sl_graph_nodes_start(const struct sl_cupti_api *api);

/* What to call, on the application thread that makes a node, inside the callback. Before the start.
 */
void sl_graph_nodes_on_made(void (*made)(uint64_t node));

/* Any thread: somebody else is to be the subscriber. What was told so far is forgotten: it may
 * change without our being told. The first call says so. */
void sl_graph_nodes_give_up(void);

/* The next fact, as an event of kind SL_EV_META_NODE: 1; 0: there is none. */
int sl_graph_nodes_next(struct sl_event *out);

#endif
