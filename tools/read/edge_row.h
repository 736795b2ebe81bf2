/*
 * edge_row.h - a row of syncline's that tells of an edge -> the edge.
 *
 * Threads: one owner. Memory: the names' table.
 */
#ifndef SL_EDGE_ROW_H
#define SL_EDGE_ROW_H

#include "base/intern.h"
#include "read/json_event.h"
#include "sync/edge.h"

/* Names are interned (NULL: left out); times are not in the row, but for `wait_ns` and `wake_ns`.
 * 0, or -EINVAL: it lacks something or makes no sense. */
int sl_edge_row_read(const struct sl_trace_row *row, struct sl_intern *names, struct sl_edge *out);

#endif
