/*
 * output.h - what a job's windows are written as: a Kineto trace, a Chakra trace.
 *
 * An output is a table of functions and the pointer that they get first. The pipeline makes the
 * list of outputs (pipeline/create.c, struct sl_outputs); the writer and the edge engine give each
 * output the same events and know none of them by name. A new output is a folder under write/ and a
 * line in the pipeline's list.
 *
 * Calls for one window: open, with its file; then events, edges, complete and sync in any order;
 * then close. Outside of windows only events is called, for what later windows need: names,
 * devices, streams (SL_EV_META_*) and CUDA event records. Rows that come then are to be ignored.
 *
 * Errors: a function that returns -errno has spoilt this output's window, and so has a file that
 * cannot be made. The list logs that, calls fail, and leaves the file as .part. After that the
 * window brings this output only events, while the other outputs go on. The next window opens every
 * output again. An output counts what it loses.
 *
 * Threads: the writer thread makes all calls but destroy. Memory: events and edges are the
 * caller's and live during the call; what `meta` and `file` point to lives until close or fail.
 */
#ifndef SL_OUTPUT_H
#define SL_OUTPUT_H

#include <stddef.h>
#include <stdint.h>

#include "event/event.h"
#include "sync/edge.h"
#include "write/trace_meta.h"
#include "write/window_file.h"

/* The edges to one destination, a call or a GPU operation that began in the window. */
struct sl_output_edges {
    const struct sl_edge *edge; /* `count` of them */
    size_t count;
    const struct sl_edge *by; /* the one that released it, or the one whose source ended last */
    int ends_a_call;          /* a call waited until its end: its row can carry `by` */
    /* GPU operations that started in [from_ns, until_ns) are in the window; until_ns may fall. */
    uint64_t from_ns, until_ns;
};

/* How far everything is in. */
struct sl_output_progress {
    uint64_t rows_ns;  /* no more events come of what ended before it; 0: not known */
    uint64_t edges_ns; /* and no more edges to what began before it */
    uint64_t calls;    /* no more edges come to calls with a lower correlation id */
};

struct sl_output_functions {
    const char *lost;   /* log message: "the rest of window 3<lost> is lost" */
    const char *remedy; /* log message: one more thing that the user can do, or "" */

    /* Ranges and operators are wanted when they begin, too, with SL_END_UNKNOWN (event/event.h):
     * for an output that cannot wait for their ends. */
    int wants_begins;

    /* A window begins. `file` is open, or NULL for an output that has no file for each window. */
    int (*open)(void *output, const struct sl_trace_meta *meta, struct sl_window_file *file);
    /* Rows of the window and META events, in the order of the ring. Rows of no window
     * (SL_EVF_ONLY_EDGES) are left out. SL_EV_DELIVERED and SL_EV_KINDS_ON come only where no edges
     * are looked for, and say nothing then. */
    int (*events)(void *output, const struct sl_event *ev, size_t count);
    int (*edges)(void *output, const struct sl_output_edges *edges);
    int (*complete)(void *output, const struct sl_output_progress *progress);
    /* Something came a second ago: bring it to the disk, so that a killed process loses no more. */
    int (*sync)(void *output);
    /* The window has ended at `closed_ns`: close the file. */
    int (*close)(void *output, uint64_t closed_ns);

    /* The window ends early for this output, or its file could not be opened or closed. */
    void (*fail)(void *output);

    void (*destroy)(void *output); /* no window may be open */
};

struct sl_output {
    const struct sl_output_functions *functions;
    void *user;
    struct sl_window_file_options file; /* of each window; folder NULL: it has none */
};

/* Whether a trace has a row for this event. Of a range that comes twice, at its begin and its end,
 * the end counts. */
static inline int sl_output_is_row(const struct sl_event *ev)
{
    return ev->kind >= SL_EV_KERNEL && ev->kind <= SL_EV_SYNC && ev->end_ns != SL_END_UNKNOWN &&
           !(ev->flags & (SL_EVF_ONLY_EDGES | SL_EVF_NO_TIME));
}

static inline uint64_t sl_output_count_rows(const struct sl_event *ev, size_t count)
{
    uint64_t rows = 0;

    for (size_t i = 0; i < count; i++)
        rows += (uint64_t)sl_output_is_row(&ev[i]);
    return rows;
}

#endif
