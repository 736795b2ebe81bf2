/*
 * edge_summary.h - where the waiting went: by line of the source, by kind, by what was waited for,
 * by place, by step.
 *
 * A wait is counted once, under the edge that released it. What was waited for is what the time was
 * spent on (wait_blame.h), which for a copy may be the kernel before it. Files of syncline's have a
 * wait's row before that of its step: such waits are counted by time, at the end.
 *
 * Threads: one owner. Memory: 48 MiB, and 24 MiB for waits whose step is not known yet; names (by
 * line: lines and what they waited for) past 98304 of a table are counted together.
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
    uint32_t name;   /* intern id; 0 = none known */
    uint32_t source; /* the same, of a line's waits for one operation; else 0 */
    struct sl_edge_waits waits;
    uint64_t name_total_ns; /* once sorted: what the name waited in all */
};

enum sl_edge_table {
    SL_EDGE_BY_SOURCE,
    SL_EDGE_BY_PLACE,
    SL_EDGE_BY_STEP,
    SL_EDGE_BY_LINE, /* calls of the CPU alone; a line has a group for each operation */
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

struct sl_edge_totals {
    struct sl_edge_waits all, kind[SL_EDGE_KIND_COUNT];
    struct sl_edge_waits rest[SL_EDGE_TABLES];    /* that found no room in the table */
    struct sl_edge_long longest[SL_EDGE_LONGEST]; /* longest first */
    size_t longest_count;
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

/* What was counted; changes with what is added. */
const struct sl_edge_totals *sl_edge_summary_totals(const struct sl_edge_summary *s);

/* The groups of a table: those of a name stand together, most waited for first, of names the same.
 * After it nothing may be added. Valid as long as the summary. */
size_t sl_edge_summary_sort(struct sl_edge_summary *s, enum sl_edge_table table,
                            const struct sl_edge_group **out);

/* How many of the sorted groups from `first` on have its name; `all`: what they add up to. */
size_t sl_edge_summary_name(const struct sl_edge_group *first, size_t left,
                            struct sl_edge_waits *all);

#endif
