/*
 * kept_buffers.h - keeps completed buffers of the peer (peer.h) until the peer flushes.
 *
 * A profiler turns its kinds off, and flushes CUPTI some time later. libkineto first processes all
 * CPU records, which may take minutes. If CUPTI has no more buffers of libkineto at that flush,
 * libkineto reads no GPU records at all. So if the recorder flushes on the peer's behalf, to get
 * CUPTI back, this file keeps the peer's buffers until the peer's own flush.
 *
 * Threads: the recorder thread calls the open function, the thread on which CUPTI returns a buffer
 * calls the put function, and any thread of the application calls close and deliver. No lock is
 * held. Memory: a static table; the buffers still belong to the peer.
 */
#ifndef SL_SESSION_KEPT_BUFFERS_H
#define SL_SESSION_KEPT_BUFFERS_H

#include <stddef.h>
#include <stdint.h>

#include "collect/cupti/api.h"

enum {
    SL_KEPT_BUFFERS_MOST = 256 /* maximum number of kept buffers; CUPTI has one buffer for each
                                * thread */
};

/* Starts keeping buffers. */
void sl_kept_buffers_open(void);

/* Keeps a buffer for the callback `complete`. Returns 0, or -ENOENT if buffers are not kept or the
 * table is full. Then the caller must pass the buffer to `complete` at once. */
int sl_kept_buffers_put(sl_cupti_complete_fn complete, void *context, uint32_t stream,
                        uint8_t *buffer, size_t size, size_t valid_size);

/* Stops keeping further buffers. Buffers that are kept already stay in the table. */
void sl_kept_buffers_close(void);

/* Stops keeping buffers, and passes all kept buffers to their callbacks on this thread. */
void sl_kept_buffers_deliver(void);

#endif
