/*
 * stream_flags.h - CUPTI's flags of all streams that were ever made, two bits each.
 *
 * They are told once, when a stream is made, and must be known whenever it is used: no record tells
 * that a stream is destroyed, so what is otherwise known of it can be forgotten, but not these. Ids
 * are dense, so pages of 1024 hold them; past a sixteenth of all memory (of 7 MiB: 1.3 million
 * streams) the oldest page is forgotten.
 *
 * Threads: the engine's owner alone. Memory: a pool of the store.
 */
#ifndef SL_STREAM_FLAGS_H
#define SL_STREAM_FLAGS_H

#include "base/store.h"

struct sl_flags_page;

struct sl_flags {
    struct sl_pool pool;
    struct sl_map by_number;
    struct sl_flags_page *oldest, *newest;
    size_t count, most;
    uint64_t forgotten; /* the highest number of a page that is */
};

void sl_flags_init(struct sl_flags *f, struct sl_store *store);
void sl_flags_free(struct sl_flags *f);

/* `context`: any number below 2^22 that tells it. Flags are 1 to 3. */
void sl_flags_put(struct sl_flags *f, uint32_t context, uint32_t stream, uint32_t flags);
/* 0: never told; `*lost` is set if perhaps only forgotten. */
uint32_t sl_flags_get(const struct sl_flags *f, uint32_t context, uint32_t stream, int *lost);

#endif
