/*
 * et_order.h - can every node of a Chakra trace run? One in a cycle of dependencies, or behind one,
 * never can: simulators drop such nodes in silence.
 *
 * A node whose parents all can run can; one that stands before a parent waits for it here.
 *
 * Threads: one owner. Memory: a bit per slot of et_ids.h, and 32 bytes for each dependency on what
 * comes later or waits, up to a bound; past it nothing is known any more.
 */
#ifndef SL_CHECK_ET_ORDER_H
#define SL_CHECK_ET_ORDER_H

#include <stddef.h>
#include <stdint.h>

#include "check/et_ids.h"

struct sl_et_order {
    const struct sl_et_ids *ids;
    struct sl_store store;
    struct sl_pool nodes, edges; /* that wait; what they wait for */
    struct sl_map awaited;       /* slot + 1 -> edges of those that wait for it */
    uint64_t *can_run;           /* a bit per slot */
    uint64_t waiting;
    int is_full;
};

/* Nodes that have a slot among `ids`, which live longer, are looked at; others can run. 0 or
 * -ENOMEM. */
int sl_et_order_init(struct sl_et_order *o, const struct sl_et_ids *ids);
void sl_et_order_free(struct sl_et_order *o); /* one of zeroes is fine */

/* In the order of the file; on itself no node waits. */
void sl_et_order_node(struct sl_et_order *o, uint64_t id, const uint64_t *dep, size_t deps);

/* After the last node: what is named and not there is somebody else's to say, and waited for no
 * more. */
void sl_et_order_missing(struct sl_et_order *o, uint64_t slot);

/* Nodes that cannot run, and the id of one of them; 0: there are none, or there was no room to
 * tell. */
uint64_t sl_et_order_stuck(const struct sl_et_order *o, uint64_t *example);

#endif
