/*
 * metric_parts.c - where each step went, on each device.
 *
 * Threads, memory: see metric.h.
 */
#include "report/metric.h"

enum {
    RANK,
    DEVICE,
    STEP,
    BEGIN,
    STEP_NS,
    OPERATIONS,
    FIRST_PART,
    AFTER_SYNC = FIRST_PART + SL_PART_COUNT,
    BETWEEN
};

static const struct sl_column columns[] = {
    [RANK] = {"rank", SL_COLUMN_COUNT, "rank of the process; none if the file does not name it"},
    [DEVICE] = {"device", SL_COLUMN_COUNT, "CUDA's number of the device"},
    [STEP] = {"step", SL_COLUMN_COUNT, "number of the step; none: between steps, or no steps"},
    [BEGIN] = {"begin_ns", SL_COLUMN_NS, "begin of the interval, in the file's time"},
    [STEP_NS] = {"step_ns", SL_COLUMN_NS, "length of the interval; the parts add up to it"},
    [OPERATIONS] = {"operations", SL_COLUMN_COUNT, "number of operations launched in the step"},
    [FIRST_PART +
        SL_PART_COMPUTE] = {"compute_ns", SL_COLUMN_NS, "a kernel runs that is not communication"},
    [FIRST_PART + SL_PART_TRANSFER] = {"transfer_ns", SL_COLUMN_NS,
                                       "only communication runs, and all ranks have begun it"},
    [FIRST_PART + SL_PART_WAITING] = {"waiting_ns", SL_COLUMN_NS,
                                      "only communication runs, before the last rank begins it"},
    [FIRST_PART + SL_PART_COPY] = {"copy_ns", SL_COLUMN_NS, "only copies and memsets run"},
    [FIRST_PART +
        SL_PART_SYNC] = {"sync_ns", SL_COLUMN_NS,
                         "idle: the launching thread was in a call that waits for the GPU"},
    [FIRST_PART +
        SL_PART_CPU] = {"cpu_ns", SL_COLUMN_NS, "idle: the launching thread did other work"},
    [FIRST_PART + SL_PART_LOADER] = {"loader_ns", SL_COLUMN_NS,
                                     "idle: the launching thread fetched a batch of data"},
    [FIRST_PART + SL_PART_LAUNCH] = {"launch_ns", SL_COLUMN_NS, "idle: a launch was under way"},
    [FIRST_PART + SL_PART_QUEUED] = {"queued_ns", SL_COLUMN_NS,
                                     "idle: the launch had been made at least 30 us before"},
    [FIRST_PART +
        SL_PART_UNKNOWN] = {"unknown_ns", SL_COLUMN_NS, "idle: the launch is not in the file"},
    [AFTER_SYNC] = {"after_sync_ns", SL_COLUMN_NS,
                    "the part of cpu_ns before which the thread was in a wait"},
    [BETWEEN] = {"between_ns", SL_COLUMN_NS,
                 "the part of launch_ns in gaps between queued operations: the launch had ended"},
    {NULL, SL_COLUMN_TEXT, NULL},
};

static void add(const struct sl_recording *r, const struct sl_interval *i, struct sl_table *out)
{
    struct sl_cell *row = sl_table_row(out);

    row[RANK] = sl_cell_id(sl_report_rank(r));
    row[DEVICE] = sl_cell_device(i->device);
    if (i->step)
        row[STEP] = sl_cell_number(r->step[i->step - 1].number);
    row[BEGIN] = sl_cell_number(i->begin_ns - SL_REPORT_ORIGIN_NS);
    row[STEP_NS] = sl_cell_number(i->end_ns - i->begin_ns);
    row[OPERATIONS] = sl_cell_number(i->ops);
    for (int part = 0; part < SL_PART_COUNT; part++)
        row[FIRST_PART + part] = sl_cell_number(i->part_ns[part]);
    row[AFTER_SYNC] = sl_cell_number(i->after_sync_ns);
    row[BETWEEN] = sl_cell_number(i->between_ns);
}

/* Without --steps, also the time between steps has rows, so that all recorded time is there. */
static void make(const struct sl_report *report, struct sl_table *out)
{
    for (size_t i = 0; i < report->recordings.count; i++) {
        const struct sl_recording *r = &report->recordings.of[i];

        for (size_t k = 0; k < report->parts[i].intervals; k++) {
            const struct sl_interval *in = &report->parts[i].interval[k];

            if (!sl_report_chooses_steps(report) || sl_report_counts_step(report, r, in->step))
                add(r, in, out);
        }
    }
}

const struct sl_metric sl_metric_parts = {
    .name = "parts",
    .title = "where each step went",
    .columns = columns,
    .formula =
        "An operation belongs to the step in which its launch began. The interval of a step runs "
        "from "
        "the latest end of the operations of earlier steps to the latest end of its own. At each "
        "moment the first holds: a kernel runs that is not communication (compute); communication "
        "runs (transfer, or waiting if a rank has not begun it); a copy or memset runs (copy); "
        "else "
        "idle. Idle time is divided by what kept the operation that ended it from beginning "
        "earlier.",
    .source = "syncline",
    .make = make,
};
