/*
 * kineto.h - events -> Kineto JSON text.
 *
 * Writes what libkineto writes and what its readers need (docs/trace-format.md): one event a line,
 * metadata when first seen, process metadata before the first event. Text that does not change
 * between events of the same shape is kept finished and copied.
 *
 * Threads: one owner, the writer thread. Text goes to the sink in blocks of some 128 KiB.
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
    size_t cap_bytes; /* most memory for kept text; 0 = 8 MiB */
    /* Name of a call whose event carries none: sl_call_name() in a job; NULL: none known. */
    const char *(*api_name)(enum sl_event_kind domain, uint32_t cbid);
    const struct sl_intern *details; /* of operators (event/op_detail.h); NULL: there are none */
    size_t held_bytes;               /* most memory for rows that wait for their edges; 0 = 1 MiB */
};

struct sl_kineto;

/* One per process; files are opened on it one after the other, and kept text lives on. */
int sl_kineto_create(struct sl_kineto **out, const struct sl_kineto_options *opt);
void sl_kineto_destroy(struct sl_kineto *k); /* NULL is fine; no file may be open */

/* Begins a file. Header and process metadata go out with its first row, so that devices seen until
 * then stand in it. The sink stays the caller's to close. */
int sl_kineto_begin(struct sl_kineto *k, struct sl_sink *sink, const struct sl_trace_meta *meta);

/* Events, in any order. 0 or the sticky error of this file. SL_EV_WINDOW_* are not for here.
 * Without an open file only what later files need is taken in (META, CUDA_EVENT). With
 * meta.has_edges a call that may have waited is held until its edges come, or cannot come. */
int sl_kineto_events(struct sl_kineto *k, const struct sl_event *ev, size_t count);

/* The row of the call that waited, and a row for each edge, with an arrow where it was waited for
 * and both its ends have rows in this file. Returns as sl_kineto_events(). */
int sl_kineto_edges(struct sl_kineto *k, const struct sl_output_edges *edges);

/* Waits whose event record or edges have not come by now go out without. Returns as
 * sl_kineto_events(). */
int sl_kineto_complete(struct sl_kineto *k, const struct sl_output_progress *progress);

/* Hands all text so far to the sink (the caller then syncs the sink). */
int sl_kineto_flush(struct sl_kineto *k);

/* Ends the file: what is held, counters (sl_stats) and whatever else closes the object. */
int sl_kineto_end(struct sl_kineto *k, uint64_t closed_ns);

/* The file went wrong: what is held is lost. Nothing without an open file. */
void sl_kineto_abandon(struct sl_kineto *k);

/* Events in the open file; what is held back is not. */
uint64_t sl_kineto_written(const struct sl_kineto *k);

#endif
