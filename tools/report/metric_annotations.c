/*
 * metric_annotations.c - the GPU work that was launched inside each range of the user.
 *
 * Threads, memory: see metric.h; also 40 bytes for each operator and range.
 */
#include <stdlib.h>
#include <string.h>

#include "report/metric.h"
#include "report/sums.h"

enum {
    RANK,
    NAME,
    COUNT,
    OPERATIONS,
    GPU,
    SPAN,
    MEAN,
    MIN,
    MAX,
    STD
};

static const struct sl_column columns[] = {
    [RANK] = {"rank", SL_COLUMN_COUNT, "rank of the process; none if the file does not name it"},
    [NAME] = {"annotation", SL_COLUMN_TEXT, "name of the range"},
    [COUNT] = {"count", SL_COLUMN_COUNT, "ranges of this name that launched GPU work"},
    [OPERATIONS] = {"operations", SL_COLUMN_COUNT, "GPU operations launched in them"},
    [GPU] = {"gpu_ns", SL_COLUMN_NS, "length of the operations together"},
    [SPAN] = {"span_ns", SL_COLUMN_NS,
              "time from the first start to the last end of each range, together"},
    [MEAN] = {"span_mean_ns", SL_COLUMN_REAL_NS, "mean of these times"},
    [MIN] = {"span_min_ns", SL_COLUMN_NS, "shortest"},
    [MAX] = {"span_max_ns", SL_COLUMN_NS, "longest"},
    [STD] = {"span_std_ns", SL_COLUMN_REAL_NS,
             "standard deviation of the sample; 0 if there is one"},
    {NULL, SL_COLUMN_TEXT, NULL},
};

/* The GPU work of a range, and of all ranges in it. */
struct work {
    uint64_t ops, gpu_ns, begin_ns, end_ns;
};

static void join(struct work *to, const struct work *from)
{
    if (!to->ops || from->begin_ns < to->begin_ns)
        to->begin_ns = from->begin_ns;
    if (from->end_ns > to->end_ns)
        to->end_ns = from->end_ns;
    to->ops += from->ops;
    to->gpu_ns += from->gpu_ns;
}

/* Returns 1 if a range of the same name is around the range. */
static int is_inside_same(const struct sl_recording *r, const struct sl_report_range *range)
{
    for (uint32_t at = range->around; at; at = r->range[at - 1].around)
        if (r->range[at - 1].name == range->name && sl_report_is_annotation(&r->range[at - 1]))
            return 1;
    return 0;
}

static void add_recording(const struct sl_report *report, const struct sl_recording *r,
                          struct sl_sums *sums)
{
    struct work *work = calloc(r->ranges + 1, sizeof(*work));

    sums->failed |= !work;
    for (size_t i = 0; work && i < r->ops; i++) {
        const struct sl_report_op *op = &r->op[i];

        if (op->launch && sl_report_counts_op(report, r, op))
            join(&work[r->launch[op->launch - 1].range],
                 &(struct work){1, op->end_ns - op->start_ns, op->start_ns, op->end_ns});
    }
    /* Outer ranges come before inner ones, so each is complete when it is joined to the next. */
    for (size_t i = r->ranges; work && i > 0; i--)
        if (work[i].ops && r->range[i - 1].around)
            join(&work[r->range[i - 1].around], &work[i]);
    for (size_t i = 0; work && i < r->ranges; i++) {
        const struct sl_report_range *range = &r->range[i];
        const struct work *w = &work[i + 1];
        struct sl_sum *sum;

        if (!w->ops || !sl_report_is_annotation(range) || is_inside_same(r, range))
            continue;
        sum =
            sl_sums_add(sums, (const uint32_t[SL_SUM_KEYS]){range->name}, w->end_ns - w->begin_ns);
        if (!sum)
            break;
        sum->bytes += w->gpu_ns;
        sum->most_bytes += w->ops;
    }
    free(work);
}

static void add_rank(const struct sl_report *report, size_t first, size_t end, struct sl_table *out)
{
    struct sl_sums sums = {0};

    for (size_t i = first; i < end; i++)
        add_recording(report, &report->recordings.of[i], &sums);
    sl_sums_sort(&sums);
    out->failed |= sums.failed;
    for (size_t i = 0; i < sums.count; i++) {
        const struct sl_sum *sum = &sums.sum[i];
        struct sl_cell *row = sl_table_row(out);

        row[RANK] = sl_cell_id(sl_report_rank(&report->recordings.of[first]));
        row[NAME] = sl_cell_text(sl_report_name(report, sum->key[0]));
        row[COUNT] = sl_cell_number(sum->count);
        row[OPERATIONS] = sl_cell_number(sum->most_bytes);
        row[GPU] = sl_cell_number(sum->bytes);
        row[SPAN] = sl_cell_number(sum->total_ns);
        row[MEAN] = sl_cell_real(sl_sum_mean(sum));
        row[MIN] = sl_cell_number(sum->shortest_ns);
        row[MAX] = sl_cell_number(sum->longest_ns);
        row[STD] = sl_cell_real(sl_sum_deviation(sum));
    }
    sl_sums_free(&sums);
}

static void make(const struct sl_report *report, struct sl_table *out)
{
    sl_report_each_rank(report, add_rank, out);
}

const struct sl_metric sl_metric_annotations = {
    .name = "annotations",
    .title = "the GPU work of each range of the user",
    .columns = columns,
    .needs = SL_NEED_RANGES,
    .is_by_stream = 1,
    .formula = "The GPU work of a range is what was launched inside on the same thread, also in "
               "inner ranges. Ranges inside a range of the same name count only there. Steps of "
               "torch.profiler (ProfilerStep) are left out; see `steps`.",
    .source = "HTA get_gpu_user_annotation_breakdown, from the file's rows of such ranges: they "
              "are per stream, and an outer range lacks the work of inner ones",
    .make = make,
};
