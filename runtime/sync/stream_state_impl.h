/*
 * stream_state_impl.h - declarations that the stream_*.c files share with apply_graph.c and
 * foreign.c, which hold operations outside of sets.
 *
 * Threads: only the thread that owns the engine (edge.h). Memory: as in stream_state.h.
 */
#ifndef SL_STREAM_STATE_IMPL_H
#define SL_STREAM_STATE_IMPL_H

#include "sync/stream_state.h"

/* Returns 1 if `a` was enqueued after `b` on the same stream. Correlation ids decide between equal
 * times (some files round to microseconds). A graph node without a time is placed after the nodes
 * that have a time. */
int sl_op_later(const struct sl_edge_op *a, const struct sl_edge_op *b);
void sl_op_unref(struct sl_streams *s, struct sl_op *op);
/* Frees the link and its reference to the operation. The caller guarantees that no set contains the
 * link. */
void sl_link_drop(struct sl_streams *s, struct sl_link *link);

/* Like sl_set_open() and sl_set_add(), but a member that an open wait may need is kept, even if the
 * set has a member of the same stream that ends later. The first member of a stream in the set is
 * the one that ends last. For each open wait, at most one further member of the stream is kept,
 * namely the last member that had ended when the wait returned. */
void sl_set_open_beside(struct sl_streams *s, struct sl_set *set);
void sl_set_add_beside(struct sl_streams *s, struct sl_set *set, const struct sl_link *link);

/* Removes `rest` and all older operations from their stream. */
void sl_ops_drop(struct sl_streams *s, struct sl_op *rest);
/* stream_trim.c: finds the newest operation that had ended before the horizon (`horizon_ns`).
 * Forgets all older operations of the stream, because no tail can contain them any more. But an
 * older operation is kept if it ends later than the operation that was found. The stream's `pushed`
 * operation is always kept, because the caller still uses it. */
void sl_stream_trim(struct sl_streams *s, struct sl_stream *stream, const struct sl_op *pushed);
/* stream_trim.c: forgets all operations and set members, of all streams, that no wait can need.
 * Returns 0, or -ENOMEM if so little was freed that a new attempt to get memory is not worthwhile.
 */
int sl_streams_make_room(struct sl_streams *s);
/* stream_trim.c: returns the operation that ends last, among `op` and all earlier operations of its
 * stream. Returns `op` if the end of `op` is not known. Returns NULL if the search is too long or
 * the result was forgotten. */
struct sl_op *sl_op_last_to_end(struct sl_op *op);
/* stream_trim.c: updates `older_end_ns` of the operation and of later operations. Called once the
 * operation is in the list. `above` is the next later operation of the list, or NULL if the
 * operation is the newest. */
void sl_op_note_ends(struct sl_op *op, struct sl_op *above);
/* stream_table.c: forgets everything about the stream except for its ids and flags. Earlier work
 * may be pending until `seen_ns`. */
void sl_stream_empty(struct sl_streams *s, struct sl_stream *stream, uint64_t seen_ns);
/* sl_stream_use() is called when the stream is used at `ns`. It moves the stream to its new
 * position in the list of its context, which is sorted by last use. sl_stream_leave_list() removes
 * the stream from this list. */
void sl_stream_use(struct sl_stream *stream, uint64_t ns);
void sl_stream_leave_list(struct sl_stream *stream);

/* stream_trim.c: if the stream waits for many operations, drops some of them. An operation is
 * dropped if it had ended before every call began that is still to be applied, and if some thread
 * has waited for the operation. */
void sl_stream_drop_past(struct sl_streams *s, struct sl_stream *stream);

/* stream_trim.c: walks the streams of a context that were used after `since_ns`, last used first.
 * If the list is long, the walk removes streams whose operations had all ended before every call
 * began that is still to be applied. After the list, the walk visits the streams that were removed
 * earlier, if the call on whose behalf it walks began before the work of these streams had
 * ended. */
struct sl_walk {
    const struct sl_streams *s;
    const struct sl_context *context;
    const struct sl_moment *when;
    uint64_t since_ns;
    struct sl_stream *at,
        *next; /* before the walk, `next` is the context's `recent`; after the walk, it is NULL */
    size_t passed, left;
};
struct sl_stream *sl_walk_next(struct sl_walk *w);

/* Returns 1 if the call began before `ns`, although calls that began later were applied first. */
static inline int sl_moment_is_late(const struct sl_moment *when, uint64_t ns)
{
    return when->from_ns && when->from_ns < ns;
}

