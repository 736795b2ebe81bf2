/*
 * pages.h - maps and unmaps whole pages.
 *
 * While the job runs, syncline does not use the host's malloc, which the host may have interposed.
 * Unmapped pages are returned to the system at once. Threads: any. Memory: the caller unmaps what
 * it has mapped.
 */
#ifndef SL_PAGES_H
#define SL_PAGES_H

#include <stddef.h>

/* Rounds bytes up to whole pages. Returns 0 on overflow. */
size_t sl_pages_round(size_t bytes);

/* Returns zeroed, page-aligned memory, whose pages use memory only once they are touched. Returns
 * NULL if `bytes` is 0, or if there is no memory. */
void *sl_pages_map(size_t bytes);

/* Enlarges a mapping, which keeps its content and may move. The new pages are zero. Returns NULL if
 * there is no memory; then the mapping is unchanged. */
void *sl_pages_grow(void *memory, size_t bytes, size_t to_bytes);

/* Zeroes `bytes` at `memory`, which must start at a page and end at the end of a page or of the
 * mapping. Untouched pages stay untouched; the others are returned to the system. */
void sl_pages_clear(void *memory, size_t bytes);

/* Lays out several arrays in the mapping `memory`. Returns the address of an array of `bytes` bytes
 * that starts at offset `*at`, and moves `*at` to the first whole page after the array. */
static inline void *sl_pages_part(char *memory, size_t *at, size_t bytes)
{
    void *part = memory + *at;

    *at += sl_pages_round(bytes);
    return part;
}

/* `bytes` is the size that the caller passed to sl_pages_map(). NULL is allowed. */
void sl_pages_unmap(void *memory, size_t bytes);

/* Replacements for malloc() and free(), for libraries whose caller can supply an allocator. They
 * are meant for a few large blocks. If a thread of ours called malloc(), the host's allocator would
 * reserve an arena of 64 MiB of address space for the thread. */
void *sl_pages_alloc(size_t bytes);
void sl_pages_free(void *memory); /* NULL is allowed */

#endif
