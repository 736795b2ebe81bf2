/*
 * pages.h - whole pages straight from the kernel.
 *
 * While the job runs, syncline does not use the host's malloc, which the host may have interposed.
 * Unmapped pages go back to the system at once. Any thread; whoever maps memory unmaps it.
 */
#ifndef SL_PAGES_H
#define SL_PAGES_H

#include <stddef.h>

/* Rounds bytes up to whole pages; 0 on overflow. */
size_t sl_pages_round(size_t bytes);

/* Zeroed and page-aligned; pages take memory when first touched. NULL: 0 bytes, or no memory. */
void *sl_pages_map(size_t bytes);

/* Enlarges a mapping, keeps its content and may move it; the new pages are zero. NULL: no memory,
 * and the mapping is unchanged. */
void *sl_pages_grow(void *memory, size_t bytes, size_t to_bytes);

/* Zeroes `bytes` at `memory`, from the start of a page to the end of a page or of the mapping.
 * Untouched pages stay untouched; the others go back to the system. */
void sl_pages_clear(void *memory, size_t bytes);

/* For several arrays in one mapping: returns the place of the next one, of `bytes`, and moves `*at`
 * behind it, to a whole page. */
static inline void *sl_pages_part(char *memory, size_t *at, size_t bytes)
{
    void *part = memory + *at;

    *at += sl_pages_round(bytes);
    return part;
}

/* `bytes` is what sl_pages_map() was given. NULL is allowed. */
void sl_pages_unmap(void *memory, size_t bytes);

/* malloc() and free() for libraries that take such functions; meant for few and large blocks. If a
 * thread of ours called malloc(), the host's allocator would give it an arena: 64 MiB of address
 * space. */
void *sl_pages_alloc(size_t bytes);
void sl_pages_free(void *memory); /* NULL is allowed */

#endif