/* Returns the time at which the operation and all earlier operations of its stream had ended. */
static inline uint64_t sl_op_all_ended_ns(const struct sl_op *op)
{
    return sl_later(op->pub.end_ns, op->older_end_ns);
}

/* Returns the time at which all work of the stream had ended, or 0 if the stream has no work. */
static inline uint64_t sl_stream_over_ns(const struct sl_stream *stream)
{
    uint64_t ns = stream->newest ? sl_op_all_ended_ns(stream->newest) : 0;

    for (const struct sl_link *at = stream->extra.first; at; at = at->next)
        ns = sl_later(ns, sl_op_all_ended_ns(at->op));
    return ns;
}

/* Returns 1 if work that had ended at `ns` had ended when the call began. If the call's start is
 * not known, returns 1 unless `ns` is UINT64_MAX. */
static inline int sl_moment_is_after(const struct sl_moment *when, uint64_t ns)
{
    return when->from_ns ? ns <= when->from_ns : ns != UINT64_MAX;
}

/* ---- unknown_deps.c: waits and work of streams that no record names ---- */

/* Call this function after the call `by` has added loss reasons to the stream's set `extra`.
 * `before` holds the loss reasons of `extra` before that. */
void sl_stream_lose(struct sl_streams *s, struct sl_stream *stream, uint32_t before,
                    const struct sl_moment *by);
/* Returns the time at which all work that `extra` may lack had ended, or UINT64_MAX if some of this
 * work may be pending. */
uint64_t sl_stream_lost_until(const struct sl_stream *stream);
/* Clears the loss reasons of `extra` if the missing work was over before the call `by` and before
 * any open wait began. */
void sl_stream_forget_lost(const struct sl_streams *s, struct sl_stream *stream,
                           const struct sl_moment *by);
struct sl_moment sl_streams_last_unknown(const struct sl_streams *s, enum sl_unknown what);

/* Parameters of a search for unknown work in a stream, on behalf of a call. The functions below
 * search for work that may be ordered after `op` and is not known to be ordered before `last`. */
struct sl_look {
    const struct sl_context *context;
    const struct sl_stream *stream; /* the stream to search; NULL for all streams of the context */
    /* the last operation seen on the stream; NULL if there is none */
    const struct sl_op *op;
    /* an operation after which the call is ordered in any case; NULL if no such operation is known
     */
    const struct sl_op *last;
    const struct sl_moment *when;
    /* if `stream` is NULL: streams that were used after this time are examined one by one */
    uint64_t since_ns;
    int overlaps; /* set to 1 if calls overlap, because they may then have acted in another order */
};

static inline struct sl_look sl_look_at(const struct sl_stream *stream, const struct sl_op *op,
                                        const struct sl_moment *when)
{
    return (struct sl_look){.context = stream->context, .stream = stream, .op = op, .when = when};
}

/* Returns the loss reasons of the set `extra` of a stream or an operation, as bits of enum
 * sl_edge_loss. */
uint32_t sl_look_lost(struct sl_look *look, const struct sl_set *extra);
/* Returns a bit of enum sl_edge_loss if the ring for `what` contains a call that matters for the
 * search, otherwise 0. The inline function tests for an empty ring first, because it is called for
 * each stream, and because the rings are empty in most jobs. */
uint32_t sl_look_at_ring(const struct sl_streams *s, enum sl_unknown what, struct sl_look *look);
static inline uint32_t sl_look_unknown(const struct sl_streams *s, enum sl_unknown what,
                                       struct sl_look *look)
{
    return s->unknown[what].count ? sl_look_at_ring(s, what, look) : 0;
}
/* Returns 1 if there may be an operation that a foreign file does not list. */
int sl_look_for_missing(const struct sl_streams *s, const struct sl_look *look);
static inline int sl_look_misses(const struct sl_streams *s, const struct sl_look *look)
{
    return s->unknown[SL_UNKNOWN_OPERATION].count && sl_look_for_missing(s, look);
}
/* Returns 1 if the stream may hold work from before the recording, or work of a call about which
 * nothing is known. */
int sl_look_unseen(const struct sl_streams *s, const struct sl_look *look);

enum {
    /* number of operations on a new stream at which sl_stream_trim() is called first */
    SL_STREAM_TRIM_AT = 4
};

#endif
