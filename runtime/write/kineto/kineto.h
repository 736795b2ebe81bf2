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
#include "sync/edge.h"
#include "write/sink/sink.h"

/* Facts of the process, told once. Strings are borrowed for the life of the writer. */
struct sl_trace_meta {
    uint32_t pid;
    int rank, world_size;
    const char *host, *job, *process_name, *syncline_version, *trace_name;
    uint32_t cupti_version, cuda_runtime_version, cuda_driver_version; /* 0 = unknown */
    uint64_t opened_ns;                                                /* window start */
    uint32_t window;                                                   /* counts from 1 */
    int has_edges; /* the file will have a row for each edge */
};

struct sl_kineto_options {
    enum sl_detail detail;
    const struct sl_intern *intern;
    const struct sl_shape_table *shapes;
    const struct sl_device_table *devices;
    size_t cap_bytes; /* most memory for kept text; 0 = 8 MiB */
    /* Name of a call whose event carries none: sl_decode_api_name() in a job; NULL: none known. */
    const char *(*api_name)(enum sl_event_kind domain, uint32_t cbid);
    const struct sl_intern *details; /* of operators (event/op_detail.h); NULL: there are none */
};

struct sl_kineto;

/* One per process; files are opened on it one after the other, and kept text lives on. */
int sl_kineto_create(struct sl_kineto **out, const struct sl_kineto_options *opt);
void sl_kineto_destroy(struct sl_kineto *k); /* NULL is fine; no file may be open */

/* Begins a file. Header and process metadata go out with its first row, so that devices seen until
 * then stand in it. The sink stays the caller's to close. */
int sl_kineto_begin(struct sl_kineto *k, struct sl_sink *sink, const struct sl_trace_meta *meta);

/* Events, in any order. 0 or the sticky error of this file. SL_EV_WINDOW_* are not for here.
 * Without an open file only what later files need is taken in (META, CUDA_EVENT). */
int sl_kineto_events(struct sl_kineto *k, const struct sl_event *ev, size_t count);

/* A call's row with what it waited for: the edge that released it, or where it did not wait that of
 * the source that ended last. Returns as sl_kineto_events(). */
int sl_kineto_call(struct sl_kineto *k, const struct sl_event *ev, const struct sl_edge *by);

/* A call whose row comes later: those of its GPU operations, which may come before, tell its
 * operator. */
void sl_kineto_expect(struct sl_kineto *k, const struct sl_event *call);

/* An edge's row, and where it was waited for (`arrow`: both its ends have rows in this file) its
 * arrow. Returns as sl_kineto_events(). */
int sl_kineto_edge(struct sl_kineto *k, const struct sl_edge *edge, int arrow);

/* Everything that ended at or before `complete_ns` was given: waits whose event record has not come
 * by now go out without it. Returns as sl_kineto_events(). */
int sl_kineto_complete(struct sl_kineto *k, uint64_t complete_ns);

/* Hands all text so far to the sink (the caller then syncs the sink). */
int sl_kineto_flush(struct sl_kineto *k);

/* Ends the file: counters (sl_stats) and whatever else closes the object. */
int sl_kineto_end(struct sl_kineto *k, uint64_t closed_ns);

/* Events in the open file; waits that are held back are not. */
uint64_t sl_kineto_written(const struct sl_kineto *k);

#endif
