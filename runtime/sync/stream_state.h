/*
 * stream_state.h - keeps the operations and waits of each stream, so that the stream's tail can be
 * found for any time that a later wait may need.
 *
 * A stream's tail is its last operation, plus the operations that the stream was made to wait for
 * after that operation. To find the tail at the time of a call, the caller passes the call's time
 * and thread (struct sl_moment). The search then skips operations that were enqueued later. A
 * stream keeps only operations that the search for some later wait may have to skip or find. The
 * GPU runs the operations of a stream in the order in which they were enqueued, so the operations
 * start in this order, too.
 *
 * No record reports the destruction of a stream. Streams may use half of the memory. When this half
 * is full, a new stream replaces a stream that has not been used for a long time and whose work has
 * all completed. If the replaced stream is used again, only edges without waiting time are missing.
 * If a whole context was made to wait (unknown_deps.c), the edges of the stream's first operation
 * may be missing too.
 *
 * Threads: only the thread that owns the engine (edge.h). Memory: pools of the engine's store
 * (base/store.h). An operation is kept as long as a stream or a set refers to it. A stream is kept
 * as long as one of its operations is kept.
 */
#ifndef SL_STREAM_STATE_H
#define SL_STREAM_STATE_H

#include "base/store.h"
#include "sync/edge.h"
#include "sync/stream_flags.h"

/* The call that enqueued an operation or that waits. The times are 0 if the call has no record. */
struct sl_moment {
    uint64_t correlation, from_ns, to_ns;
    uint32_t thread;
    uint8_t waits; /* 1: a blocking call, which returns only after all work in its scope has
                      completed */
};

enum sl_via {
    SL_VIA_STREAM,
    SL_VIA_STREAM_WAIT,
    SL_VIA_LEGACY,
    SL_VIA_GRAPH
};

static inline uint64_t sl_later(uint64_t a_ns, uint64_t b_ns)
{
    return a_ns > b_ns ? a_ns : b_ns;
}

struct sl_op;
struct sl_open; /* defined in wait.h */

struct sl_link {
    struct sl_link *next;
    struct sl_op *op;
    struct sl_moment by; /* the call that made the stream wait for the operation */
    uint8_t via, overlapping, inferred;
    /* 1: this member replaced an older member of the source's stream, which was added earlier */
    uint8_t hides;
};

struct sl_set {
    struct sl_link *first;
    /* not 0: the last operation of some stream may have no row, that is, a foreign file may not
     * list it */
    uint32_t misses;
    /* reasons why the set is incomplete; a bit 1 << N for each value N of enum sl_edge_loss */
    uint32_t lost;
    /* for the set of a stream: the first call that made the set incomplete */
    struct sl_moment lost_by;
};

struct sl_stream;

struct sl_op {
    struct sl_edge_op pub;
    struct sl_moment by; /* the launching call */
    struct sl_stream *stream;
    /* the previous and the next operation on the same stream, as far as they are stored */
    struct sl_op *older, *newer;
    struct sl_set behind; /* the operations that the stream was made to wait for right before this
                           * operation */
    /* latest end of the earlier operations of the same stream (stream_trim.c) */
    uint64_t older_end_ns;
    uint32_t refs;
    uint8_t no_time;
    uint8_t after_unseen; /* 1: earlier work of the same stream may not have been recorded */
    /* 1: an earlier operation of the same stream may have no row in a foreign file */
    uint8_t after_missing;
    /* 1: operations between this operation and the next stored operation are forgotten */
    uint8_t apart;
};

/* Returns the time at which the operation was enqueued. This is the time at which the launching
 * call returned, or the operation's start if that call has no record. */
static inline uint64_t sl_op_enqueued_ns(const struct sl_op *op)
{
    return op->by.to_ns ? op->by.to_ns : op->pub.start_ns;
}

/* All work enqueued by calls that had returned by `from_ns` had ended by `to_ns`. `to_ns` is
 * UINT64_MAX if that time is not known. */
struct sl_over {
    uint64_t from_ns, to_ns;
};

