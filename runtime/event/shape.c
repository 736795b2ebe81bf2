/*
 * shape.c - interns descriptions of GPU operations.
 *
 * One mapping holds the shapes in the order of their ids and, after them, an open-addressing index
 * from hash to id, at most half full. The system provides pages as they are touched, so a cap of
 * some MiB costs a small job nothing. Entries never move.
 *
 * Threads: one inserter. Readers get ids through a release/acquire hand-off, which covers the
 * entry, too. Memory: one mapping, which the table owns.
 */
#include "event/shape.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/pages.h"

_Static_assert(sizeof(struct sl_shape) % 4 == 0, "a shape is hashed in words of four bytes");

struct sl_shape_table {
    struct sl_shape *shape; /* the shape with number `id` is shape[id - 1] */
    /* the index; 0 in a free slot, otherwise a shape's id; only the inserting thread uses it */
    uint32_t *index;
    uint32_t index_mask;
    uint32_t capacity;
    _Atomic uint32_t count;
    size_t mapped_bytes;
};

static uint32_t hash(const struct sl_shape *shape)
{
    const unsigned char *at = (const unsigned char *)shape;
    uint64_t h = 0x9e3779b97f4a7c15u;
    size_t left;

    for (left = sizeof(*shape); left >= 8; left -= 8, at += 8) {
        uint64_t word;

        memcpy(&word, at, 8);
        h = (h ^ word) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }
    if (left) {
        uint32_t word;

        memcpy(&word, at, 4);
        h = (h ^ word) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }
    return (uint32_t)h;
}

int sl_shape_create(struct sl_shape_table **out, size_t cap_bytes)
{
    struct sl_shape_table *t;
    uint32_t slots = 16;
    size_t shape_bytes;
    void *memory;

    /* Finds the largest power of two that can be the number of index slots, so that the slots and
     * half as many shapes fit into the cap. */
    while (slots < 1u << 30 &&
           (size_t)slots * (2 * sizeof(uint32_t) + sizeof(struct sl_shape)) <= cap_bytes)
        slots *= 2;
    t = sl_pages_map(sizeof(*t));
    if (!t)
        return -ENOMEM;
    t->index_mask = slots - 1;
    t->capacity = slots / 2;
    shape_bytes = t->capacity * sizeof(struct sl_shape);
    t->mapped_bytes = shape_bytes + slots * sizeof(uint32_t);
    memory = sl_pages_map(t->mapped_bytes);
    if (!memory)
        goto fail_map;
    t->shape = memory;
    t->index = (uint32_t *)((char *)memory + shape_bytes);
    *out = t;
    return 0;

fail_map:
    sl_pages_unmap(t, sizeof(*t));
    return -ENOMEM;
}

void sl_shape_destroy(struct sl_shape_table *t)
{
    if (!t)
        return;
    sl_pages_unmap(t->shape, t->mapped_bytes);
    sl_pages_unmap(t, sizeof(*t));
}

uint32_t sl_shape_put(struct sl_shape_table *t, const struct sl_shape *shape)
{
    uint32_t count = atomic_load_explicit(&t->count, memory_order_relaxed);
    uint32_t slot = hash(shape) & t->index_mask;
    uint32_t id;

    while ((id = t->index[slot]) != 0) {
        if (memcmp(&t->shape[id - 1], shape, sizeof(*shape)) == 0)
            return id;
        slot = (slot + 1) & t->index_mask;
    }
    if (count == t->capacity)
        return 0;
    t->shape[count] = *shape;
    t->index[slot] = count + 1;
    /* This release pairs with the acquire in sl_shape_get(), so that an entry is complete before
     * its id is valid. */
    atomic_store_explicit(&t->count, count + 1, memory_order_release);
    return count + 1;
}

const struct sl_shape *sl_shape_get(const struct sl_shape_table *t, uint32_t id)
{
    if (id == 0 || id > atomic_load_explicit(&t->count, memory_order_acquire))
        return NULL;
    return &t->shape[id - 1];
}

uint32_t sl_shape_count(const struct sl_shape_table *t)
{
    return atomic_load_explicit(&t->count, memory_order_acquire);
}
