/*
 * arena.c - allocates from mapped chunks by advancing an offset.
 *
 * Threads: one thread at a time, the owner. Memory: the arena owns its chunks; callers free
 * nothing.
 */
#include "base/arena.h"

#include <stdint.h>

#include "base/pages.h"

#define CHUNK_BYTES_DEFAULT ((size_t)256 * 1024)

struct sl_arena_chunk {
    struct sl_arena_chunk *older;
    size_t bytes; /* size of the whole mapping */
    size_t used;  /* bytes used from the start of the mapping, including this header */
};

void sl_arena_init(struct sl_arena *a, size_t cap_bytes, size_t chunk_bytes)
{
    a->chunk = NULL;
    a->chunk_bytes = sl_pages_round(chunk_bytes ? chunk_bytes : CHUNK_BYTES_DEFAULT);
    a->cap_bytes = cap_bytes;
    a->taken_bytes = 0;
}

void sl_arena_destroy(struct sl_arena *a)
{
    struct sl_arena_chunk *chunk = a->chunk;

    while (chunk) {
        struct sl_arena_chunk *older = chunk->older;

        sl_pages_unmap(chunk, chunk->bytes);
        chunk = older;
    }
    a->chunk = NULL;
    a->taken_bytes = 0;
}

/* Adds a chunk with room for `bytes`. An allocation larger than a chunk gets its own chunk. */
static struct sl_arena_chunk *add_chunk(struct sl_arena *a, size_t bytes)
{
    size_t wanted = bytes > a->chunk_bytes ? sl_pages_round(bytes) : a->chunk_bytes;
    struct sl_arena_chunk *chunk;

    if (!wanted || wanted > a->cap_bytes || a->taken_bytes > a->cap_bytes - wanted)
        return NULL;
    chunk = sl_pages_map(wanted);
    if (!chunk)
        return NULL;
    chunk->older = a->chunk;
    chunk->bytes = wanted;
    chunk->used = sizeof(*chunk);
    a->chunk = chunk;
    a->taken_bytes += wanted;
    return chunk;
}

/* Allocates `bytes` from the unused end of a chunk, or returns NULL if the chunk lacks the room.
 * Chunks are page-aligned and `align` is at most 4096, so an aligned offset gives an aligned
 * address. */
static void *bump(struct sl_arena_chunk *chunk, size_t bytes, size_t align)
{
    size_t start = (chunk->used + align - 1) & ~(align - 1);

    if (start > chunk->bytes || bytes > chunk->bytes - start)
        return NULL;
    chunk->used = start + bytes;
    return (char *)chunk + start;
}

void *sl_arena_alloc(struct sl_arena *a, size_t bytes, size_t align)
{
    struct sl_arena_chunk *chunk = a->chunk;
    void *memory = chunk ? bump(chunk, bytes, align) : NULL;

    if (memory)
        return memory;
    if (bytes > SIZE_MAX - sizeof(*chunk) - align)
        return NULL;
    chunk = add_chunk(a, sizeof(*chunk) + align + bytes);
    return chunk ? bump(chunk, bytes, align) : NULL;
}
