/*
 * wait_blame.h - what the time of a wait was spent on, where a copy released it.
 *
 * `.item()` waits for a copy of a few bytes, which waits for all that the GPU was given before. A
 * person wants to know of that. So from the copy on we go back, from each operation to the one that
 * it came behind: the operation before it on its stream, or the source of an edge that ends at it,
 * whichever ended last. What of the wait's time each of them ran is added up for kernels, and for
 * copies and memsets. If kernels ran longer, the time was spent on the last of them; else, and
 * wherever a kernel released the wait, on what released it. docs/sync-edges.md tells it.
 *
 * Threads: one owner. Memory: 10 MiB of mapped pages; operations are forgotten after 131072 others.
 */
#ifndef SL_EDGES_WAIT_BLAME_H
#define SL_EDGES_WAIT_BLAME_H

#include "event/event.h"
#include "sync/edge.h"

/* Operations that are looked at for one wait: the last of those that it came behind. */
#define SL_WAIT_BLAME_MOST 4096u

struct sl_wait_blame;

/* 0 or -ENOMEM. */
int sl_wait_blame_create(struct sl_wait_blame **out);
void sl_wait_blame_destroy(struct sl_wait_blame *s); /* NULL is fine */

/* A row of the trace, in any order that is nearly that of the times on each stream: what comes more
 * than 1024 operations of its stream too late is not known. Others than GPU operations' are passed
 * over. */
void sl_wait_blame_event(struct sl_wait_blame *s, const struct sl_event *ev);

/* An edge between two operations, whose rows have come; edges that end at calls are passed over. */
void sl_wait_blame_edge(struct sl_wait_blame *s, const struct sl_edge *edge);

/* The name (intern id) of what the time of a wait was spent on, given the edge that released it:
 * that edge's source's, or a kernel's. What was waited for by an operation, or has no row, is what
 * the edge says. */
uint32_t sl_wait_blame_on(const struct sl_wait_blame *s, const struct sl_edge *edge);

#endif
