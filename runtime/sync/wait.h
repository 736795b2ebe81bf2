/*
 * wait.h - decides waits: finds the set of operations that a wait waited for, and emits the edges.
 *
 * A call's wait is decided once all calls were applied that may have enqueued work before the wait
 * returned. So the wait stays open until a call is applied that began after the end of the wait.
 * The edges of a GPU operation are found and emitted at once.
 *
 * Threads: only the thread that owns the engine (edge.h). Memory: the engine's store
 * (base/store.h), up to the store's cap.
 */
#ifndef SL_WAIT_H
#define SL_WAIT_H

#include "sync/order.h"
#include "sync/stream_state.h"

enum {
    /* maximum wake-up delay in nanoseconds; 4 to 8 us is usual, and 13 us was seen */
    SL_WAKE_MOST_NS = 20000
};

enum sl_wait_scope {
    SL_WAIT_SET, /* a set that is known at once: the set of an event, or the call's own operation */
    SL_WAIT_STREAM,
    SL_WAIT_CONTEXT,
    /* no record names the stream, so the engine searches for an operation that ended just before
     * the call returned */
    SL_WAIT_GUESS
};

struct sl_wait {
    struct sl_moment when;
    struct sl_stream *stream; /* the awaited stream, or the stream that stands for the context */
    struct sl_set set;        /* the awaited operations; used only with SL_WAIT_SET */
    uint8_t scope, kind, inferred;
    /* 1: the call waited only if awaited work ended during the call, after `pending_ns` */
    uint8_t if_pending;
    uint8_t anywhere; /* 1: not even the context is known; `stream` stands for any context */
    /* `domain`, `name` and `cbid` are copied from the call's record; they are 0 if there is no
     * record */
    uint8_t domain;
    uint32_t name, cbid;
    /* Start of the call's own operation, which is ordered after the awaited work. At this time the
     * awaited work had ended. 0 if the call has no such operation. */
    uint64_t over_ns;
    uint64_t pending_ns; /* see `if_pending`; 0: the call's start */
    uint64_t until_ns;   /* awaited work ended by this time; 0: the call's end */
};

/* Waits whose call has not returned yet (wait_open.c). There is one open wait for each thread that
 * is waiting. */
struct sl_open {
    struct sl_wait *wait;
    size_t count, slots;
    size_t gone;       /* number of waits removed since `since_ns` was computed */
    uint64_t since_ns; /* no open wait began before this time */
};

struct sl_waits {
    const struct sl_edges_options *opt;
    struct sl_streams *streams;
    /* maps a thread and a stream or context to a time: the thread has waited for all work that the
     * stream or context got up to this time */
    struct sl_map covered;
    struct sl_open open;
    uint64_t closed_ns; /* latest end of all waits whose edges were emitted */
    struct sl_edge *edge;
    size_t edges, edge_slots;
    uint64_t lost[SL_EDGE_LOST_COUNT];
};

void sl_waits_init(struct sl_waits *w, const struct sl_edges_options *opt,
                   struct sl_streams *streams);
void sl_waits_free(struct sl_waits *w);

/* Adds a wait, and takes the ownership of the wait's set. */
void sl_waits_add(struct sl_waits *w, struct sl_wait *wait);
/* Emits the edges of the open waits that had returned by `ns`. */
void sl_waits_close(struct sl_waits *w, uint64_t ns);

/* Drops and counts all open waits. Clears the map of covered work. */
void sl_waits_forget(struct sl_waits *w, enum sl_edge_loss reason);

/* Counts edges that are left out. `reasons` has a bit for each enum sl_edge_loss. */
void sl_waits_lose(struct sl_waits *w, uint32_t reasons);

/* Emits the edges of a GPU operation; `before` is the set that the operation waited for. */
void sl_waits_operation(struct sl_waits *w, const struct sl_op *op, const struct sl_set *before,
                        uint64_t previous_end_ns);

/* ---- open waits, in order of their return ---- */

/* Adds an open wait, and takes the ownership of the wait. Returns 0 or -ENOMEM. */
int sl_open_add(struct sl_open *o, struct sl_store *store, const struct sl_wait *wait);
/* Removes the wait that returns first, if it returned by `ns`, and writes it to *out. Returns 1 if
 * a wait was removed; the caller then owns the wait. */
int sl_open_take(struct sl_open *o, uint64_t ns, struct sl_wait *out);
/* Removes all open waits. The caller must have cleared the sets of the waits. */
void sl_open_forget(struct sl_open *o, struct sl_store *store);

/* Returns a time before which no open wait began, UINT64_MAX if no wait is open. */
uint64_t sl_open_since(const struct sl_open *o);
/* Returns 1 if an open wait may need the first of two operations although the second operation
 * replaces the first. This is the case if the wait began before the stream was made to wait for the
 * second operation, and if the wait returned when the first operation had ended and the second had
 * not. A time is 0 if it is not known. */
int sl_open_between(const struct sl_open *o, uint64_t second_tied_ns, uint64_t first_end_ns,
                    uint64_t second_end_ns);

#endif
