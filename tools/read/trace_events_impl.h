/*
 * trace_events_impl.h - what rows -> events (trace_events_row.c) and events -> two orders
 * (trace_events.c) share.
 */
#ifndef SL_TRACE_EVENTS_IMPL_H
#define SL_TRACE_EVENTS_IMPL_H

#include "read/event_sort.h"
#include "read/stream_home.h"
#include "read/thread_ids.h"
#include "read/trace_events.h"

#define SL_TRACE_PLAIN_MAX (64u << 10) /* of a name without its escapes */
#define SL_TRACE_CALLS     131072u
#define SL_TRACE_STEPS     65536u

/* A range around calls, in the first order only. */
#define SL_TRACE_RANGE SL_EV_NONE
/* In a range's `stream`: it is a function of Python's. */
#define SL_TRACE_PYTHON 1u

struct sl_trace_step {
    uint64_t start_ns, end_ns;
    uint32_t name;
};

struct sl_trace_events {
    struct sl_intern *names;
    struct sl_shape_table *shapes;
    struct sl_event_sort *by_time, *by_correlation;
    struct sl_event_sort *by_start; /* rows that are kept; NULL: they are not */
    struct sl_event row;            /* the next of those, if has_row */
    int has_row;
    struct sl_intern *inputs;
    struct sl_row_collectives *collectives;
    struct sl_thread_ids threads;
    struct sl_stream_home home; /* where waits are, and records of events */
    char *plain;                /* a name without its escapes */
    /* SL_TRACE_CALLS each, by the correlation id's low bits; where calls are noted those that did
     * not wait stand apart: they are many, and a wait is told long after its call */
    struct sl_trace_call *call, *other_call;
    struct sl_trace_step *step; /* SL_TRACE_STEPS, as they come; sorted when one is looked for */
    size_t steps, steps_sorted;
    int own;
    int has_process;
    uint64_t process; /* of the first call, if has_process: its number, or its name's */
    uint64_t ranges;
    uint64_t newest;      /* the correlation id seen last, widened */
    uint64_t first_ns;    /* UINT64_MAX: no event */
    struct sl_event last; /* the event given out last */
    struct sl_trace_events_counts counts;
};

#endif
