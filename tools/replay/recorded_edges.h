/*
 * recorded_edges.h - edges that the job found itself, joined with the operations and calls that
 * they join.
 *
 * A row of an edge names its ends by correlation id, stream and graph node, and has no times. It
 * goes through the sort by correlation id as an event, behind all that it names, and is an edge
 * again when it comes out: what came before is remembered here.
 *
 * Threads: one owner. Memory: 9 MiB, mapped pages.
 */
#ifndef SL_REPLAY_RECORDED_EDGES_H
#define SL_REPLAY_RECORDED_EDGES_H

#include "event/event.h"
#include "sync/edge.h"

struct sl_recorded_edges;

/* 0 or -ENOMEM. */
int sl_recorded_edges_create(struct sl_recorded_edges **out);
void sl_recorded_edges_destroy(struct sl_recorded_edges *f); /* NULL is fine */

/* An edge as its row tells it, for sl_event_sort. Events that are edges have no other kind. */
#define SL_RECORDED_EDGES_EDGE SL_EV_FLOW
struct sl_event sl_recorded_edges_event(const struct sl_edge *edge);

/* A call or an operation, in the order of correlation ids. */
void sl_recorded_edges_row(struct sl_recorded_edges *f, const struct sl_event *ev);

/* The edge, whole but for names. What is no row of the file, or one of 131072 others ago and not
 * the last of its stream, has the times that the edge's own numbers tell; a source that was not
 * waited for then has none. */
struct sl_edge sl_recorded_edges_edge(const struct sl_recorded_edges *f, const struct sl_event *ev);

#endif
