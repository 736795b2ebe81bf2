/*
 * trace_events.h - turns the rows of a Kineto trace into events in order of enqueue.
 *
 * The edge engine (sync/edge.h) needs events in order of enqueue, but torch.profiler writes all CPU
 * rows before the GPU rows. Correlation ids give the order of the calls, so events are sorted by
 * them. For each correlation id the order is: call, event record, wait, GPU operations and
 * overheads.
 *
 *   while (rows) sl_trace_events_row(t, &row);
 *   sl_trace_events_end(t);
 *   sl_trace_events_fit_clock(t);
 *   while (sl_trace_events_next(t, &ev) == 1) ...
 *
 * Calls of cudaEventRecord ("event records") have no rows that name a stream. A wait's row has the
 * correlation id and the stream of the event record, and the event for the record is made from this
 * id and this stream. `event_sync_id` of the wait and of the record is the record's correlation id.
 * The record has the context of its stream (stream_home.h). If the context is unknown, the record's
 * stream is SL_STREAM_NONE. PyTorch's 32-bit correlation ids may wrap and are widened to 64 bits.
 *
 * Threads: one owner. Memory: at most 128 MiB, or 224 MiB if rows are kept. Further events go to
 * temporary files (event_sort.h). Names beyond 40 MiB of text and inputs beyond 32 MiB are left out
 * and counted.
 */
#ifndef SL_TRACE_EVENTS_H
#define SL_TRACE_EVENTS_H

#include <stdint.h>

#include "base/intern.h"
#include "base/store.h"
#include "event/event.h"
#include "event/shape.h"
#include "read/clock_fit.h"
#include "read/event_records.h"
#include "read/event_sort.h"
#include "read/json_event.h"
#include "read/overheads.h"
#include "read/row_collectives.h"
#include "read/stream_home.h"
#include "read/thread_ids.h"

/* Kinds of events that exist only in the tools, not in a running job. */
enum sl_trace_kind {
    /* These three are around calls, and in the first sort order only. */
    SL_TRACE_RANGE = SL_EV_KIND_COUNT, /* an operator */
    SL_TRACE_ANNOTATION,               /* a range of the user */
    SL_TRACE_PYTHON,                   /* a Python function */
    SL_TRACE_EDGE,                     /* an edge that the job recorded */
};

struct sl_trace_events_counts {
    uint64_t calls;        /* returned by sl_trace_events_next() */
    uint64_t unusable;     /* rows with invalid ids or times */
    uint64_t negative;     /* rows that end before they begin; their duration becomes 0 */
    uint64_t numbered;     /* calls whose row has a CUPTI callback id */
    uint64_t of_others;    /* calls from a process other than that of the first call */
    uint64_t strange;      /* calls that repeat the correlation id of an earlier call but were not
                              made inside that call */
    uint64_t threads_lost; /* rows left out because their thread is beyond the limit of
                              thread_ids.h */
    uint64_t steps_lost;   /* rows of steps left out because the table of steps was full */
    uint64_t names_lost;   /* rows whose name was left out because it did not fit into memory */
    uint64_t inputs_lost;  /* number of operators whose inputs did not fit */
};

/* Facts about a call besides its event. */
struct sl_trace_call {
    uint64_t correlation;
    uint32_t name;  /* intern id, or 0; also the next three members */
    uint32_t place; /* the innermost operator or range around the call */
    uint32_t line;  /* source line; in files of torch.profiler the innermost user function, if the
                       file has Python functions */
    uint32_t step;  /* the ProfilerStep in which the call began */
    uint64_t start_ns;
};

#define SL_TRACE_PLAIN_MAX (64u << 10) /* longest unescaped name, in bytes */
#define SL_TRACE_CALLS     131072u
#define SL_TRACE_STEPS     65536u

struct sl_trace_step {
    uint64_t start_ns, end_ns;
    uint32_t name;
};

/* Called at the end for each operator and range with a CUDA call inside, by thread and start, an
 * outer one before an inner one. The `order` of the event is its number, from 1 on. `around` is the
 * number of the next outer one that does not end before it; 0: none. */
typedef void (*sl_trace_range_fn)(void *user, const struct sl_event *range, uint32_t around);

