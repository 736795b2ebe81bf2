/*
 * trace_events.h - a Kineto trace's rows as events, in the order in which work was enqueued.
 *
 * What the engine of edges (sync/edge.h) needs stands in a trace in file order: torch.profiler
 * writes all of the CPU's rows first, the GPU's later. Correlation ids give the order of the calls,
 * so rows become events and come back sorted by them: of one correlation id first the call, then
 * the event record, the wait and the GPU operations.
 *
 *   while (rows) sl_trace_events_row(t, &row);
 *   sl_trace_events_end(t);
 *   while (sl_trace_events_next(t, &ev) == 1) ...
 *
 * Event records (cudaEventRecord) have no rows: a wait names the one it waits for, by its
 * correlation id and stream, and the record is made from that; `event_sync_id` of both is that
 * correlation id. The context of a record is that of its stream (stream_home.h); where it cannot be
 * known the record's stream is SL_STREAM_NONE. Torch's 32-bit correlation ids, which may wrap, are
 * widened.
 *
 * Threads: one owner. Memory: at most 128 MiB, 224 MiB with rows kept; what does not fit goes to
 * temporary files (see event_sort.h). Names past 40 MiB of text, and inputs past 32 MiB, are left
 * out and counted.
 */
#ifndef SL_TRACE_EVENTS_H
#define SL_TRACE_EVENTS_H

#include <stdint.h>

#include "base/intern.h"
#include "event/event.h"
#include "event/shape.h"
#include "read/json_event.h"
#include "read/row_collectives.h"

struct sl_trace_events_counts {
    uint64_t calls, operations, waits; /* given out */
    uint64_t unusable;                 /* rows whose ids or times make no sense */
    uint64_t negative;                 /* rows that end before they begin: taken as of no time */
    uint64_t numbered;                 /* calls whose row has CUPTI's number of what was called */
    uint64_t of_others;                /* calls of another process than the first call's */
    uint64_t twice;                    /* calls, waits whose correlation id had one already */
    uint64_t strange;                  /* of these calls those that were not made inside it */
    uint64_t threads_lost;             /* rows of more threads than are kept: see thread_ids.h */
    uint64_t steps_lost;               /* rows of more steps than are kept */
    uint64_t names_lost;               /* rows whose name found no room */
    uint64_t inputs_lost;              /* operators whose inputs found no room */
};

/* What is known about a call, besides its event. */
struct sl_trace_call {
    uint64_t correlation;
    uint32_t name;  /* intern ids, 0 = none */
    uint32_t place; /* the innermost operator or range around it */
    uint32_t line;  /* of the source; of torch.profiler's files the innermost function of the
                     * user's, where they have Python's functions */
    uint32_t step;  /* the ProfilerStep it began in */
    uint64_t start_ns;
};

struct sl_trace_events;

/* 0 or -ENOMEM. */
int sl_trace_events_create(struct sl_trace_events **out);
void sl_trace_events_destroy(struct sl_trace_events *t); /* NULL is fine */

/* The file is syncline's: its correlation ids have 64 bits. Before the first row. */
void sl_trace_events_own(struct sl_trace_events *t);

/* Before the first row: operators and ranges are wanted too, names as their strings mean them, and
 * `collectives` (borrowed; NULL: none) learns what does what. 0 or -ENOMEM. */
int sl_trace_events_keep_rows(struct sl_trace_events *t, struct sl_row_collectives *collectives);

/* Any row of the file. 0, or the sticky error of the temporary files. */
int sl_trace_events_row(struct sl_trace_events *t, const struct sl_trace_row *row);

/* An edge as an event of kind SL_EV_FLOW: it comes out last of its correlation id, as it is. */
int sl_trace_events_edge(struct sl_trace_events *t, const struct sl_event *edge);

/* The row of a call, or of a step, in a file whose rows are not kept otherwise: what it says of
 * itself is known by its correlation id (but for the call's step), or at its time. */
void sl_trace_events_note(struct sl_trace_events *t, const struct sl_trace_row *row);

/* A GPU operation's row of such a file as its event, without its shape. 0, or -EINVAL: it is none,
 * or of no use. */
int sl_trace_events_operation(struct sl_trace_events *t, const struct sl_trace_row *row,
                              struct sl_event *out);

/* The name of the ProfilerStep at a time, 0: none; how many there are, after the end. */
uint32_t sl_trace_events_step(struct sl_trace_events *t, uint64_t ns);
size_t sl_trace_events_steps(const struct sl_trace_events *t);

/* After the last row. 0 or the sticky error. */
int sl_trace_events_end(struct sl_trace_events *t);

/* 1: the next event; 0: there is none; or the sticky error. Names are the rows' (raw text of their
 * JSON strings), those of copies and memsets too. */
int sl_trace_events_next(struct sl_trace_events *t, struct sl_event *out);

/* After the end: the file's contexts that have GPU operations, one after the other, each as an
 * event of kind SL_EV_META_STREAM that names no stream; `*at` is 0 at first. 1, or 0: no more. */
int sl_trace_events_next_context(const struct sl_trace_events *t, size_t *at, struct sl_event *out);

/* Of the rows kept, the next by start, outer ones first, if it began by then: 1; 0: none did; or
 * the sticky error. */
int sl_trace_events_next_row(struct sl_trace_events *t, uint64_t until_ns, struct sl_event *out);

/* An operator's inputs (its `shape`), as bytes of Chakra's Node. NULL for 0. */
const char *sl_trace_events_inputs(const struct sl_trace_events *t, uint32_t shape, size_t *size);

/* A call that was given out or noted, NULL if it is unknown, or forgotten after 131072 others. */
const struct sl_trace_call *sl_trace_events_call(const struct sl_trace_events *t,
                                                 uint64_t correlation);

uint64_t sl_trace_events_count(const struct sl_trace_events *t); /* that next() will go through */

/* As the file has it. */
uint64_t sl_trace_events_correlation(const struct sl_trace_events *t, uint64_t correlation);

/* The same of an event's thread. */
int64_t sl_trace_events_thread(const struct sl_trace_events *t, uint32_t thread);

struct sl_intern *sl_trace_events_names(const struct sl_trace_events *t);
const struct sl_shape_table *sl_trace_events_shapes(const struct sl_trace_events *t);

/* Start of the earliest event, after the end; 0 without events. */
uint64_t sl_trace_events_first_ns(const struct sl_trace_events *t);

/* The times of events are the file's plus this: none is 0. */
#define SL_TRACE_EVENTS_ORIGIN_NS 1000000000

void sl_trace_events_get_counts(const struct sl_trace_events *t,
                                struct sl_trace_events_counts *out);

#endif
