/*
 * hold.c - holds the row of a call that may wait, until the sources of the wait are known.
 *
 * Used only if edges are on. The table can be small, because few calls wait, and because rows are
 * held only about as long as the edge engine holds their records.
 *
 * Threads: one owner. Memory: the table of held rows. When the table is full, the oldest row is
 * written without its wait, and counted.
 */
#include "sync/call_class.h"
#include "write/kineto/kineto_internal.h"

int sl_kineto_may_wait(const struct sl_event *ev)
{
    if ((ev->kind != SL_EV_RUNTIME && ev->kind != SL_EV_DRIVER) || ev->u.call.result != 0)
        return 0;
    switch (sl_call_class_of((enum sl_event_kind)ev->kind, ev->u.call.cbid)) {
    case SL_CALL_OTHER:
    case SL_CALL_KERNEL_LAUNCH:
    case SL_CALL_CAPTURE_BEGIN:
    case SL_CALL_CAPTURE_END:
    case SL_CALL_STREAM_WAIT:
    case SL_CALL_CONTEXT_WAIT:
        return 0;
    default:
        return 1;
    }
}

static void put_held(struct sl_kineto *k, struct sl_event *row, const struct sl_output_edges *edges)
{
    sl_kineto_call(k, row, edges);
    sl_held_rows_drop(&k->held, row);
}

void sl_kineto_hold(struct sl_kineto *k, const struct sl_event *call)
{
    sl_kineto_expect(k, call);
    if (sl_held_rows_put(&k->held, call) == 0)
        return;
    put_held(k, sl_held_rows_oldest(&k->held), NULL);
    sl_stats_add(SL_STAT_WAITS_UNANNOTATED, 1);
    sl_held_rows_put(&k->held, call);
}

size_t sl_kineto_put_waited(struct sl_kineto *k, const struct sl_output_edges *edges)
{
    struct sl_event *row = sl_held_rows_find(&k->held, edges->by->dst_correlation);

    k->edges_in_call = 0;
    if (row)
        put_held(k, row, edges);
    return k->edges_in_call;
}

void sl_kineto_put_held(struct sl_kineto *k, uint64_t below)
{
    struct sl_event *row;
    uint64_t at = 0;

    while ((row = sl_held_rows_below(&k->held, below, &at)))
        put_held(k, row, NULL);
}
