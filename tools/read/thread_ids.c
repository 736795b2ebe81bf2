/*
 * thread_ids.c - maps a file's thread ids to the 32 bits that an event holds.
 *
 * Threads, memory: see thread_ids.h.
 */
#include "read/thread_ids.h"

#define STORE_BYTES (8u << 20) /* includes the old map while the map grows */
#define FIRST       (1u << 31)

void sl_thread_ids_init(struct sl_thread_ids *t)
{
    *t = (struct sl_thread_ids){.store = {.cap_bytes = STORE_BYTES}};
    sl_map_init(&t->of, &t->store);
}

void sl_thread_ids_free(struct sl_thread_ids *t)
{
    sl_map_free(&t->of);
    sl_store_unmap(&t->store, t->id, SL_THREAD_IDS_MOST * sizeof(*t->id));
    t->id = NULL;
}

/* Returns the map key of an id. The key is never 0, because only id 1 would have key 0, and id 1
 * needs no new number. */
static uint64_t key_of(int64_t id)
{
    return (uint64_t)id ^ 1;
}

uint32_t sl_thread_ids_put(struct sl_thread_ids *t, int64_t id)
{
    uint64_t *place;

    if (id > 0 && id < FIRST)
        return (uint32_t)id;
    place = sl_map_find(&t->of, key_of(id));
    if (place)
        return (uint32_t)*place;
    if (!t->id)
        t->id = sl_store_map(&t->store, SL_THREAD_IDS_MOST * sizeof(*t->id));
    if (!t->id || t->count == SL_THREAD_IDS_MOST)
        return 0;
    place = sl_map_put(&t->of, key_of(id));
    if (!place)
        return 0;
    *place = FIRST + t->count;
    t->id[t->count] = id;
    return FIRST + t->count++;
}

int64_t sl_thread_ids_get(const struct sl_thread_ids *t, uint32_t thread)
{
    return thread >= FIRST && thread - FIRST < t->count ? t->id[thread - FIRST] : (int64_t)thread;
}
