/*
 * intern.c - stores each text once, under a cap.
 *
 * Threads: one thread inserts. Any thread looks up ids that it got from another thread. Memory: an
 * arena holds the texts and the blocks of entries that point to the texts. Both never move. The
 * hash index is replaced when it grows. Only the inserting thread uses the hash index. The table
 * owns all memory until it is destroyed.
 */
#include "base/intern.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "base/arena.h"
#include "base/pages.h"

#define BLOCK_ENTRIES 512
#define BLOCKS_MAX    8192 /* maximum number of blocks, enough for 4 million texts */
#define INDEX_MIN     1024 /* first number of index slots; a power of two */
#define HINTS         1024 /* hints, a power of two; a large model has a few thousand kernels */

struct entry {
    const char *text;
    uint32_t length;
    uint32_t hash;
};

struct hint {
    const char *address;
    uint32_t id;
};

struct sl_intern {
    size_t cap_bytes;
    struct sl_arena arena;

    /* Fields for all threads. */
    _Atomic uint32_t count;
    _Atomic size_t bytes;
    struct entry *block[BLOCKS_MAX]; /* an entry is written before `count` includes it */

    /* Fields for the inserting thread only. */
    uint32_t *index; /* ids of texts; 0: free slot */
    uint32_t index_slots;
    struct hint hint[HINTS];
};

static void account(struct sl_intern *in)
{
    atomic_store_explicit(&in->bytes,
                          sizeof(*in) + in->arena.taken_bytes +
                              (size_t)in->index_slots * sizeof(*in->index),
                          memory_order_relaxed);
}

int sl_intern_create(struct sl_intern **out, size_t cap_bytes)
{
    size_t fixed = sizeof(struct sl_intern) + INDEX_MIN * sizeof(uint32_t);
    struct sl_intern *in;

    if (cap_bytes <= fixed)
        return -ENOMEM;
    in = sl_pages_map(sizeof(*in));
    if (!in)
        return -ENOMEM;
    in->index = sl_pages_map(INDEX_MIN * sizeof(*in->index));
    if (!in->index)
        goto fail_index;
    in->index_slots = INDEX_MIN;
    in->cap_bytes = cap_bytes;
    /* With large chunks, a small table could not use all memory below its cap. */
    sl_arena_init(&in->arena, cap_bytes - fixed, cap_bytes < (4u << 20) ? 16384 : 0);
    account(in);
    *out = in;
    return 0;

fail_index:
    sl_pages_unmap(in, sizeof(*in));
    return -ENOMEM;
}

void sl_intern_destroy(struct sl_intern *in)
{
    if (!in)
        return;
    sl_arena_destroy(&in->arena);
    sl_pages_unmap(in->index, (size_t)in->index_slots * sizeof(*in->index));
    sl_pages_unmap(in, sizeof(*in));
}

/* Mixes eight bytes at a time, because names are long and share prefixes. */
static uint32_t hash_bytes(const char *text, size_t length)
{
    uint64_t hash = 0xcbf29ce484222325u ^ length, word;

    for (; length >= sizeof(word); text += sizeof(word), length -= sizeof(word)) {
        memcpy(&word, text, sizeof(word));
        hash = (hash ^ word) * 0x9fb21c651e98df25u;
        hash ^= hash >> 32;
    }
    word = 0;
    memcpy(&word, text, length);
    hash = (hash ^ word) * 0x9fb21c651e98df25u;
    hash ^= hash >> 29;
    return (uint32_t)(hash ^ (hash >> 32));
}

static struct entry *entry_of(const struct sl_intern *in, uint32_t id)
{
    return &in->block[(id - 1) / BLOCK_ENTRIES][(id - 1) % BLOCK_ENTRIES];
}

