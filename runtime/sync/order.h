/*
 * order.h - sorts records by correlation id.
 *
 * Correlation ids grow in the order of API entry (sl_order_first() handles exceptions), but records
 * arrive in any order. Each record is held here as an item of 48 bytes, sorted by id. All items
 * with the same id are taken at once, sorted by start; items without a time are last.
 *
 * Threads: only the thread that owns the engine (edge.h). Memory: one array of items and one for
 * sorting, counted in the store. Together they leave a sixteenth of the store free. Large arrays
 * are freed once all items are taken.
 */
#ifndef SL_ORDER_H
#define SL_ORDER_H

#include <stddef.h>
#include <stdint.h>

#include "base/store.h"
#include "event/event.h"

struct sl_item {
    uint64_t correlation, start_ns, end_ns;
    uint64_t id;    /* GPU operation: graph node; sync or event record: event_sync_id */
    uint32_t name;  /* GPU operation or call: intern id; sync or event record: event id */
    uint32_t what;  /* GPU operation: shape; call: callback id; sync: result */
    uint32_t where; /* call: thread; else: the stream's number (sync/stream_state.h) */
    uint8_t kind;   /* copied from the event, like flags */
    uint8_t more;   /* GPU operation: 1 = from a graph; call: 1 = failed; sync: type */
    uint16_t flags;
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

/* 1 for a node of a graph; 0 for an operation that a call enqueued on a stream directly. */
static inline int sl_item_is_node(const struct sl_item *item)
{
    return sl_item_is_operation(item) && item->more == 1;
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

/* Returns the place for the next item, which the caller fills and then adds with sl_order_put().
 * NULL at the store's cap. */
struct sl_item *sl_order_next(struct sl_order *o);
static inline void sl_order_put(struct sl_order *o)
{
    o->count++;
}

/* Sorts the items that arrived since the last sort. Returns 0 or -ENOMEM. */
int sl_order_sort(struct sl_order *o);

/* Looks at the sorted items from number `skip` on. Returns the items that share the lowest
 * correlation id, and writes their number to *count; NULL if there are none. The items stay valid
 * until the next put, sort or take. */
const struct sl_item *sl_order_peek(const struct sl_order *o, size_t skip, size_t *count);
/* The same for the call that must be applied first. Writes the number of items in front of it to
 * *skip, which is mostly 0. It is not 0 if a thread was descheduled between getting its call's id
 * and its start time. Then calls of other threads with higher ids began before that call. */
const struct sl_item *sl_order_first(const struct sl_order *o, size_t *skip, size_t *count);
/* Moves these items to the front, for sl_order_take(). Until the take, no item may be put or
 * sorted. */
const struct sl_item *sl_order_bring(struct sl_order *o, size_t skip, size_t count);
void sl_order_take(struct sl_order *o, size_t count);

#endif
