/*
 * edge_summary.h - sums up waits by source line, kind, awaited operation, place (innermost operator
 * or range) and step.
 *
 * A wait is counted once, under the edge that released it, or, if it is not known which edge did,
 * under the edge with the longest wait. The awaited operation of a wait is the
 * operation on which the time was spent (wait_blame.h). If a copy released the wait, this may be a
 * kernel before the copy.
 *
 * Threads: one owner. Memory: at most 54 MiB. A table holds 98304 names; the table by line holds
 * 98304 pairs of line and operation. Waits beyond this limit are counted together.
 */
#ifndef SL_EDGES_EDGE_SUMMARY_H
#define SL_EDGES_EDGE_SUMMARY_H

#include <stddef.h>
#include <stdint.h>

#include "base/intern.h"
#include "sync/edge.h"

struct sl_edge_waits {
    uint64_t count, total_ns, longest_ns;
    uint64_t in_steps_ns; /* the part of total_ns inside steps, in ns */
};

static inline void sl_edge_waits_add(struct sl_edge_waits *w, const struct sl_edge_waits *more)
{
    w->count += more->count;
    w->total_ns += more->total_ns;
    w->in_steps_ns += more->in_steps_ns;
    if (more->longest_ns > w->longest_ns)
        w->longest_ns = more->longest_ns;
}

struct sl_edge_group {
    uint32_t name;   /* intern id; 0 if the name is unknown */
    uint32_t source; /* table by line: intern id of the awaited operation; other tables: 0 */
    struct sl_edge_waits waits;
    uint64_t name_total_ns; /* total wait of all groups with this name; valid after sorting */
};

enum sl_edge_table {
    SL_EDGE_BY_SOURCE,
    SL_EDGE_BY_PLACE,
    SL_EDGE_BY_STEP,
    SL_EDGE_BY_LINE, /* by line of code, with one group for each operation that the line waited
                        for */
    SL_EDGE_CALLS,   /* by line of code, also the calls that found all their work completed */
    SL_EDGE_TABLES
};

/* The place of a wait: who waited, in which operator and step, and for which operation. The members
 * are intern ids, or 0 if unknown. */
struct sl_edge_where {
    uint32_t who;   /* the call or GPU operation that waited */
    uint32_t place; /* the innermost operator or range around the call */
    uint32_t line;
    uint32_t step;
    uint32_t spent_on; /* the GPU operation on which the time was spent */
    uint32_t file;     /* number of the file; set by sl_edge_summary_merge() */
    uint64_t call_ns;  /* start of the call, or of the launch of the operation; 0: not known */
    uint64_t at_ns;    /* start of the call or operation that waited; 0: not known */
    uint64_t begin_ns; /* start of the trace's first slice, where viewers begin to count */
};

/* One of the longest waits. */
struct sl_edge_long {
    struct sl_edge edge;
    struct sl_edge_where where;
};

struct sl_edge_totals {
    struct sl_edge_waits all, kind[SL_EDGE_KIND_COUNT];
    struct sl_edge_waits rest[SL_EDGE_TABLES]; /* sums of the waits that did not fit into the
                                                  table */
};

struct sl_edge_summary;

/* `longest`: how many of the longest waits are kept. Returns 0 or -ENOMEM. */
int sl_edge_summary_create(struct sl_edge_summary **out, size_t longest);
void sl_edge_summary_destroy(struct sl_edge_summary *s); /* NULL is fine */

/* Adds a wait, given the edge that released it. A wait that took no time counts only as a call. */
void sl_edge_summary_add(struct sl_edge_summary *s, const struct sl_edge *edge,
                         const struct sl_edge_where *where);

/* Adds the waits of another summary, whose names are ids of `more_names`. The names are copied, and
 * the longest waits get the number of their file. */
void sl_edge_summary_merge(struct sl_edge_summary *s, struct sl_intern *names,
                           struct sl_edge_summary *more, const struct sl_intern *more_names,
                           uint32_t file);

/* Returns the totals, which change with each added wait. */
const struct sl_edge_totals *sl_edge_summary_totals(const struct sl_edge_summary *s);

/* Sorts the longest waits and returns their number. sl_edge_summary_long() then returns them,
 * longest first. No wait may be added afterwards. */
size_t sl_edge_summary_longest(struct sl_edge_summary *s);
const struct sl_edge_long *sl_edge_summary_long(const struct sl_edge_summary *s, size_t i);

/* Sorts the groups of a table. Groups of one name are adjacent. The names, and the groups of each
 * name, are in descending order of waiting time. No wait may be added afterwards. `*out` is valid
 * as long as the summary. */
size_t sl_edge_summary_sort(struct sl_edge_summary *s, enum sl_edge_table table,
                            const struct sl_edge_group **out);

/* Returns the number of calls at a line, whether they took time or not. Call it before the table
 * SL_EDGE_CALLS is sorted. */
uint64_t sl_edge_summary_calls(const struct sl_edge_summary *s, uint32_t line);

/* Returns how many sorted groups, from `first` on, have the same name as `first`. *all is the sum
 * of these groups. */
size_t sl_edge_summary_name(const struct sl_edge_group *first, size_t left,
                            struct sl_edge_waits *all);

#endif
