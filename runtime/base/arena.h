/*
 * arena.h - allocates memory under a hard cap that is freed all at once.
 *
 * Memory is mapped in chunks by mmap, so the host's malloc, which the host may have interposed, is
 * not used. Threads: one owner. Pointers stay valid until sl_arena_destroy().
 */
#ifndef SL_ARENA_H
#define SL_ARENA_H

#include <stddef.h>

struct sl_arena_chunk;

struct sl_arena {
    struct sl_arena_chunk *chunk; /* list of chunks, the newest first */
    size_t chunk_bytes;
    size_t cap_bytes;
    size_t taken_bytes; /* bytes mapped so far */
};

/* Maps no memory yet. If chunk_bytes is 0, chunks have 256 KiB. */
void sl_arena_init(struct sl_arena *a, size_t cap_bytes, size_t chunk_bytes);
void sl_arena_destroy(struct sl_arena *a);

/* Returns zeroed memory, aligned to `align` (a power of two, at most 4096). Returns NULL if the cap
 * or the machine's memory is used up. */
void *sl_arena_alloc(struct sl_arena *a, size_t bytes, size_t align);

#endif
