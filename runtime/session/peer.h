/*
 * peer.h - finds out when another profiler in the process (the peer) begins to use CUPTI, and when
 * it has left.
 *
 * CUPTI's activity API has one pair of callbacks, one set of kinds and one clock for the whole
 * process. A library that is linked with CUPTI (torch.profiler, which is libkineto inside
 * libtorch_cpu) calls CUPTI through its import slots. We redirect these slots to our own functions.
 * Our functions delay the peer's first call until the recorder has released CUPTI, and then pass
 * every call on. Our functions also count the kinds that the peer has turned on, and the buffers of
 * the peer that CUPTI holds. So we know when the peer's session is over.
 *
 *   OURS   --(the peer begins)--------------> ASKED
 *   ASKED  --(CUPTI is released)------------> THEIRS
 *   THEIRS --(kinds are off, buffers back)--> LEFT
 *   LEFT   --(the recorder takes CUPTI)-----> OURS
 *   LEFT   --(the peer begins again)--------> THEIRS
 *
 * If a peer ends CUPTI for the whole process (cuptiFinalize), the peer begins and leaves with that
 * call.
 *
 * Threads: sl_peer_watch() on the injecting thread, sl_peer_rescan() on the recorder thread, the
 * functions in the slots on any thread of the application. Any thread may read the state. Memory:
 * static.
 */
#ifndef SL_SESSION_PEER_H
#define SL_SESSION_PEER_H

#include <stdint.h>

#include "collect/cupti/api.h"

enum sl_peer_state {
    SL_PEER_OURS,
    SL_PEER_ASKED,  /* an application thread waits for us to release CUPTI */
    SL_PEER_THEIRS, /* the peer has CUPTI; except in sl_peer_fetch(), we make no call that changes
                     * or flushes anything */
    SL_PEER_LEFT,
    SL_PEER_OFF /* peers are not watched, or not any more */
};

struct sl_peer_options {
    const struct sl_cupti_api *api;
    /* Called when the state has become ASKED or LEFT, on any thread, and also inside a CUPTI
     * callback. */
    void (*tell)(void);
};

/* Redirects the import slots to our functions. Set `is_here` if a peer has begun to use CUPTI
 * already. Then the state is THEIRS from the start. */
void sl_peer_watch(const struct sl_peer_options *opt, int is_here);

/* Any thread. A peer calls this before its first CUPTI call. Returns when the peer may use CUPTI:
 * 0, or -ENOTSUP if peers are not watched, so that CUPTI is not handed over. */
int sl_peer_begin(void);
/* Any thread. A peer calls this after its last CUPTI call. Returns 0 when the recorder has CUPTI
 * back; -EBUSY if another session is running, after which the recorder gets CUPTI back; or
 * -ETIMEDOUT. */
int sl_peer_end(void);

/* Redirects the slots of objects that were loaded since the last scan. Takes little time if no
 * object was loaded. */
void sl_peer_rescan(void);

enum sl_peer_state sl_peer_state(void);

/* Recorder thread. Call when we have released CUPTI. The waiting application thread continues. */
void sl_peer_let_go(void);

/* Recorder thread. Takes CUPTI back if the state is LEFT. Returns 0, or -EBUSY if the state is not
 * LEFT, or not any more. */
int sl_peer_take(void);
/* Says whether CUPTI holds a buffer of the peer although the peer has turned all its kinds off (in
 * state THEIRS). Recorder thread. */
enum sl_peer_stranded {
    SL_PEER_AFLOAT,    /* CUPTI holds no such buffer */
    SL_PEER_MAY_FLUSH, /* yes, but the peer has not flushed since, and may still flush */
    SL_PEER_STRANDED   /* yes, and the peer has flushed, because CUPTI has recorded a call of
                        * another thread after the peer's flush */
};
enum sl_peer_stranded sl_peer_stranded(void);
/* Recorder thread. Makes CUPTI return the peer's completed buffers by a plain flush, after which
 * the state becomes LEFT. The buffers are passed to the peer at its own next flush
 * (session/kept_buffers.h). */
void sl_peer_fetch(void);

/* Recorder thread. Returns the monotonic time since which the state is LEFT. */
uint64_t sl_peer_left_ns(void);
/* Recorder thread. Returns whether the peer has called sl_peer_end(). Then the peer makes no more
 * calls, not even the calls that profilers make after their last flush. */
int sl_peer_is_settled(void);
/* Recorder thread. Call when we use CUPTI again, or when we cannot use CUPTI. Threads that wait in
 * sl_peer_end() continue. */
void sl_peer_back(void);

/* Any thread, async-signal-safe. From now on, calls are passed on at once, and no thread waits. */
void sl_peer_stop(void);

/* Any thread. Returns whether a loaded object imports `function`. */
int sl_peer_imports(const char *function);

#endif
