/*
 * wait.h - a wait, the set of operations it waits for, and the edges that come of it.
 *
 * A call that waits is decided once every call that may have enqueued something before it returned
 * has been applied: it stays open until a call begins after its end. The edges of a GPU operation
 * are decided at once.
 *
 * Threads: the engine's owner alone. Memory: the store's, bounded by its cap.
 */
#ifndef SL_WAIT_H
#define SL_WAIT_H

#include "sync/order.h"
#include "sync/stream_state.h"

enum {
    SL_WAKE_MOST_NS = 20000 /* what a thread takes to go on: 4 to 8 us is usual, 13 was seen */
};

enum sl_wait_scope {
    SL_WAIT_SET, /* known at once: an event's, or the call's own operation */
    SL_WAIT_STREAM,
    SL_WAIT_CONTEXT,
    SL_WAIT_GUESS /* nothing says which stream: some operation that ended just before */
};

struct sl_wait {
    struct sl_moment when;
    struct sl_stream *stream; /* or of its context, any */
    struct sl_set set;        /* SL_WAIT_SET */
    uint8_t scope, kind, inferred;
    uint8_t anywhere; /* not even the context is known: `stream` is any */
    uint8_t domain;   /* of the call's record, like the next two; 0: there is none */
    uint32_t name, cbid;
    /* What it was for had ended by then: the call's own operation began, behind it; 0: there is
     * none. */
    uint64_t over_ns;
};

/* Waits whose return is still to come (wait_open.c): one for each thread that waits now. */
struct sl_open {
    struct sl_wait *wait;
    size_t count, slots;
    size_t gone;       /* taken since `since_ns` was looked for */
    uint64_t since_ns; /* the first began then, or later */
};

struct sl_waits {
    const struct sl_edges_options *opt;
    struct sl_streams *streams;
    struct sl_map covered; /* (thread, stream or context) -> until when its end is known there */
    struct sl_open open;
    uint64_t closed_ns; /* the latest end of a wait that was decided */
    struct sl_edge *edge;
    size_t edges, edge_slots;
    uint64_t lost[SL_EDGE_LOST_COUNT];
};

void sl_waits_init(struct sl_waits *w, const struct sl_edges_options *opt,
                   struct sl_streams *streams);
void sl_waits_free(struct sl_waits *w);

/* Takes the set. */
void sl_waits_add(struct sl_waits *w, struct sl_wait *wait);
/* Decides those that had returned by `ns`. */
void sl_waits_close(struct sl_waits *w, uint64_t ns);

/* Those that are open are given up and counted; so is what threads know to be over. */
void sl_waits_forget(struct sl_waits *w, enum sl_edge_loss reason);

/* Edges are left out: bits of enum sl_edge_loss say why. */
void sl_waits_lose(struct sl_waits *w, uint32_t reasons);

/* A GPU operation's edges; `before` is what it came behind. */
void sl_waits_operation(struct sl_waits *w, const struct sl_op *op, const struct sl_set *before,
                        uint64_t previous_end_ns);

/* ---- open waits, in order of their return ---- */

/* 0, or -ENOMEM. Takes the wait. */
int sl_open_add(struct sl_open *o, struct sl_store *store, const struct sl_wait *wait);
/* The first to return, if it did by `ns`. 1: it is taken out, and the caller's. */
int sl_open_take(struct sl_open *o, uint64_t ns, struct sl_wait *out);
/* None is open any more; their sets are the caller's to clear before. */
void sl_open_forget(struct sl_open *o, struct sl_store *store);

/* When the first of them began, or earlier; UINT64_MAX: there is none. */
uint64_t sl_open_since(const struct sl_open *o);
/* One of them may have come before the second of two operations was tied (0: not known when), and
 * returns when the first was over and the second was not; 0: an end that is not known. */
int sl_open_between(const struct sl_open *o, uint64_t second_tied_ns, uint64_t first_end_ns,
                    uint64_t second_end_ns);

#endif
