/*
 * edge.h - finds the GPU work that each wait was waiting for.
 *
 * The input of the engine is the assembled events of a process (event/assemble.h), in any order.
 * The output is edges. An edge says that a call, or a GPU operation, could not continue before
 * another GPU operation had completed. The engine derives edges from the order in which work was
 * enqueued. The engine does not guess edges from events that happen at about the same time.
 * docs/sync-edges.md defines the kinds of edges and how the engine finds each kind. The engine runs
 * in a job, on the writer thread, and in the command-line tool, on the events of a trace file.
 *
 * The engine decides a wait, that is, finds its sources and emits its edges, once every record that
 * ended before the wait's end was delivered. The caller reports this delivery with
 * sl_edges_delivered(). Until then the engine holds the records, as many as fit into memory.
 *
 * Threads: one thread owns an engine and makes all calls. Memory: mapped pages, at most
 * `cap_bytes`. If the engine needs more memory, it drops and counts the held records. Afterwards
 * the state of all streams is unknown, just like after a pause of the recording.
 */
#ifndef SL_EDGE_H
#define SL_EDGE_H

#include <stddef.h>
#include <stdint.h>

#include "event/event.h"
#include "event/shape.h"

enum sl_edge_kind {
    SL_EDGE_DEVICE_SYNC,
    SL_EDGE_CONTEXT_SYNC,
    SL_EDGE_STREAM_SYNC,
    SL_EDGE_EVENT_SYNC,
    SL_EDGE_EVENT_QUERY,
    SL_EDGE_STREAM_QUERY,
    SL_EDGE_COPY,
    SL_EDGE_MEMSET,
    SL_EDGE_FREE,
    SL_EDGE_ALLOC,
    SL_EDGE_STREAM_WAIT,
    SL_EDGE_LEGACY_DEFAULT,
    SL_EDGE_GRAPH,
    SL_EDGE_QUEUE_FULL,
    SL_EDGE_MODULE_LOAD,
    SL_EDGE_IMPLICIT,
    SL_EDGE_KIND_COUNT
};

/* Returns 1 for the kinds of edges that end at a query. A query returns at once, even if work
 * completes during the query, so wait_ns is 0 for these edges. */
static inline int sl_edge_is_query(enum sl_edge_kind kind)
{
    return kind == SL_EDGE_EVENT_QUERY || kind == SL_EDGE_STREAM_QUERY;
}

/* How certain an edge is. OVERLAPPING means that the enqueuing call and the wait overlapped in
 * time, so the engine applied the rule in docs/sync-edges.md. INFERRED means that no record proves
 * the edge, so the engine concluded it from times. */
enum sl_edge_basis {
    SL_BASIS_EXACT,
    SL_BASIS_OVERLAPPING,
    SL_BASIS_INFERRED
};

/* A GPU operation. Each GPU operation is one slice of the trace. */
struct sl_edge_op {
    uint64_t correlation;
    /* CUDA's id of the graph node; 0 if the operation is not part of a graph */
    uint64_t graph_node;
    /* `end_ns` of a source is never later than the wait for it */
    uint64_t start_ns, end_ns;
    uint32_t name; /* intern id; 0 for copies and memsets, which the shape describes */
    uint32_t shape;
    uint32_t context, stream;
    uint8_t device;
    uint8_t kind; /* enum sl_event_kind */
};

struct sl_edge {
    struct sl_edge_op source;
    uint8_t kind;  /* enum sl_edge_kind */
    uint8_t basis; /* enum sl_edge_basis */
    /* 1: the destination is a GPU operation that could not start; 0: the destination is a call that
     * could not return */
    uint8_t at_start;
    /* 1: this source ended last of all sources of the wait, and the wait took time. So this source
     * released the wait. */
    uint8_t released;
    uint64_t wait_ns, wake_ns;
    /* The destination of the edge. */
    uint64_t dst_correlation;
    uint64_t dst_start_ns, dst_end_ns; /* start and end of the call or GPU operation */
    uint32_t dst_thread;               /* the thread of the call, or of the launching call */
    /* name and callback id of the call; 0 if the call has no record */
    uint32_t dst_name, dst_cbid;
    /* SL_EV_RUNTIME or SL_EV_DRIVER; 0 if the call has no record */
    uint8_t dst_domain;
    struct sl_edge_op dst_op; /* set only if at_start is 1 */
};

