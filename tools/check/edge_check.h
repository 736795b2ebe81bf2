/*
 * edge_check.h - do the edges in a file of syncline's agree with its rows?
 *
 * A source ends before its wait does, the numbers are those of the definitions, one edge of a wait
 * released it, and arrows stand for edges that were waited for, with both ends inside their rows.
 * An edge's rows come before it, and its arrow comes next.
 *
 * Threads: one owner. Memory: 5 MiB; times are kept for the most recent 65536 operations and calls,
 * edges between others are not held to them.
 */
#ifndef SL_CHECK_EDGE_CHECK_H
#define SL_CHECK_EDGE_CHECK_H

#include "check/finding.h"
#include "read/json_event.h"

struct sl_edge_check;

/* 0 or -ENOMEM. */
int sl_edge_check_create(struct sl_edge_check **out, struct sl_findings *findings);
void sl_edge_check_destroy(struct sl_edge_check *c); /* NULL is fine */

/* Any row, with its place in the text. */
void sl_edge_check_row(struct sl_edge_check *c, const struct sl_trace_row *row, uint64_t at);

/* After the last row. */
void sl_edge_check_end(struct sl_edge_check *c);

#endif
