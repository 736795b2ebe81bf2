/*
 * concurrent_calls.c - finds out whether another thread's call ran at the same time as a call and
 * acted on the same object.
 *
 * No record says which of two overlapping calls acted first. When a call is applied, all calls that
 * began earlier have been applied already. The records of calls that began later are sorted behind
 * the records of this call (order.h). If one of the later calls overlaps the call and acts on the
 * same stream or event, the call's result is marked `overlapping`.
 *
 * Threads: only the thread that owns the engine (edge.h). Memory: none.
 */
#include "sync/apply.h"

enum {
    /* maximum number of records to examine; if there are more records, the call counts as
     * overlapping */
    LOOKS = 1 << 13
};

static int is_stream_wait(const struct sl_item *item)
{
    return item->kind == SL_EV_SYNC && item->more == SL_SYNC_STREAM_WAIT;
}

/* Returns 1 if `at`, an operation or a stream wait, may have happened before this call's action on
 * `stream`. */
static int joins(const struct sl_call *c, const struct sl_item *at, const struct sl_stream *stream,
                 const struct sl_item *op)
{
    if (!sl_item_is_operation(at) && !is_stream_wait(at))
        return 0;
    /* The GPU starts the operations of a stream in the order in which they were enqueued. */
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

    if (c->by.to_ns == 0) /* if the call has no record, it is not known which calls overlap it */
        return 0;
    for (const struct sl_item *at = first; at < c->e->order.item + c->e->order.sorted; at++) {
        if (at - first == LOOKS)
            return 1;
        if (sl_item_is_call(at)) {
            /* A thread may be descheduled between getting its call's id and its start time. So a
             * call with a lower id may start later than this call. The search continues after such
             * a call. */
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
