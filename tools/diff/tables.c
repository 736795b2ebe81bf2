/*
 * tables.c - the tables of a comparison, for --only and --json.
 *
 * Threads, memory: see diff.h.
 */
#include <errno.h>
#include <string.h>

#include "diff/diff.h"

/* Columns of a time on both sides, from index `at` on: what all readers need, and the details. */
#define CHANGE_CELLS 5
#define CHANGE_COLUMNS(at)                                                                         \
    [(at)] = {"verdict", SL_COLUMN_TEXT,                                                           \
              "more, less, noise (not more than the spread), same, added, removed or replaced"},   \
    [(at) + 1] = {"a_ns", SL_COLUMN_REAL_NS, "usual time in a step of A"},                         \
    [(at) + 2] = {"b_ns", SL_COLUMN_REAL_NS, "usual time in a step of B"},                         \
    [(at) + 3] = {"change_ns", SL_COLUMN_REAL_NS, "b_ns - a_ns"},                                  \
    [(at) + 4] = {"change_ratio", SL_COLUMN_RATIO, "change_ns divided by a_ns"}
#define DETAIL_COLUMNS(at)                                                                         \
    [(at)] = {"a_spread_ns", SL_COLUMN_REAL_NS, "spread of the steps of A"},                       \
    [(at) + 1] = {"b_spread_ns", SL_COLUMN_REAL_NS, "spread of the steps of B"},                   \
    [(at) + 2] = {"a_median_ns", SL_COLUMN_REAL_NS, "median of the steps of A"},                   \
    [(at) + 3] = {"b_median_ns", SL_COLUMN_REAL_NS, "median of the steps of B"},                   \
    [(at) + 4] = {"a_mean_ns", SL_COLUMN_REAL_NS, "mean of the steps of A"},                       \
    [(at) + 5] = {"b_mean_ns", SL_COLUMN_REAL_NS, "mean of the steps of B"}

#define RANK_COLUMN                                                                                \
    {                                                                                              \
        "rank", SL_COLUMN_COUNT, "none: the mean of all ranks, or the file names no rank"          \
    }

static void put_change(struct sl_cell *row, struct sl_cell *detail, const struct sl_diff_change *c,
                       enum sl_diff_verdict verdict)
{
    const double a_ns = c->of[0].usual_ns;

    row[0] = sl_cell_text(sl_diff_verdict_name(verdict));
    row[1] = sl_cell_real(a_ns);
    row[2] = sl_cell_real(c->of[1].usual_ns);
    row[3] = sl_cell_real(c->change_ns);
    row[4] = (struct sl_cell){.has = a_ns > 0, .real = a_ns > 0 ? c->change_ns / a_ns : 0};
    for (int side = 0; side < 2; side++) {
        detail[0 + side] = sl_cell_real(c->of[side].spread_ns);
        detail[2 + side] = sl_cell_real(c->of[side].median_ns);
        detail[4 + side] = sl_cell_real(c->of[side].mean_ns);
    }
}

/* ---- steps and parts ---- */

enum {
    STEPS_RANK,
    A_STEPS,
    B_STEPS,
    STEPS_CHANGE,
    STEPS_DETAIL = STEPS_CHANGE + CHANGE_CELLS
};

static const struct sl_column steps_columns[] = {
    [STEPS_RANK] = RANK_COLUMN,
    [A_STEPS] = {"a_steps", SL_COLUMN_COUNT, "steps of A with GPU work"},
    [B_STEPS] = {"b_steps", SL_COLUMN_COUNT, "steps of B with GPU work"},
    CHANGE_COLUMNS(STEPS_CHANGE),
    DETAIL_COLUMNS(STEPS_DETAIL),
    {NULL, SL_COLUMN_TEXT, NULL},
};

enum {
    PARTS_RANK,
    PART,
    PARTS_CHANGE,
    PARTS_DETAIL = PARTS_CHANGE + CHANGE_CELLS
};

static const struct sl_column parts_columns[] = {
    [PARTS_RANK] = RANK_COLUMN,
    [PART] = {"part", SL_COLUMN_TEXT, "part of the step; see `syncline report --help`"},
    CHANGE_COLUMNS(PARTS_CHANGE),
    DETAIL_COLUMNS(PARTS_DETAIL),
    {NULL, SL_COLUMN_TEXT, NULL},
};

static const struct sl_metric steps = {
    .name = "steps", .title = "length of a step on the GPU", .columns = steps_columns};
static const struct sl_metric parts = {
    .name = "parts", .title = "parts of a step", .columns = parts_columns};

static void put_rank(const struct sl_diff_rank *rank, const struct sl_metric *metric,
                     struct sl_table *out)
{
    struct sl_cell *row;

    if (metric == &steps) {
        row = sl_table_row(out);
        row[STEPS_RANK] = sl_cell_id(rank->rank);
        row[A_STEPS] = sl_cell_number(rank->steps[0]);
        row[B_STEPS] = sl_cell_number(rank->steps[1]);
        put_change(row + STEPS_CHANGE, row + STEPS_DETAIL, &rank->step,
                   sl_diff_verdict(&rank->step));
        return;
    }
    for (int part = 0; part < SL_PART_COUNT; part++) {
        row = sl_table_row(out);
        row[PARTS_RANK] = sl_cell_id(rank->rank);
        row[PART] = sl_cell_text(sl_part_name((enum sl_part)part));
        put_change(row + PARTS_CHANGE, row + PARTS_DETAIL, &rank->part[part],
                   sl_diff_verdict(&rank->part[part]));
    }
}

