/*
 * metric_short_kernels.c - how many kernels have which length, in powers of two.
 *
 * Threads, memory: see metric.h.
 */
#include <stdlib.h>

#include "report/metric.h"

enum {
    RANK,
    CLASS,
    FROM,
    TO,
    COUNT,
    SUM
};

static const struct sl_column columns[] = {
    [RANK] = {"rank", SL_COLUMN_COUNT, "rank of the process; none if the file does not name it"},
    [CLASS] = {"class", SL_COLUMN_TEXT, "compute or communication"},
    [FROM] = {"from_ns", SL_COLUMN_NS, "the shortest length that counts here"},
    [TO] = {"below_ns", SL_COLUMN_NS, "the length from which on kernels count in a later row"},
    [COUNT] = {"count", SL_COLUMN_COUNT, "number of kernels"},
    [SUM] = {"sum_ns", SL_COLUMN_NS, "their length together"},
    {NULL, SL_COLUMN_TEXT, NULL},
};

#define LENGTHS 64

struct bucket {
    uint64_t count, sum_ns;
};

/* Adds the rows of a class, from the first to the last length that occurs. */
static void add_class(int64_t rank, const char *class, const struct bucket *of,
                      struct sl_table *out)
{
    int first = 0, last = LENGTHS - 1;

    while (first < LENGTHS && !of[first].count)
        first++;
    while (last > first && !of[last].count)
        last--;
    for (int i = first; i <= last && i < LENGTHS; i++) {
        struct sl_cell *row = sl_table_row(out);

        row[RANK] = sl_cell_id(rank);
        row[CLASS] = sl_cell_text(class);
        row[FROM] = sl_cell_number(i ? 1ull << i : 0);
        row[TO] = sl_cell_number(i < LENGTHS - 1 ? 2ull << i : UINT64_MAX);
        row[COUNT] = sl_cell_number(of[i].count);
        row[SUM] = sl_cell_number(of[i].sum_ns);
    }
}

static void add_rank(const struct sl_report *report, size_t first, size_t end, struct sl_table *out)
{
    struct bucket of[SL_WORK_COUNT][LENGTHS] = {{{0}}};
    int64_t rank = sl_report_rank(&report->recordings.of[first]);

    for (size_t at = first; at < end; at++) {
        const struct sl_recording *r = &report->recordings.of[at];

        for (size_t i = 0; i < r->ops; i++) {
            uint64_t ns = r->op[i].end_ns - r->op[i].start_ns;
            struct bucket *b = &of[r->op[i].work][ns ? 63 - __builtin_clzll(ns) : 0];

            if (!sl_report_counts_op(report, r, &r->op[i]))
                continue;
            b->count++;
            b->sum_ns += ns;
        }
    }
    add_class(rank, "compute", of[SL_WORK_COMPUTE], out);
    add_class(rank, "communication", of[SL_WORK_COMMUNICATION], out);
}

static void make(const struct sl_report *report, struct sl_table *out)
{
    sl_report_each_rank(report, add_rank, out);
}

const struct sl_metric sl_metric_short_kernels = {
    .name = "short_kernels",
    .title = "how many kernels have which length",
    .columns = columns,
    .is_by_stream = 1,
    .formula = "Each row counts the kernels of the chosen steps whose length is from a power of "
               "two to below the next. Many kernels below 10 us mean that launches cost more than "
               "they bring. Rows between the shortest and the longest kernel may be 0.",
    .source = "syncline",
    .make = make,
};