/* Why a possible edge was left out. Each case is counted; `syncline check` shows the counters. */
enum sl_edge_loss {
    SL_EDGE_LOST_BEFORE_WINDOW, /* the awaited work may include work enqueued before recording
                                 * began */
    /* needed records did not arrive before the engine had to emit the wait's edges */
    SL_EDGE_LOST_GAVE_UP,
    SL_EDGE_LOST_AMBIGUOUS, /* an inferred edge has two possible sources */
    /* the file has no stream flags, so it is unknown which streams are ordered with the legacy
     * default stream */
    SL_EDGE_LOST_FLAG_UNKNOWN,
    /* the edge is between nodes of a graph whose dependencies are not known */
    SL_EDGE_LOST_GRAPH_INSIDE,
    /* the engine saw no record of the awaited event, or no record says what the wait waited for */
    SL_EDGE_LOST_NO_RECORD,
    SL_EDGE_LOST_MEMORY, /* the engine had no memory left */
    SL_EDGE_LOST_CYCLE,
    SL_EDGE_LOST_COUNT
};

/* Receives all edges of a call, or of a GPU operation, at once. The edges are valid until this
 * function returns. */
typedef void (*sl_edge_sink_fn)(void *user, const struct sl_edge *edges, size_t count);

struct sl_edges_options {
    size_t cap_bytes; /* maximum memory in bytes; 0 means 16 MiB */
    /* 1 (jobs): an edge without waiting time is emitted only if the stream was used since the
     * thread last waited for that stream. 0 (files): such edges are emitted for all streams. */
    int online;
    /* 1: the events are from a file of torch.profiler, which has no stream flags and no return
     * values, and lacks some waits */
    int foreign;
    /* 1: the times of operations do not fit the times of calls, so no edge is exact */
    int clocks_apart;
    /* work enqueued before this time was not recorded; 0: all work was recorded */
    uint64_t recording_since_ns;
    const struct sl_shape_table *shapes; /* required; describes copies and memsets */
    sl_edge_sink_fn sink;
    void *sink_user;
};

struct sl_edges;

/* Returns 0, -ENOMEM or -EINVAL. */
int sl_edges_create(struct sl_edges **out, const struct sl_edges_options *opt);
void sl_edges_destroy(struct sl_edges *e); /* accepts NULL */

/* Adds one assembled event: a GPU operation, call, sync, event record, overhead of a call, or
 * stream metadata. Before all other events of a foreign file, the caller adds one event for each
 * context, with stream SL_STREAM_NONE. */
void sl_edges_event(struct sl_edges *e, const struct sl_event *ev);

/* The caller guarantees that every record that ended before `complete_ns` has been added. Emits the
 * edges of every wait that ended before that time. */
void sl_edges_delivered(struct sl_edges *e, uint64_t complete_ns);

/* The caller guarantees that no more records will arrive of calls that began before `before_ns`.
 * UINT64_MAX means all calls. Emits the edges of these calls. The state of streams is kept. */
void sl_edges_close(struct sl_edges *e, uint64_t before_ns);
void sl_edges_flush(struct sl_edges *e); /* same as sl_edges_close(e, UINT64_MAX) */

/* The caller reports that records were lost, or that recording paused for a while. The records of
 * calls that were not applied yet are dropped, and each wait among these records is counted with
 * `reason`. The pending work of all streams and events is unknown from then on. The flags of
 * streams are kept. The engine ignores later records of calls that it knows at this time. */
void sl_edges_forget(struct sl_edges *e, enum sl_edge_loss reason);

/* Call after sl_edges_forget(), when records are made again. The engine ignores calls that began
 * before `begin_ns`, even if some of their records arrive later, because records of other calls
 * from before `begin_ns` are missing. */
void sl_edges_begin(struct sl_edges *e, uint64_t begin_ns);

/* Returns a correlation id. All edges of calls with a lower id have been emitted. Returns
 * UINT64_MAX if no edges are outstanding. The result is valid after a call of sl_edges_delivered(),
 * sl_edges_close() or sl_edges_flush(). */
uint64_t sl_edges_undecided(const struct sl_edges *e);

/* Returns a time. The edges of all waits that began before this time have been emitted, and so have
 * the edges of all GPU operations whose call began before this time. */
uint64_t sl_edges_decided_ns(const struct sl_edges *e);

uint64_t sl_edges_lost(const struct sl_edges *e, enum sl_edge_loss reason);
const char *sl_edge_kind_name(enum sl_edge_kind kind);    /* returns a name such as "stream_sync" */
const char *sl_edge_basis_name(enum sl_edge_basis basis); /* returns a name such as "exact" */
/* returns a name such as "before_window" */
const char *sl_edge_loss_name(enum sl_edge_loss reason);

#endif
