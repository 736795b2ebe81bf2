/*
 * stream_state_impl.h - what the files of streams share, and those that hold operations without a
 * set: apply_graph.c, foreign.c.
 *
 * Threads: the engine's owner alone. Memory: as in stream_state.h.
 */
#ifndef SL_STREAM_STATE_IMPL_H
#define SL_STREAM_STATE_IMPL_H

#include "sync/stream_state.h"

/* Of two operations of one stream: a was enqueued after b. Ties of times rounded to microseconds
 * are decided by correlation id; a node of a graph that has no time goes behind those that have. */
int sl_op_later(const struct sl_edge_op *a, const struct sl_edge_op *b);
void sl_op_unref(struct sl_streams *s, struct sl_op *op);
/* With the reference to its operation; it is in no set any more. */
void sl_link_drop(struct sl_streams *s, struct sl_link *link);

/* As sl_set_open() and sl_set_add(), but members that a wait which is open may look for stay beside
 * those of their stream that end later: the first of them is the one that ends last. At most one
 * for each wait that is open: the last that is over when it returns. */
void sl_set_open_beside(struct sl_streams *s, struct sl_set *set);
void sl_set_add_beside(struct sl_streams *s, struct sl_set *set, const struct sl_link *link);

/* These and all older ones leave their stream. */
void sl_ops_drop(struct sl_streams *s, struct sl_op *rest);
/* stream_trim.c: forgets operations behind the first that had ended before the horizon, which are
 * nobody's tail any more, but the one that outlasts it; `pushed` is kept wherever it is, since its
 * caller goes on with it. */
void sl_stream_trim(struct sl_streams *s, struct sl_stream *stream, const struct sl_op *pushed);
/* stream_trim.c: all that can be forgotten of any stream. 0; -ENOMEM: too little to be worth
 * looking again. */
int sl_streams_make_room(struct sl_streams *s);
/* stream_trim.c: of the operation and all before it on its stream, the one that ends last; the
 * operation itself where its end is not known. NULL: too far back, or forgotten. */
struct sl_op *sl_op_last_to_end(struct sl_op *op);
/* stream_trim.c: the operation is in its place, right before `above`; NULL: it is the newest. */
void sl_op_note_ends(struct sl_op *op, struct sl_op *above);
/* stream_table.c: nothing is known of the stream but its ids and flags; work from before may be
 * pending until `seen_ns`. */
void sl_stream_empty(struct sl_streams *s, struct sl_stream *stream, uint64_t seen_ns);
/* Into its context's list of streams that were used, at `ns`, or out of it. */
void sl_stream_use(struct sl_stream *stream, uint64_t ns);
void sl_stream_leave_list(struct sl_stream *stream);

/* stream_trim.c: if the stream waits for many operations, those go that are over for all that may
 * still be asked and that some thread knows to be over. */
void sl_stream_drop_past(struct sl_streams *s, struct sl_stream *stream);

/* stream_trim.c: the streams of a context that were used after `since_ns`, the last used first.
 * Where the list is long, streams leave it, as they are passed, whose operations are all of that
 * kind. Behind the list come those that had left it, for a call that began before they were over.
 */
struct sl_walk {
    const struct sl_streams *s;
    const struct sl_context *context;
    const struct sl_moment *when;
    uint64_t since_ns;
    struct sl_stream *at,
        *next; /* `next` is the context's `recent` at first, and NULL at the end */
    size_t passed, left;
};
struct sl_stream *sl_walk_next(struct sl_walk *w);

/* It began before that was over: calls that began later were told first. */
static inline int sl_moment_is_late(const struct sl_moment *when, uint64_t ns)
{
    return when->from_ns && when->from_ns < ns;
}

/* When the operation and all before it on its stream had ended. */
static inline uint64_t sl_op_all_ended_ns(const struct sl_op *op)
{
    return sl_later(op->pub.end_ns, op->older_end_ns);
}

/* When all that it holds was over; 0: it holds nothing. */
static inline uint64_t sl_stream_over_ns(const struct sl_stream *stream)
{
    uint64_t ns = stream->newest ? sl_op_all_ended_ns(stream->newest) : 0;

    for (const struct sl_link *at = stream->extra.first; at; at = at->next)
        ns = sl_later(ns, sl_op_all_ended_ns(at->op));
    return ns;
}

/* Over at `ns`: for who looks, or, if that is not known, at any time. */
static inline int sl_moment_is_after(const struct sl_moment *when, uint64_t ns)
{
    return when->from_ns ? ns <= when->from_ns : ns != UINT64_MAX;
}

/* ---- unknown_deps.c: what a stream came behind, or holds, that no record names ---- */

/* The call has just added to what is lost of `extra`, of which `before` was lost already. */
void sl_stream_lose(struct sl_streams *s, struct sl_stream *stream, uint32_t before,
                    const struct sl_moment *by);
/* When all that `extra` lost is over; UINT64_MAX: it may be pending. */
uint64_t sl_stream_lost_until(const struct sl_stream *stream);
/* Clears what `extra` lost, if that was over before the call `by`, and before any wait began that
 * is open. */
void sl_stream_forget_lost(const struct sl_streams *s, struct sl_stream *stream,
                           const struct sl_moment *by);
struct sl_moment sl_streams_last_unknown(const struct sl_streams *s, enum sl_unknown what);

/* Who looks at what. The functions below say what may stand behind `op`, and not behind `last`. */
struct sl_look {
    const struct sl_context *context;
    const struct sl_stream *stream; /* NULL: at all streams of the context */
    const struct sl_op *op;         /* the last operation seen there; NULL: none was */
    const struct sl_op *last;       /* who looks came behind it anyway; NULL: nothing is known */
    const struct sl_moment *when;
    uint64_t since_ns; /* at all streams: those that were used later are looked at one by one */
    int overlaps;      /* set: calls overlap, so that it may have been otherwise */
};

static inline struct sl_look sl_look_at(const struct sl_stream *stream, const struct sl_op *op,
                                        const struct sl_moment *when)
{
    return (struct sl_look){.context = stream->context, .stream = stream, .op = op, .when = when};
}

/* What `extra` lost, which is the stream's or an operation's: bits of enum sl_edge_loss. */
uint32_t sl_look_lost(struct sl_look *look, const struct sl_set *extra);
/* A call of that sort: a bit of enum sl_edge_loss, or 0. Asked for each stream: the rings are empty
 * in most jobs. */
uint32_t sl_look_at_ring(const struct sl_streams *s, enum sl_unknown what, struct sl_look *look);
static inline uint32_t sl_look_unknown(const struct sl_streams *s, enum sl_unknown what,
                                       struct sl_look *look)
{
    return s->unknown[what].count ? sl_look_at_ring(s, what, look) : 0;
}
/* There may be an operation without a row. */
int sl_look_for_missing(const struct sl_streams *s, const struct sl_look *look);
static inline int sl_look_misses(const struct sl_streams *s, const struct sl_look *look)
{
    return s->unknown[SL_UNKNOWN_OPERATION].count && sl_look_for_missing(s, look);
}
/* There may be work from before recording began, or of a call of which nothing is known. */
int sl_look_unseen(const struct sl_streams *s, const struct sl_look *look);

enum {
    SL_STREAM_TRIM_AT = 4 /* operations on a new stream at which to look for those not needed */
};

#endif
