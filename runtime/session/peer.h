/*
 * peer.h - another client of CUPTI's in the process: when it comes, and when it has
 * left.
 *
 * CUPTI's activity API has one pair of callbacks, one set of kinds and one clock for the whole
 * process. A library that is linked with CUPTI (torch.profiler, which is libkineto inside
 * libtorch_cpu) calls it through its import slots. These are pointed at functions of ours, which
 * hold its first call until the collector has let go of CUPTI, then pass everything on; they count
 * what it has enabled and which buffers it has lent out, so that it is known when all of it is
 * over.
 *
 *   OURS --(it begins)--> ASKED --(collector has let go)--> THEIRS --(kinds off, buffers back)-->
 * LEFT LEFT --(collector)--> OURS       LEFT --(it begins again)--> THEIRS
 *
 * One that ends CUPTI for the whole process begins and leaves with that one call.
 *
 * Threads: watch and rescan by one (injection, then the collector); the functions in the slots by
 * any thread of the application's; the state by any. Nothing is allocated.
 */
#ifndef SL_SESSION_PEER_H
#define SL_SESSION_PEER_H

#include <stdint.h>

#include "collect/cupti/api.h"

enum sl_peer_state {
    SL_PEER_OURS,
    SL_PEER_ASKED,  /* a thread of the application's waits for us to let go */
    SL_PEER_THEIRS, /* no call of CUPTI's that changes or flushes anything is ours to make,
                     * but for sl_peer_fetch() */
    SL_PEER_LEFT,
    SL_PEER_OFF /* nobody is watched, or no longer */
};

struct sl_peer_options {
    const struct sl_cupti_api *api;
    /* Any thread, also inside a callback of CUPTI's: the state has become ASKED or LEFT. */
    void (*tell)(void);
};

/* From now on slots of objects that import CUPTI's functions are ours; `is_here`: one of them has
 * begun already, so that the state is THEIRS. */
void sl_peer_watch(const struct sl_peer_options *opt, int is_here);

/* Any thread: a client says itself that it begins, before its first call of CUPTI; returns when
 * CUPTI is its. 0; -ENOTSUP: nobody is watched, nothing is handed over. */
int sl_peer_begin(void);
/* And that it has made its last call: returns when the collector has CUPTI back. 0; -EBUSY:
 * somebody goes on recording, or has begun meanwhile, and is waited for as ever; -ETIMEDOUT. */
int sl_peer_end(void);

/* The same for objects that were loaded since. Cheap when there are none. */
void sl_peer_rescan(void);

enum sl_peer_state sl_peer_state(void);

/* Collector: we have let go. Whoever waits goes on. */
void sl_peer_let_go(void);

/* Collector: takes CUPTI back if it is LEFT. 0; -EBUSY: it is not, or not any more. */
int sl_peer_take(void);
/* Collector: THEIRS, but all that it has enabled is off again, and yet CUPTI keeps a buffer of its.
 */
enum sl_peer_stranded {
    SL_PEER_AFLOAT,    /* not so */
    SL_PEER_MAY_FLUSH, /* it has not flushed since, and may be about to, however late */
    SL_PEER_STRANDED   /* a call of another thread's was recorded behind its flush */
};
enum sl_peer_stranded sl_peer_stranded(void);
/* Collector: a plain flush brings what is complete, and it is LEFT. The client has it at its own
 * next flush (session/kept_buffers.h). */
void sl_peer_fetch(void);

/* Collector: LEFT since then, by the monotonic clock. */
uint64_t sl_peer_left_ns(void);
/* Collector: LEFT, and nothing will follow: not even what clients do behind their last flush. */
int sl_peer_is_settled(void);
/* Collector: what was taken back is in use again, or cannot be. Nobody waits for it any more. */
void sl_peer_back(void);

/* Any thread, async-signal-safe: calls are passed on as if we were not there; nobody waits. */
void sl_peer_stop(void);

/* Any thread: whether some loaded object imports `function`. */
int sl_peer_imports(const char *function);

#endif
