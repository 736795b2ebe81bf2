/*
 * stream_state.h - keeps the operations and waits of each stream, so that its tail can be found for
 * any time that a later wait may need.
 *
 * A stream's tail is its last operation, plus the operations that the stream was made to wait for
 * since. To find a tail, a caller passes the time and thread of its call (struct sl_moment), and
 * operations enqueued later are skipped. So a stream keeps only operations that some wait may still
 * have to skip or find. Within a stream the GPU runs operations in order of enqueue, so their start
 * order is the enqueue order.
 *
 * No record reports the destruction of a stream. When there are many streams (they may use half of
 * the memory), a new stream takes the place of one that has not been used for long and whose work
 * has all completed. If the old stream is used again, only edges without a wait are missing. If a
 * whole context was made to wait (unknown_deps.c), the edges of the stream's first operation may be
 * missing too.
 *
 * Threads: only the thread that owns the engine (edge.h). Memory: pools of the store. An operation
 * lives as long as a stream or a set refers to it, a stream as long as one of its operations.
 */
#ifndef SL_STREAM_STATE_H
#define SL_STREAM_STATE_H

#include "base/store.h"
#include "sync/edge.h"
#include "sync/stream_flags.h"

/* The call that enqueued or waits. The times are 0 if the call has no record. */
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
struct sl_open; /* wait.h */

struct sl_link {
    struct sl_link *next;
    struct sl_op *op;
    struct sl_moment by; /* the call that made the stream wait for the operation */
    uint8_t via, overlapping, inferred;
    uint8_t hides; /* 1: it has replaced an older member of the source's stream that was added
                    * earlier */
};

struct sl_set {
    struct sl_link *first;
    uint32_t misses;          /* not 0: some stream's last operation may have no row */
    uint32_t lost;            /* bits 1 << enum sl_edge_loss: why the set is incomplete */
    struct sl_moment lost_by; /* a stream's set: the first call that made it incomplete */
};

struct sl_stream;

struct sl_op {
    struct sl_edge_op pub;
    struct sl_moment by; /* the launching call */
    struct sl_stream *stream;
    struct sl_op *older;   /* the operation before it on its stream */
    struct sl_set behind;  /* the operations that the stream was made to wait for right before this
                            * operation */
    uint64_t older_end_ns; /* latest end of the earlier operations of its stream (stream_trim.c) */
    uint32_t refs;
    uint8_t no_time;
    uint8_t after_unseen;  /* 1: earlier work of its stream may not have been seen */
    uint8_t after_missing; /* 1: an earlier operation of its stream may have no row */
    uint8_t apart;         /* 1: the operations between this one and the next are forgotten */
};

/* The time of enqueue: the return of the launching call, or the operation's start if that call has
 * no record. */
static inline uint64_t sl_op_enqueued_ns(const struct sl_op *op)
{
    return op->by.to_ns ? op->by.to_ns : op->pub.start_ns;
}

/* Work enqueued by calls that had returned by `from_ns` was over at `to_ns` (UINT64_MAX: not
 * known). */
struct sl_over {
    uint64_t from_ns, to_ns;
};

struct sl_context {
    struct sl_stream *recent; /* its streams, last used first, without those that were removed from
                               * the list */
    struct sl_stream *legacy; /* the legacy default stream; NULL: never seen */
    struct sl_stream *any; /* a stream object that stands for the whole context; NULL: not needed so
                            * far */
    struct sl_context *next; /* next context in streams->all_contexts */
    uint64_t covered_ns;     /* no thread has waited for work that was enqueued after this time
                              * (sync/wait.h) */
    uint32_t id, number;
    uint32_t left;    /* streams that were removed from the list because their work is over
                       * (stream_trim.c) */
    uint64_t left_ns; /* the work of those streams was over at this time */
    uint64_t gone_ns; /* the work of streams that lost their place was over at this time */
    uint64_t seen_ns; /* when work from before the recording is over; UINT64_MAX: may be pending */
    struct sl_over over; /* known since a wait for the whole context */
    uint8_t device;
    /* Foreign file: the first call that made a stream of the context wait and has a row (0: none),
     * and the last such call of any context before that one that has no row. */
    uint64_t first_row;
    struct sl_moment rowless;
};

