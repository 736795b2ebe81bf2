/*
 * stream_state.h - what each stream holds: its tail, as a set, at any moment that may still be
 * asked for.
 *
 * A stream's tail is its last operation, plus what it was made to wait for since. Whoever asks
 * says when and from which thread it asks (struct sl_moment): operations that were enqueued later
 * are passed over, so a stream keeps those that some wait may yet have to look behind, and no
 * others. Within a stream the GPU runs in order of enqueue, so start order is that order.
 *
 * No record tells that a stream is destroyed. When there are many (half of the memory is for them),
 * the place of one that has not been used for long, and that has run dry, goes to the next: should
 * it be used again nothing is missing but edges without a wait, and, if a whole context was made to
 * wait (unknown_deps.c), what it waits for first.
 *
 * Threads: the engine's owner alone. Memory: pools of the store; an operation lives as long as a
 * stream or a set refers to it, a stream as long as one of its operations.
 */
#ifndef SL_STREAM_STATE_H
#define SL_STREAM_STATE_H

#include "base/store.h"
#include "sync/edge.h"
#include "sync/stream_flags.h"

/* A call: who asks, or who enqueued. Times 0: the call's record was not there. */
struct sl_moment {
    uint64_t correlation, from_ns, to_ns;
    uint32_t thread;
    uint8_t waits; /* it returned when all that it found had ended */
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
    struct sl_moment by; /* the call that tied it to the stream */
    uint8_t via, overlapping, inferred;
    uint8_t hides; /* an older one of the source's stream, which was tied before and is gone */
};

struct sl_set {
    struct sl_link *first;
    uint32_t misses;          /* it may miss the last operation of some stream, which has no row */
    uint32_t lost;            /* 1 << enum sl_edge_loss: why it is not known whole */
    struct sl_moment lost_by; /* a stream's: the first call that made it so */
};

struct sl_stream;

struct sl_op {
    struct sl_edge_op pub;
    struct sl_moment by; /* the launching call */
    struct sl_stream *stream;
    struct sl_op *older;  /* on its stream */
    struct sl_set behind; /* what the stream had been made to wait for right before */
    uint64_t
        older_end_ns; /* when the last of those before it on its stream ended (stream_trim.c) */
    uint32_t refs;
    uint8_t no_time;
    uint8_t after_unseen;  /* what came before it on its stream may not have been seen */
    uint8_t after_missing; /* or may have no row */
    uint8_t apart;         /* those between it and the next are forgotten */
};

/* When it was: its call returned, or, where that has no record, it began. */
static inline uint64_t sl_op_enqueued_ns(const struct sl_op *op)
{
    return op->by.to_ns ? op->by.to_ns : op->pub.start_ns;
}

/* What calls enqueued that had returned by `from_ns` is over at `to_ns`; UINT64_MAX: not known. */
struct sl_over {
    uint64_t from_ns, to_ns;
};

struct sl_context {
    struct sl_stream *recent; /* its streams, the last used first, but for those that left */
    struct sl_stream *legacy; /* the legacy default stream; NULL: never seen */
    struct sl_stream *any;    /* stands for it where no stream is named; NULL: no such record */
    struct sl_context *next;  /* in streams->all_contexts */
    uint64_t covered_ns;      /* no thread knows the end of what was enqueued later (sync/wait.h) */
    uint32_t id, number;
    uint32_t left;       /* of its streams: they are past (stream_trim.c) */
    uint64_t left_ns;    /* what they hold, or held, was over then */
    uint64_t gone_ns;    /* what those held whose places went to others was over then */
    uint64_t seen_ns;    /* work from before recording began is over; UINT64_MAX: may be pending */
    struct sl_over over; /* since a wait for all of it */
    uint16_t device;
    /* Of a foreign file: the first call whose wait of a stream here has a row (0: none has), and
     * the last such call of any context before it that has none. */
    uint64_t first_row;
    struct sl_moment rowless;
};

