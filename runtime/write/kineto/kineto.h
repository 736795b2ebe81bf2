/*
 * kineto.h - writes events as Kineto JSON text.
 *
 * Writes what libkineto writes and what its readers need (docs/trace-format.md): one event a line,
 * metadata when a place is first seen, process metadata before the first event. Text that is the
 * same for all events of one shape is kept finished and copied.
 *
 * Threads: one owner, the writer thread. Text is passed to the sink in blocks of about 128 KiB.
 */
#ifndef SL_KINETO_H
#define SL_KINETO_H

#include <stddef.h>
#include <stdint.h>

#include "base/choices.h"
#include "base/intern.h"
#include "event/device.h"
#include "event/event.h"
#include "event/shape.h"
#include "write/output.h"
#include "write/sink/sink.h"
#include "write/trace_meta.h"

struct sl_kineto_options {
    enum sl_detail detail;
    const struct sl_intern *intern;
    const struct sl_shape_table *shapes;
    const struct sl_device_table *devices;
    size_t cap_bytes; /* most memory for kept text; 0: 8 MiB */
    /* Returns the name of a call whose event has none: sl_call_name() in a job. NULL: no names
     * known. */
    const char *(*api_name)(enum sl_event_kind domain, uint32_t cbid);
    const struct sl_intern *details; /* of operators (event/op_detail.h); NULL: there are none */
    size_t held_bytes; /* most memory for rows held until their edges arrive; 0: 1 MiB */
};

struct sl_kineto;

/* One per process. Files are opened on it one after the other, and kept text stays. */
int sl_kineto_create(struct sl_kineto **out, const struct sl_kineto_options *opt);
void sl_kineto_destroy(struct sl_kineto *k); /* accepts NULL; no file may be open */

/* Begins a file. The header and process metadata are written with the first row, so that they
 * include all devices seen until then. The caller closes the sink. */
int sl_kineto_begin(struct sl_kineto *k, struct sl_sink *sink, const struct sl_trace_meta *meta);

/* Writes events, in any order, except SL_EV_WINDOW_*. Returns 0 or the file's sticky error. Without
 * an open file, only facts that later files need are stored (META, CUDA_EVENT). With
 * meta.has_edges, a call that may have waited is held until its edges arrive, or can no longer
 * arrive. */
int sl_kineto_events(struct sl_kineto *k, const struct sl_event *ev, size_t count);

/* Writes the row of the call that waited, and a row for each edge. An edge gets an arrow if there
 * was a wait for its source and both its ends have rows in this file. Returns as
 * sl_kineto_events(). */
int sl_kineto_edges(struct sl_kineto *k, const struct sl_output_edges *edges);

/* Writes the waits whose event record or edges have not arrived by now, without them. Returns as
 * sl_kineto_events(). */
int sl_kineto_complete(struct sl_kineto *k, const struct sl_output_progress *progress);

/* Passes all text so far to the sink (the caller then syncs the sink). */
int sl_kineto_flush(struct sl_kineto *k);

/* Ends the file: writes held rows, counters (sl_stats) and the rest of the JSON object. */
int sl_kineto_end(struct sl_kineto *k, uint64_t closed_ns);

/* The file failed, so held rows are dropped. Does nothing without an open file. */
void sl_kineto_abandon(struct sl_kineto *k);

/* Returns the number of events in the open file, without held ones. */
uint64_t sl_kineto_written(const struct sl_kineto *k);

#endif