struct sl_stream {
    struct sl_context *context;
    struct sl_op *newest;
    struct sl_op *pushed; /* the operation added last; NULL: forgotten since */
    struct sl_set extra;  /* the operations that the stream was made to wait for since `newest` */
    uint64_t dropped_ns;  /* members that were dropped from `extra` were over at this time */
    struct sl_stream *used_before, *used_after;
    struct sl_link *mark; /* the stream's member in the set that has number mark_set */
    uint64_t mark_set;
    uint64_t active_ns;         /* return of the last call that enqueued on this stream; 0: none */
    uint64_t covered_ns;        /* as in struct sl_context, for this stream */
    uint64_t seen_ns;           /* as in struct sl_context, for this stream */
    uint64_t lost_ns;           /* the return of the last call that made `extra` incomplete */
    struct sl_moment last_lost; /* the last of those calls */
    uint64_t ignored_ns;        /* latest start of an operation whose call is not known; 0: none */
    struct sl_over over;        /* as in struct sl_context, for this stream */
    uint64_t unordered;         /* the graph launch that has a node without a time on this stream */
    /* Of the calls whose operation on this stream has no time, the one that returned last. */
    struct sl_moment untimed;
    uint32_t id, number;
    uint32_t flags;         /* CUPTI flags; 0: not known */
    uint8_t plain;          /* 1: an application's stream; 0: perhaps a branch of a graph */
    uint8_t trimmed;        /* 1: older operations are forgotten */
    uint8_t touched;        /* 1: used since it was last considered for replacement */
    uint8_t has_row;        /* 1: a foreign file has a row of one of its stream waits */
    uint8_t listed;         /* 1: in its context's list */
    uint32_t held;          /* records and waits that refer to the stream by number or address */
    uint32_t ops;           /* its operations that are still referred to */
    uint32_t kept, trim_at; /* number of operations in the list; number at which unneeded operations
                             * are searched for */
};

/* What a call may have done to a stream that no record names (unknown_deps.c). */
enum sl_unknown {
    SL_UNKNOWN_CONTEXT_WAIT, /* all streams of some context wait for an unknown event */
    SL_UNKNOWN_GRAPH,        /* some stream waits for a graph whose operations are known */
    SL_UNKNOWN_STREAM_WAIT,  /* some stream waits for some event; a foreign file lacks the row */
    SL_UNKNOWN_OPERATION,    /* some stream has one more operation; a foreign file lacks the row */
    SL_UNKNOWN_COUNT
};

enum {
    SL_UNKNOWN_KEPT = 16 /* if more occur during one open wait, its edges may be left out */
};

struct sl_unknown_call {
    struct sl_moment by;
    uint64_t ended_ns; /* end of a graph; 0: not known */
};

struct sl_unknown_calls {
    struct sl_unknown_call call[SL_UNKNOWN_KEPT]; /* a ring of the last calls, in order */
    uint64_t count;                               /* number of all such calls so far */
};

struct sl_streams {
    struct sl_store *store;
    struct sl_pool ops, links, streams, contexts;
    struct sl_map by_id, context_by_id;
    struct sl_stream **numbered;
    size_t numbered_slots, count;
    size_t most, hand; /* limit for the number of streams; place where the next search for one to
                        * replace begins */
    struct sl_flags flags;
    uint64_t flags_lost; /* how many streams were used after their flags were forgotten */
    struct sl_context *all_contexts;
    uint32_t context_count;
    uint64_t set_number;
    uint64_t horizon_ns;        /* all waits that ended before this time have been applied */
    uint64_t waits_since_ns;    /* no open wait began before this time; UINT64_MAX: none is open */
    const struct sl_open *open; /* the open waits; NULL: there are none */
    uint64_t lost_ns;   /* the return of the last call that made any stream's tail incomplete */
    uint64_t unseen_ns; /* the return of the last call of unknown work; 0: none */
    struct sl_unknown_calls unknown[SL_UNKNOWN_COUNT];
    int unseen;       /* 1: a stream that is new to us may hold work that was not seen */
    uint64_t keep_ns; /* operations stay this long after their end, for guesses */
    int one_process;  /* 1: a context is identified by its id alone, because waits name no device */
};

enum {
    SL_TICK_NS = 1000,               /* precision of times: old files have whole microseconds */
    SL_STREAM_LEGACY = 7,            /* CUPTI's id of the legacy default stream, in every context */
    SL_STREAM_FLAG_NON_BLOCKING = 2, /* CUpti_ActivityStreamFlag */
    SL_STREAM_FLAG_LEGACY = 3
};

void sl_streams_init(struct sl_streams *s, struct sl_store *store);
void sl_streams_free(struct sl_streams *s);

/* Returns the stream, created if new; NULL past the cap. Stream SL_STREAM_NONE stands for the
 * context alone. */
struct sl_stream *sl_streams_get(struct sl_streams *s, uint8_t device, uint32_t context,
                                 uint32_t stream);
static inline struct sl_stream *sl_streams_at(const struct sl_streams *s, uint32_t number)
{
    return s->numbered[number];
}
/* Returns the stream that stands for the context; NULL past the cap. */
struct sl_stream *sl_context_any(struct sl_streams *s, struct sl_context *context);
/* Stores the flags, whether or not the stream exists yet. */
void sl_streams_flags(struct sl_streams *s, uint8_t device, uint32_t context, uint32_t stream,
                      uint32_t flags);

