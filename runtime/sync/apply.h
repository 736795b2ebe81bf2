/*
 * apply.h - the engine's state, and declarations that the files that apply a call share.
 *
 * Calls are applied to streams, events, graphs and waits one by one, in order of correlation id.
 * apply.c applies operations and event records. apply_graph.c applies graph launches. apply_wait.c
 * applies waits. foreign.c infers the facts that files of torch.profiler lack. edge.c passes calls
 * to these functions.
 *
 * Threads: only the thread that owns the engine (edge.h). Memory: the engine's store
 * (base/store.h).
 */
#ifndef SL_APPLY_H
#define SL_APPLY_H

#include "event/shape.h"
#include "sync/call_class.h"
#include "sync/event_state.h"
#include "sync/exec_state.h"
#include "sync/node_state.h"
#include "sync/order.h"
#include "sync/wait.h"

enum {
    /* maximum number of stored calls without a record; each such call means that a thread got no
     * processor for a second */
    SL_APPLY_UNRETURNED = 16
};

/* A copy or memset whose call had not returned when the engine applied it, so that the call had no
 * record. */
struct sl_unreturned {
    uint64_t correlation;
    /* 1: the call waited only if its name is the name of a blocking call (cudaMemcpy); 0: the call
     * waited, whatever its name is */
    int by_name;
};

struct sl_edges {
    struct sl_edges_options opt;
    struct sl_store store;
    struct sl_order order;
    struct sl_streams streams;
    struct sl_records records;
    struct sl_execs execs;
    struct sl_nodes nodes;
    struct sl_waits waits;
    /* Fields of edge.c. */
    uint64_t newest; /* highest correlation id of all events so far */
    /* latest time at which a call that may have enqueued GPU work returned */
    uint64_t returned_ns;
    uint64_t forgotten;       /* records with this correlation id or a lower one are ignored */
    enum sl_edge_loss reason; /* why the records up to `forgotten` are ignored */
    /* the correlation id of the last call that was counted as lost for `reason` */
    uint64_t last_lost;
    size_t blind; /* number of the next events to ignore; the calls of these events are ignored,
                   * too */
    /* Fields of apply*.c. */
    struct sl_map context_of;      /* maps a thread to the context that the thread used last */
    const struct sl_context *used; /* the context of the last entry made in `context_of` */
    uint32_t used_by;              /* the thread of the last entry made in `context_of` */
    uint64_t begin_ns;             /* calls that began before this time are ignored */
    uint64_t last_correlation;     /* highest correlation id of all applied calls */
    int calls_seen;                /* 1: at least one record of a call has arrived */
    unsigned captures;             /* number of stream captures that have begun and not ended */
    int closing;                   /* 1: no more records of the applied calls will arrive */
    /* 1: there was no memory for the work of a call, so the tails of streams are unknown */
    int starved;
    /* Kernels that were launched, by context. Not used if `loads_told` is 1: then a record says
     * which launch loaded a module. */
    struct sl_map launched;
    int loads_told;
    int queues_told; /* 1: a record says which calls waited for a full queue */
    struct sl_unreturned
        unreturned[SL_APPLY_UNRETURNED]; /* a ring of the last calls without a record */
    unsigned unreturned_next;            /* number of calls put into the ring so far */
};

/* The state of one call while the call is being applied. */
struct sl_call {
    struct sl_edges *e;
    const struct sl_item *item; /* the call's records */
    size_t count;
    /* the call's own record and its wait's record; NULL if there is none */
    const struct sl_item *cpu, *sync;
    struct sl_moment by;
    enum sl_call_class class;
    int is_graph;          /* 1: the call's operations are nodes of a graph */
    int waited;            /* 1: sl_call_copy_waits() has added a wait */
    struct sl_op *last_op; /* the operation that the call enqueued last; NULL if there is none */
};

static inline int sl_call_is_node(const struct sl_call *c, const struct sl_item *item)
{
    return c->is_graph && sl_item_is_operation(item) && item->kind != SL_EV_GRAPH;
}

static inline struct sl_stream *sl_call_stream(const struct sl_call *c, const struct sl_item *item)
{
    return sl_streams_at(&c->e->streams, item->where);
}

static inline void sl_call_lose(struct sl_call *c, enum sl_edge_loss reason)
{
    c->e->waits.lost[reason]++;
}

/* concurrent_calls.c: returns 1 if a call of another thread overlaps this call and may have acted
 * before this call. `by` is the record of this call's action: an operation, an event record, or a
 * wait for an event. */
int sl_call_is_joined(const struct sl_call *c, const struct sl_item *by);

/* apply.c: adds the operation to its stream and emits the edges of its waits. Returns the
 * operation, or NULL if the stream has the operation already or there is no memory for it. */
struct sl_op *sl_call_enqueue(struct sl_call *c, const struct sl_item *item);

/* apply_graph.c: applies all nodes that the call launched. */
void sl_call_graph(struct sl_call *c);

/* apply_wait.c: adds the wait of a copy or memset call: a wait for `op`, which was made from
 * `item`, or for the earlier work of the stream of `op`. Only copies and memsets of certain kinds
 * of memory wait. */
void sl_call_copy_waits(struct sl_call *c, const struct sl_item *item, struct sl_op *op);

/* apply_wait.c: returns 1 for a blocking copy from one device to another. Such a copy runs after
 * all earlier and before all later work of both devices (CUDA's programming guide, "Peer-to-Peer
 * Memory Copy"). */
int sl_call_is_serialized(const struct sl_call *c, const struct sl_item *item);

/* apply_wait.c: returns 1 for a copy within the host. The CPU makes it in the call, after the work
 * before it, and CUPTI's record of it begins with the call. So its start is no sign of a wait. */
int sl_call_is_host_copy(const struct sl_call *c, const struct sl_item *item);

/* apply_wait.c: adds a wait of the call for the stream or for the stream's context. */
void sl_call_wait_for(struct sl_call *c, struct sl_stream *stream, enum sl_wait_scope scope,
                      enum sl_edge_kind kind, int inferred);

/* apply_wait.c: adds all other waits of the call, and the stream waits that the call made. This
 * function is called last, because it needs the operations and event records of the call. */
void sl_call_waits(struct sl_call *c);

/* apply_wait.c: returns 1 if the call returns only after its own operation (a copy or memset) has
 * ended. `blocking` is 1 if the name of the call is the name of a blocking call. */
int sl_apply_waits_for_itself(const struct sl_item *op, const struct sl_shape *shape, int blocking);

/* Applies one call: `count` items with the same correlation id. */
void sl_apply_call(struct sl_edges *e, const struct sl_item *item, size_t count);

#endif
