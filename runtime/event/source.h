/*
 * source.h - which line of the user's source a thread was on at a time, for CUDA calls that come
 * seconds later.
 *
 * Lines come as pieces of a thread's time, in the order of its calls: an operator, a call that is
 * known to wait. They may be nested; the innermost counts. Calls find theirs by thread and time.
 *
 * Threads: one owner. Memory: fixed by `cap_bytes`; the pieces that began first give way.
 */
#ifndef SL_SOURCE_H
#define SL_SOURCE_H

#include <stddef.h>
#include <stdint.h>

struct sl_sources;

/* 0; -ENOMEM; -EINVAL: `cap_bytes` (0: 4 MiB) is less than 256 KiB. */
int sl_sources_create(struct sl_sources **out, size_t cap_bytes);
void sl_sources_destroy(struct sl_sources *s); /* NULL is fine */

/* `line`: any number but 0, which sl_sources_at() gives back. */
void sl_sources_begin(struct sl_sources *s, uint32_t thread, uint64_t ns, uint32_t line);
/* The innermost that is open ends; without one nothing happens. */
void sl_sources_end(struct sl_sources *s, uint32_t thread, uint64_t ns);
/* All of the thread's do: it ends. */
void sl_sources_end_thread(struct sl_sources *s, uint32_t thread, uint64_t ns);

/* The line at a time; 0: none is known. Asked nearly in the order of time it takes a few steps. */
uint32_t sl_sources_at(struct sl_sources *s, uint32_t thread, uint64_t ns);

#endif
