/*
 * edge.h - which GPU work each wait was waiting for.
 *
 * Fed with the assembled events of a process (event/assemble.h), in whatever order CUPTI delivered
 * them, it gives edges: "this call (or this GPU operation) could not go on before that GPU
 * operation had ended". Edges are facts about the order of enqueue, never guesses from nearness in
 * time; docs/sync-edges.md says what each kind means and how it is found. The same code runs in a
 * job (writer thread) and in the tool (on a file).
 *
 * A wait is decided when everything that ended before its end is known to be in. Who feeds the
 * engine says so: sl_edges_delivered(). Until then records are held, bounded by memory alone.
 *
 * Threads: the engine's owner alone. Memory: mapped pages, at most `cap_bytes`; past it what is
 * held is given up, counted, and the state of streams unknown, as after a pause of the recording.
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

/* Nobody waits, for what ends while it runs neither: wait_ns is 0. */
static inline int sl_edge_is_query(enum sl_edge_kind kind)
{
    return kind == SL_EDGE_EVENT_QUERY || kind == SL_EDGE_STREAM_QUERY;
}

/* How sure it is. OVERLAPPING: enqueue and wait truly overlapped, decided by the rule in
 * docs/sync-edges.md. INFERRED: from times, since no record says it. */
enum sl_edge_basis {
    SL_BASIS_EXACT,
    SL_BASIS_OVERLAPPING,
    SL_BASIS_INFERRED
};

/* A GPU operation: one row of the trace. */
struct sl_edge_op {
    uint64_t correlation;
    uint64_t graph_node; /* 0 = not from a graph */
    uint64_t start_ns, end_ns;
    uint32_t name; /* intern id; 0 for copies and memsets: the shape tells */
    uint32_t shape;
    uint32_t context, stream;
    uint16_t device;
    uint8_t kind; /* enum sl_event_kind */
};

struct sl_edge {
    struct sl_edge_op source;
    uint8_t kind;  /* enum sl_edge_kind */
    uint8_t basis; /* enum sl_edge_basis */
    uint8_t
        at_start; /* 1: the destination is a GPU operation and waits to start; 0: a call's end */
    uint8_t released; /* the member of the set that ended last, and was really waited for */
    uint64_t wait_ns, wake_ns;
    /* destination */
    uint64_t dst_correlation;
    uint64_t dst_start_ns, dst_end_ns; /* of the call, or of the GPU operation */
    uint32_t dst_thread;               /* the call's thread, or the launching call's */
    uint32_t dst_name, dst_cbid;       /* of the call: as its event has them; 0: no record of it */
    uint8_t dst_domain;                /* SL_EV_RUNTIME or SL_EV_DRIVER; 0: no record of it */
    struct sl_edge_op dst_op;          /* at_start only */
};

/* Why an edge that might exist was not given. Each is counted; `syncline check` shows them. */
enum sl_edge_loss {
    SL_EDGE_LOST_BEFORE_WINDOW, /* scope may hold work enqueued before recording began */
    SL_EDGE_LOST_GAVE_UP,       /* records did not come before the bound or the window's end */
    SL_EDGE_LOST_AMBIGUOUS,     /* inferred: two sources fit */
    SL_EDGE_LOST_FLAG_UNKNOWN,  /* stream flags not in the file: no legacy order */
    SL_EDGE_LOST_GRAPH_INSIDE,  /* dependencies between a graph's nodes are not known */
    SL_EDGE_LOST_NO_RECORD,     /* wait names an event record that was never seen, or nothing */
    SL_EDGE_LOST_MEMORY,        /* cap_bytes reached */
    SL_EDGE_LOST_CYCLE,
    SL_EDGE_LOST_COUNT
};

/* Receives all edges of a call, or of a GPU operation, at once. They live until it returns. */
typedef void (*sl_edge_sink_fn)(void *user, const struct sl_edge *edges, size_t count);

struct sl_edges_options {
    size_t cap_bytes; /* 0 = 16 MiB */
    int online;       /* zero-wait edges only for streams used since the thread's last covering
                         sync; 0: for every stream ordered before (files) */
    int foreign;      /* a torch.profiler file: no flags, no return values, not all syncs */
    uint64_t recording_since_ns;         /* work before this was not seen; 0 = everything was */
    const struct sl_shape_table *shapes; /* what copies are: required; u.call.cbid tells calls */
    sl_edge_sink_fn sink;
    void *sink_user;
};

struct sl_edges;

/* 0, -ENOMEM, -EINVAL. */
int sl_edges_create(struct sl_edges **out, const struct sl_edges_options *opt);
void sl_edges_destroy(struct sl_edges *e); /* NULL is fine */

/* One assembled event: GPU operations, calls, syncs, event records, stream metadata (of a foreign
 * file also each context before all else, with stream SL_STREAM_NONE). */
void sl_edges_event(struct sl_edges *e, const struct sl_event *ev);

/* Everything that ended before `complete_ns` is in: decides every wait that ended before it. */
void sl_edges_delivered(struct sl_edges *e, uint64_t complete_ns);

/* Nothing more will come of what began before `before_ns` (UINT64_MAX: nothing at all): decides it.
 * The state of streams is kept. */
void sl_edges_close(struct sl_edges *e, uint64_t before_ns);
void sl_edges_flush(struct sl_edges *e); /* sl_edges_close(e, UINT64_MAX) */

/* Records were lost, or none were made for a while: what is held is given up, each wait counted as
 * `reason`, and what streams and events hold is unknown from now on. Their flags are kept. What
 * still comes of calls known so far is ignored. */
void sl_edges_forget(struct sl_edges *e, enum sl_edge_loss reason);

/* After sl_edges_forget(): records are made again. Calls that began before `begin_ns` are ignored,
 * although some record of theirs may come late: of others beside them there is none. */
void sl_edges_begin(struct sl_edges *e, uint64_t begin_ns);

/* After sl_edges_delivered() and its like: calls with a lower correlation id are decided;
 * UINT64_MAX: all are. */
uint64_t sl_edges_undecided(const struct sl_edges *e);

/* The same in time: waits that began before it are decided, and so is what GPU operations waited
 * for whose call did. */
uint64_t sl_edges_decided_ns(const struct sl_edges *e);

uint64_t sl_edges_lost(const struct sl_edges *e, enum sl_edge_loss reason);
const char *sl_edge_kind_name(enum sl_edge_kind kind);    /* "stream_sync" */
const char *sl_edge_basis_name(enum sl_edge_basis basis); /* "exact" */
const char *sl_edge_loss_name(enum sl_edge_loss reason);  /* "before_window" */

#endif
