/*
 * edge_row.h - reads the edges in a row that syncline wrote.
 *
 * The edges of a call are in the args of its row, and other edges have a row of their own. In old
 * files all edges have rows of their own, as metadata events, and separate rows hold the names of
 * GPU operations, each before the first edge that uses the name. Another program may have reordered
 * the rows of the file.
 *
 * Threads: one owner. Memory: at most 4 MiB for the name numbers, not counting the table of texts.
 */
#ifndef SL_EDGE_ROW_H
#define SL_EDGE_ROW_H

#include "base/intern.h"
#include "base/store.h"
#include "read/json_event.h"
#include "sync/edge.h"

struct sl_edge_names {
    struct sl_intern *texts; /* borrowed */
    struct sl_store store;
    struct sl_map by_number;
    uint64_t missing; /* number of edges whose name had no row yet when the edge was read */
};

void sl_edge_names_init(struct sl_edge_names *n, struct sl_intern *texts);
void sl_edge_names_free(struct sl_edge_names *n);

/* Adds a row that holds a name. */
void sl_edge_names_row(struct sl_edge_names *n, const struct sl_trace_row *row);

/* Reads edge `i` of the row. If the row is the call that the edge ends at, the edge's destination
 * is the row. Names are interned. If `names` is NULL, names are left out. The edge gets no times
 * except `wait_ns` and `wake_ns`. Returns 0, or -EINVAL if a member is missing or invalid. */
int sl_edge_row_read(const struct sl_trace_row *row, size_t i, struct sl_edge_names *names,
                     struct sl_edge *out);

#endif
