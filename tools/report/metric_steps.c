/*
 * metric_steps.c - the length of each step, the steps that are much longer than the others, and
 * whether launches came in time.
 *
 * Threads, memory: see metric.h.
 */
#include "report/metric.h"
#include "report/step_stats.h"

enum {
    RANK,
    DEVICE,
    STEP,
    STEP_NS,
    BUSY,
    OPERATIONS,
    BOUND,
    LATE,
    LONG,
    GROWN,
    GROWN_NS
};

static const struct sl_column columns[] = {
    [RANK] = {"rank", SL_COLUMN_COUNT, "rank of the process; none if the file does not name it"},
    [DEVICE] = {"device", SL_COLUMN_COUNT, "CUDA's number of the device"},
    [STEP] = {"step", SL_COLUMN_COUNT, "number of the step; none: the file has no steps"},
    [STEP_NS] = {"step_ns", SL_COLUMN_NS, "length of the step on the device; see `parts`"},
    [BUSY] = {"busy_ratio", SL_COLUMN_RATIO, "part of it in which anything ran"},
    [OPERATIONS] = {"operations", SL_COLUMN_COUNT, "number of GPU operations"},
    [BOUND] = {"bound", SL_COLUMN_TEXT, "launch, GPU or unknown: what the step was bound by"},
    [LATE] = {"late_ns", SL_COLUMN_NS,
              "time in which the GPU waited for launches: sync + cpu + loader + launch of `parts`"},
    [LONG] = {"is_long", SL_COLUMN_COUNT, "1: longer than the other steps of the device"},
    [GROWN] = {"grown_part", SL_COLUMN_TEXT,
               "of a long step: the part that exceeds its median of all steps most"},
    [GROWN_NS] = {"grown_ns", SL_COLUMN_NS, "by how much"},
    {NULL, SL_COLUMN_TEXT, NULL},
};

static const struct sl_setting settings[] = {
    [SL_STEPS_DEVIATIONS] = {"deviations", "",
                             "a step is long above the median and so many median absolute "
                             "deviations",
                             0, 1000, 6, NULL},
    [SL_STEPS_LONG_RATIO] = {"long_ratio", "", "and above the median by this part of it", 0, 1000,
                             0.01, NULL},
    [SL_STEPS_DRIFT_RATIO] = {"drift_ratio", "",
                              "a drift is shown above this part of the median step", 0, 1000, 0.01,
                              NULL},
    [SL_STEPS_LAUNCH_RATIO] = {"launch_ratio", "",
                               "a step is bound by launches if the GPU waits for them in this part "
                               "of it",
                               0, 1, 0.1, NULL},
    {NULL, NULL, NULL, 0, 0, 0, NULL},
};

static void add_step(const struct sl_report *report, const struct sl_recording *r,
                     const struct sl_interval *in, const struct sl_step_stats *stats,
                     struct sl_table *out)
{
    uint64_t length_ns = in->end_ns - in->begin_ns, busy_ns = 0, late_ns = 0, more_ns;
    struct sl_cell *row = sl_table_row(out);

    for (int part = 0; part < SL_PART_SYNC; part++)
        busy_ns += in->part_ns[part];
    row[RANK] = sl_cell_id(sl_report_rank(r));
    row[DEVICE] = sl_cell_id(in->device == SL_DEVICE_NONE ? -1 : in->device);
    if (in->step)
        row[STEP] = sl_cell_number(r->step[in->step - 1].number);
    row[STEP_NS] = sl_cell_number(length_ns);
    row[BUSY] = sl_cell_ratio(busy_ns, length_ns);
    row[OPERATIONS] = sl_cell_number(in->ops);
    row[BOUND] = sl_cell_text(sl_step_bound_name(sl_step_bound(report, in, &late_ns)));
    row[LATE] = sl_cell_number(late_ns);
    row[LONG] = sl_cell_number(length_ns > stats->limit_ns);
    if (length_ns <= stats->limit_ns)
        return;
    row[GROWN] = sl_cell_text(sl_part_name(sl_step_stats_grown(stats, in, &more_ns)));
    row[GROWN_NS] = sl_cell_number(more_ns);
}

static void add_device(const struct sl_report *report, size_t first, size_t end, uint8_t device,
                       struct sl_table *out)
{
    struct sl_step_stats stats;

    out->failed |= sl_step_stats_make(&stats, report, first, end, device) != 0;
    for (size_t at = first; at < end && !out->failed; at++) {
        const struct sl_recording *r = &report->recordings.of[at];

        for (size_t i = 0; i < report->parts[at].intervals; i++) {
            const struct sl_interval *in = &report->parts[at].interval[i];

            if (in->device == device && sl_report_counts_step(report, r, in->step))
                add_step(report, r, in, &stats, out);
        }
    }
}

static void make(const struct sl_report *report, struct sl_table *out)
{
    sl_report_each_device(report, add_device, out);
}

const struct sl_metric sl_metric_steps = {
    .name = "steps",
    .title = "the length of each step",
    .columns = columns,
    .settings = settings,
    .formula =
        "A step is long if it is longer than median + 6 MAD (median absolute deviation) of the "
        "steps of its rank and device, and at least 1 % longer than the median. A step is bound by "
        "launches if the GPU waited for late launches in 10 % of it or more (late_ns). Else it is "
        "bound by the GPU, unless idle time of unknown cause could be 10 % together with late_ns.",
    .source = "syncline",
    .make = make,
};
