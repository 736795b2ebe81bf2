/*
 * print.h - prints the result of `syncline edges` as text or JSON.
 *
 * Names are printed as the raw text of their JSON strings. That text is valid in JSON and has no
 * ASCII control characters that could affect a terminal.
 *
 * Threads: main only. Memory: none beyond the stack.
 */
#ifndef SL_EDGES_PRINT_H
#define SL_EDGES_PRINT_H

#include <stdio.h>

#include "edges/edge_summary.h"
#include "read/trace_events.h"

/* Prints one JSON object on one line. `path`: the trace, as the first member; NULL: no such member.
 */
void sl_edges_print_json(FILE *f, const char *path, const struct sl_trace_events *t,
                         const struct sl_edge *edge);

/* Prints a summary as one JSON object on one line. `lost` has the numbers of edges left out,
 * indexed by enum sl_edge_loss. */
void sl_edges_print_summary_json(FILE *f, const char *path, const struct sl_trace_events *t,
                                 struct sl_edge_summary *s, const uint64_t *lost);

void sl_edges_print_title(FILE *f);
void sl_edges_print_text(FILE *f, const struct sl_trace_events *t, const struct sl_edge *edge);
void sl_edges_print_summary_text(FILE *f, const struct sl_trace_events *t,
                                 struct sl_edge_summary *s);

#endif
