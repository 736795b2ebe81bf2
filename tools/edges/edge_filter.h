/*
 * edge_filter.h - selects waits by kind, duration, line of code and step.
 *
 * Threads: any. Memory: none.
 */
#ifndef SL_EDGES_EDGE_FILTER_H
#define SL_EDGES_EDGE_FILTER_H

#include "base/intern.h"
#include "edges/edge_summary.h"

struct sl_edge_filter {
    int kind; /* enum sl_edge_kind, or -1 for all kinds */
    uint64_t min_wait_ns;
    const char *line; /* a part of the line of code, with * and ?; NULL: all lines */
    int has_steps;
    uint64_t first_step, last_step;
};

/* Parses a time such as "1ms". Without a unit it is in nanoseconds. Returns 0 or -EINVAL. */
int sl_edge_filter_time(const char *text, uint64_t *ns);

/* Parses "N" or "A..B". Returns 0 or -EINVAL. */
int sl_edge_filter_steps(struct sl_edge_filter *f, const char *text);

/* Returns 1 if the step with this name is wanted, or if all steps are. */
int sl_edge_filter_has_step(const struct sl_edge_filter *f, const struct sl_intern *names,
                            uint32_t step);

/* Returns 1 if a wait has the wanted kind, line and step. */
int sl_edge_filter_has(const struct sl_edge_filter *f, const struct sl_intern *names,
                       const struct sl_edge *edge, const struct sl_edge_where *where);

#endif
