/*
 * peer_impl.h - shared by peer.c (when the peer begins and leaves) and peer_hooks.c (functions in
 * the peer's import slots). Only these two files include it.
 *
 * Memory: static. Fields that are not atomic are set before the first slot is redirected.
 */
#ifndef SL_SESSION_PEER_IMPL_H
#define SL_SESSION_PEER_IMPL_H

#include <stdatomic.h>
#include <stdint.h>

#include "session/peer.h"

/* Set once, by sl_peer_watch(). */
struct sl_peer_watched {
    const struct sl_cupti_api *api; /* CUPTI's own functions, to which calls are passed on */
    void (*tell)(void);
    int was_here; /* 1: the peer had begun before we watched */
};

struct sl_peer_client {
    _Atomic uint32_t state;
    _Atomic uint64_t kinds; /* a bit for each kind of records that the peer has turned on */
    _Atomic int buffers;    /* number of the peer's buffers that CUPTI has */
    _Atomic int is_unknown; /* 1: the peer began before we watched, so `kinds` and `buffers` may
                             * lack some */
    _Atomic int has_disabled;
    _Atomic int has_flushed;  /* 1: the peer has flushed since it last disabled a kind */
    _Atomic uint64_t left_ns; /* monotonic time at which the state became LEFT */
    _Atomic int is_settled;   /* 1: the peer has called sl_peer_end() */
    _Atomic uint32_t is_back; /* 1: since sl_peer_end(), the recorder has CUPTI back */
    _Atomic(sl_cupti_request_fn) request;
    _Atomic(sl_cupti_complete_fn) complete;
    _Atomic uint32_t is_fetched; /* 1: we are flushing on the peer's behalf */
    _Atomic int flushing;        /* number of the peer's threads that are flushing */
};

extern struct sl_peer_watched sl_peer_watched;
extern struct sl_peer_client sl_peer_client;

/* ---- peer.c: called by the functions in the slots ---- */

/* Called when the peer begins. Waits until the peer may use CUPTI. Returns 1 if CUPTI was ours
 * before, otherwise 0. */
int sl_peer_obtain(void);

/* Sets the state LEFT and wakes the recorder. Does nothing if the peer had left before. */
void sl_peer_leave(void);
/* Call after a call of the peer that turned nothing on. The peer has left, unless one of its kinds
 * is on. */
void sl_peer_leave_if_idle(void);
/* Call after each change of the peer's kinds or buffers. If all kinds of the peer are off and CUPTI
 * has returned the peer's buffers, the peer counts as gone. */
void sl_peer_leave_if_over(void);
/* Call after a call that may be the peer's last. Like sl_peer_leave_if_over(), but if CUPTI still
 * holds buffers of the peer, wakes the recorder, which watches these buffers. */
void sl_peer_leave_or_tell(void);

/* Waits until a flush on the peer's behalf is over. During that flush, a buffer may be neither in
 * CUPTI nor in the table of kept buffers. */
void sl_peer_wait_until_fetched(void);

/* ---- peer_hooks.c: called by the thread that scans for slots ---- */

/* Call before the first scan. Stores the addresses of CUPTI's functions, by which slots are
 * recognised. */
void sl_peer_slots_fill(void);
/* Returns whether objects were loaded since the last scan. */
int sl_peer_slots_are_new(void);
/* Redirects the slots to our functions. */
void sl_peer_slots_scan(void);

#endif
