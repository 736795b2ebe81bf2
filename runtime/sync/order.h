/*
 * order.h - what came, put in order of correlation id.
 *
 * Correlation ids grow with API entry (but see sl_order_first()), records come in any order. They
 * wait here, 48 bytes each, sorted; all that has the same id is taken at once, in order of start,
 * what has no time last.
 *
 * Threads: the engine's owner alone. Memory: one array and one to sort with, counted in the store.
 * Together they leave a sixteenth of it, and large ones go back when all is taken.
 */
#ifndef SL_ORDER_H
#define SL_ORDER_H

#include <stddef.h>
#include <stdint.h>

#include "base/store.h"
#include "event/event.h"

struct sl_item {
    uint64_t correlation, start_ns, end_ns;
    uint64_t id;         /* GPU operation: graph node; sync, event record: event_sync_id */
    uint32_t name;       /* GPU operation, call: intern id; sync, event record: event id */
    uint32_t what;       /* GPU operation: shape; call: callback id; sync: result */
    uint32_t where;      /* call: thread; else: number of the stream (sync/stream_state.h) */
    uint8_t kind, flags; /* of the event */
    uint16_t more;       /* GPU operation: 1 = from a graph; call: 1 = failed; sync: type */
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

/* A node of a graph, as against an operation that a call put on a stream itself. */
static inline int sl_item_is_node(const struct sl_item *item)
{
    return sl_item_is_operation(item) && item->more == 1;
}

struct sl_order {
    struct sl_store *store;
    struct sl_item *item, *scratch;
    size_t slots, scratch_slots;
    size_t first, sorted, count; /* [first, sorted) in order, [sorted, count) as it came */
};

void sl_order_init(struct sl_order *o, struct sl_store *store);
void sl_order_free(struct sl_order *o);

/* Where the next item goes, which is filled in there; NULL at the store's cap. It is one of those
 * held when sl_order_put() is called. */
struct sl_item *sl_order_next(struct sl_order *o);
static inline void sl_order_put(struct sl_order *o)
{
    o->count++;
}

/* Puts what came since in its place. 0, or -ENOMEM. */
int sl_order_sort(struct sl_order *o);

/* Of what is sorted: the items from `*skip` on that share the lowest correlation id, and how many;
 * NULL when there are none. They stand until the next put, sort or take. */
const struct sl_item *sl_order_peek(const struct sl_order *o, size_t skip, size_t *count);
/* The same of the call that goes first, and `*skip` for what stands before it. Mostly nothing does:
 * but a thread may be stopped between a call's id and its stamp, and then calls of others that have
 * higher ids came before it. */
const struct sl_item *sl_order_first(const struct sl_order *o, size_t *skip, size_t *count);
/* To the front with it, for sl_order_take(). Until that nothing may be put or sorted. */
const struct sl_item *sl_order_bring(struct sl_order *o, size_t skip, size_t count);
void sl_order_take(struct sl_order *o, size_t count);

#endif
