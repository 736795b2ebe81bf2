/*
 * kineto.h - writes events as Kineto JSON text.
 *
 * The format is the one that readers of libkineto's traces expect (docs/trace-format.md). Each
 * event is one line, called a row. The metadata of a thread or stream is written before its first
 * event. The metadata of the process is written before all events. The text that all events of one
 * shape share is cached and copied.
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
    size_t cap_bytes; /* maximum memory in bytes for cached text; 0 means 8 MiB */
    /* Returns the name of a call whose event has no name; in a job this is sl_call_name(). The
     * pointer is NULL if no names of calls are known. */
    const char *(*api_name)(enum sl_event_kind domain, uint32_t cbid);
    /* table of operators' details (event/op_detail.h); NULL if there is no such table */
    const struct sl_intern *details;
    /* maximum memory in bytes for rows that are held until their edges arrive; 0 means 1 MiB */
    size_t held_bytes;
};

struct sl_kineto;

/* A process has one writer. The writer writes files one after the other, and keeps its cached text
 * from one file to the next. */
int sl_kineto_create(struct sl_kineto **out, const struct sl_kineto_options *opt);
void sl_kineto_destroy(struct sl_kineto *k); /* accepts NULL; no file may be open */

/* Begins a file. The header and process metadata are written with the first row, so that they
 * include all devices seen until then. The caller closes the sink. */
int sl_kineto_begin(struct sl_kineto *k, struct sl_sink *sink, const struct sl_trace_meta *meta);

/* Writes events in any order (SL_EV_WINDOW_* are not allowed). Returns 0 or the file's sticky
 * error. If no file is open, the function only stores facts that later files need (SL_EV_META_*,
 * SL_EV_CUDA_EVENT). With meta.has_edges, a call that may have waited is held until its edges have
 * arrived, or cannot arrive any more. */
int sl_kineto_events(struct sl_kineto *k, const struct sl_event *ev, size_t count);

/* Writes the row of the call that waited, with its edges, and a row for each other edge. An edge
 * gets an arrow if the destination really waited for the source, and if both have rows in this
 * file. Returns the same as sl_kineto_events(). */
int sl_kineto_edges(struct sl_kineto *k, const struct sl_output_edges *edges);

/* Writes held waits whose event record will not arrive any more, and held calls whose edges will
 * not arrive any more. Returns the same as sl_kineto_events(). */
int sl_kineto_complete(struct sl_kineto *k, const struct sl_output_progress *progress);

/* Passes all text that was written so far to the sink. The caller then syncs the sink. */
int sl_kineto_flush(struct sl_kineto *k);

/* Ends the file. Writes the held rows, the counters (base/stats.h) and the rest of the JSON object.
 */
int sl_kineto_end(struct sl_kineto *k, uint64_t closed_ns);

/* Call if the file has failed. Drops held rows. Does nothing if no file is open. */
void sl_kineto_abandon(struct sl_kineto *k);

/* Returns the number of events in the open file; held events are not counted. */
uint64_t sl_kineto_written(const struct sl_kineto *k);

#endif
