/*
 * edge_check.h - checks that the edges in a syncline file agree with its rows.
 *
 * The rules: a source ends before its wait ends. `wait_ns` and `wake_ns` match their definitions.
 * Exactly one edge of a wait released it. Arrows exist only for edges with a wait, and both arrow
 * ends lie inside their rows. An edge follows the rows of its ends, and its arrow follows the edge.
 *
 * Threads: one owner. Memory: 5 MiB; times are kept for the most recent 65536 operations and calls.
 * Times of edges between older ones are not checked.
 */
#ifndef SL_CHECK_EDGE_CHECK_H
#define SL_CHECK_EDGE_CHECK_H

#include "check/finding.h"
#include "read/json_event.h"

struct sl_edge_check;

/* 0 or -ENOMEM. */
int sl_edge_check_create(struct sl_edge_check **out, struct sl_findings *findings);
void sl_edge_check_destroy(struct sl_edge_check *c); /* NULL is fine */

/* Takes any row, with its byte in the text. */
void sl_edge_check_row(struct sl_edge_check *c, const struct sl_trace_row *row, uint64_t at);

/* After the last row. */
void sl_edge_check_end(struct sl_edge_check *c);

#endif
