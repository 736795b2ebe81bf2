/*
 * output.h - the interface of an output, which writes the windows of a job in one format, such as
 * Kineto or Chakra.
 *
 * An output is a table of functions, and a pointer that is the first argument of each function. The
 * pipeline makes the list of outputs (pipeline/create.c, struct sl_outputs). The writer and the
 * edge engine pass the same events to each output. The writer and the edge engine do not depend on
 * any particular output. A new output is a folder under write/ and a line in the pipeline's list.
 *
 * For each window, the writer first calls open with the window's file. Then it calls events, edges,
 * complete and sync in any order. At last it calls close. Outside of windows only events is called,
 * with facts that later windows need: names, devices, streams (SL_EV_META_*) and CUDA event
 * records. The output must ignore all other events outside of windows.
 *
 * Errors: if a function returns -errno, or a file cannot be created, this output has failed for the
 * window. The list of outputs (write/outputs.h) logs the error, calls fail, and leaves the file
 * with its .part name. For the rest of the window, only events is called for this output, while the
 * other outputs continue. The next window opens every output again. An output counts the events
 * that it loses.
 *
 * Threads: the writer thread makes all calls but destroy. Memory: events and edges belong to the
 * caller and are valid during the call. *meta and *file are valid until close or fail.
 */
#ifndef SL_OUTPUT_H
#define SL_OUTPUT_H

#include <stddef.h>
#include <stdint.h>

#include "event/event.h"
#include "sync/edge.h"
#include "write/trace_meta.h"
#include "write/window_file.h"

/* The edges to one destination. The destination is a call or a GPU operation that began in the
 * window. */
struct sl_output_edges {
    const struct sl_edge *edge; /* an array of `count` edges */
    size_t count;
    /* the edge that released the wait; if the wait took no time, the edge whose source ended last
     */
    const struct sl_edge *by;
    /* 1: the destination is the end of a call, so the output can write `by` into the call's row */
    int ends_a_call;
    /* GPU operations that started in [from_ns, until_ns) are in the window; until_ns may decrease.
     */
    uint64_t from_ns, until_ns;
};

/* The times up to which events and edges have been delivered. */
struct sl_output_progress {
    /* no more events that ended before this time will arrive; 0 if this time is not known */
    uint64_t rows_ns;
    uint64_t edges_ns; /* no more edges to destinations that began before this time will arrive */
    uint64_t calls;    /* no more edges to calls with a lower correlation id will arrive */
};

struct sl_output_functions {
    const char *lost; /* inserted into the log message "the rest of window 3<lost> is lost" */
    /* text with a further remedy for the user, which is appended to the log message; may be "" */
    const char *remedy;

    /* 1: this output cannot wait for the ends of ranges and operators. So it also gets an event
     * with SL_END_UNKNOWN (event/event.h) when a range or operator begins. */
    int wants_begins;

    /* Called when a window begins. `file` is the open file of the window, or NULL for an output
     * that has no file for each window. */
    int (*open)(void *output, const struct sl_trace_meta *meta, struct sl_window_file *file);
    /* Called with events of the window and META events, in the order of the ring. Events outside of
     * the window (SL_EVF_ONLY_EDGES) are left out. SL_EV_DELIVERED and SL_EV_KINDS_ON are passed
     * only if edges are off. The output must ignore these two events. */
    int (*events)(void *output, const struct sl_event *ev, size_t count);
    int (*edges)(void *output, const struct sl_output_edges *edges);
    int (*complete)(void *output, const struct sl_output_progress *progress);
    /* Called when data arrived some time ago (window_file.c), or when the window's first data has
     * arrived. The output must write all its data to the disk, so that a killed process loses less
     * than the data of a second. */
    int (*sync)(void *output);
    /* Called when the window has ended, at `closed_ns`. The output must end the file. */
    int (*close)(void *output, uint64_t closed_ns);

    /* Returns about how many bytes `close` would now write to the file. NULL: few. */
    uint64_t (*held_bytes)(const void *output);

    /* Called if this output fails in a window, or if the output's file could not be opened or
     * closed. */
    void (*fail)(void *output);

    void (*destroy)(void *output); /* no window may be open */
};

struct sl_output {
    const struct sl_output_functions *functions;
    void *user;
    /* options of the file of each window; if the folder is NULL, the output has no file */
    struct sl_window_file_options file;
};

/* Returns 1 if a trace has a row for this event. If a range is passed twice, at its begin and at
 * its end, only the second event counts. */
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
