/*
 * peer.h - another profiler in the process (the peer): when it begins to use CUPTI, and when it has
 * left.
 *
 * CUPTI's activity API has one pair of callbacks, one set of kinds and one clock for the whole
 * process. A library that is linked with CUPTI (torch.profiler, which is libkineto inside
 * libtorch_cpu) calls CUPTI through its import slots. We point these slots at functions of ours.
 * They hold the peer's first call until the recorder has let go of CUPTI, then pass every call on.
 * They count the kinds that the peer has on and the buffers that CUPTI has of it, so that we know
 * when its session is over.
 *
 *   OURS   --(the peer begins)--------------> ASKED
 *   ASKED  --(the recorder has let go)------> THEIRS
 *   THEIRS --(kinds are off, buffers back)--> LEFT
 *   LEFT   --(the recorder takes CUPTI)-----> OURS
 *   LEFT   --(the peer begins again)--------> THEIRS
 *
 * A peer that ends CUPTI for the whole process (cuptiFinalize) begins and leaves with that call.
 *
 * Threads: watch and rescan by one thread (the injecting one, then the recorder); the functions in
 * the slots by any thread of the application; the state by any thread. Memory: static.
 */
#ifndef SL_SESSION_PEER_H
#define SL_SESSION_PEER_H

#include <stdint.h>

#include "collect/cupti/api.h"

enum sl_peer_state {
    SL_PEER_OURS,
    SL_PEER_ASKED,  /* an application thread waits for us to release CUPTI */
    SL_PEER_THEIRS, /* we make no call of CUPTI that changes or flushes anything, except
                     * sl_peer_fetch() */
    SL_PEER_LEFT,
    SL_PEER_OFF /* no peer is watched, or no longer */
};

struct sl_peer_options {
    const struct sl_cupti_api *api;
    /* Any thread, also inside a CUPTI callback: the state has become ASKED or LEFT. */
    void (*tell)(void);
};

/* Points the import slots at our functions. `is_here`: a peer has begun already, so that the state
 * is THEIRS. */
void sl_peer_watch(const struct sl_peer_options *opt, int is_here);

/* Any thread. A peer announces that it begins, before its first CUPTI call. Returns when the peer
 * has CUPTI. 0; -ENOTSUP: no peer is watched, so nothing is handed over. */
int sl_peer_begin(void);
/* Any thread. The peer has made its last CUPTI call. Returns when the recorder has CUPTI back. 0;
 * -EBUSY: another session continues or has begun meanwhile, and CUPTI comes back after that
 * session; -ETIMEDOUT. */
int sl_peer_end(void);

/* Does the same for objects loaded since the last scan. Cheap if there are none. */
void sl_peer_rescan(void);

enum sl_peer_state sl_peer_state(void);

/* Recorder: we have released CUPTI. A waiting application thread continues. */
void sl_peer_let_go(void);

/* Recorder: takes CUPTI back if the state is LEFT. Returns 0; -EBUSY: the state is not, or no
 * longer, LEFT. */
int sl_peer_take(void);
/* Recorder: THEIRS, all kinds of the peer are off again, and yet CUPTI has a buffer of the peer. */
enum sl_peer_stranded {
    SL_PEER_AFLOAT,    /* neither of the two below */
    SL_PEER_MAY_FLUSH, /* the peer has not flushed since, and may do so yet, however late */
    SL_PEER_STRANDED   /* CUPTI recorded a call of another thread behind the peer's flush */
};
enum sl_peer_stranded sl_peer_stranded(void);
/* Recorder: a plain flush brings the completed buffers, and the state becomes LEFT. The peer gets
 * the buffers at its own next flush (session/kept_buffers.h). */
void sl_peer_fetch(void);

/* Recorder: returns since when the state is LEFT, by the monotonic clock. */
uint64_t sl_peer_left_ns(void);
/* Recorder: returns whether the peer said that its last call is made. Then not even the calls that
 * profilers make after their last flush will follow. */
int sl_peer_is_settled(void);
/* Recorder: CUPTI is in use by us again, or cannot be. No thread waits for that any longer. */
void sl_peer_back(void);

/* Any thread, async-signal-safe: from now on calls are passed on at once, and no thread waits. */
void sl_peer_stop(void);

/* Any thread: returns whether some loaded object imports `function`. */
int sl_peer_imports(const char *function);

#endif