/* Doubles the index. If there is no memory, the old index is used until it is full. */
static void grow_index(struct sl_intern *in)
{
    uint32_t slots = in->index_slots * 2, i, at;
    uint32_t *index;
    size_t total = sizeof(*in) + in->arena.taken_bytes + (size_t)slots * sizeof(*index);

    if (total > in->cap_bytes)
        return;
    index = sl_pages_map((size_t)slots * sizeof(*index));
    if (!index)
        return;
    for (i = 0; i < in->index_slots; i++) {
        if (!in->index[i])
            continue;
        at = entry_of(in, in->index[i])->hash & (slots - 1);
        while (index[at])
            at = (at + 1) & (slots - 1);
        index[at] = in->index[i];
    }
    sl_pages_unmap(in->index, (size_t)in->index_slots * sizeof(*in->index));
    in->index = index;
    in->index_slots = slots;
    in->arena.cap_bytes = in->cap_bytes - sizeof(*in) - (size_t)slots * sizeof(*index);
    account(in);
}

/* Stores a copy of the text under the next id, in free slot `at`. Returns 0 if the cap is
 * reached. */
static uint32_t add(struct sl_intern *in, const char *text, size_t length, uint32_t hash,
                    uint32_t at)
{
    uint32_t count = atomic_load_explicit(&in->count, memory_order_relaxed);
    uint32_t block = count / BLOCK_ENTRIES;
    struct entry *entry;
    char *copy;

    if (block >= BLOCKS_MAX || count + 1 >= in->index_slots)
        return 0;
    if (!in->block[block]) {
        in->block[block] = sl_arena_alloc(&in->arena, BLOCK_ENTRIES * sizeof(*entry), 16);
        account(in);
    }
    if (!in->block[block])
        return 0;
    copy = sl_arena_alloc(&in->arena, length + 1, 1);
    account(in);
    if (!copy)
        return 0;
    memcpy(copy, text, length);
    entry = &in->block[block][count % BLOCK_ENTRIES];
    entry->text = copy;
    entry->length = (uint32_t)length;
    entry->hash = hash;
    in->index[at] = count + 1;
    /* Release pairs with the acquire in sl_intern_count(), so that a reader of the count sees entry
     * and text. */
    atomic_store_explicit(&in->count, count + 1, memory_order_release);
    return count + 1;
}

/* Returns the index slot that has the text, or the free slot where the text belongs. */
static uint32_t probe(const struct sl_intern *in, const char *text, size_t length, uint32_t hash)
{
    uint32_t at = hash & (in->index_slots - 1), id;
    const struct entry *entry;

    while ((id = in->index[at])) {
        entry = entry_of(in, id);
        if (entry->hash == hash && entry->length == length && !memcmp(entry->text, text, length))
            break;
        at = (at + 1) & (in->index_slots - 1);
    }
    return at;
}

uint32_t sl_intern_put(struct sl_intern *in, const char *text, size_t length)
{
    uint32_t hash = hash_bytes(text, length), at;

    if (length >= UINT32_MAX)
        return 0;
    if (sl_intern_count(in) >= in->index_slots / 2)
        grow_index(in);
    at = probe(in, text, length, hash);
    return in->index[at] ? in->index[at] : add(in, text, length, hash, at);
}

uint32_t sl_intern_find(const struct sl_intern *in, const char *text, size_t length)
{
    return length < UINT32_MAX ? in->index[probe(in, text, length, hash_bytes(text, length))] : 0;
}

uint32_t sl_intern_put_hinted(struct sl_intern *in, const char *text)
{
    uint64_t mixed = (uint64_t)(uintptr_t)text * 0x9e3779b97f4a7c15u;
    struct hint *hint = &in->hint[mixed >> 54];
    uint32_t id;

    /* strcmp() stops at the first difference, so it reads beyond neither text. */
    if (hint->address == text && !strcmp(entry_of(in, hint->id)->text, text))
        return hint->id;
    id = sl_intern_put(in, text, strlen(text));
    if (id) {
        hint->address = text;
        hint->id = id;
    }
    return id;
}

const char *sl_intern_get(const struct sl_intern *in, uint32_t id, size_t *length)
{
    const struct entry *entry;

    if (id == 0 || id > sl_intern_count(in))
        return NULL;
    entry = entry_of(in, id);
    if (length)
        *length = entry->length;
    return entry->text;
}

uint32_t sl_intern_count(const struct sl_intern *in)
{
    /* Acquire pairs with the release in add(). */
    return atomic_load_explicit(&in->count, memory_order_acquire);
}

size_t sl_intern_bytes(const struct sl_intern *in)
{
    return atomic_load_explicit(&in->bytes, memory_order_relaxed);
}
