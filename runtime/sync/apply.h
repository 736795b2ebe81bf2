/*
 * apply.h - the engine's state, and declarations shared by the files that apply a call.
 *
 * Calls are applied to streams, events, graphs and waits one by one, in order of correlation id.
 * apply.c applies operations and event records; apply_graph.c graph launches; apply_wait.c waits.
 * foreign.c adds what files of torch.profiler lack. edge.c feeds these files.
 *
 * Threads: the engine's owner alone. Memory: from the store.
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
    SL_APPLY_UNRETURNED = 16 /* how many calls without a record are remembered; each means that a
                              * thread got no processor for a second */
};

/* A copy or memset whose call had not returned, so that the call has no record. */
struct sl_unreturned {
    uint64_t correlation;
    int by_name; /* 1: the call waited only if its name is that of a blocking call; 0: it waited in
                  * any case */
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
    /* edge.c */
    uint64_t newest;          /* highest correlation id seen */
    uint64_t returned_ns;     /* latest return of a call that may have enqueued something */
    uint64_t forgotten;       /* records with this correlation id or a lower one are ignored */
    enum sl_edge_loss reason; /* why they are ignored */
    uint64_t last_lost;       /* the correlation id that was last counted with that reason */
    size_t blind;             /* how many of the next events are dropped when they arrive */
    /* apply*.c */
    struct sl_map context_of;      /* thread -> the context that the thread used last */
    const struct sl_context *used; /* the context of the last entry made in `context_of` */
    uint32_t used_by;              /* the thread of that entry */
    uint64_t begin_ns;             /* calls that began before this time are ignored */
    uint64_t last_correlation;     /* highest correlation id applied */
    int calls_seen;                /* 1: records of calls are being made */
    unsigned captures;             /* stream captures under way */
    int closing;                   /* 1: no more records of the applied calls will arrive */
    int starved;                   /* 1: there was no memory for a call's work, so no tail is
                                    * known */
    struct sl_unreturned
        unreturned[SL_APPLY_UNRETURNED]; /* a ring of the last ones without a record */
    unsigned unreturned_next;            /* 0: none so far */
};

/* One call while it is being applied. */
struct sl_call {
    struct sl_edges *e;
    const struct sl_item *item; /* the call's records */
    size_t count;
    const struct sl_item *cpu, *sync; /* NULL: there is no such record */
    struct sl_moment by;
    enum sl_call_class class;
    int is_graph;          /* 1: its operations are nodes of a graph */
    struct sl_op *last_op; /* the operation that the call enqueued last; NULL: none */
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
 * before it. `by` is the record of this call's action: an operation, an event record, or a wait for
 * an event. */
int sl_call_is_joined(const struct sl_call *c, const struct sl_item *by);

/* apply.c: adds the operation to its stream and emits the edges of its waits. Returns the
 * operation, NULL if it was there before or found no room. */
struct sl_op *sl_call_enqueue(struct sl_call *c, const struct sl_item *item);

/* apply_graph.c: applies all nodes that the call launched. */
void sl_call_graph(struct sl_call *c);

/* apply_wait.c: adds the call's wait for `op`, which was made from `item`, or for the earlier work
 * of its stream. Only copies and memsets of certain memory have one. */
void sl_call_copy_waits(struct sl_call *c, const struct sl_item *item, struct sl_op *op);

/* apply_wait.c: returns 1 for a blocking copy from one device to another. Such a copy runs after
 * all earlier and before all later work of both devices (CUDA's programming guide, "Peer-to-Peer
 * Memory Copy"). */
int sl_call_is_serialized(const struct sl_call *c, const struct sl_item *item);

/* apply_wait.c: adds the call's wait for the stream, or for the stream's context. */
void sl_call_wait_for(struct sl_call *c, struct sl_stream *stream, enum sl_wait_scope scope,
                      enum sl_edge_kind kind, int inferred);

/* apply_wait.c: adds all other waits of the call, and the stream waits that it made. Must be called
 * last, because an own operation of the call replaces its wait, and its event records must be
 * known. */
void sl_call_waits(struct sl_call *c);

/* apply_wait.c: returns 1 if the call returns only after its own operation (a copy or memset) has
 * ended. `blocking`: 1 if the call is a blocking one by its name. */
int sl_apply_waits_for_itself(const struct sl_item *op, const struct sl_shape *shape, int blocking);

/* Applies one call: `count` items with the same correlation id. */
void sl_apply_call(struct sl_edges *e, const struct sl_item *item, size_t count);

#endif