struct sl_stream {
    struct sl_context *context;
    struct sl_op *newest;
    struct sl_op *pushed; /* the last one that was; NULL: forgotten since */
    struct sl_set extra;  /* since the newest operation */
    uint64_t dropped_ns;  /* what `extra` lost because it was past was over then */
    struct sl_stream *used_before, *used_after;
    struct sl_link *mark; /* its member in the set being built, if mark_set is that set's number */
    uint64_t mark_set;
    uint64_t active_ns;  /* when the last call that enqueued here returned; 0: none did */
    uint64_t covered_ns; /* as its context's */
    uint64_t seen_ns;    /* as its context's */
    uint64_t lost_ns;    /* when the call that made `extra` lost, the last of them, returned */
    struct sl_moment last_lost; /* the last of those calls */
    uint64_t ignored_ns; /* the last operation began of which the call is not known; 0: none did */
    struct sl_over over; /* as its context's */
    uint64_t unordered;  /* the launch of a graph one of whose nodes here has no time */
    /* Of the calls whose operation here has no time, the last to return. */
    struct sl_moment untimed;
    uint32_t id, number;
    uint32_t flags;         /* CUPTI's; 0 = not known */
    uint8_t plain;          /* an application's stream, not a branch of a graph */
    uint8_t trimmed;        /* older operations are forgotten */
    uint8_t touched;        /* since it was last looked at for its place */
    uint8_t has_row;        /* of a wait of its, in a foreign file */
    uint8_t listed;         /* it is in its context's list */
    uint32_t held;          /* records and waits that name it by its number or address */
    uint32_t ops;           /* operations of its that somebody refers to */
    uint32_t kept, trim_at; /* operations here; how many make a look for those not needed */
};

/* What a call did to streams that no record names: see unknown_deps.c. */
enum sl_unknown {
    SL_UNKNOWN_CONTEXT_WAIT, /* all streams of some context wait for an event that is not known */
    SL_UNKNOWN_GRAPH,        /* some stream waits for a graph, whose operations are known */
    SL_UNKNOWN_STREAM_WAIT,  /* some stream waits for some event: a foreign file lacks the row */
    SL_UNKNOWN_OPERATION,    /* some stream has one more operation: a foreign file lacks the row */
    SL_UNKNOWN_COUNT
};

enum {
    SL_UNKNOWN_KEPT = 16 /* more during one open wait: what it waited for may be left out */
};

struct sl_unknown_call {
    struct sl_moment by;
    uint64_t ended_ns; /* of a graph; 0: not known */
};

struct sl_unknown_calls {
    struct sl_unknown_call call[SL_UNKNOWN_KEPT]; /* a ring of the last ones, in order */
    uint64_t count;                               /* that there ever were */
};

struct sl_streams {
    struct sl_store *store;
    struct sl_pool ops, links, streams, contexts;
    struct sl_map by_id, context_by_id;
    struct sl_stream **numbered;
    size_t numbered_slots, count;
    size_t most, hand; /* how many there should be; where to look next for one to forget */
    struct sl_flags flags;
    uint64_t flags_lost; /* streams whose flags were forgotten when they were used again */
    struct sl_context *all_contexts;
    uint32_t context_count;
    uint64_t set_number;
    uint64_t horizon_ns;        /* no wait that ended before this is still to come */
    uint64_t waits_since_ns;    /* no wait that is open began before; UINT64_MAX: none is */
    const struct sl_open *open; /* those that are; NULL: nobody waits */
    uint64_t lost_ns;           /* when the last call that made any stream's tail lost returned */
    uint64_t unseen_ns;         /* when the last call returned of which nothing is known; 0: none */
    struct sl_unknown_calls unknown[SL_UNKNOWN_COUNT];
    int unseen;       /* streams begin with work that was not seen */
    uint64_t keep_ns; /* what ended so long before that may still be guessed for */
    int one_process;  /* a context's id alone tells it: records of waits name no device */
};

enum {
    SL_TICK_NS = 1000,    /* by which times may be off: old files have whole microseconds */
    SL_STREAM_LEGACY = 7, /* CUPTI's id of the legacy default stream, in every context */
    SL_STREAM_FLAG_NON_BLOCKING = 2, /* CUpti_ActivityStreamFlag */
    SL_STREAM_FLAG_LEGACY = 3
};

void sl_streams_init(struct sl_streams *s, struct sl_store *store);
void sl_streams_free(struct sl_streams *s);

/* Made when new; NULL past the cap. Stream SL_STREAM_NONE stands for the context alone. */
struct sl_stream *sl_streams_get(struct sl_streams *s, uint16_t device, uint32_t context,
                                 uint32_t stream);
