/*
 * wait_blame.h - finds the operation on which the time of each wait was spent.
 *
 * `.item()` waits for a copy of a few bytes, and the copy waits for all GPU work enqueued before
 * it. Users need to know this awaited GPU work, not the copy. So if a copy or memset released a
 * call, the search starts there and continues from each operation to the operation's predecessor.
 * The predecessor is the previous operation on the stream or the source of an edge to the
 * operation, whichever ended last. If kernels ran longer than copies and memsets during the wait,
 * the time was spent on the longest of these kernels. Otherwise the time was spent on the operation
 * that released the wait. See docs/sync-edges-details.md.
 *
 *   sl_wait_blame_event(s, &ev);  sl_wait_blame_edge(s, &edge);   in the order of the file
 *   sl_wait_blame_wait(s, &edge, &where);
 *   sl_wait_blame_end(s, report, user);
 *
 * The rows of several threads reach a file one buffer after the other, so a row may be late by any
 * number of rows. Operations, edges and waits are therefore sorted by time before the search. With
 * n of them the cost is n log n, whatever the length of the waits is.
 *
 * Threads: one owner. Memory: at most 24 MiB until the end, then 52 MiB; sorting uses temporary
 * files (read/event_sort.h). An operation is forgotten when 524288 others have begun after it.
 */
#ifndef SL_EDGES_WAIT_BLAME_H
#define SL_EDGES_WAIT_BLAME_H

#include "edges/edge_summary.h"
#include "event/event.h"
#include "sync/edge.h"

struct sl_wait_blame;

/* 0 or -ENOMEM. */
int sl_wait_blame_create(struct sl_wait_blame **out);
void sl_wait_blame_destroy(struct sl_wait_blame *s); /* NULL is fine */

/* Adds a row of the trace. Rows other than GPU operations are ignored. */
void sl_wait_blame_event(struct sl_wait_blame *s, const struct sl_event *ev);

/* Adds an edge between two operations that were among the last 131072 added operations. Edges that
 * end at calls are ignored. */
void sl_wait_blame_edge(struct sl_wait_blame *s, const struct sl_edge *edge);

/* Adds a wait. `edge` is the edge that released it. Of `where`, these members are used: who, place,
 * line, call_ns, and at_ns if a GPU operation waited. */
void sl_wait_blame_wait(struct sl_wait_blame *s, const struct sl_edge *edge,
                        const struct sl_edge_where *where);

/* Receives a wait. Of `edge`, only these members are set: kind, at_start, wait_ns, dst_correlation,
 * and the source's correlation id and name. `where->spent_on` is a kernel that the search found, or
 * the source of the edge. It is the source too if the waiter is a GPU operation, or if a row is
 * missing. `where->step`, `where->file` and
 * `where->begin_ns` are not set. */
typedef void (*sl_wait_blame_fn)(void *user, const struct sl_edge *edge,
                                 const struct sl_edge_where *where);

/* Reports all waits, after the last row. Returns 0, -ENOMEM, or an error of the temporary files. */
int sl_wait_blame_end(struct sl_wait_blame *s, sl_wait_blame_fn report, void *user);

#endif
