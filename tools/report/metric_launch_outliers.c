/*
 * metric_launch_outliers.c - the slowest calls that launch, and the operations that began latest
 * after their launch.
 *
 * Threads, memory: see metric.h; also 1 byte for each launch.
 */
#include <stdlib.h>
#include <string.h>

#include "report/metric.h"

enum {
    RANK,
    KIND,
    CALL,
    OPERATION,
    STREAM,
    BEGIN,
    CALL_NS,
    DELAY,
    GPU,
    PLACE,
    LINE
};

static const struct sl_column columns[] = {
    [RANK] = {"rank", SL_COLUMN_COUNT, "rank of the process; none if the file does not name it"},
    [KIND] = {"kind", SL_COLUMN_TEXT, "slow call or late kernel"},
    [CALL] = {"call", SL_COLUMN_TEXT, "the call that launched"},
    [OPERATION] = {"operation", SL_COLUMN_TEXT, "the kernel, copy or memset"},
    [STREAM] = {"stream", SL_COLUMN_COUNT, "its stream"},
    [BEGIN] = {"begin_ns", SL_COLUMN_NS, "begin of the call"},
    [CALL_NS] = {"call_ns", SL_COLUMN_NS, "length of the call"},
    [DELAY] = {"delay_ns", SL_COLUMN_NS,
               "time from the end of the call to the operation's start; 0 if that is earlier"},
    [GPU] = {"gpu_ns", SL_COLUMN_NS, "length of the operation"},
    [PLACE] = {"place", SL_COLUMN_TEXT, "innermost operator or range around the call"},
    [LINE] = {"line", SL_COLUMN_TEXT, "line of the user's code, if the file has it"},
    {NULL, SL_COLUMN_TEXT, NULL},
};

enum {
    RUNTIME_CUTOFF,
    LAUNCH_DELAY_CUTOFF,
    TOP
};

static const struct sl_setting settings[] = {
    [RUNTIME_CUTOFF] = {"runtime_cutoff", "us", "only slower calls are shown", 0, 1e9, 50, NULL},
    [LAUNCH_DELAY_CUTOFF] = {"launch_delay_cutoff", "us", "only later operations are shown", 0, 1e9,
                             100, NULL},
    [TOP] = {"top", "", "most rows of each kind and rank", 1, 1000, 10, NULL},
    {NULL, NULL, NULL, 0, 0, 0, NULL},
};

/* The worst so far, the worst first; of equals, the earliest first. */
struct worst {
    struct outlier {
        uint64_t ns;
        const struct sl_report_op *op;
        const struct sl_report_launch *launch;
    } * of;
    size_t count, most;
};

static void add(struct worst *w, uint64_t ns, const struct sl_report_op *op,
                const struct sl_report_launch *l)
{
    size_t low = 0, high = w->count;

    if (w->count == w->most && ns <= w->of[w->most - 1].ns)
        return;
    while (low < high) {
        size_t middle = (low + high) / 2;

        if (w->of[middle].ns >= ns)
            low = middle + 1;
        else
            high = middle;
    }
    w->count += w->count < w->most;
    memmove(&w->of[low + 1], &w->of[low], (w->count - 1 - low) * sizeof(*w->of));
    w->of[low] = (struct outlier){ns, op, l};
}

static void add_rows(const struct sl_report *report, int64_t rank, const char *kind,
                     const struct worst *w, struct sl_table *out)
{
    for (size_t i = 0; i < w->count; i++) {
        const struct sl_report_launch *l = w->of[i].launch;
        const struct sl_report_op *op = w->of[i].op;
        struct sl_cell *row = sl_table_row(out);

        row[RANK] = sl_cell_id(rank);
        row[KIND] = sl_cell_text(kind);
        row[CALL] = sl_cell_text(sl_report_name(report, l->name));
        row[OPERATION] = sl_cell_text(sl_report_name(report, op->name));
        row[STREAM] = sl_cell_number(op->stream);
        row[BEGIN] = sl_cell_time(l->start_ns);
        row[CALL_NS] = sl_cell_number(l->end_ns - l->start_ns);
        row[DELAY] = sl_cell_number(op->start_ns > l->end_ns ? op->start_ns - l->end_ns : 0);
        row[GPU] = sl_cell_number(op->end_ns - op->start_ns);
        row[PLACE] = sl_cell_text(sl_report_name(report, l->place));
        row[LINE] = sl_cell_text(sl_report_name(report, l->line));
    }
}

/* Adds the launches of a recording, each with its first operation. */
static int add_recording(const struct sl_report *report, const struct sl_recording *r,
                         const struct sl_metric *metric, struct worst *slow, struct worst *late)
{
    double slow_ns = 1000 * sl_setting(&report->settings, metric, RUNTIME_CUTOFF).number;
    double late_ns = 1000 * sl_setting(&report->settings, metric, LAUNCH_DELAY_CUTOFF).number;
    char *seen = calloc(r->launches + 1, 1);

    for (size_t i = 0; seen && i < r->ops; i++) {
        const struct sl_report_op *op = &r->op[i];
        const struct sl_report_launch *l = op->launch ? &r->launch[op->launch - 1] : NULL;
        uint64_t call_ns;

        if (!l || seen[op->launch] || !sl_report_counts_op(report, r, op))
            continue;
        seen[op->launch] = 1;
        call_ns = l->end_ns - l->start_ns;
        if ((double)call_ns > slow_ns)
            add(slow, call_ns, op, l);
        if (op->start_ns > l->end_ns && (double)(op->start_ns - l->end_ns) > late_ns)
            add(late, op->start_ns - l->end_ns, op, l);
    }
    free(seen);
    return seen ? 0 : -1;
}

static void add_rank(const struct sl_report *report, size_t first, size_t end, struct sl_table *out)
{
    size_t top = (size_t)sl_setting(&report->settings, out->metric, TOP).number;
    struct worst slow = {.of = calloc(top + 1, sizeof(struct outlier)), .most = top};
    struct worst late = {.of = calloc(top + 1, sizeof(struct outlier)), .most = top};
    int64_t rank = sl_report_rank(&report->recordings.of[first]);

    out->failed |= !slow.of || !late.of;
    for (size_t i = first; i < end && !out->failed; i++)
        out->failed |=
            add_recording(report, &report->recordings.of[i], out->metric, &slow, &late) != 0;
    if (!out->failed) {
        add_rows(report, rank, "slow call", &slow, out);
        add_rows(report, rank, "late kernel", &late, out);
    }
    free(slow.of);
    free(late.of);
}

static void make(const struct sl_report *report, struct sl_table *out)
{
    sl_report_each_rank(report, add_rank, out);
}

const struct sl_metric sl_metric_launch_outliers = {
    .name = "launch_outliers",
    .title = "the slowest launches, and the kernels that began latest after them",
    .columns = columns,
    .settings = settings,
    .is_by_stream = 1,
    .formula = "Calls that took more than runtime_cutoff, and operations that began more than "
               "launch_delay_cutoff after the end of their call. Of a graph only the first "
               "operation counts. `launch` has the sums.",
    .source = "HTA get_cuda_kernel_launch_stats shows them as histograms",
    .make = make,
};