static inline struct sl_stream *sl_streams_at(const struct sl_streams *s, uint32_t number)
{
    return s->numbered[number];
}
/* The one that stands for the context; NULL past the cap. */
struct sl_stream *sl_context_any(struct sl_streams *s, struct sl_context *context);
/* They are kept whether or not there is such a stream yet. */
void sl_streams_flags(struct sl_streams *s, uint16_t device, uint32_t context, uint32_t stream,
                      uint32_t flags);

/* What streams hold is unknown from now on; ids and flags are kept. */
void sl_streams_forget(struct sl_streams *s);

/* ---- sets ---- */

/* A set that is added to must be open: one at a time. Past the cap it is marked lost. */
void sl_set_open(struct sl_streams *s, struct sl_set *set);
/* Of one stream's operations the one that ends last stands for the others (the latest, but where
 * kernels overlap), and of two links to one operation the one that is certain. */
void sl_set_add(struct sl_streams *s, struct sl_set *set, const struct sl_link *link);
/* What is in it came before for certain, but something that has no row may have ended later. */
int sl_set_misses(const struct sl_streams *s, const struct sl_set *set);
/* Its members are `overlapping`. */
void sl_set_mark(struct sl_set *set);
void sl_set_clear(struct sl_streams *s, struct sl_set *set);

/* ---- asking: each adds to an open set ---- */

/* The stream's own tail, each member by `via` if that is not SL_VIA_STREAM. */
void sl_stream_tail(struct sl_streams *s, struct sl_stream *stream, const struct sl_moment *when,
                    enum sl_via via, struct sl_set *set);
/* The same with what legacy order adds: what a wait for the stream waits for. Other streams that
 * were not used after `over_ns` are left out of that: who asks knows that they are over. */
void sl_stream_collect(struct sl_streams *s, struct sl_stream *stream, uint64_t over_ns,
                       const struct sl_moment *when, struct sl_set *set);
/* The tails of all streams of the context that were used after `since_ns`. */
void sl_context_collect(struct sl_streams *s, struct sl_context *context, uint64_t since_ns,
                        const struct sl_moment *when, struct sl_set *set);

/* What is enqueued on one comes behind what is on the other: they are one, or the legacy default
 * stream and one that is blocking. */
int sl_streams_are_ordered(const struct sl_stream *a, const struct sl_stream *b);

/* `a` came first. By their times, if their threads differ: a thread may be stopped between its
 * call's id and its stamp. Of calls that overlap, and where times are not known, by their ids. */
int sl_moment_precedes(const struct sl_moment *a, const struct sl_moment *b);
/* Two calls of different threads, neither of which had returned when the other began. */
int sl_moments_overlap(const struct sl_moment *a, const struct sl_moment *b);

/* ---- telling ---- */

/* A new operation, given by `pub` and `by`. `*out` has it, without a reference, or NULL when it was
 * there already, is older than all that matters, or past the cap (-ENOMEM). `before` gets what it
 * came behind (legacy order and waits, not its own stream), `*previous_end_ns` the end of the
 * operation before it; 0: there is none, UINT64_MAX: it has no time, or may not be that one. */
int sl_stream_push(struct sl_streams *s, struct sl_stream *stream, const struct sl_edge_op *pub,
                   const struct sl_moment *by, struct sl_set *before, uint64_t *previous_end_ns,
                   struct sl_op **out);
/* The stream's next operation comes behind the set too. */
void sl_stream_follow(struct sl_streams *s, struct sl_stream *stream, const struct sl_set *set,
                      enum sl_via via, const struct sl_moment *by);
/* The call did that to some stream, which may be one that is not known yet. */
void sl_streams_note_unknown(struct sl_streams *s, enum sl_unknown what, const struct sl_moment *by,
                             uint64_t ended_ns);
/* A call returned of which it is not known what it enqueued, and when: it was on its way when
 * recording began, or records were given up. */
void sl_streams_ignore_call(struct sl_streams *s, uint64_t returned_ns);
/* The same of an operation that began here: its call may not have returned yet. */
void sl_stream_ignore_op(struct sl_streams *s, struct sl_stream *stream, uint64_t start_ns);
/* A wait for all of it has returned: for those that look after that, what was not seen is over. */
void sl_stream_covered(const struct sl_streams *s, struct sl_stream *stream,
                       const struct sl_moment *wait);
void sl_context_covered(const struct sl_streams *s, struct sl_context *context,
                        const struct sl_moment *wait);

#endif