struct sl_context {
    /* list of the context's streams, starting with the stream used last; without streams that were
     * removed from the list */
    struct sl_stream *recent;
    /* the context's legacy default stream; NULL if no record named it yet */
    struct sl_stream *legacy;
    /* a stream object that stands for the whole context; NULL if it was not needed so far */
    struct sl_stream *any;
    struct sl_context *next; /* next context in streams->all_contexts */
    uint64_t covered_ns;     /* no thread has waited for work that was enqueued after this time
                              * (sync/wait.h) */
    uint32_t id, number;
    /* number of streams that were removed from the list because their work had ended
     * (stream_trim.c) */
    uint32_t left;
    uint64_t left_ns; /* time at which the work of all streams counted in `left` had ended */
    uint64_t gone_ns; /* time at which the work of all replaced streams had ended */
    /* time at which the work from before the recording had ended; UINT64_MAX if the work may be
     * pending */
    uint64_t seen_ns;
    struct sl_over over; /* times that are known from a wait for the whole context */
    uint8_t device;
    /* For a foreign file, which may not have a row for each call that makes a stream wait.
     * `first_row`: correlation id of the first such call of this context with a row; 0 if there is
     * none. `rowless`: the last such call of any context before `first_row` that has no row. */
    uint64_t first_row;
    struct sl_moment rowless;
};

struct sl_stream {
    struct sl_context *context;
    struct sl_op *newest;
    /* the operation that was added last; NULL if the operation was forgotten */
    struct sl_op *pushed;
    /* The operation that sl_stream_oldest_pending() found last, or NULL, and the time for which. */
    struct sl_op *oldest;
    uint64_t oldest_ns;
    struct sl_set extra; /* the operations that the stream was made to wait for since `newest` */
    uint64_t dropped_ns; /* time at which the members that were dropped from `extra` had ended */
    struct sl_stream *used_before, *used_after;
    struct sl_link *mark; /* the stream's member in the set that has number mark_set */
    uint64_t mark_set;
    /* time at which the last call that enqueued on this stream returned; 0 if there is none */
    uint64_t active_ns;
    uint64_t covered_ns; /* like `covered_ns` of struct sl_context, but for this stream */
    uint64_t seen_ns;    /* like `seen_ns` of struct sl_context, but for this stream */
    /* time at which the last call that made `extra` incomplete returned */
    uint64_t lost_ns;
    struct sl_moment last_lost; /* the last call that made `extra` incomplete */
    /* latest start of an operation on this stream whose call is not known; 0 if there is none */
    uint64_t ignored_ns;
    struct sl_over over; /* like `over` of struct sl_context, but for this stream */
    /* correlation id of the graph launch that has a node without a time on this stream */
    uint64_t unordered;
    /* The call that returned last of all calls whose operation on this stream has no time. */
    struct sl_moment untimed;
    uint32_t id, number;
    uint32_t flags; /* CUPTI's flags of the stream; 0 if they are not known */
    /* 1: the application created this stream; 0: the stream may be a branch of a graph */
    uint8_t plain;
    uint8_t trimmed; /* 1: older operations are forgotten */
    /* 1: the stream was used since it was last considered for replacement */
    uint8_t touched;
    uint8_t has_row; /* 1: a foreign file has a row of a call that makes this stream wait */
    uint8_t listed;  /* 1: the stream is in the list of its context */
    /* number of records and waits that refer to the stream by number or address */
    uint32_t held;
    uint32_t ops; /* number of the stream's operations that are referred to by the stream's list or
                   * by a set */
    /* `kept`: number of operations in the list. `trim_at`: number at which sl_stream_trim() is
     * called. `ended`: number of operations in the list that are older than `oldest`. */
    uint32_t kept, trim_at, ended;
};

/* What a call may have done to a stream that no record names (unknown_deps.c). */
enum sl_unknown {
    SL_UNKNOWN_CONTEXT_WAIT, /* all streams of some context wait for an unknown event */
    SL_UNKNOWN_GRAPH,        /* some stream waits for a graph whose operations are known */
    /* some stream waits for some event; a foreign file does not list the wait */
    SL_UNKNOWN_STREAM_WAIT,
    /* some stream has one more operation, which a foreign file does not list */
    SL_UNKNOWN_OPERATION,
    SL_UNKNOWN_COUNT
};

enum {
    /* number of stored calls of each sort; if more such calls occur during one open wait, edges of
     * that wait may be left out */
    SL_UNKNOWN_KEPT = 16
};

