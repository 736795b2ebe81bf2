/*
 * metric_kernels.c - time and number of each kernel, copy and memset.
 *
 * Threads, memory: see metric.h.
 */
#include "report/metric.h"
#include "report/sums.h"

enum {
    RANK,
    CLASS,
    NAME,
    COUNT,
    SUM,
    MEAN,
    MIN,
    MAX,
    STD,
    SHARE
};

static const struct sl_column columns[] = {
    [RANK] = {"rank", SL_COLUMN_COUNT, "rank of the process; none if the file does not name it"},
    [CLASS] = {"class", SL_COLUMN_TEXT, "compute, communication or copy"},
    [NAME] = {"name", SL_COLUMN_TEXT, "full name"},
    [COUNT] = {"count", SL_COLUMN_COUNT, "number of executions"},
    [SUM] = {"sum_ns", SL_COLUMN_NS, "their length together; they may have run side by side"},
    [MEAN] = {"mean_ns", SL_COLUMN_REAL_NS, "mean length"},
    [MIN] = {"min_ns", SL_COLUMN_NS, "shortest"},
    [MAX] = {"max_ns", SL_COLUMN_NS, "longest"},
    [STD] = {"std_ns", SL_COLUMN_REAL_NS, "standard deviation of the sample; 0 if there is one"},
    [SHARE] = {"share_ratio", SL_COLUMN_RATIO, "sum_ns divided by the sum of all on this rank"},
    {NULL, SL_COLUMN_TEXT, NULL},
};

static const char *const class_name[SL_WORK_COUNT] = {"compute", "communication", "copy"};

/* Adds the rows of the rank whose recordings are [first, end). */
static void add_rank(const struct sl_report *report, size_t first, size_t end, struct sl_table *out)
{
    struct sl_sums groups = sl_report_kernels(report, first, end);
    uint64_t all_ns = 0;

    out->failed |= groups.failed;
    for (size_t i = 0; i < groups.count; i++)
        all_ns += groups.sum[i].total_ns;
    for (size_t i = 0; i < groups.count; i++) {
        const struct sl_sum *g = &groups.sum[i];
        struct sl_cell *row = sl_table_row(out);

        row[RANK] = sl_cell_id(sl_report_rank(&report->recordings.of[first]));
        row[CLASS] = sl_cell_text(class_name[g->key[0]]);
        row[NAME] = sl_cell_text(sl_report_name(report, g->key[1]));
        row[COUNT] = sl_cell_number(g->count);
        row[SUM] = sl_cell_number(g->total_ns);
        row[MEAN] = sl_cell_real(sl_sum_mean(g));
        row[MIN] = sl_cell_number(g->shortest_ns);
        row[MAX] = sl_cell_number(g->longest_ns);
        row[STD] = sl_cell_real(sl_sum_deviation(g));
        row[SHARE] = sl_cell_ratio(g->total_ns, all_ns);
    }
    sl_sums_free(&groups);
}

static void make(const struct sl_report *report, struct sl_table *out)
{
    sl_report_each_rank(report, add_rank, out);
}

const struct sl_metric sl_metric_kernels = {
    .name = "kernels",
    .title = "kernels, copies and memsets by name",
    .columns = columns,
    .is_by_stream = 1,
    .formula =
        "Sums over all executions in the chosen steps. A kernel is communication if its name "
        "begins with nccl, rccl, multimem_, nvshmem or mscclKernel, or contains deep_ep.",
    .source = "HTA get_gpu_kernel_breakdown, with a count and without \"others\"",
    .make = make,
};
