/*
 * kineto.h - writes events as Kineto JSON text.
 *
 * The format is libkineto's, as its readers expect it (docs/trace-format.md): one event per line,
 * metadata of a thread or stream before its first event, process metadata before all events. The
 * text that all events of one shape share is cached and copied.
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
    size_t cap_bytes; /* memory limit for cached text; 0: 8 MiB */
    /* Returns the name of a call whose event has no name; in a job this is sl_call_name(). NULL: no
     * names are known. */
    const char *(*api_name)(enum sl_event_kind domain, uint32_t cbid);
    const struct sl_intern *details; /* table of operators' details (event/op_detail.h); NULL:
                                      * none */
    size_t held_bytes; /* memory limit for rows held until their edges arrive; 0: 1 MiB */
};

struct sl_kineto;

/* A process has one writer. It writes files one after the other, and keeps the cached text between
 * them. */
int sl_kineto_create(struct sl_kineto **out, const struct sl_kineto_options *opt);
void sl_kineto_destroy(struct sl_kineto *k); /* accepts NULL; no file may be open */

/* Begins a file. The header and process metadata are written with the first row, so that they
 * include all devices seen until then. The caller closes the sink. */
int sl_kineto_begin(struct sl_kineto *k, struct sl_sink *sink, const struct sl_trace_meta *meta);

/* Writes events in any order (SL_EV_WINDOW_* are not allowed). Returns 0 or the file's sticky
 * error. If no file is open, only stores facts that later files need (META, CUDA_EVENT). With
 * meta.has_edges, a call that may have waited is held until its edges have arrived, or cannot
 * arrive any more. */
int sl_kineto_events(struct sl_kineto *k, const struct sl_event *ev, size_t count);

/* Writes the row of the call that waited, and a row for each edge. An edge gets an arrow if its
 * source was really waited for, and if source and destination have rows in this file. Returns as
 * sl_kineto_events(). */
int sl_kineto_edges(struct sl_kineto *k, const struct sl_output_edges *edges);

/* Writes held waits without their event record, and held calls without their edges, if these will
 * not arrive any more. Returns as sl_kineto_events(). */
int sl_kineto_complete(struct sl_kineto *k, const struct sl_output_progress *progress);

/* Passes all text so far to the sink (the caller then syncs the sink). */
int sl_kineto_flush(struct sl_kineto *k);

/* Writes held rows, counters (sl_stats) and the rest of the JSON object, and so ends the file. */
int sl_kineto_end(struct sl_kineto *k, uint64_t closed_ns);

/* Call if the file has failed. Drops held rows. Does nothing if no file is open. */
void sl_kineto_abandon(struct sl_kineto *k);

/* Returns the number of events in the open file; held events are not counted. */
uint64_t sl_kineto_written(const struct sl_kineto *k);

#endif
