/*
 * metric_ranks.c - the steps of each rank together: usual length, drift, and what they are bound
 * by.
 *
 * Threads, memory: see metric.h.
 */
#include "report/metric.h"
#include "report/step_stats.h"

enum {
    RANK,
    DEVICE,
    STEPS,
    MEDIAN,
    LONG,
    BOUND,
    LAUNCH_BOUND,
    GPU_BOUND,
    LATE,
    LATE_RATIO,
    SLOPE,
    DRIFT,
    IS_DRIFT,
    DRIFT_PART,
    PART_SLOPE
};

static const struct sl_column columns[] = {
    [RANK] = {"rank", SL_COLUMN_COUNT, "rank of the process; none if the file does not name it"},
    [DEVICE] = {"device", SL_COLUMN_COUNT, "CUDA's number of the device"},
    [STEPS] = {"steps", SL_COLUMN_COUNT, "number of steps"},
    [MEDIAN] = {"median_ns", SL_COLUMN_NS, "median length of the steps"},
    [LONG] = {"long_steps", SL_COLUMN_COUNT, "number of long steps; see `steps`"},
    [BOUND] = {"bound", SL_COLUMN_TEXT, "launch, GPU or unknown: what most steps are bound by"},
    [LAUNCH_BOUND] = {"launch_bound_steps", SL_COLUMN_COUNT, "steps that are bound by launches"},
    [GPU_BOUND] = {"gpu_bound_steps", SL_COLUMN_COUNT, "steps that are bound by the GPU"},
    [LATE] = {"late_ns", SL_COLUMN_NS, "time in which the GPU waited for launches"},
    [LATE_RATIO] = {"late_ratio", SL_COLUMN_RATIO, "late_ns divided by the length of the steps"},
    [SLOPE] = {"slope_ns", SL_COLUMN_REAL_NS,
               "how much longer each step is than the one before; below 0: shorter"},
    [DRIFT] = {"drift_ns", SL_COLUMN_REAL_NS, "slope_ns from the first to the last step"},
    [IS_DRIFT] = {"is_drift", SL_COLUMN_COUNT,
                  "1: over 1 % of the median, and 3 of 4 pairs of steps agree"},
    [DRIFT_PART] = {"drift_part", SL_COLUMN_TEXT,
                    "of a drift: the part that grows or shrinks most"},
    [PART_SLOPE] = {"part_slope_ns", SL_COLUMN_REAL_NS, "slope of that part"},
    {NULL, SL_COLUMN_TEXT, NULL},
};

static void add_device(const struct sl_report *report, size_t first, size_t end, uint8_t device,
                       struct sl_table *out)
{
    struct sl_step_stats s;
    struct sl_cell *row;

    out->failed |= sl_step_stats_make(&s, report, first, end, device) != 0;
    if (out->failed || s.steps == 0)
        return;
    row = sl_table_row(out);
    row[RANK] = sl_cell_id(sl_report_rank(&report->recordings.of[first]));
    row[DEVICE] = sl_cell_id(device == SL_DEVICE_NONE ? -1 : device);
    row[STEPS] = sl_cell_number(s.steps);
    row[MEDIAN] = sl_cell_number(s.median_ns);
    row[LONG] = sl_cell_number(s.long_steps);
    row[BOUND] = sl_cell_text(sl_step_bound_name(sl_step_stats_bound(&s)));
    row[LAUNCH_BOUND] = sl_cell_number(s.bound[SL_BOUND_LAUNCH]);
    row[GPU_BOUND] = sl_cell_number(s.bound[SL_BOUND_GPU]);
    row[LATE] = sl_cell_number(s.late_ns);
    row[LATE_RATIO] = sl_cell_ratio(s.late_ns, s.length_ns);
    row[SLOPE] = sl_cell_real(s.slope_ns);
    row[DRIFT] = sl_cell_real(s.drift_ns);
    row[IS_DRIFT] = sl_cell_number((uint64_t)s.is_drift);
    if (!s.is_drift)
        return;
    row[DRIFT_PART] = sl_cell_text(sl_part_name(s.drift_part));
    row[PART_SLOPE] = sl_cell_real(s.part_slope_ns);
}

static void make(const struct sl_report *report, struct sl_table *out)
{
    sl_report_each_device(report, add_device, out);
}

const struct sl_metric sl_metric_ranks = {
    .name = "ranks",
    .title = "the steps of each rank together",
    .columns = columns,
    .formula =
        "slope_ns is the Theil-Sen slope: the median of (length b - length a) / (number b - number "
        "a) over all pairs of steps (of more than 200 steps, 200 at equal distances). With less "
        "than 5 steps there is neither a slope nor a long step. The settings of `steps` hold here "
        "too.",
    .source = "syncline",
    .make = make,
};
