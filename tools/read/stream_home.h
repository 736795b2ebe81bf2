/*
 * stream_home.h - in which context a file's streams are.
 *
 * Files of torch.profiler's name the stream that an event was recorded on, but not its context:
 * that is known where no other context has a stream of that number.
 *
 * Threads: one owner. Memory: at most 8 MiB; of streams past 100000 nothing is known.
 */
#ifndef SL_STREAM_HOME_H
#define SL_STREAM_HOME_H

#include "sync/store.h"

struct sl_stream_home {
    struct sl_store store;
    struct sl_map of;     /* stream -> its context */
    uint64_t first, last; /* contexts that were seen */
    uint32_t last_stream; /* in the last */
    int several;          /* contexts */
};

void sl_stream_home_init(struct sl_stream_home *h);
void sl_stream_home_free(struct sl_stream_home *h);

/* A row of the file names them together. `stream` may be SL_STREAM_NONE. */
void sl_stream_home_see(struct sl_stream_home *h, uint16_t device, uint32_t context,
                        uint32_t stream);

/* 0, or -ENOENT: it may be in more than one context. */
int sl_stream_home_find(const struct sl_stream_home *h, uint32_t stream, uint16_t *device,
                        uint32_t *context);

#endif
