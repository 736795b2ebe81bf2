/*
 * stream_home.h - finds the context of a stream and the device of a context.
 *
 * torch.profiler names the stream of an event record, but not the record's context. The context of
 * a stream number is known only if exactly one context has a stream of this number. Kineto writes
 * device 0 for a wait if no kernel of the wait's context has been recorded before. So the device of
 * a context is taken from the rows of GPU operations.
 *
 * Threads: one owner. Memory: at most 8 MiB. If a trace has more than 100000 streams, the further
 * streams are unknown. If it has more than 10000 contexts, the devices of the further contexts are
 * unknown.
 */
#ifndef SL_STREAM_HOME_H
#define SL_STREAM_HOME_H

#include "base/store.h"

struct sl_stream_home {
    struct sl_store store;
    struct sl_map of;     /* maps a stream to its context */
    struct sl_map device; /* map from a context to the device of its operations */
    struct sl_map handle; /* map from a stream's handle of 64 bits to its number */
    uint64_t first, last; /* first and latest context seen */
    uint32_t last_stream; /* the last stream that was added in the context `last` */
    uint64_t last_place;  /* device and context of the last operation */
    int has_stream;       /* the context `first` has a stream */
    int several;          /* more than one context has a stream */
};

void sl_stream_home_init(struct sl_stream_home *h);
void sl_stream_home_free(struct sl_stream_home *h);

/* Adds a context and stream that one row names together. If `stream` is SL_STREAM_NONE, the context
 * counts only if no other context has a stream, because events are recorded on streams. */
void sl_stream_home_see(struct sl_stream_home *h, uint32_t context, uint32_t stream);
/* Adds the context and stream of a GPU operation that ran on `device`. If `device` is
 * SL_DEVICE_NONE, the context's device is taken from other operations, or stays SL_DEVICE_NONE. */
void sl_stream_home_see_operation(struct sl_stream_home *h, uint8_t device, uint32_t context,
                                  uint32_t stream);

/* Returns the number of a stream. CUDA's numbers are small and stay as they are. ROCm has handles
 * of 64 bits; each gets a number of its own. Returns SL_STREAM_NONE if the map is full. */
uint32_t sl_stream_home_number(struct sl_stream_home *h, int64_t stream);

/* Returns 0, or -ENOENT if the stream may be in more than one context. */
int sl_stream_home_find(const struct sl_stream_home *h, uint32_t stream, uint32_t *context);
/* Returns 0, or -ENOENT if no operation names a device, or if operations of several processes name
 * different devices. */
int sl_stream_home_find_device(const struct sl_stream_home *h, uint32_t context, uint8_t *device);
/* Iterates over the contexts in which operations ran. `*at` is 0 at the first call. Skips contexts
 * with more than one device. Returns 1, or 0 at the end. */
int sl_stream_home_next(const struct sl_stream_home *h, size_t *at, uint32_t *context,
                        uint8_t *device);

#endif