/* ---- kernels, operators, launches, waits, collectives ---- */

enum {
    ROW_CHANGE,
    WHERE = ROW_CHANGE + CHANGE_CELLS,
    A_NAME,
    B_NAME,
    A_NAMES,
    B_NAMES,
    A_LINE,
    B_LINE,
    A_COUNT,
    B_COUNT,
    MOST_RANK,
    MOST,
    ROW_DETAIL
};

static const struct sl_column row_columns[] = {
    CHANGE_COLUMNS(ROW_CHANGE),
    [WHERE] = {"place", SL_COLUMN_TEXT, "innermost operator or range that both sides have"},
    [A_NAME] = {"a_name", SL_COLUMN_TEXT, "name in A: a kernel, operator or call"},
    [B_NAME] = {"b_name", SL_COLUMN_TEXT, "name in B"},
    [A_NAMES] = {"a_names", SL_COLUMN_COUNT, "different names of A in this row"},
    [B_NAMES] = {"b_names", SL_COLUMN_COUNT, "different names of B in this row"},
    [A_LINE] = {"a_line", SL_COLUMN_TEXT, "a line of code in A, if the file has it"},
    [B_LINE] = {"b_line", SL_COLUMN_TEXT, "a line of code in B"},
    [A_COUNT] = {"a_count", SL_COLUMN_REAL, "occurrences in a step of A"},
    [B_COUNT] = {"b_count", SL_COLUMN_REAL, "occurrences in a step of B"},
    [MOST_RANK] = {"most_rank", SL_COLUMN_COUNT, "rank with the largest change"},
    [MOST] = {"most_change_ns", SL_COLUMN_REAL_NS, "change on this rank"},
    DETAIL_COLUMNS(ROW_DETAIL),
    {NULL, SL_COLUMN_TEXT, NULL},
};

static const struct sl_metric rows[SL_DIFF_KINDS] = {
    [SL_DIFF_KERNELS] = {.name = "kernels",
                         .title = "kernels, copies and memsets, by operator",
                         .columns = row_columns},
    [SL_DIFF_OPERATORS] = {.name = "operators",
                           .title = "GPU time of operators and ranges, by the innermost one",
                           .columns = row_columns},
    [SL_DIFF_LAUNCHES] = {.name = "launches",
                          .title = "time of the CPU in calls that launch",
                          .columns = row_columns},
    [SL_DIFF_WAITS] = {.name = "waits",
                       .title = "waits of the CPU for the GPU, by line of code",
                       .columns = row_columns},
    [SL_DIFF_COLLECTIVES] = {.name = "collectives",
                             .title = "communication kernels, by operator",
                             .columns = row_columns},
};

static void put_row(const struct sl_diff *d, const struct sl_diff_row *it, struct sl_table *out)
{
    const struct sl_report *names = &d->side[0];
    struct sl_cell *row = sl_table_row(out);

    row[WHERE] = sl_cell_text(sl_report_name(names, it->place));
    for (int side = 0; side < 2; side++) {
        row[A_NAME + side] = sl_cell_text(sl_report_name(names, it->name[side]));
        row[A_NAMES + side] = sl_cell_number(it->names[side]);
        row[A_LINE + side] = sl_cell_text(sl_report_name(names, it->line[side]));
        row[A_COUNT + side] = sl_cell_real(it->change.of[side].count);
    }
    row[MOST_RANK] = sl_cell_id(it->most_rank);
    row[MOST] = sl_cell_real(it->most_ns_of_rank);
    put_change(row + ROW_CHANGE, row + ROW_DETAIL, &it->change, sl_diff_row_verdict(it));
}

const struct sl_metric *const sl_diff_tables[] = {&steps,
                                                  &parts,
                                                  &rows[SL_DIFF_KERNELS],
                                                  &rows[SL_DIFF_OPERATORS],
                                                  &rows[SL_DIFF_LAUNCHES],
                                                  &rows[SL_DIFF_WAITS],
                                                  &rows[SL_DIFF_COLLECTIVES],
                                                  NULL};

int sl_diff_table(const struct sl_diff *d, const struct sl_metric *metric, struct sl_table *out)
{
    *out = (struct sl_table){.metric = metric};
    while (metric->columns[out->columns].name)
        out->columns++;
    if (metric == &steps || metric == &parts) {
        for (size_t i = 0; i < d->ranks; i++)
            put_rank(&d->rank[i], metric, out);
        if (d->ranks > 1)
            put_rank(&d->mean, metric, out);
    }
    for (size_t i = 0; i < d->rows; i++)
        if (metric == &rows[d->row[i].kind])
            put_row(d, &d->row[i], out);
    if (!out->failed)
        return 0;
    sl_table_free(out);
    return -ENOMEM;
}