struct sl_trace_events {
    struct sl_intern *names;
    struct sl_shape_table *shapes;
    struct sl_event_sort *by_time, *by_correlation;
    struct sl_event_sort *by_start; /* the kept rows, or NULL if rows are not kept */
    struct sl_event row;            /* the next kept row; valid if has_row is not 0 */
    int has_row;
    struct sl_intern *inputs; /* inputs of operators, as fields of a Chakra Node; an event's
                                 `inputs` is the number */
    struct sl_row_collectives *collectives;
    /* Set by the caller before the end; NULL: not called. If it is set, `u.call.range` of a call is
     * the number of the innermost operator or range around it, or 0. */
    sl_trace_range_fn give_range;
    void *range_user;
    struct sl_thread_ids threads;
    struct sl_stream_home home; /* contexts of waits and event records */
    struct sl_overheads overheads;
    char *plain; /* buffer for an unescaped name */
    /* SL_TRACE_CALLS entries each, indexed by the low bits of the correlation id. After
     * sl_trace_events_note(), calls that did not wait are in `other_call` and not in `call`. There
     * are so many of them that they would overwrite waiting calls too early. */
    struct sl_trace_call *call, *other_call;
    struct sl_trace_step *step; /* SL_TRACE_STEPS entries, sorted at the first lookup */
    size_t steps, steps_sorted; /* number of steps, and how many of them are sorted; `steps` does
                                   not change after sl_trace_events_end() */
    /* Not 0 if syncline wrote the file, so that its correlation ids have 64 bits. The caller sets
     * `own` before the first row. */
    int own;
    int has_process;
    uint64_t process; /* the process of the first call, if has_process: its pid, or the number of
                         its name */
    uint64_t ranges;
    uint64_t newest;   /* the latest correlation id, widened to 64 bits */
    uint64_t first_ns; /* start of the earliest event; 0 after the end if there is no event */
    uint64_t
        first_slice_ns; /* start of the earliest row with a duration; UINT64_MAX: none so far */
    struct sl_store store;
    struct sl_map thread_name; /* maps a thread id of the file, plus 1, to an intern id */
    /* 1: the file has the first CUDA call of its process, which is a call with correlation id 1
     * that launches nothing. A profiler that came later may have begun to count at a launch. */
    int has_first_call;
    struct sl_event last; /* the last event returned */
    struct sl_event_records records;
    struct sl_event made; /* an event record to return after the last event; valid if has_made */
    int has_made;
    struct sl_clock_fit clock; /* set by sl_trace_events_fit_clock() */
    int64_t skew_ns;  /* is added to the times of GPU operations that sl_trace_events_next() returns
                       */
    char others[120]; /* names of the first categories that are not CUDA's; "" if there are none */
    struct sl_trace_events_counts counts;
};

/* 0 or -ENOMEM. */
int sl_trace_events_create(struct sl_trace_events **out);
void sl_trace_events_destroy(struct sl_trace_events *t); /* NULL is fine */

/* Called before the first row. From then on the collectives of the rows are added to `collectives`
 * (borrowed; may be NULL), and names are unescaped. Returns 0 or -ENOMEM. */
int sl_trace_events_keep_collectives(struct sl_trace_events *t,
                                     struct sl_row_collectives *collectives);

/* Called before the first row. From then on operators and ranges are kept too. Returns 0 or
 * -ENOMEM. */
int sl_trace_events_keep_rows(struct sl_trace_events *t);

/* Adds a row of any kind. Returns 0, or an error of the temporary files, which all later calls
 * return too. */
int sl_trace_events_row(struct sl_trace_events *t, const struct sl_trace_row *row);

/* Notes the row of a call or step, for a file whose rows are not added by sl_trace_events_row().
 * sl_trace_events_call() then finds a call by its correlation id, and sl_trace_events_step() finds
 * a step by a time inside it. */
void sl_trace_events_note(struct sl_trace_events *t, const struct sl_trace_row *row);

/* Converts the row of a GPU operation to an event, without the shape (sizes and kinds). The row is
 * not kept. Returns 0, or -EINVAL if the row is of another kind or unusable. */
int sl_trace_events_operation(struct sl_trace_events *t, const struct sl_trace_row *row,
                              struct sl_event *out);

/* Returns the name (intern id) of a thread, given by the file's id, or 0 if the file has none. */
uint32_t sl_trace_events_thread_name(const struct sl_trace_events *t, int64_t thread);

/* Returns the name of the ProfilerStep at a time, or 0 if there is none. */
uint32_t sl_trace_events_step(struct sl_trace_events *t, uint64_t ns);

/* Call after the last row. Returns 0, or an error of the temporary files. */
int sl_trace_events_end(struct sl_trace_events *t);

/* Compares the times of GPU operations and calls (clock_fit.h). If the clocks are apart by a
 * constant, sl_trace_events_next() corrects the times of operations. Call it after the end, before
 * the first event is taken. Returns 0, or an error of the temporary files. */
int sl_trace_events_fit_clock(struct sl_trace_events *t);

/* Returns 1 and the next event, 0 at the end, or an error of the temporary files. Names, including
 * those of copies and memsets, are the raw JSON text of the rows. */
int sl_trace_events_next(struct sl_trace_events *t, struct sl_event *out);

/* Iterates over the contexts that have GPU operations. Call it after the end. *out is an event of
 * kind SL_EV_META_STREAM without a stream. `*at` is 0 at the first call. Returns 1, or 0 at the
 * end. */
int sl_trace_events_next_context(const struct sl_trace_events *t, size_t *at, struct sl_event *out);

/* Returns 1 and the next kept row if the row began by `until_ns`. Kept rows are in order of start,
 * outer rows before inner rows. Returns 0 if no row is left that began by `until_ns`, or an error
 * of the temporary files. */
int sl_trace_events_next_row(struct sl_trace_events *t, uint64_t until_ns, struct sl_event *out);

/* Finds a call that sl_trace_events_next() returned or that was noted. Returns NULL if the call is
 * unknown, or was overwritten after 131072 newer calls. */
const struct sl_trace_call *sl_trace_events_call(const struct sl_trace_events *t,
                                                 uint64_t correlation);

/* Returns the correlation id in the form that the file has, not widened. */
uint64_t sl_trace_events_correlation(const struct sl_trace_events *t, uint64_t correlation);

/* Event times are the file's times plus this offset, so no time is 0. */
#define SL_TRACE_EVENTS_ORIGIN_NS 1000000000

#endif
