/*
 * metric_copies.c - bytes and bandwidth of copies and memsets, by kind.
 *
 * Threads, memory: see metric.h.
 */
#include <string.h>

#include "report/metric.h"
#include "report/sums.h"

enum {
    RANK,
    NAME,
    COPIES,
    BYTES,
    SUM,
    BANDWIDTH,
    PEAK
};

static const struct sl_column columns[] = {
    [RANK] = {"rank", SL_COLUMN_COUNT, "rank of the process; none if the file does not name it"},
    [NAME] = {"name", SL_COLUMN_TEXT, "kind of the copy, with the kinds of memory"},
    [COPIES] = {"copies", SL_COLUMN_COUNT, "number of copies"},
    [BYTES] = {"sum_bytes", SL_COLUMN_BYTES, "their bytes together"},
    [SUM] = {"sum_ns", SL_COLUMN_NS, "their length together"},
    [BANDWIDTH] = {"mean_gb_per_s", SL_COLUMN_REAL,
                   "sum_bytes divided by sum_ns, in 10^9 bytes a second"},
    [PEAK] = {"largest_bytes", SL_COLUMN_BYTES, "bytes of the largest copy"},
    {NULL, SL_COLUMN_TEXT, NULL},
};

static void add_rank(const struct sl_report *report, size_t first, size_t end, struct sl_table *out)
{
    struct sl_sums time = {0};

    for (size_t i = first; i < end; i++) {
        const struct sl_recording *r = &report->recordings.of[i];

        for (size_t k = 0; k < r->ops; k++) {
            const struct sl_report_op *op = &r->op[k];
            const uint32_t key[SL_SUM_KEYS] = {op->name};
            struct sl_sum *sum;

            if (op->work != SL_WORK_COPY || !sl_report_counts_op(report, r, op))
                continue;
            sum = sl_sums_add(&time, key, op->end_ns - op->start_ns);
            if (sum) {
                sum->bytes += op->bytes;
                sum->most_bytes = op->bytes > sum->most_bytes ? op->bytes : sum->most_bytes;
            }
        }
    }
    sl_sums_sort(&time);
    out->failed |= time.failed;
    for (size_t i = 0; i < time.count; i++) {
        const struct sl_sum *sum = &time.sum[i];
        struct sl_cell *row = sl_table_row(out);

        row[RANK] = sl_cell_id(sl_report_rank(&report->recordings.of[first]));
        row[NAME] = sl_cell_text(sl_report_name(report, sum->key[0]));
        row[COPIES] = sl_cell_number(sum->count);
        row[BYTES] = sl_cell_number(sum->bytes);
        row[SUM] = sl_cell_number(sum->total_ns);
        row[BANDWIDTH] = sl_cell_ratio(sum->bytes, sum->total_ns);
        row[PEAK] = sl_cell_number(sum->most_bytes);
    }
    sl_sums_free(&time);
}

static void make(const struct sl_report *report, struct sl_table *out)
{
    sl_report_each_rank(report, add_rank, out);
}

const struct sl_metric sl_metric_copies = {
    .name = "copies",
    .title = "copies and memsets by kind",
    .columns = columns,
    .is_by_stream = 1,
    .formula = "Sums over the copies and memsets of the chosen steps.",
    .source = "HTA get_memory_bw_summary has points in time instead",
    .make = make,
};