/* Forgets the contents of all streams, which are unknown from then on. Ids and flags are kept. */
void sl_streams_forget(struct sl_streams *s);

/* ---- sets ---- */

/* A set must be open while members are added; only one set is open at a time. If the store's cap is
 * reached, the set is marked as lost. */
void sl_set_open(struct sl_streams *s, struct sl_set *set);
/* Adds a member. Of several operations of one stream the set keeps only the one that ends last,
 * which is the latest unless kernels overlap. Of two links to one operation it keeps the more
 * certain one. */
void sl_set_add(struct sl_streams *s, struct sl_set *set, const struct sl_link *link);
/* Returns 1 if an operation without a row may have ended after the members. (The members themselves
 * certainly had to complete.) */
int sl_set_misses(const struct sl_streams *s, const struct sl_set *set);
/* Marks all members as `overlapping`. */
void sl_set_mark(struct sl_set *set);
void sl_set_clear(struct sl_streams *s, struct sl_set *set);

/* ---- finding tails: each function adds to an open set ---- */

/* Adds the stream's own tail. If `via` is not SL_VIA_STREAM, each member is marked with it. */
void sl_stream_tail(struct sl_streams *s, struct sl_stream *stream, const struct sl_moment *when,
                    enum sl_via via, struct sl_set *set);
/* Adds everything that a wait for the stream waits for: the stream's tail, and the tails of other
 * streams that the order of the legacy default stream adds. Other streams that were not used after
 * `over_ns` are left out, because the caller knows that their work is over. */
void sl_stream_collect(struct sl_streams *s, struct sl_stream *stream, uint64_t over_ns,
                       const struct sl_moment *when, struct sl_set *set);
/* Adds the tails of all streams of the context that were used after `since_ns`. */
void sl_context_collect(struct sl_streams *s, struct sl_context *context, uint64_t since_ns,
                        const struct sl_moment *when, struct sl_set *set);

/* Returns 1 if work enqueued on one stream is ordered after work on the other: they are the same
 * stream, or the legacy default stream and a blocking one. */
int sl_streams_are_ordered(const struct sl_stream *a, const struct sl_stream *b);

/* Returns 1 if `a` came first. If the threads differ, times decide, because a thread may be
 * descheduled between getting its call's id and its start time. Ids decide if the calls overlap or
 * a time is not known. */
int sl_moment_precedes(const struct sl_moment *a, const struct sl_moment *b);
/* Returns 1 for two calls of different threads if neither had returned when the other began. */
int sl_moments_overlap(const struct sl_moment *a, const struct sl_moment *b);

/* ---- adding operations and waits ---- */

/* Adds the operation given by `pub` and `by`. Writes it to *out, without a reference; NULL if the
 * operation was there already, is too old to matter, or the cap is reached (-ENOMEM). Adds to
 * `before` the operations that it waited for through stream waits and the order of the legacy
 * default stream, but not those of its own stream. Writes to *previous_end_ns the end of the
 * operation before it on its stream: 0 if there is none, UINT64_MAX if that operation has no time
 * or is not certain. */
int sl_stream_push(struct sl_streams *s, struct sl_stream *stream, const struct sl_edge_op *pub,
                   const struct sl_moment *by, struct sl_set *before, uint64_t *previous_end_ns,
                   struct sl_op **out);
/* Orders the stream's next operation after the set, in addition to its earlier waits. */
void sl_stream_follow(struct sl_streams *s, struct sl_stream *stream, const struct sl_set *set,
                      enum sl_via via, const struct sl_moment *by);
/* Notes that the call did `what` to some stream, possibly one that is not known yet. */
void sl_streams_note_unknown(struct sl_streams *s, enum sl_unknown what, const struct sl_moment *by,
                             uint64_t ended_ns);
/* Notes the return of a call whose work is not known, because the call was under way when recording
 * began, or because its records were dropped. */
void sl_streams_ignore_call(struct sl_streams *s, uint64_t returned_ns);
/* The same for an operation that began on this stream. Its call may not have returned yet. */
void sl_stream_ignore_op(struct sl_streams *s, struct sl_stream *stream, uint64_t start_ns);
/* Notes that a wait for all work of the stream or context has returned. So for later calls, unseen
 * work is over. */
void sl_stream_covered(const struct sl_streams *s, struct sl_stream *stream,
                       const struct sl_moment *wait);
void sl_context_covered(const struct sl_streams *s, struct sl_context *context,
                        const struct sl_moment *wait);

#endif
