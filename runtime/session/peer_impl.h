/*
 * peer_impl.h - what the two files about another client of CUPTI's share: when it comes
 * and leaves (peer.c), and what its calls go through (peer_hooks.c). Included
 * by them alone.
 *
 * Nothing is allocated. What is not atomic is set before the first slot is ours.
 */
#ifndef SL_SESSION_PEER_IMPL_H
#define SL_SESSION_PEER_IMPL_H

#include <stdatomic.h>
#include <stdint.h>

#include "session/peer.h"

/* Where calls go that are passed on. */
struct sl_peer_watched {
    const struct sl_cupti_api *api;
    void (*tell)(void);
    int was_here; /* a client that had begun before */
};

struct sl_peer_client {
    _Atomic uint32_t state;
    _Atomic uint64_t kinds; /* bit = kind that it has enabled */
    _Atomic int buffers;    /* that CUPTI has of it */
    _Atomic int is_unknown; /* it began before we watched: not all of the two above is known */
    _Atomic int has_disabled;
    _Atomic int has_flushed;  /* since it disabled a kind */
    _Atomic uint64_t left_ns; /* monotonic: its last sign */
    _Atomic int is_settled;   /* it has said itself that it is over */
    _Atomic uint32_t is_back; /* since then the collector has come back */
    _Atomic(sl_cupti_request_fn) request;
    _Atomic(sl_cupti_complete_fn) complete;
    _Atomic uint32_t is_fetched; /* by a flush of ours, right now */
    _Atomic int flushing;        /* threads of its that flush right now */
};

extern struct sl_peer_watched sl_peer_watched;
extern struct sl_peer_client sl_peer_client;

/* ---- peer.c: threads of the application's, from the slots ---- */

/* It begins: returns when CUPTI is the caller's; 1 if it was not before. */
int sl_peer_obtain(void);

/* 0: it was the last sign of a session of its. */
int sl_peer_leave(void);
/* Behind a call of its that turned nothing on: it has not begun, unless something of its is on. */
void sl_peer_leave_if_idle(void);
/* Whoever changes a part of the condition looks at all of it, so the last one sees it met. */
void sl_peer_leave_if_over(void);
/* The client's last calls are these: if buffers are out then, the collector keeps an eye on them.
 */
void sl_peer_leave_or_tell(void);

/* What our flush has taken from CUPTI and not given on is nowhere. */
void sl_peer_wait_until_fetched(void);

/* ---- peer_hooks.c: the one thread that looks for slots ---- */

/* Before the first scan: which functions of CUPTI's they hold. */
void sl_peer_slots_fill(void);
/* Objects were loaded since the last scan. */
int sl_peer_slots_are_new(void);
/* Makes those ours that hold them. */
void sl_peer_slots_scan(void);

#endif
