/*
 * store.h - memory under one cap: arrays, objects of one size, and maps from numbers to numbers.
 *
 * The edge engine has one store, and so has each of the tool's passes over a trace.
 *
 * Threads: one owner. Memory: whole pages, counted in the store; a pool's objects do not move.
 */
#ifndef SL_STORE_H
#define SL_STORE_H

#include <stddef.h>
#include <stdint.h>

struct sl_store {
    size_t cap_bytes, used_bytes;
};

/* Zeroed pages; NULL past the cap. */
void *sl_store_map(struct sl_store *s, size_t bytes);
void sl_store_unmap(struct sl_store *s, void *memory, size_t bytes); /* NULL is fine */
/* `memory` with its content, perhaps elsewhere, and zeroed pages behind; NULL past the cap: then
 * all is as it was. */
void *sl_store_grow(struct sl_store *s, void *memory, size_t bytes, size_t to_bytes);
/* An array of `*slots` objects becomes one of at least `wanted`, by doubling. Its new address, or
 * NULL past the cap: then all is as it was. */
void *sl_store_more(struct sl_store *s, void *array, size_t *slots, size_t wanted,
                    size_t object_bytes);

struct sl_pool {
    struct sl_store *store;
    size_t object_bytes;
    void *unused; /* chained through their first word */
    void *blocks;
};

/* `object_bytes` is a multiple of 8. */
void sl_pool_init(struct sl_pool *p, struct sl_store *store, size_t object_bytes);
void sl_pool_free(struct sl_pool *p);
void *sl_pool_get(struct sl_pool *p);              /* zeroed; NULL past the cap */
void sl_pool_put(struct sl_pool *p, void *object); /* NULL is fine */

/* From a key other than 0 to a value. */
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
/* The key's value, or NULL. Valid until the next put or drop. */
uint64_t *sl_map_find(const struct sl_map *m, uint64_t key);
/* The key's value, 0 when it is new; NULL past the cap. */
uint64_t *sl_map_put(struct sl_map *m, uint64_t key);
void sl_map_drop(struct sl_map *m, uint64_t key);
/* The same where values are pointers. NULL: there is none, or the key is 0. */
void *sl_map_get(const struct sl_map *m, uint64_t key);
/* A new object of the pool for a key that the map does not have; NULL past the cap. */
void *sl_map_make(struct sl_map *m, struct sl_pool *p, uint64_t key);

#endif
