/*
 * trace_events_impl.h - shared by trace_events_row.c (rows to events) and trace_events.c (sorting
 * of events).
 */
#ifndef SL_TRACE_EVENTS_IMPL_H
#define SL_TRACE_EVENTS_IMPL_H

#include "read/event_sort.h"
#include "read/stream_home.h"
#include "read/thread_ids.h"
#include "read/trace_events.h"

#define SL_TRACE_PLAIN_MAX (64u << 10) /* longest unescaped name, in bytes */
#define SL_TRACE_CALLS     131072u
#define SL_TRACE_STEPS     65536u

struct sl_trace_step {
    uint64_t start_ns, end_ns;
    uint32_t name;
};

struct sl_trace_events {
    struct sl_intern *names;
    struct sl_shape_table *shapes;
    struct sl_event_sort *by_time, *by_correlation;
    struct sl_event_sort *by_start; /* kept rows; NULL: rows are not kept */
    struct sl_event row;            /* the next kept row, if has_row */
    int has_row;
    struct sl_intern *inputs;
    struct sl_row_collectives *collectives;
    struct sl_thread_ids threads;
    struct sl_stream_home home; /* contexts of waits and event records */
    char *plain;                /* buffer for an unescaped name */
    /* SL_TRACE_CALLS entries each, indexed by the low bits of the correlation id. When calls are
     * noted, `other_call` holds the calls that did not wait. Those are many, and the row of a wait
     * comes long after its call. */
    struct sl_trace_call *call, *other_call;
    struct sl_trace_step *step; /* SL_TRACE_STEPS entries, sorted at the first lookup */
    size_t steps, steps_sorted;
    int own;
    int has_process;
    uint64_t process; /* of the first call, if has_process: its number, or its name's number */
    uint32_t ranges;
    uint64_t newest;      /* the latest correlation id, widened to 64 bits */
    uint64_t first_ns;    /* UINT64_MAX: no event */
    struct sl_event last; /* the last event returned */
    struct sl_trace_events_counts counts;
};

#endif
