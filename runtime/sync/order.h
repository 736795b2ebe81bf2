/*
 * order.h - sorts records by correlation id.
 *
 * Correlation ids grow in the order of API entry (sl_order_first() handles exceptions), but records
 * arrive in any order. This file holds each record as an item of 48 bytes, sorted by correlation
 * id. The caller takes all items with the same id at once. These items are sorted by start; items
 * without a time are last.
 *
 * Threads: only the thread that owns the engine (edge.h). Memory: one array of items and one for
 * sorting, counted in the engine's store (base/store.h). The two arrays leave a sixteenth of the
 * store free. Large arrays are freed once all items are taken.
 */
#ifndef SL_ORDER_H
#define SL_ORDER_H

#include <stddef.h>
#include <stdint.h>

#include "base/store.h"
#include "event/event.h"

struct sl_item {
    uint64_t correlation, start_ns, end_ns;
    uint64_t id; /* GPU operation: id of the graph node; sync or event record: event_sync_id */
    /* GPU operation or call: intern id of the name; sync or event record: id of the CUDA event */
    uint32_t name;
    /* GPU operation: shape id; call: callback id; sync: result of the wait; overhead: enum
     * sl_overhead_type */
    uint32_t what;
    /* call: system thread id; other records: the stream's number (sync/stream_state.h) */
    uint32_t where;
    uint8_t kind; /* enum sl_event_kind; copied from the event, like `flags` */
    /* GPU operation: SL_ITEM_* bits; call: 1 = the call failed; sync: enum sl_sync_type */
    uint8_t more;
    uint16_t flags;
};

enum {
    SL_ITEM_NODE = 1,  /* the operation is a node of a graph */
    SL_ITEM_LARGE = 2, /* a copy of more than 64 KiB */
    SL_ITEM_LARGE_BYTES = 65536
};

_Static_assert(sizeof(struct sl_item) == 48, "10^6 outstanding operations are 48 MB");

static inline int sl_item_is_call(const struct sl_item *item)
{
    return item->kind == SL_EV_RUNTIME || item->kind == SL_EV_DRIVER;
}

static inline int sl_item_is_operation(const struct sl_item *item)
{
    return item->kind == SL_EV_KERNEL || item->kind == SL_EV_MEMCPY || item->kind == SL_EV_MEMSET ||
           item->kind == SL_EV_GRAPH;
}

/* Returns 1 for a node of a graph, and 0 for an operation that a call enqueued directly on a
 * stream. */
static inline int sl_item_is_node(const struct sl_item *item)
{
    return sl_item_is_operation(item) && item->more & SL_ITEM_NODE;
}

struct sl_order {
    struct sl_store *store;
    struct sl_item *item, *scratch;
    size_t slots, scratch_slots;
    size_t first, sorted, count; /* items [first, sorted) are sorted, items [sorted, count) are in
                                  * order of arrival */
};

void sl_order_init(struct sl_order *o, struct sl_store *store);
void sl_order_free(struct sl_order *o);

/* Returns the memory for the next item. The caller fills it and then adds it with sl_order_put().
 * Returns NULL if the store's cap is reached. */
struct sl_item *sl_order_next(struct sl_order *o);
static inline void sl_order_put(struct sl_order *o)
{
    o->count++;
}

/* Sorts the items that arrived since the last sort. Returns 0 or -ENOMEM. */
int sl_order_sort(struct sl_order *o);

/* Examines the sorted items from number `skip` on. Returns the items with the lowest correlation
 * id, and writes the number of these items to *count. Returns NULL if there are no items. The items
 * stay valid until items are put, sorted or taken. */
const struct sl_item *sl_order_peek(const struct sl_order *o, size_t skip, size_t *count);
/* Returns the items of the call that must be applied first. Writes to *skip the number of items in
 * front of these items, which is usually 0. The number is not 0 if a thread was descheduled after
 * its call got its id and before the call got its start time. Calls of other threads may then have
 * higher ids but begin earlier. */
const struct sl_item *sl_order_first(const struct sl_order *o, size_t *skip, size_t *count);
/* Moves the items of the call to the front, for sl_order_take(). Until sl_order_take(), no item may
 * be put or sorted. */
const struct sl_item *sl_order_bring(struct sl_order *o, size_t skip, size_t count);
void sl_order_take(struct sl_order *o, size_t count);

#endif
