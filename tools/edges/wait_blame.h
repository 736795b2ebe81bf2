/*
 * wait_blame.h - finds the operation on which the time of a wait was spent, if a copy released the
 * wait.
 *
 * `.item()` waits for a copy of a few bytes, and the copy waits for all GPU work enqueued before
 * it. Users need to know this awaited GPU work, not the copy. The search therefore starts at the
 * copy and continues from each operation to the operation's predecessor. The predecessor is the
 * previous operation on the stream or the source of an edge to the operation, whichever ended last.
 * The time that each operation ran during the wait is added up for kernels, and separately for
 * copies and memsets. If kernels ran longer, the time was spent on the last kernel. Otherwise, and
 * if a kernel released the wait, the time was spent on the operation that released the wait. See
 * docs/sync-edges.md.
 *
 * Threads: one owner. Memory: 10 MiB of mapped pages; operations are forgotten after 131072 others.
 */
#ifndef SL_EDGES_WAIT_BLAME_H
#define SL_EDGES_WAIT_BLAME_H

#include "event/event.h"
#include "sync/edge.h"

/* The largest number of operations that the search examines for one wait. */
#define SL_WAIT_BLAME_MOST 4096u

struct sl_wait_blame;

/* 0 or -ENOMEM. */
int sl_wait_blame_create(struct sl_wait_blame **out);
void sl_wait_blame_destroy(struct sl_wait_blame *s); /* NULL is fine */

/* Adds a row of the trace; rows other than GPU operations are ignored. Rows of a stream must be
 * nearly in time order. If more than 1024 later operations of its stream precede an operation, the
 * search does not find it. */
void sl_wait_blame_event(struct sl_wait_blame *s, const struct sl_event *ev);

/* Adds an edge between two operations whose rows were added before. Edges that end at calls are
 * ignored. */
void sl_wait_blame_edge(struct sl_wait_blame *s, const struct sl_edge *edge);

/* Returns the name (intern id) of the operation on which the time of a wait was spent. `edge` is
 * the edge that released the wait. The result is a kernel that the search found, or the source of
 * the edge. The source is returned if the waiter is a GPU operation, or if a row is missing. */
uint32_t sl_wait_blame_on(const struct sl_wait_blame *s, const struct sl_edge *edge);

#endif
