/*
 * apply_impl.h - what the files that apply a call share. Included by them alone.
 *
 * apply.c has calls, plain operations and records of events; apply_graph.c what a launched graph
 * did; apply_wait.c what a call waited for; concurrent_calls.c whether another thread's overlaps
 * it.
 *
 * Threads: one owner.
 */
#ifndef SL_APPLY_IMPL_H
#define SL_APPLY_IMPL_H

#include "sync/apply.h"
#include "sync/call_class.h"

struct sl_call {
    struct sl_apply *e;
    const struct sl_item *item;
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
    return sl_streams_at(c->e->streams, item->where);
}

static inline void sl_call_lose(struct sl_call *c, enum sl_edge_loss reason)
{
    c->e->waits->lost[reason]++;
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

/* apply_wait.c: what the event of the call's wait stood for. NULL: nothing, or, if `*lost` has a
 * reason, it is not known. `*overlaps`: it may have been another record, since calls truly overlap.
 */
const struct sl_record *sl_call_record(const struct sl_call *c, uint32_t *lost, int *overlaps);

/* apply_wait.c: the call waits for the stream, or the stream's context. */
void sl_call_wait_for(struct sl_call *c, struct sl_stream *stream, enum sl_wait_scope scope,
                      enum sl_edge_kind kind, int inferred);

/* apply_wait.c: all other waits of the call, and of the streams that it made wait. Comes last: an
 * operation of the call's own stands for its wait, and its records of events are known. */
void sl_call_waits(struct sl_call *c);

#endif
