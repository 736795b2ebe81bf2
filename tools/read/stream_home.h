/*
 * stream_home.h - in which context a file's streams are, and on which device its contexts.
 *
 * Files of torch.profiler's name the stream that an event was recorded on, but not its context:
 * that is known where no other context has a stream of that number. And the device of a wait is 0
 * there until Kineto has seen a kernel of the wait's context: GPU operations tell the true one.
 *
 * Threads: one owner. Memory: at most 8 MiB; of streams past 100000 nothing is known, and of
 * contexts past 10000 not their device.
 */
#ifndef SL_STREAM_HOME_H
#define SL_STREAM_HOME_H

#include "sync/store.h"

struct sl_stream_home {
    struct sl_store store;
    struct sl_map of;     /* stream -> its context */
    struct sl_map device; /* context -> its operations' */
    uint64_t first, last; /* contexts that were seen */
    uint32_t last_stream; /* in the last */
    uint64_t last_place;  /* device and context of the last operation */
    int several;          /* contexts */
};

void sl_stream_home_init(struct sl_stream_home *h);
void sl_stream_home_free(struct sl_stream_home *h);

/* A row of the file names them together. `stream` may be SL_STREAM_NONE. */
void sl_stream_home_see(struct sl_stream_home *h, uint32_t context, uint32_t stream);
/* The same of a GPU operation, which ran on that device. It may be SL_DEVICE_NONE: then the
 * context's is what other operations say, or that. */
void sl_stream_home_see_operation(struct sl_stream_home *h, uint16_t device, uint32_t context,
                                  uint32_t stream);

/* 0, or -ENOENT: it may be in more than one context. */
int sl_stream_home_find(const struct sl_stream_home *h, uint32_t stream, uint32_t *context);
/* 0, or -ENOENT: no operation tells, or several contradict each other (of several processes). */
int sl_stream_home_find_device(const struct sl_stream_home *h, uint32_t context, uint16_t *device);
/* The contexts in which operations ran, one after the other; `*at` is 0 at first. 1, or 0: there
 * are no more. Those of which several devices are told are left out. */
int sl_stream_home_next(const struct sl_stream_home *h, size_t *at, uint32_t *context,
                        uint16_t *device);

#endif