struct sl_unknown_call {
    struct sl_moment by;
    /* time at which the graph's last operation ended; 0 if that time is not known */
    uint64_t ended_ns;
};

struct sl_unknown_calls {
    /* a ring of the last calls, in the order in which they began */
    struct sl_unknown_call call[SL_UNKNOWN_KEPT];
    uint64_t count; /* number of calls that were ever put into this ring */
};

struct sl_streams {
    struct sl_store *store;
    struct sl_pool ops, links, streams, contexts;
    struct sl_map by_id, context_by_id;
    struct sl_stream **numbered;
    size_t numbered_slots, count;
    /* `most`: limit for the number of streams. `hand`: number of the stream at which the next
     * search for a stream to replace begins. */
    size_t most, hand;
    struct sl_flags flags;
    uint64_t flags_lost; /* number of streams that were used after their flags were forgotten */
    struct sl_context *all_contexts;
    uint32_t context_count;
    uint64_t set_number;
    uint64_t horizon_ns; /* all calls whose wait ended before this time have been applied */
    /* no open wait began before this time; UINT64_MAX if no wait is open */
    uint64_t waits_since_ns;
    const struct sl_open *open; /* the open waits; NULL if there are none */
    /* time at which the last call that made any stream's tail incomplete returned */
    uint64_t lost_ns;
    /* time at which the last call with unknown work returned; 0 if there is none */
    uint64_t unseen_ns;
    struct sl_unknown_calls unknown[SL_UNKNOWN_COUNT];
    /* 1: a stream that no record has named yet may hold work that was not recorded */
    int unseen;
    /* how long, in nanoseconds, operations are kept after their end, so that sl_foreign_guess() can
     * find them */
    uint64_t keep_ns;
    int one_process; /* 1: a context is identified only by its id, because waits name no device */
};

enum {
    /* precision of times in nanoseconds, because old files have whole microseconds */
    SL_TICK_NS = 1000,
    SL_STREAM_LEGACY = 7,            /* CUPTI's id of the legacy default stream, in every context */
    SL_STREAM_FLAG_NON_BLOCKING = 2, /* a value of CUpti_ActivityStreamFlag */
    SL_STREAM_FLAG_LEGACY = 3
};

void sl_streams_init(struct sl_streams *s, struct sl_store *store);
void sl_streams_free(struct sl_streams *s);

/* Returns the stream. Creates the stream if it is new. Returns NULL if the memory cap is reached.
 * Stream SL_STREAM_NONE stands for the context alone. */
struct sl_stream *sl_streams_get(struct sl_streams *s, uint8_t device, uint32_t context,
                                 uint32_t stream);
static inline struct sl_stream *sl_streams_at(const struct sl_streams *s, uint32_t number)
{
    return s->numbered[number];
}
/* Returns the stream that stands for the context, or NULL if the memory cap is reached. */
struct sl_stream *sl_context_any(struct sl_streams *s, struct sl_context *context);
/* Stores the flags, whether or not the stream exists yet. */
void sl_streams_flags(struct sl_streams *s, uint8_t device, uint32_t context, uint32_t stream,
                      uint32_t flags);

/* Forgets the operations and waits of all streams. From then on the work on all streams is unknown.
 * Ids and flags are kept. */
void sl_streams_forget(struct sl_streams *s);

/* ---- sets ---- */

/* A set must be open while members are added; only one set is open at a time. If the store's cap is
 * reached, the set is marked as incomplete. */
void sl_set_open(struct sl_streams *s, struct sl_set *set);
/* Adds a member. If several operations of one stream are added, the set keeps only the operation
 * that ends last. Unless kernels overlap, this is the latest operation. If two links to one
 * operation are added, the set keeps the more certain link. */
void sl_set_add(struct sl_streams *s, struct sl_set *set, const struct sl_link *link);
/* Returns 1 if an operation that a foreign file does not list may have ended after the members.
 * (The members themselves certainly had to complete.) */
int sl_set_misses(const struct sl_streams *s, const struct sl_set *set);
/* Marks all members as `overlapping`. */
void sl_set_mark(struct sl_set *set);
void sl_set_clear(struct sl_streams *s, struct sl_set *set);

/* ---- finding tails: each function adds to an open set ---- */

