/*
 * trace_events.h - turns the rows of a Kineto trace into events in order of enqueue.
 *
 * The edge engine (sync/edge.h) needs events in order of enqueue, but torch.profiler writes all CPU
 * rows before the GPU rows. Correlation ids give the order of the calls, so events are sorted by
 * them. For each correlation id the order is: call, event record, wait, GPU operations.
 *
 *   while (rows) sl_trace_events_row(t, &row);
 *   sl_trace_events_end(t);
 *   while (sl_trace_events_next(t, &ev) == 1) ...
 *
 * Event records (cudaEventRecord) have no rows. A wait names its event record by correlation id and
 * stream, and the record's event is made from these. `event_sync_id` of the wait and the record is
 * the record's correlation id. A record has the context of its stream (stream_home.h). If that
 * context is unknown, the record's stream is SL_STREAM_NONE. PyTorch's 32-bit correlation ids may
 * wrap and are widened to 64 bits.
 *
 * Threads: one owner. Memory: at most 128 MiB, or 224 MiB with rows kept; the rest goes to
 * temporary files (event_sort.h). Names beyond 40 MiB of text and inputs beyond 32 MiB are left out
 * and counted.
 */
#ifndef SL_TRACE_EVENTS_H
#define SL_TRACE_EVENTS_H

#include <stdint.h>

#include "base/intern.h"
#include "event/event.h"
#include "event/shape.h"
#include "read/json_event.h"
#include "read/row_collectives.h"

/* Kinds of events of the tool's own. */
enum sl_trace_kind {
    SL_TRACE_RANGE = SL_EV_KIND_COUNT, /* a range around calls: in the first sort order only */
    SL_TRACE_PYTHON,                   /* the same: a Python function */
    SL_TRACE_EDGE,                     /* an edge that the job recorded */
};

struct sl_trace_events_counts {
    uint64_t calls, operations, waits; /* returned by sl_trace_events_next() */
    uint64_t unusable;                 /* rows with invalid ids or times */
    uint64_t negative;     /* rows that end before they begin; their duration becomes 0 */
    uint64_t numbered;     /* calls whose row has a CUPTI callback id */
    uint64_t of_others;    /* calls from a process other than that of the first call */
    uint64_t twice;        /* calls and waits with a correlation id that was already used */
    uint64_t strange;      /* of these calls, those not made inside the earlier call */
    uint64_t threads_lost; /* rows of threads beyond the limit of thread_ids.h */
    uint64_t steps_lost;   /* rows of steps beyond the table's size */
    uint64_t names_lost;   /* rows whose name did not fit */
    uint64_t inputs_lost;  /* operators whose inputs did not fit */
};

/* Facts about a call besides its event. */
struct sl_trace_call {
    uint64_t correlation;
    uint32_t name;  /* intern ids, 0 = none */
    uint32_t place; /* the innermost operator or range around it */
    uint32_t line;  /* source line; in files of torch.profiler the innermost user function, if the
                       file has Python functions */
    uint32_t step;  /* the ProfilerStep in which the call began */
    uint64_t start_ns;
};

struct sl_trace_events;

/* 0 or -ENOMEM. */
int sl_trace_events_create(struct sl_trace_events **out);
void sl_trace_events_destroy(struct sl_trace_events *t); /* NULL is fine */

/* States that syncline wrote the file: its correlation ids have 64 bits. Call before the first
 * row. */
void sl_trace_events_own(struct sl_trace_events *t);

/* Before the first row: operators and ranges are wanted too, names as their strings mean them, and
 * `collectives` (borrowed; NULL: none) learns what does what. 0 or -ENOMEM. */
int sl_trace_events_keep_rows(struct sl_trace_events *t, struct sl_row_collectives *collectives);

/* Takes any row of the file. Returns 0, or the sticky error of the temporary files. */
int sl_trace_events_row(struct sl_trace_events *t, const struct sl_trace_row *row);

/* Takes an edge, packed into an event of kind SL_TRACE_EDGE. It comes out unchanged, as the last
 * event of its correlation id. */
int sl_trace_events_edge(struct sl_trace_events *t, const struct sl_event *edge);

/* Takes the row of a call or step from a file whose rows are not kept. The facts about a call are
 * then found by its correlation id, except its step. A step is found by its time. */
void sl_trace_events_note(struct sl_trace_events *t, const struct sl_trace_row *row);

/* Converts the row of a GPU operation in such a file to an event without its shape. Returns 0, or
 * -EINVAL: another kind of row, or unusable. */
int sl_trace_events_operation(struct sl_trace_events *t, const struct sl_trace_row *row,
                              struct sl_event *out);

/* The name of the ProfilerStep at a time (0: none), and after the end the number of steps. */
uint32_t sl_trace_events_step(struct sl_trace_events *t, uint64_t ns);
size_t sl_trace_events_steps(const struct sl_trace_events *t);

/* Call after the last row. Returns 0 or the sticky error. */
int sl_trace_events_end(struct sl_trace_events *t);

/* Returns 1 and the next event, 0 at the end, or the sticky error. Names, including those of copies
 * and memsets, are the raw JSON text of the rows. */
int sl_trace_events_next(struct sl_trace_events *t, struct sl_event *out);

/* After the end: iterates over the contexts that have GPU operations. Each is an event of kind
 * SL_EV_META_STREAM without a stream; `*at` starts at 0. Returns 1, or 0 at the end. */
int sl_trace_events_next_context(const struct sl_trace_events *t, size_t *at, struct sl_event *out);

/* Returns 1 and the next kept row by start, outer rows first, if it began by `until_ns`. Returns 0
 * if none did, or the sticky error. */
int sl_trace_events_next_row(struct sl_trace_events *t, uint64_t until_ns, struct sl_event *out);

/* An operator's `inputs`, encoded as fields of a Chakra Node. NULL for 0. */
const char *sl_trace_events_inputs(const struct sl_trace_events *t, uint32_t inputs, size_t *size);

/* Finds a call that was returned or noted. NULL: unknown, or forgotten after 131072 newer calls. */
const struct sl_trace_call *sl_trace_events_call(const struct sl_trace_events *t,
                                                 uint64_t correlation);

uint64_t sl_trace_events_count(const struct sl_trace_events *t); /* events to be returned */

/* The correlation id as the file has it. */
uint64_t sl_trace_events_correlation(const struct sl_trace_events *t, uint64_t correlation);

/* The thread id as the file has it. */
int64_t sl_trace_events_thread(const struct sl_trace_events *t, uint32_t thread);

struct sl_intern *sl_trace_events_names(const struct sl_trace_events *t);
const struct sl_shape_table *sl_trace_events_shapes(const struct sl_trace_events *t);

/* Start of the earliest event, known after the end; 0 without events. */
uint64_t sl_trace_events_first_ns(const struct sl_trace_events *t);

/* Event times are the file's times plus this offset, so no time is 0. */
#define SL_TRACE_EVENTS_ORIGIN_NS 1000000000

void sl_trace_events_get_counts(const struct sl_trace_events *t,
                                struct sl_trace_events_counts *out);

#endif
