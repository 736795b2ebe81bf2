/*
 * metric_annotation_kernels.c - kernels by the user's range in which they were launched.
 *
 * Threads, memory: see metric.h; also 4 bytes for each operator and range.
 */
#include <stdlib.h>

#include "report/metric.h"
#include "report/sums.h"

enum {
    RANK,
    ANNOTATION,
    NAME,
    COUNT,
    SUM,
    MEAN,
    MAX,
    SHARE
};

static const struct sl_column columns[] = {
    [RANK] = {"rank", SL_COLUMN_COUNT, "rank of the process; none if the file does not name it"},
    [ANNOTATION] = {"annotation", SL_COLUMN_TEXT,
                    "name of the innermost range around the launch; none if there is none"},
    [NAME] = {"name", SL_COLUMN_TEXT, "full name of the kernel, copy or memset"},
    [COUNT] = {"count", SL_COLUMN_COUNT, "number of executions"},
    [SUM] = {"sum_ns", SL_COLUMN_NS, "their length together"},
    [MEAN] = {"mean_ns", SL_COLUMN_REAL_NS, "mean length"},
    [MAX] = {"max_ns", SL_COLUMN_NS, "longest"},
    [SHARE] = {"share_ratio", SL_COLUMN_RATIO, "sum_ns divided by the sum of all on this rank"},
    {NULL, SL_COLUMN_TEXT, NULL},
};

static void add_recording(const struct sl_report *report, const struct sl_recording *r,
                          struct sl_sums *sums)
{
    uint32_t *name = calloc(r->ranges + 1, sizeof(*name)); /* of the innermost annotation */

    sums->failed |= !name;
    for (size_t i = 0; name && i < r->ranges; i++)
        name[i + 1] =
            sl_report_is_annotation(&r->range[i]) ? r->range[i].name : name[r->range[i].around];
    for (size_t i = 0; name && i < r->ops; i++) {
        const struct sl_report_op *op = &r->op[i];
        uint32_t range = op->launch ? r->launch[op->launch - 1].range : 0;

        if (sl_report_counts_op(report, r, op))
            sl_sums_add(sums, (const uint32_t[SL_SUM_KEYS]){name[range], op->name},
                        op->end_ns - op->start_ns);
    }
    free(name);
}

static void add_rank(const struct sl_report *report, size_t first, size_t end, struct sl_table *out)
{
    struct sl_sums sums = {0};
    uint64_t all_ns = 0;

    for (size_t i = first; i < end; i++)
        add_recording(report, &report->recordings.of[i], &sums);
    sl_sums_sort(&sums);
    out->failed |= sums.failed;
    for (size_t i = 0; i < sums.count; i++)
        all_ns += sums.sum[i].total_ns;
    for (size_t i = 0; i < sums.count; i++) {
        const struct sl_sum *sum = &sums.sum[i];
        struct sl_cell *row = sl_table_row(out);

        row[RANK] = sl_cell_id(sl_report_rank(&report->recordings.of[first]));
        row[ANNOTATION] = sl_cell_text(sl_report_name(report, sum->key[0]));
        row[NAME] = sl_cell_text(sl_report_name(report, sum->key[1]));
        row[COUNT] = sl_cell_number(sum->count);
        row[SUM] = sl_cell_number(sum->total_ns);
        row[MEAN] = sl_cell_real(sl_sum_mean(sum));
        row[MAX] = sl_cell_number(sum->longest_ns);
        row[SHARE] = sl_cell_ratio(sum->total_ns, all_ns);
    }
    sl_sums_free(&sums);
}

static void make(const struct sl_report *report, struct sl_table *out)
{
    sl_report_each_rank(report, add_rank, out);
}

const struct sl_metric sl_metric_annotation_kernels = {
    .name = "annotation_kernels",
    .title = "kernels by the user's range around their launch",
    .columns = columns,
    .needs = SL_NEED_RANGES,
    .is_by_stream = 1,
    .formula = "Each operation counts once, in the innermost range of the user around its launch "
               "on the same thread. Steps of torch.profiler are no such ranges.",
    .source = "HTA get_gpu_kernels_with_user_annotations, added up by name",
    .make = make,
};
