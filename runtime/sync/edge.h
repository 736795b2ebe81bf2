/*
 * edge.h - finds the GPU work that each wait was waiting for.
 *
 * The engine takes the assembled events of a process (event/assemble.h) in any order. It emits
 * edges. An edge says that a call, or a GPU operation, could not continue before another GPU
 * operation had completed. Edges follow from the order of enqueue, not from two things that happen
 * at about the same time. docs/sync-edges.md defines each kind and how it is found. The same code
 * runs in a job (writer thread) and in the tool (on a file).
 *
 * A wait is decided once every record that ended before the wait's end was delivered, which the
 * caller reports with sl_edges_delivered(). Until then records are held, as many as fit into
 * memory.
 *
 * Threads: the engine's owner alone. Memory: mapped pages, at most `cap_bytes`. Past the cap, the
 * held records are dropped and counted. Then the state of all streams is unknown, as after a pause
 * of the recording.
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
    SL_EDGE_IMPLICIT,
    SL_EDGE_KIND_COUNT
};

/* A query returns at once, even if work completes while it runs, so its wait_ns is 0. */
static inline int sl_edge_is_query(enum sl_edge_kind kind)
{
    return kind == SL_EDGE_EVENT_QUERY || kind == SL_EDGE_STREAM_QUERY;
}

/* How certain an edge is. OVERLAPPING means that the enqueue and the wait overlapped in time, so
 * that the rule in docs/sync-edges.md decided. INFERRED means that no record says it, so that it
 * was concluded from times. */
enum sl_edge_basis {
    SL_BASIS_EXACT,
    SL_BASIS_OVERLAPPING,
    SL_BASIS_INFERRED
};

/* A GPU operation: one row of the trace. */
struct sl_edge_op {
    uint64_t correlation;
    uint64_t graph_node; /* 0: not part of a graph */
    uint64_t start_ns, end_ns;
    uint32_t name; /* intern id; 0 for copies and memsets, which the shape describes */
    uint32_t shape;
    uint32_t context, stream;
    uint8_t device;
    uint8_t kind; /* enum sl_event_kind */
};

struct sl_edge {
    struct sl_edge_op source;
    uint8_t kind;     /* enum sl_edge_kind */
    uint8_t basis;    /* enum sl_edge_basis */
    uint8_t at_start; /* 1: a GPU operation could not start; 0: a call could not return */
    uint8_t released; /* 1: this source ended last and released the wait, which really took time */
    uint64_t wait_ns, wake_ns;
    /* destination */
    uint64_t dst_correlation;
    uint64_t dst_start_ns, dst_end_ns; /* start and end of the call or GPU operation */
    uint32_t dst_thread;               /* the thread of the call, or of the launching call */
    uint32_t dst_name, dst_cbid;       /* name and callback id of the call; 0: the call has no
                                        * record */
    uint8_t dst_domain;                /* SL_EV_RUNTIME or SL_EV_DRIVER; 0: no record of the call */
    struct sl_edge_op dst_op;          /* set only if at_start is 1 */
};

/* Why a possible edge was left out. Each case is counted; `syncline check` shows the counters. */
enum sl_edge_loss {
    SL_EDGE_LOST_BEFORE_WINDOW, /* the awaited work may include work enqueued before recording
                                 * began */
    SL_EDGE_LOST_GAVE_UP,       /* records did not arrive before the bound or the window's end */
    SL_EDGE_LOST_AMBIGUOUS,     /* two sources fit an inferred edge */
    SL_EDGE_LOST_FLAG_UNKNOWN,  /* the file has no stream flags, so legacy order is unknown */
    SL_EDGE_LOST_GRAPH_INSIDE,  /* the dependencies between a graph's nodes are not known */
    SL_EDGE_LOST_NO_RECORD, /* no record of the awaited event was seen, or the wait names nothing */
    SL_EDGE_LOST_MEMORY,    /* there was no memory */
    SL_EDGE_LOST_CYCLE,
    SL_EDGE_LOST_COUNT
};

/* Receives all edges of a call, or of a GPU operation, at once. They are valid until it returns. */
typedef void (*sl_edge_sink_fn)(void *user, const struct sl_edge *edges, size_t count);

struct sl_edges_options {
    size_t cap_bytes; /* 0 = 16 MiB */
    int online;  /* 1: edges without a wait are emitted only for streams used since the thread's
                  * last covering wait; 0 (files): for all streams */
    int foreign; /* 1: a torch.profiler file: no flags, no return values, some syncs missing */
    uint64_t recording_since_ns; /* work before this time was not seen; 0: all work was seen */
    const struct sl_shape_table *shapes; /* required: describes copies and calls */
    sl_edge_sink_fn sink;
    void *sink_user;
};

struct sl_edges;

/* Returns 0, -ENOMEM or -EINVAL. */
int sl_edges_create(struct sl_edges **out, const struct sl_edges_options *opt);
void sl_edges_destroy(struct sl_edges *e); /* accepts NULL */

/* Adds one assembled event: a GPU operation, call, sync, event record or stream metadata. For a
 * foreign file the caller also adds one event for each context before all others, with stream
 * SL_STREAM_NONE. */
void sl_edges_event(struct sl_edges *e, const struct sl_event *ev);

/* The caller guarantees that every record that ended before `complete_ns` has been added. Decides
 * every wait that ended before that time. */
void sl_edges_delivered(struct sl_edges *e, uint64_t complete_ns);

/* The caller guarantees that no more records will arrive of calls that began before `before_ns`
 * (UINT64_MAX: of any call). Decides these calls. The state of streams is kept. */
void sl_edges_close(struct sl_edges *e, uint64_t before_ns);
void sl_edges_flush(struct sl_edges *e); /* sl_edges_close(e, UINT64_MAX) */

/* The caller reports that records were lost, or that none were made for a while. Held records are
 * dropped, and each wait among them is counted with `reason`. From then on the contents of streams
 * and events are unknown; stream flags are kept. Later records of calls that are known so far are
 * ignored. */
void sl_edges_forget(struct sl_edges *e, enum sl_edge_loss reason);

/* Call after sl_edges_forget(), when records are made again. Calls that began before `begin_ns` are
 * ignored even if some of their records arrive later, because records of other calls of that time
 * are missing. */
void sl_edges_begin(struct sl_edges *e, uint64_t begin_ns);

/* Returns a correlation id below which all calls are decided, UINT64_MAX if all calls are. Valid
 * after sl_edges_delivered(), sl_edges_close() and sl_edges_flush(). */
uint64_t sl_edges_undecided(const struct sl_edges *e);

/* Returns a time. Waits that began before it are decided, and so are GPU operations whose call
 * began before it. */
uint64_t sl_edges_decided_ns(const struct sl_edges *e);

uint64_t sl_edges_lost(const struct sl_edges *e, enum sl_edge_loss reason);
const char *sl_edge_kind_name(enum sl_edge_kind kind);    /* "stream_sync" */
const char *sl_edge_basis_name(enum sl_edge_basis basis); /* "exact" */
const char *sl_edge_loss_name(enum sl_edge_loss reason);  /* "before_window" */

#endif
