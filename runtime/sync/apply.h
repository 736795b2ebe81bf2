/*
 * apply.h - the engine's state, and what the files that apply a call to it share.
 *
 * Calls are applied one by one, in order of correlation id: to streams, events, graphs and waits.
 * apply.c applies operations and records of events; apply_graph.c launched graphs; apply_wait.c
 * waits; foreign.c what files of torch.profiler's lack. edge.c feeds them.
 *
 * Threads: the engine's owner alone. Memory: the store's.
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
    SL_APPLY_UNRETURNED = 16 /* calls: each is a thread that has no processor for a second */
};

/* A copy or a memset that came without its call, which had not returned. */
struct sl_unreturned {
    uint64_t correlation;
    int by_name; /* the call waited if it is a blocking one; 0: it waited */
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
    uint64_t newest;          /* highest correlation id that came */
    uint64_t returned_ns;     /* when the last call returned that may have enqueued something */
    uint64_t forgotten;       /* records with this correlation id or a lower one are ignored */
    enum sl_edge_loss reason; /* why */
    uint64_t last_lost;       /* the correlation id that was counted for it last */
    size_t blind;             /* so many events more are forgotten as they come */
    /* apply*.c */
    struct sl_map context_of;      /* thread -> the context that it used last */
    const struct sl_context *used; /* what was put there last */
    uint32_t used_by;              /* and for which thread */
    uint64_t begin_ns;             /* calls from before are ignored */
    uint64_t last_correlation;     /* the highest that was applied */
    int calls_seen;                /* records of calls are being made */
    unsigned captures;             /* under way */
    int closing;                   /* nothing more will come of these calls */
    int starved;                   /* a call's work found no room: no tail is known */
    struct sl_unreturned unreturned[SL_APPLY_UNRETURNED]; /* the last ones */
    unsigned unreturned_next;                             /* 0: there was none yet */
};

/* One call, while it is applied. */
struct sl_call {
    struct sl_edges *e;
    const struct sl_item *item; /* its records */
    size_t count;
    const struct sl_item *cpu, *sync; /* NULL: no such record */
    struct sl_moment by;
    enum sl_call_class class;
    int is_graph;          /* its operations are nodes */
    struct sl_op *last_op; /* it enqueued */
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

/* concurrent_calls.c: another thread's call overlaps this one, and may have come before what this
 * call's record `by` tells of: an operation, the record of an event, or the wait for an event. */
int sl_call_is_joined(const struct sl_call *c, const struct sl_item *by);

/* apply.c: tells the stream and gives what the operation waited for; NULL: nothing new. */
struct sl_op *sl_call_enqueue(struct sl_call *c, const struct sl_item *item);

/* apply_graph.c: all nodes that the call launched. */
void sl_call_graph(struct sl_call *c);

/* apply_wait.c: the call's wait for `op`, which was made from `item`, or for what its stream held
 * before. Only copies and memsets of some memory have one. */
void sl_call_copy_waits(struct sl_call *c, const struct sl_item *item, struct sl_op *op);

/* apply_wait.c: a blocking copy from one device to another: it comes behind and before all work of
 * both (CUDA's programming guide, "Peer-to-Peer Memory Copy"). */
int sl_call_is_serialized(const struct sl_call *c, const struct sl_item *item);

/* apply_wait.c: the call waits for the stream, or the stream's context. */
void sl_call_wait_for(struct sl_call *c, struct sl_stream *stream, enum sl_wait_scope scope,
                      enum sl_edge_kind kind, int inferred);

/* apply_wait.c: all other waits of the call, and of the streams that it made wait. Comes last: an
 * operation of the call's own stands for its wait, and its records of events are known. */
void sl_call_waits(struct sl_call *c);

/* apply_wait.c: does the call return only when its own operation, a copy or a memset, has ended?
 * `blocking`: by its name it does. */
int sl_apply_waits_for_itself(const struct sl_item *op, const struct sl_shape *shape, int blocking);

/* All records of one call: `count` items with the same correlation id. */
void sl_apply_call(struct sl_edges *e, const struct sl_item *item, size_t count);

#endif
