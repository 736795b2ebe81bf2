/*
 * edge_row.h - a row of syncline's that tells of an edge -> the edge.
 *
 * Names of GPU operations have rows of their own, before the first edge that needs them unless
 * another program has put the rows in another order.
 *
 * Threads: one owner. Memory: 4 MiB at most for the numbers of names, beside the table of texts.
 */
#ifndef SL_EDGE_ROW_H
#define SL_EDGE_ROW_H

#include "base/intern.h"
#include "read/json_event.h"
#include "sync/edge.h"
#include "sync/store.h"

struct sl_edge_names {
    struct sl_intern *texts; /* borrowed */
    struct sl_store store;
    struct sl_map by_number;
    uint64_t missing; /* names asked for by a number that has no row yet */
};

void sl_edge_names_init(struct sl_edge_names *n, struct sl_intern *texts);
void sl_edge_names_free(struct sl_edge_names *n);

/* A row of a name. */
void sl_edge_names_row(struct sl_edge_names *n, const struct sl_trace_row *row);

/* Names are interned (NULL: left out); times are not in the row, but for `wait_ns` and `wake_ns`.
 * 0, or -EINVAL: it lacks something or makes no sense. */
int sl_edge_row_read(const struct sl_trace_row *row, struct sl_edge_names *names,
                     struct sl_edge *out);

#endif
