/*
 * recorded_edges.h - joins edges that the job recorded with their operations and calls.
 *
 * The row of an edge names the source and the destination by correlation id, stream and graph node,
 * and has no times. The edge is sorted by correlation id like an event, after its source and its
 * destination. When the sort returns the edge, the times of source and destination are copied into
 * it from a table of recent rows.
 *
 * Threads: one owner. Memory: 9 MiB of mapped pages.
 */
#ifndef SL_REPLAY_RECORDED_EDGES_H
#define SL_REPLAY_RECORDED_EDGES_H

#include "event/event.h"
#include "sync/edge.h"

struct sl_recorded_edges;

/* 0 or -ENOMEM. */
int sl_recorded_edges_create(struct sl_recorded_edges **out);
void sl_recorded_edges_destroy(struct sl_recorded_edges *f); /* NULL is fine */

/* Stores an edge in an event of kind SL_TRACE_EDGE, so that event_sort.h can sort it. */
struct sl_event sl_recorded_edges_event(const struct sl_edge *edge);

/* Adds a call or an operation to the table. They must be added in order of correlation ids. */
void sl_recorded_edges_row(struct sl_recorded_edges *f, const struct sl_event *ev);

/* Returns the edge, complete except for names. If the source or the destination has no row, its
 * times are computed from the edge's `wait_ns` and `wake_ns`; a source without a wait then has no
 * times. A row counts as missing after 131072 newer rows, unless it is the last row of its stream.
 * */
struct sl_edge sl_recorded_edges_edge(const struct sl_recorded_edges *f, const struct sl_event *ev);

#endif
