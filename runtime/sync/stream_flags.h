/*
 * stream_flags.h - the CUPTI flags of all streams ever created, two bits each.
 *
 * CUPTI reports a stream's flags once, when the stream is created, but they are needed whenever it
 * is used. No record reports a stream's destruction. So other facts about a stream can be
 * forgotten, but not its flags. Ids are dense, so pages of 1024 ids hold them. Past a sixteenth of
 * all memory (for 7 MiB: 1.3 million streams) the oldest page is forgotten.
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
    uint64_t forgotten; /* the highest number of a forgotten page */
};

void sl_flags_init(struct sl_flags *f, struct sl_store *store);
void sl_flags_free(struct sl_flags *f);

/* `context`: a number below 2^22 that identifies it. Flags are 1 to 3. */
void sl_flags_put(struct sl_flags *f, uint32_t context, uint32_t stream, uint32_t flags);
/* Returns 0 if the flags were never reported; `*lost` is set if they may only be forgotten. */
uint32_t sl_flags_get(const struct sl_flags *f, uint32_t context, uint32_t stream, int *lost);

#endif
