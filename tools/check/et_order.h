/*
 * et_order.h - checks that every node of a Chakra trace can run. A node in a dependency cycle, or
 * after one, never runs: simulators drop it silently.
 *
 * A node can run if all its parents can run. If a node comes before one of its parents in the file,
 * the node is kept here until that parent can run.
 *
 * Threads: one owner. Memory: one bit per slot of et_ids.h, and 32 bytes per dependency on a node
 * that is later in the file or waits itself, up to a limit. Beyond the limit the result is unknown.
 */
#ifndef SL_CHECK_ET_ORDER_H
#define SL_CHECK_ET_ORDER_H

#include <stddef.h>
#include <stdint.h>

#include "check/et_ids.h"
#include "read/et_file.h"

struct sl_et_order {
    const struct sl_et_ids *ids;
    struct sl_store store;
    struct sl_pool nodes, edges; /* waiting nodes; their pending dependencies */
    struct sl_map awaited;       /* maps the slot of a parent, plus 1, to the dependencies on this
                                    parent */
    uint64_t *can_run;           /* one bit per slot */
    uint64_t waiting;
    int is_full;
};

/* Prepares a check of the nodes that have a slot in `ids`, which must outlive `o`. Nodes without a
 * slot count as able to run. Returns 0 or -ENOMEM. */
int sl_et_order_init(struct sl_et_order *o, const struct sl_et_ids *ids);
void sl_et_order_free(struct sl_et_order *o); /* a zeroed struct is fine */

/* Numbers of dependencies of the two kinds. */
struct sl_et_deps {
    uint64_t ctrl, data;
};

/* Adds a node. Nodes are added in file order. A dependency of a node on itself is ignored. */
void sl_et_order_node(struct sl_et_order *o, const struct sl_et_node *n);

/* Called after the last node, for a node that is not in the file. Nodes no longer wait for this
 * node. Returns how many dependencies were on this node; zeros if the limit was exceeded. */
struct sl_et_deps sl_et_order_missing(struct sl_et_order *o, uint64_t slot);

/* Returns the number of nodes that cannot run, and the id of one such node. Returns 0 if all nodes
 * can run, or if the limit was exceeded. */
uint64_t sl_et_order_stuck(const struct sl_et_order *o, uint64_t *example);

#endif
