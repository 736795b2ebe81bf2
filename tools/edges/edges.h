/*
 * edges.h - what `syncline edges` does with the traces: lists the edges, or sums up the waits.
 *
 * Threads: main; helper threads read the file. Memory: at most 256 MiB for files of any size.
 */
#ifndef SL_EDGES_EDGES_H
#define SL_EDGES_EDGES_H

#include "args/args.h"
#include "edges/edge_filter.h"
#include "edges/edge_summary.h"
#include "replay/replay.h"

#define SL_EDGES_TOP_MOST 10000

struct sl_edges_request {
    const struct sl_command *command;
    int is_json;
    uint64_t top; /* number of waits, or of rows in each table; 0: all waits, or the default */
    struct sl_edge_filter filter;
};

/* Both functions print the result for all files and return the exit status. */
int sl_edges_list(const struct sl_edges_request *r, char *const *paths, size_t count);
int sl_edges_sum(const struct sl_edges_request *r, char *const *paths, size_t count);

/* Returns the place of a wait, without its step and without the operation on which its time was
 * spent. */
struct sl_edge_where sl_edges_where(const struct sl_trace_events *t, const struct sl_edge *edge);

/* Reads a file and passes its edges to the sinks. Returns 0, or the exit status after a line on
 * stderr. */
int sl_edges_read(const struct sl_edges_request *r, struct sl_replay *feed, const char *path);

#endif
