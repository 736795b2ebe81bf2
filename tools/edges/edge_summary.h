/*
 * edge_summary.h - sums up waits by source line, kind, awaited operation, place (innermost operator
 * or range) and step.
 *
 * A wait is counted once, under the edge that released it, or, if it is not known which edge did,
 * under the edge with the longest wait. The awaited operation of a wait is the
 * operation on which the time was spent (wait_blame.h). If a copy released the wait, this may be a
 * kernel before the copy. In syncline files the row of a wait precedes the row of its step, so the
 * wait is kept and assigned to its step later, by time.
 *
 * Threads: one owner. Memory: 48 MiB, plus 24 MiB for waits whose step is not known yet. A table
 * holds 98304 names; the table by line holds 98304 pairs of line and operation. Waits beyond this
 * limit are counted together.
 */
#ifndef SL_EDGES_EDGE_SUMMARY_H
#define SL_EDGES_EDGE_SUMMARY_H

#include <stddef.h>
#include <stdint.h>

#include "sync/edge.h"

#define SL_EDGE_LONGEST 10

struct sl_edge_waits {
    uint64_t count, total_ns, longest_ns;
    uint64_t in_steps_ns; /* the part of total_ns inside steps, in ns; set only in the table by
                             line */
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
    SL_EDGE_BY_LINE, /* waits of CPU calls only, by line of code, with one group for each operation
                        that the line waited for */
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
    uint64_t later_ns; /* a time inside the step, in ns, from which the step is found later; 0 if
                          `step` is known */
};

/* One of the longest waits. */
struct sl_edge_long {
    struct sl_edge edge;
    struct sl_edge_where where;
};

struct sl_edge_totals {
    struct sl_edge_waits all, kind[SL_EDGE_KIND_COUNT];
    struct sl_edge_waits rest[SL_EDGE_TABLES];    /* sums of the waits that did not fit into the
                                                     table */
    struct sl_edge_long longest[SL_EDGE_LONGEST]; /* longest first */
    size_t longest_count;
};

struct sl_edge_summary;

/* Returns the intern id of the step at a time, or 0 if no known step covers the time. */
typedef uint32_t (*sl_edge_step_fn)(void *user, uint64_t ns);

/* 0 or -ENOMEM. */
int sl_edge_summary_create(struct sl_edge_summary **out, sl_edge_step_fn step, void *user);
void sl_edge_summary_destroy(struct sl_edge_summary *s); /* NULL is fine */

/* Adds a wait, given the edge that released it. An edge with wait_ns 0 is not counted. */
void sl_edge_summary_add(struct sl_edge_summary *s, const struct sl_edge *edge,
                         const struct sl_edge_where *where);

/* Call after the last wait and before the functions below, when all steps are known. */
void sl_edge_summary_end(struct sl_edge_summary *s);

/* Returns the totals, which change with each added wait. */
const struct sl_edge_totals *sl_edge_summary_totals(const struct sl_edge_summary *s);

/* Sorts the groups of a table. Groups of one name are adjacent. The names, and the groups of each
 * name, are in descending order of waiting time. No wait may be added afterwards. `*out` is valid
 * as long as the summary. */
size_t sl_edge_summary_sort(struct sl_edge_summary *s, enum sl_edge_table table,
                            const struct sl_edge_group **out);

/* Returns how many sorted groups, from `first` on, have the same name as `first`. *all is the sum
 * of these groups. */
size_t sl_edge_summary_name(const struct sl_edge_group *first, size_t left,
                            struct sl_edge_waits *all);

#endif
