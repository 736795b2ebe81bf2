/*
 * store.c - provides arrays, pools and maps under one memory cap, for example to the edge engine.
 *
 * Threads: one thread at a time, the owner, which frees pools and maps. The map uses open
 * addressing with linear probing and is at most half full. Removing a key moves later entries back
 * into the hole, so no deletion marks are left that would make the map slower over time.
 */
#include "base/store.h"

#include <string.h>

#include "base/pages.h"

/* Tells AddressSanitizer that objects returned to a pool are free, because they are not on the
 * heap. */
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, bytes)   ((void)(address), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(address, bytes) ((void)(address), (void)(bytes))
#endif

enum {
    BLOCK_BYTES = 64 * 1024,
    FIRST_SLOTS = 256,
    FIRST_ARRAY_SLOTS = 64
};

void *sl_store_map(struct sl_store *s, size_t bytes)
{
    void *memory;

    if (bytes > s->cap_bytes - s->used_bytes)
        return NULL;
    memory = sl_pages_map(bytes);
    if (memory)
        s->used_bytes += bytes;
    return memory;
}

void sl_store_unmap(struct sl_store *s, void *memory, size_t bytes)
{
    if (!memory)
        return;
    sl_pages_unmap(memory, bytes);
    s->used_bytes -= bytes;
}

void *sl_store_grow(struct sl_store *s, void *memory, size_t bytes, size_t to_bytes)
{
    void *grown;

    if (!memory)
        return sl_store_map(s, to_bytes);
    if (to_bytes - bytes > s->cap_bytes - s->used_bytes)
        return NULL;
    grown = sl_pages_grow(memory, bytes, to_bytes);
    if (grown)
        s->used_bytes += to_bytes - bytes;
    return grown;
}

void *sl_store_more(struct sl_store *s, void *array, size_t *slots, size_t wanted,
                    size_t object_bytes)
{
    size_t more = *slots ? *slots : FIRST_ARRAY_SLOTS;
    void *grown;

    if (wanted <= *slots)
        return array;
    while (more < wanted)
        more *= 2;
    grown = sl_store_grow(s, array, *slots * object_bytes, more * object_bytes);
    if (grown)
        *slots = more;
    return grown;
}

/* ---- pool ---- */

void sl_pool_init(struct sl_pool *p, struct sl_store *store, size_t object_bytes)
{
    *p = (struct sl_pool){.store = store, .object_bytes = object_bytes};
}

void sl_pool_free(struct sl_pool *p)
{
    while (p->blocks) {
        void *block = p->blocks;

        ASAN_UNPOISON_MEMORY_REGION(block, BLOCK_BYTES);
        memcpy(&p->blocks, block, sizeof p->blocks);
        sl_store_unmap(p->store, block, BLOCK_BYTES);
    }
    p->unused = NULL;
}

void sl_pool_put(struct sl_pool *p, void *object)
{
    if (!object)
        return;
    memcpy(object, &p->unused, sizeof p->unused);
    p->unused = object;
    ASAN_POISON_MEMORY_REGION((char *)object + sizeof p->unused,
                              p->object_bytes - sizeof p->unused);
}

/* Adds a block of objects. The first object's place in a block holds the pointer that chains the
 * blocks. */
static int add_block(struct sl_pool *p)
{
    char *block = sl_store_map(p->store, BLOCK_BYTES);

    if (!block)
        return -1;
    memcpy(block, &p->blocks, sizeof p->blocks);
    p->blocks = block;
    for (size_t at = BLOCK_BYTES / p->object_bytes - 1; at > 0; at--)
        sl_pool_put(p, block + at * p->object_bytes);
    return 0;
}

void *sl_pool_get(struct sl_pool *p)
{
    void *object;

    if (!p->unused && add_block(p) != 0)
        return NULL;
    object = p->unused;
    if (!object) /* an object is larger than a block */
        return NULL;
    memcpy(&p->unused, object, sizeof p->unused);
    ASAN_UNPOISON_MEMORY_REGION(object, p->object_bytes);
    return memset(object, 0, p->object_bytes);
}

/* ---- map ---- */

static size_t home(const struct sl_map *m, uint64_t key)
{
    return (size_t)((key * 0x9e3779b97f4a7c15u) >> 20) & (m->slots - 1);
}

void sl_map_init(struct sl_map *m, struct sl_store *store)
{
    *m = (struct sl_map){.store = store};
}

void sl_map_free(struct sl_map *m)
{
    sl_store_unmap(m->store, m->slot, m->slots * sizeof *m->slot);
    m->slot = NULL;
    m->slots = m->used = 0;
}

/* Returns the key's slot, or the free slot where the key belongs. */
static struct sl_map_slot *probe(const struct sl_map *m, uint64_t key)
{
    size_t at = home(m, key);

    while (m->slot[at].key && m->slot[at].key != key)
        at = (at + 1) & (m->slots - 1);
    return &m->slot[at];
}

uint64_t *sl_map_find(const struct sl_map *m, uint64_t key)
{
    struct sl_map_slot *slot = m->slots ? probe(m, key) : NULL;

    return slot && slot->key ? &slot->value : NULL;
}

static int grow(struct sl_map *m)
{
    struct sl_map old = *m;

    m->slots = old.slots ? old.slots * 2 : FIRST_SLOTS;
    m->slot = sl_store_map(m->store, m->slots * sizeof *m->slot);
    if (!m->slot) {
        *m = old;
        return -1;
    }
    for (size_t i = 0; i < old.slots; i++)
        if (old.slot[i].key)
            *probe(m, old.slot[i].key) = old.slot[i];
    sl_store_unmap(m->store, old.slot, old.slots * sizeof *old.slot);
    return 0;
}

uint64_t *sl_map_put(struct sl_map *m, uint64_t key)
{
    struct sl_map_slot *slot;

    if (m->used * 2 >= m->slots && grow(m) != 0 && m->used + 1 >= m->slots)
        return NULL;
    slot = probe(m, key);
    if (!slot->key) {
        *slot = (struct sl_map_slot){.key = key};
        m->used++;
    }
    return &slot->value;
}

void *sl_map_get(const struct sl_map *m, uint64_t key)
{
    const uint64_t *place = key ? sl_map_find(m, key) : NULL;

    return place ? (void *)(uintptr_t)*place : NULL;
}

void *sl_map_make(struct sl_map *m, struct sl_pool *p, uint64_t key)
{
    void *object = sl_pool_get(p);
    uint64_t *place = object ? sl_map_put(m, key) : NULL;

    if (!place) {
        sl_pool_put(p, object);
        return NULL;
    }
    *place = (uintptr_t)object;
    return object;
}

void sl_map_drop(struct sl_map *m, uint64_t key)
{
    struct sl_map_slot *hole = m->slots ? probe(m, key) : NULL;
    size_t mask = m->slots - 1, at;

    if (!hole || !hole->key)
        return;
    m->used--;
    for (at = (size_t)(hole - m->slot);;) {
        at = (at + 1) & mask;
        if (!m->slot[at].key)
            break;
        /* Move the entry only if the hole lies between its home slot and its current slot. */
        if (((at - home(m, m->slot[at].key)) & mask) >= ((at - (size_t)(hole - m->slot)) & mask)) {
            *hole = m->slot[at];
            hole = &m->slot[at];
        }
    }
    *hole = (struct sl_map_slot){0};
}
