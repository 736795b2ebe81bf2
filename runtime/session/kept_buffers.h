/*
 * kept_buffers.h - buffers of another client's that it has not asked for yet.
 *
 * A client turns its kinds off, and fetches what CUPTI still has of it when it gets there:
 * libkineto first works through all that the CPU did, which may take minutes, and takes nothing at
 * all if by then none of its buffers is out. So where we fetch them in its stead, to have CUPTI
 * back, they are kept here until its own flush.
 *
 * Threads: opened by the collector; put by whichever thread CUPTI gives a buffer back on; delivered
 * by any of the application's. No lock is held, nothing is allocated. Memory: the buffers are the
 * client's, and so it stays.
 */
#ifndef SL_SESSION_KEPT_BUFFERS_H
#define SL_SESSION_KEPT_BUFFERS_H

#include <stddef.h>
#include <stdint.h>

#include "collect/cupti/api.h"

enum {
    SL_HELD_MOST = 256 /* CUPTI has one for each thread */
};

/* From now on buffers are to be kept. */
void sl_held_open(void);

/* For `complete`. 0: it is kept; -ENOENT: it is the client's now, since nobody keeps any or there
 * is no room. */
int sl_held_put(sl_cupti_complete_fn complete, void *context, uint32_t stream, uint8_t *buffer,
                size_t size, size_t valid_size);

/* No more are kept. What is stays so. */
void sl_held_close(void);

/* The same, and all that was kept goes to its clients, on this thread. */
void sl_held_deliver(void);

#endif
