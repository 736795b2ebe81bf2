/*
 * kept_buffers.h - completed buffers of the peer (peer.h) that are kept until the peer flushes.
 *
 * A profiler turns its kinds off, and flushes CUPTI some time later. libkineto first processes all
 * CPU records, which may take minutes. If CUPTI then has none of its buffers, libkineto reads
 * nothing at all. So if the recorder flushes on the peer's behalf, to get CUPTI back, the buffers
 * are kept here until the peer's own flush.
 *
 * Threads: the recorder opens; the thread on which CUPTI gives a buffer back puts; any thread of
 * the application delivers. No lock is held. Memory: a static table; the buffers remain the peer's.
 */
#ifndef SL_SESSION_KEPT_BUFFERS_H
#define SL_SESSION_KEPT_BUFFERS_H

#include <stddef.h>
#include <stdint.h>

#include "collect/cupti/api.h"

enum {
    SL_KEPT_BUFFERS_MOST = 256 /* CUPTI has one for each thread */
};

/* Starts keeping buffers. */
void sl_kept_buffers_open(void);

/* Keeps a buffer for the callback `complete`. Returns 0; -ENOENT: buffers are not kept, or there is
 * no room, so the caller must pass the buffer on at once. */
int sl_kept_buffers_put(sl_cupti_complete_fn complete, void *context, uint32_t stream,
                        uint8_t *buffer, size_t size, size_t valid_size);

/* Stops keeping buffers. Kept buffers stay. */
void sl_kept_buffers_close(void);

/* Stops, and passes all kept buffers to their callbacks, on this thread. */
void sl_kept_buffers_deliver(void);

#endif
