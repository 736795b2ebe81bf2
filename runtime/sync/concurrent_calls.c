/*
 * concurrent_calls.c - did another thread's call run beside this one, and act on the same thing?
 *
 * No record says which of two calls that overlap in time came first. The calls that began earlier
 * have been applied; those that began later are held, in order, behind this one. If one of these
 * acts on the same stream or event, what is said of this call is marked `overlapping`.
 *
 * Entered by the engine's owner alone. Owns no memory.
 */
#include "sync/apply.h"

enum {
    LOOKS = 1 << 13 /* records; a call that overlaps more counts as overlapping */
};

static int is_stream_wait(const struct sl_item *item)
{
    return item->kind == SL_EV_SYNC && item->more == SL_SYNC_STREAM_WAIT;
}

/* The operation or wait of a stream `at` may have come before this call's look at `stream`. */
static int joins(const struct sl_call *c, const struct sl_item *at, const struct sl_stream *stream,
                 const struct sl_item *op)
{
    if (!sl_item_is_operation(at) && !is_stream_wait(at))
        return 0;
    /* In a stream the GPU starts operations in order of enqueue. */
    if (op && sl_item_is_operation(at) && (at->where != op->where || at->start_ns >= op->start_ns))
        return 0;
    return sl_streams_are_ordered(sl_call_stream(c, at), stream);
}

static int records_anew(const struct sl_call *c, const struct sl_item *at,
                        const struct sl_item *wait)
{
    return at->kind == SL_EV_CUDA_EVENT && at->name == wait->name &&
           sl_call_stream(c, at)->context == sl_call_stream(c, wait)->context;
}

int sl_call_is_joined(const struct sl_call *c, const struct sl_item *by)
{
    const struct sl_item *first = c->item + c->count, *other = NULL;
    const struct sl_stream *stream = sl_call_stream(c, by);

    if (c->by.to_ns == 0) /* without a record of the call: what overlaps it is not known */
        return 0;
    for (const struct sl_item *at = first; at < c->e->order.item + c->e->order.sorted; at++) {
        if (at - first == LOOKS)
            return 1;
        if (sl_item_is_call(at)) {
            /* A thread that was stopped between its call's id and its stamp may come sooner. */
            if (at->start_ns >= c->by.to_ns && at->correlation > c->by.correlation)
                return 0;
            other = at->where != c->by.thread && at->start_ns < c->by.to_ns &&
                            at->end_ns > c->by.from_ns
                        ? at
                        : NULL;
        } else if (other && at->correlation == other->correlation &&
                   (by->kind == SL_EV_SYNC
                        ? records_anew(c, at, by)
                        : joins(c, at, stream, sl_item_is_operation(by) ? by : NULL))) {
            return 1;
        }
    }
    return 0;
}
