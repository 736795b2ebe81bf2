/*
 * metric_steps.c - the length of each step, and the steps that are much longer than the others.
 *
 * Threads, memory: see metric.h.
 */
#include <stdlib.h>

#include "report/metric.h"
#include "report/spread.h"

enum {
    RANK,
    DEVICE,
    STEP,
    STEP_NS,
    BUSY,
    OPERATIONS,
    LONG
};

static const struct sl_column columns[] = {
    [RANK] = {"rank", SL_COLUMN_COUNT, "rank of the process; none if the file does not name it"},
    [DEVICE] = {"device", SL_COLUMN_COUNT, "CUDA's number of the device"},
    [STEP] = {"step", SL_COLUMN_COUNT, "number of the step; none: the file has no steps"},
    [STEP_NS] = {"step_ns", SL_COLUMN_NS, "length of the step on the device; see `parts`"},
    [BUSY] = {"busy_ratio", SL_COLUMN_RATIO, "part of it in which anything ran"},
    [OPERATIONS] = {"operations", SL_COLUMN_COUNT, "number of GPU operations"},
    [LONG] = {"is_long", SL_COLUMN_COUNT, "1: longer than median + 6 MAD of the rank's steps"},
    {NULL, SL_COLUMN_TEXT, NULL},
};

/* Returns the length from which on a step is long: median + 6 median absolute deviations, and at
 * least 1 % above the median. */
static uint64_t limit_of(const struct sl_report *report, size_t at, uint8_t device)
{
    const struct sl_parts *p = &report->parts[at];
    uint64_t *length = malloc((p->intervals + 1) * sizeof(*length)), limit = UINT64_MAX;
    size_t count = 0;

    if (!length)
        return limit;
    for (size_t i = 0; i < p->intervals; i++)
        if (p->interval[i].device == device &&
            sl_report_counts_step(report, &report->recordings.of[at], p->interval[i].step))
            length[count++] = p->interval[i].end_ns - p->interval[i].begin_ns;
    limit = sl_spread_limit(length, count);
    free(length);
    return limit;
}

static void make(const struct sl_report *report, struct sl_table *out)
{
    for (size_t at = 0; at < report->recordings.count; at++) {
        const struct sl_recording *r = &report->recordings.of[at];
        const struct sl_parts *p = &report->parts[at];
        uint64_t limit = 0;

        for (size_t i = 0; i < p->intervals; i++) {
            const struct sl_interval *in = &p->interval[i];
            uint64_t length_ns = in->end_ns - in->begin_ns, busy_ns = 0;
            struct sl_cell *row;

            if (i == 0 || in->device != p->interval[i - 1].device)
                limit = limit_of(report, at, in->device);
            if (!sl_report_counts_step(report, r, in->step))
                continue;
            for (int part = 0; part < SL_PART_SYNC; part++)
                busy_ns += in->part_ns[part];
            row = sl_table_row(out);
            row[RANK] = sl_cell_id(sl_report_rank(r));
            row[DEVICE] = sl_cell_device(in->device);
            if (in->step)
                row[STEP] = sl_cell_number(r->step[in->step - 1].number);
            row[STEP_NS] = sl_cell_number(length_ns);
            row[BUSY] = sl_cell_ratio(busy_ns, length_ns);
            row[OPERATIONS] = sl_cell_number(in->ops);
            row[LONG] = sl_cell_number(length_ns > limit);
        }
    }
}

const struct sl_metric sl_metric_steps = {
    .name = "steps",
    .title = "the length of each step",
    .columns = columns,
    .formula =
        "A step is long if it is longer than median + 6 MAD (median absolute deviation) of the "
        "steps of its recording and device, and at least 1 % longer than the median.",
    .source = "syncline",
    .make = make,
};
