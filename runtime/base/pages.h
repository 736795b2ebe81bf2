/*
 * pages.h - whole pages straight from the kernel.
 *
 * Nothing of ours on a running path enters the host's malloc, which the host may have interposed,
 * and what is given back really leaves the process. Any thread; who maps, unmaps.
 */
#ifndef SL_PAGES_H
#define SL_PAGES_H

#include <stddef.h>

/* Bytes rounded up to whole pages; 0 if that overflows. */
size_t sl_pages_round(size_t bytes);

/* Zeroed, page-aligned; pages take memory when first touched. NULL for 0 bytes or out of memory. */
void *sl_pages_map(size_t bytes);

/* `memory` of `bytes` with its content, perhaps elsewhere, and zeroed pages behind. NULL: it stays
 * as it was. */
void *sl_pages_grow(void *memory, size_t bytes, size_t to_bytes);

/* Zeroes `bytes` at `memory`, which begins at a page's first byte and ends at the last of one or of
 * the mapping's. What was never touched stays untouched; the rest goes back to the system. */
void sl_pages_clear(void *memory, size_t bytes);

/* `bytes` as given to map. NULL is fine. */
void sl_pages_unmap(void *memory, size_t bytes);

#endif
