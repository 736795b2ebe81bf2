/*
 * stream_flags.h - stores the CUPTI flags of all streams ever created, in two bits each.
 *
 * CUPTI reports a stream's flags only once, when the stream is created. The engine needs the flags
 * whenever the stream is used. No record reports a stream's destruction. So the flags are kept even
 * when other facts about the stream are forgotten. Ids are dense, so flags are stored in pages of
 * 1024 ids. Pages use at most a sixteenth of the store. With a store of 7 MiB, this is enough for
 * 1.3 million streams. When the sixteenth is full, the oldest page is forgotten.
 *
 * Threads: only the thread that owns the engine (edge.h). Memory: a pool of the engine's store
 * (base/store.h).
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

/* `context` is a number below 2^22 that identifies the context. The caller guarantees that flags
 * are 1 to 3. */
void sl_flags_put(struct sl_flags *f, uint32_t context, uint32_t stream, uint32_t flags);
/* Returns 0 if the flags are not known. Sets *lost if the flags may have been reported and then
 * forgotten. */
uint32_t sl_flags_get(const struct sl_flags *f, uint32_t context, uint32_t stream, int *lost);

#endif