/* Adds the stream's own tail. If `via` is not SL_VIA_STREAM, each member is marked with `via`. */
void sl_stream_tail(struct sl_streams *s, struct sl_stream *stream, const struct sl_moment *when,
                    enum sl_via via, struct sl_set *set);
/* Adds all operations that a call on the stream waits for. These are the stream's tail, and the
 * tails of other streams that are ordered before the stream through the legacy default stream.
 * Other streams that were not used after `over_ns` are left out, because the caller knows that the
 * work of these streams has ended. `enqueues` is 0 for a call that only waits: CUDA orders a
 * blocking stream after the legacy default stream when the blocking stream gets more work, so a
 * synchronize of the blocking stream does not wait for the legacy default stream. */
void sl_stream_collect(struct sl_streams *s, struct sl_stream *stream, uint64_t over_ns,
                       const struct sl_moment *when, int enqueues, struct sl_set *set);
/* Adds the tails of all streams of the context that were used after `since_ns`. */
void sl_context_collect(struct sl_streams *s, struct sl_context *context, uint64_t since_ns,
                        const struct sl_moment *when, struct sl_set *set);

/* Returns the stream's oldest operation that had not ended at `ns`, and writes the number of
 * operations from this operation to the newest. Returns NULL if all had ended, or if it is not
 * known. Fast if later times follow each other. */
struct sl_op *sl_stream_oldest_pending(struct sl_stream *stream, uint64_t ns, uint32_t *pending);

/* Returns 1 if work enqueued on one stream is ordered after earlier work on the other. This is the
 * case if `a` and `b` are the same stream, or if one is the legacy default stream and the other is
 * a blocking stream. */
int sl_streams_are_ordered(const struct sl_stream *a, const struct sl_stream *b);

/* Returns 1 if call `a` came before call `b`. The ids decide for calls of one thread. The times
 * decide for calls of two threads, because a thread may be descheduled between getting its call's
 * id and its start time. If such calls overlap, or a time is not known, the ids decide. */
int sl_moment_precedes(const struct sl_moment *a, const struct sl_moment *b);
/* Returns 1 for two calls of different threads if neither had returned when the other began. */
int sl_moments_overlap(const struct sl_moment *a, const struct sl_moment *b);

/* ---- adding operations and waits ---- */

/* Adds the operation given by `pub` and `by`. Writes the operation to *out; the caller gets no
 * reference to the operation. Writes NULL if the stream already had the operation, or if the
 * operation is too old to matter. If the memory cap is reached, writes NULL and returns -ENOMEM.
 * Adds to `before` the operations that the new operation waited for because of stream waits and the
 * order of the legacy default stream, but no operations of the same stream. Writes to
 * *previous_end_ns the end of the previous operation on the same stream. This is 0 if there is no
 * previous operation, and UINT64_MAX if that operation has no time or is not certain. */
int sl_stream_push(struct sl_streams *s, struct sl_stream *stream, const struct sl_edge_op *pub,
                   const struct sl_moment *by, struct sl_set *before, uint64_t *previous_end_ns,
                   struct sl_op **out);
/* Makes the stream's next operation wait for the set, in addition to the stream's earlier waits. */
void sl_stream_follow(struct sl_streams *s, struct sl_stream *stream, const struct sl_set *set,
                      enum sl_via via, const struct sl_moment *by);
/* Stores that the call did `what` to some stream. The stream may be one that no record has named
 * yet. */
void sl_streams_note_unknown(struct sl_streams *s, enum sl_unknown what, const struct sl_moment *by,
                             uint64_t ended_ns);
/* Stores the time at which a call with unknown work returned. The work is unknown because the call
 * was under way when recording began, or because its records were dropped. */
void sl_streams_ignore_call(struct sl_streams *s, uint64_t returned_ns);
/* Stores that an operation began on this stream whose call is not known. The call may not have
 * returned yet. */
void sl_stream_ignore_op(struct sl_streams *s, struct sl_stream *stream, uint64_t start_ns);
/* Stores that a wait for all work of the stream or context has returned. All work that was enqueued
 * before such a wait has ended when a later call begins, even if the work was not recorded. */
void sl_stream_covered(const struct sl_streams *s, struct sl_stream *stream,
                       const struct sl_moment *wait);
void sl_context_covered(const struct sl_streams *s, struct sl_context *context,
                        const struct sl_moment *wait);

#endif
