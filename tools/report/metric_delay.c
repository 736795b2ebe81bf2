/*
 * metric_delay.c - how long after an operator's start its first kernel begins.
 *
 * Threads, memory: see metric.h; also 4 bytes for each operator.
 */
#include <stdlib.h>

#include "report/metric.h"
#include "report/sums.h"

enum {
    RANK,
    NAME,
    CALLS,
    TO_LAUNCH,
    AFTER_LAUNCH,
    MEAN,
    MIN,
    MAX,
    STD
};

static const struct sl_column columns[] = {
    [RANK] = {"rank", SL_COLUMN_COUNT, "rank of the process; none if the file does not name it"},
    [NAME] = {"operator", SL_COLUMN_TEXT, "name of the operator"},
    [CALLS] = {"calls", SL_COLUMN_COUNT, "calls that launched GPU work"},
    [TO_LAUNCH] = {"to_launch_mean_ns", SL_COLUMN_REAL_NS,
                   "mean time from the operator's start to its first launch"},
    [AFTER_LAUNCH] = {"after_launch_mean_ns", SL_COLUMN_REAL_NS,
                      "mean time from there to the start of the operation"},
    [MEAN] = {"mean_ns", SL_COLUMN_REAL_NS, "mean of the sum of both: the delay"},
    [MIN] = {"min_ns", SL_COLUMN_NS, "shortest delay"},
    [MAX] = {"max_ns", SL_COLUMN_NS, "longest delay"},
    [STD] = {"std_ns", SL_COLUMN_REAL_NS, "standard deviation of the sample; 0 if there is one"},
    {NULL, SL_COLUMN_TEXT, NULL},
};

static uint64_t launch_ns(const struct sl_recording *r, uint32_t op)
{
    return r->launch[r->op[op - 1].launch - 1].start_ns;
}

/* Sets first[range] to the operation that was launched first inside a range, plus 1. */
static void find_first(const struct sl_report *report, const struct sl_recording *r,
                       uint32_t *first)
{
    for (uint32_t i = 1; i <= r->ops; i++) {
        const struct sl_report_op *op = &r->op[i - 1];

        if (!op->launch || !sl_report_counts_op(report, r, op))
            continue;
        /* An operation that is not the first in a range is not the first around it either. */
        for (uint32_t at = r->launch[op->launch - 1].range;
             at && (!first[at] || launch_ns(r, i) < launch_ns(r, first[at]));
             at = r->range[at - 1].around)
            first[at] = i;
    }
}

/* In the groups, `bytes` is the time to the first launch. */
static void add_recording(const struct sl_report *report, const struct sl_recording *r,
                          struct sl_sums *delay)
{
    uint32_t *first = calloc(r->ranges + 1, sizeof(*first));

    if (!first) {
        delay->failed = 1;
        return;
    }
    find_first(report, r, first);
    for (size_t i = 0; i < r->ranges; i++) {
        const struct sl_report_range *range = &r->range[i];
        const uint32_t key[SL_SUM_KEYS] = {range->name};
        struct sl_sum *sum;
        uint64_t start_ns;

        if (!range->is_operator || !first[i + 1])
            continue;
        start_ns = r->op[first[i + 1] - 1].start_ns;
        sum = sl_sums_add(delay, key, start_ns > range->start_ns ? start_ns - range->start_ns : 0);
        if (sum)
            sum->bytes += launch_ns(r, first[i + 1]) - range->start_ns;
    }
    free(first);
}

static void add_rank(const struct sl_report *report, size_t first, size_t end, struct sl_table *out)
{
    struct sl_sums delay = {0};

    for (size_t i = first; i < end; i++)
        add_recording(report, &report->recordings.of[i], &delay);
    sl_sums_sort(&delay);
    out->failed |= delay.failed;
    for (size_t i = 0; i < delay.count && !out->failed; i++) {
        const struct sl_sum *sum = &delay.sum[i];
        double to_launch_ns = (double)sum->bytes / (double)sum->count;
        struct sl_cell *row = sl_table_row(out);

        row[RANK] = sl_cell_id(sl_report_rank(&report->recordings.of[first]));
        row[NAME] = sl_cell_text(sl_report_name(report, sum->key[0]));
        row[CALLS] = sl_cell_number(sum->count);
        row[TO_LAUNCH] = sl_cell_real(to_launch_ns);
        row[AFTER_LAUNCH] = sl_cell_real(sl_sum_mean(sum) - to_launch_ns);
        row[MEAN] = sl_cell_real(sl_sum_mean(sum));
        row[MIN] = sl_cell_number(sum->shortest_ns);
        row[MAX] = sl_cell_number(sum->longest_ns);
        row[STD] = sl_cell_real(sl_sum_deviation(sum));
    }
    sl_sums_free(&delay);
}

static void make(const struct sl_report *report, struct sl_table *out)
{
    sl_report_each_rank(report, add_rank, out);
}

const struct sl_metric sl_metric_delay = {
    .name = "delay",
    .title = "the time from an operator's start to its first GPU operation",
    .columns = columns,
    .needs = SL_NEED_RANGES,
    .is_by_stream = 1,
    .formula = "Of each call of an operator, the operation that was launched first counts, also if "
               "an inner operator launched it. Clocks that differ may make the delay 0.",
    .source = "HTA get_aten_op_kernels_and_delay, which has only the innermost aten:: operators",
    .make = make,
};
