/*
 * nodes.h - leaves out the collectives whose ranks are all on one node.
 *
 * Threads: one owner. Memory: none.
 */
#ifndef SL_COLLECTIVES_NODES_H
#define SL_COLLECTIVES_NODES_H

#include "collectives/ranks.h"

/* Keeps the parts of groups that are on several nodes, and the sends and receives between two
 * nodes. Call after sl_ranks_end(). Two ranks are on one node if their files name the same host. If
 * a file is missing, each node is taken to have as many ranks as the files say. */
void sl_nodes_keep_between(struct sl_ranks *all);

#endif
