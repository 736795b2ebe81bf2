/*
 * edge_summary.h - where the waiting went: by line of the source, by kind, by what was waited for,
 * by place, by step.
 *
 * A wait is counted once, under the edge that released it. What was waited for is what the time was
 * spent on (wait_blame.h), which for a copy may be the kernel before it. Files of syncline's have a
 * wait's row before that of its step: such waits are counted by time, at the end.
 *
 * Threads: one owner. Memory: 16 MiB, and 24 MiB for waits whose step is not known yet; names past
 * 49152 of a table are counted together.
 */
#ifndef SL_EDGES_EDGE_SUMMARY_H
#define SL_EDGES_EDGE_SUMMARY_H

#include <stddef.h>
#include <stdint.h>

#include "sync/edge.h"

#define SL_EDGE_LONGEST 10

struct sl_edge_waits {
    uint64_t count, total_ns, longest_ns;
    uint64_t in_steps_ns; /* of the total, what was in a step: by line alone */
};

/* `more` is counted with the others. */
static inline void sl_edge_waits_add(struct sl_edge_waits *w, const struct sl_edge_waits *more)
{
    w->count += more->count;
    w->total_ns += more->total_ns;
    w->in_steps_ns += more->in_steps_ns;
    if (more->longest_ns > w->longest_ns)
        w->longest_ns = more->longest_ns;
}

struct sl_edge_group {
    uint32_t name; /* intern id; 0 = none known */
    struct sl_edge_waits waits;
};

enum sl_edge_table {
    SL_EDGE_BY_SOURCE,
    SL_EDGE_BY_PLACE,
    SL_EDGE_BY_STEP,
    SL_EDGE_TABLES
};

/* Where a wait was: intern ids, 0 = none known. */
struct sl_edge_where {
    uint32_t who;   /* the call, or the GPU operation */
    uint32_t place; /* the innermost operator or range around the call */
    uint32_t line;
    uint32_t step;
    uint32_t spent_on; /* the GPU operation that the time was spent on */
    uint64_t later_ns; /* not 0: the step is that of this time */
};

/* One wait that belongs to the longest. */
struct sl_edge_long {
    struct sl_edge edge;
    struct sl_edge_where where;
};

struct sl_edge_summary;

/* The step at a time, as far as is known by then; 0: none. */
typedef uint32_t (*sl_edge_step_fn)(void *user, uint64_t ns);

/* 0 or -ENOMEM. */
int sl_edge_summary_create(struct sl_edge_summary **out, sl_edge_step_fn step, void *user);
void sl_edge_summary_destroy(struct sl_edge_summary *s); /* NULL is fine */

/* One wait: the edge that released it. Without a wait (wait_ns 0) it counts nowhere. */
void sl_edge_summary_add(struct sl_edge_summary *s, const struct sl_edge *edge,
                         const struct sl_edge_where *where);

/* After the last wait, and before what is asked below: steps are known. */
void sl_edge_summary_end(struct sl_edge_summary *s);

/* Calls of the CPU that waited, by line. */
struct sl_edge_lines *sl_edge_summary_lines(struct sl_edge_summary *s);

const struct sl_edge_waits *sl_edge_summary_all(const struct sl_edge_summary *s);
const struct sl_edge_waits *sl_edge_summary_kind(const struct sl_edge_summary *s,
                                                 enum sl_edge_kind kind);

/* Waits whose name found no room in the table. */
const struct sl_edge_waits *sl_edge_summary_rest(const struct sl_edge_summary *s,
                                                 enum sl_edge_table table);

/* The groups of a table, most waited for first; what is in the table is lost to further adding.
 * Valid as long as the summary. */
size_t sl_edge_summary_sort(struct sl_edge_summary *s, enum sl_edge_table table,
                            const struct sl_edge_group **out);

/* The longest waits, longest first. */
size_t sl_edge_summary_longest(const struct sl_edge_summary *s, const struct sl_edge_long **out);

#endif
