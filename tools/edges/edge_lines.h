/*
 * edge_lines.h - which lines of the source made the CPU wait, and for what.
 *
 * Threads: one owner. Memory: 5 MiB; pairs of a line and what it waited for past 98304 are counted
 * together.
 */
#ifndef SL_EDGES_EDGE_LINES_H
#define SL_EDGES_EDGE_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "edges/edge_summary.h"

/* A line's waits for one operation. */
struct sl_edge_line {
    uint32_t line, source; /* intern ids; 0 = none known */
    struct sl_edge_waits waits;
};

struct sl_edge_lines;

/* 0 or -ENOMEM. */
int sl_edge_lines_create(struct sl_edge_lines **out);
void sl_edge_lines_destroy(struct sl_edge_lines *l); /* NULL is fine */

void sl_edge_lines_add(struct sl_edge_lines *l, uint32_t line, uint32_t source, uint64_t wait_ns,
                       int in_step);

/* Pairs that found no room. */
const struct sl_edge_waits *sl_edge_lines_rest(const struct sl_edge_lines *l);

/* A line's pairs stand together, most waited for first, of lines the same; gives how many there
 * are. What is in the table is lost to further adding. Valid as long as the table. */
size_t sl_edge_lines_sort(struct sl_edge_lines *l, const struct sl_edge_line **out);

/* The pairs of the line that the first of `left` belongs to; `all`: what they add up to. */
size_t sl_edge_lines_one(const struct sl_edge_line *first, size_t left, struct sl_edge_waits *all);

#endif
