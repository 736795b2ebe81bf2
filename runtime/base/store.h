/*
 * store.h - provides arrays, pools of equal objects, and maps from numbers to numbers, all under
 * one memory cap.
 *
 * The edge engine has a store. Each pass of the command-line tool over a trace has a store, too.
 *
 * Threads: one thread, the owner. Memory: whole pages, counted in the store; a pool's objects do
 * not move.
 */
#ifndef SL_STORE_H
#define SL_STORE_H

#include <stddef.h>
#include <stdint.h>

struct sl_store {
    size_t cap_bytes, used_bytes;
};

/* Returns zeroed pages, or NULL if the cap is reached. */
void *sl_store_map(struct sl_store *s, size_t bytes);
void sl_store_unmap(struct sl_store *s, void *memory, size_t bytes); /* NULL is fine */
/* Enlarges an area, which keeps its content and may move. The new pages are zero. Returns NULL past
 * the cap; then nothing has changed. */
void *sl_store_grow(struct sl_store *s, void *memory, size_t bytes, size_t to_bytes);
/* Grows an array of `*slots` objects to at least `wanted`, by doubling. Returns its new address.
 * Returns NULL past the cap; then nothing has changed. */
void *sl_store_more(struct sl_store *s, void *array, size_t *slots, size_t wanted,
                    size_t object_bytes);

struct sl_pool {
    struct sl_store *store;
    size_t object_bytes;
    void *unused; /* list of free objects, chained through their first word */
    void *blocks;
};

/* The caller guarantees that `object_bytes` is a multiple of 8. */
void sl_pool_init(struct sl_pool *p, struct sl_store *store, size_t object_bytes);
void sl_pool_free(struct sl_pool *p);
void *sl_pool_get(struct sl_pool *p);              /* returns a zeroed object, or NULL if the cap is
                                                    * reached */
void sl_pool_put(struct sl_pool *p, void *object); /* NULL is fine */

/* Maps a key other than 0 to a value. */
struct sl_map_slot {
    uint64_t key, value;
};

struct sl_map {
    struct sl_store *store;
    struct sl_map_slot *slot;
    size_t slots, used;
};

void sl_map_init(struct sl_map *m, struct sl_store *store);
void sl_map_free(struct sl_map *m);
/* Returns a pointer to the key's value, valid until the next put or drop. NULL if the key is not in
 * the map. */
uint64_t *sl_map_find(const struct sl_map *m, uint64_t key);
/* Returns a pointer to the key's value, which is 0 if the key is new. NULL past the cap. */
uint64_t *sl_map_put(struct sl_map *m, uint64_t key);
void sl_map_drop(struct sl_map *m, uint64_t key);
/* Returns a value that is a pointer. Returns NULL if the key is 0 or not in the map. */
void *sl_map_get(const struct sl_map *m, uint64_t key);
/* Takes an object from the pool, enters it in the map for a key that the map does not have yet, and
 * returns it. Returns NULL past the cap. */
void *sl_map_make(struct sl_map *m, struct sl_pool *p, uint64_t key);

#endif
