/*
 * peer_impl.h - what the two files about the peer share: when it begins and leaves (peer.c), and
 * the functions in its import slots (peer_hooks.c). Included by them alone.
 *
 * Memory: static. What is not atomic is set before the first slot points at our functions.
 */
#ifndef SL_SESSION_PEER_IMPL_H
#define SL_SESSION_PEER_IMPL_H

#include <stdatomic.h>
#include <stdint.h>

#include "session/peer.h"

/* Set once, by sl_peer_watch(). */
struct sl_peer_watched {
    const struct sl_cupti_api *api; /* calls are passed on to it */
    void (*tell)(void);
    int was_here; /* the peer had begun before */
};

struct sl_peer_client {
    _Atomic uint32_t state;
    _Atomic uint64_t kinds; /* bit = kind that the peer has on */
    _Atomic int buffers;    /* buffers of the peer that CUPTI has */
    _Atomic int is_unknown; /* it began before we watched, so the two fields above may be too low */
    _Atomic int has_disabled;
    _Atomic int has_flushed;  /* since it disabled a kind */
    _Atomic uint64_t left_ns; /* monotonic: when the state became LEFT */
    _Atomic int is_settled;   /* the peer said that its last call is made */
    _Atomic uint32_t is_back; /* the recorder has CUPTI back since then */
    _Atomic(sl_cupti_request_fn) request;
    _Atomic(sl_cupti_complete_fn) complete;
    _Atomic uint32_t is_fetched; /* 1: we are flushing on its behalf */
    _Atomic int flushing;        /* threads of the peer that are flushing */
};

extern struct sl_peer_watched sl_peer_watched;
extern struct sl_peer_client sl_peer_client;

/* ---- peer.c: threads of the application, from the slots ---- */

/* The peer begins. Returns when the peer has CUPTI; 1 if CUPTI was ours before. */
int sl_peer_obtain(void);

/* The peer has left, and the recorder is told. Nothing happens if it had left before. */
void sl_peer_leave(void);
/* After a call of the peer that turned nothing on: it has left, unless something of it is on. */
void sl_peer_leave_if_idle(void);
/* A thread that changes one part of the condition checks all parts, so that the last thread sees
 * the condition met. */
void sl_peer_leave_if_over(void);
/* After a call that may be the peer's last: if CUPTI has buffers of it, the recorder watches them.
 */
void sl_peer_leave_or_tell(void);

/* Waits until a flush on the peer's behalf is over. Until then the peer's buffers are neither in
 * CUPTI nor among the kept ones. */
void sl_peer_wait_until_fetched(void);

/* ---- peer_hooks.c: the one thread that looks for slots ---- */

/* Before the first scan: finds out which CUPTI functions the slots hold. */
void sl_peer_slots_fill(void);
/* Objects were loaded since the last scan. */
int sl_peer_slots_are_new(void);
/* Points the slots at our functions. */
void sl_peer_slots_scan(void);

#endif
