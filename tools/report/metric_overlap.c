/*
 * metric_overlap.c - which kinds of work ran side by side, and how much communication computing
 * hides.
 *
 * Threads, memory: see metric.h.
 */
#include "report/busy.h"
#include "report/metric.h"

#define DEVICES_MAX 64

enum {
    RANK,
    DEVICE,
    LENGTH,
    FIRST,
    COMPUTE = FIRST,
    COMMUNICATION,
    COMPUTE_COMMUNICATION,
    COPY,
    COMPUTE_COPY,
    COMMUNICATION_COPY,
    ALL,
    IDLE,
    OVERLAP
};

static const struct sl_column columns[] = {
    [RANK] = {"rank", SL_COLUMN_COUNT, "rank of the process; none if the file does not name it"},
    [DEVICE] = {"device", SL_COLUMN_COUNT, "CUDA's number of the device"},
    [LENGTH] = {"length_ns", SL_COLUMN_NS, "length of the chosen steps"},
    [COMPUTE] = {"compute_ns", SL_COLUMN_NS, "only kernels run that are not communication"},
    [COMMUNICATION] = {"communication_ns", SL_COLUMN_NS, "only communication runs"},
    [COMPUTE_COMMUNICATION] = {"compute_communication_ns", SL_COLUMN_NS, "both run"},
    [COPY] = {"copy_ns", SL_COLUMN_NS, "only copies and memsets run"},
    [COMPUTE_COPY] = {"compute_copy_ns", SL_COLUMN_NS, "computing and copies run"},
    [COMMUNICATION_COPY] = {"communication_copy_ns", SL_COLUMN_NS, "communication and copies run"},
    [ALL] = {"all_ns", SL_COLUMN_NS, "all three run"},
    [IDLE] = {"idle_ns", SL_COLUMN_NS, "nothing runs"},
    [OVERLAP] = {"overlap_ratio", SL_COLUMN_RATIO,
                 "part of the communication during which computing runs too"},
    {NULL, SL_COLUMN_TEXT, NULL},
};

static void add_rank(const struct sl_report *report, size_t first, size_t end, struct sl_table *out)
{
    struct sl_busy busy[DEVICES_MAX];
    int count = sl_busy_make(report, first, end, busy, DEVICES_MAX);

    out->failed |= count < 0;
    for (int i = 0; i < count; i++) {
        const uint64_t *ns = busy[i].ns;
        struct sl_cell *row = sl_table_row(out);
        uint64_t length_ns = ns[0], hidden_ns = 0, communication_ns = 0;

        row[RANK] = sl_cell_id(sl_report_rank(&report->recordings.of[first]));
        row[DEVICE] = sl_cell_device(busy[i].device);
        for (unsigned mask = 1; mask < 1 << SL_WORK_COUNT; mask++) {
            row[FIRST + mask - 1] = sl_cell_number(ns[mask]);
            length_ns += ns[mask];
            if (!(mask & 1 << SL_WORK_COMMUNICATION))
                continue;
            communication_ns += ns[mask];
            hidden_ns += mask & 1 << SL_WORK_COMPUTE ? ns[mask] : 0;
        }
        row[LENGTH] = sl_cell_number(length_ns);
        row[IDLE] = sl_cell_number(ns[0]);
        row[OVERLAP] = sl_cell_ratio(hidden_ns, communication_ns);
    }
}

static void make(const struct sl_report *report, struct sl_table *out)
{
    sl_report_each_rank(report, add_rank, out);
}

const struct sl_metric sl_metric_overlap = {
    .name = "overlap",
    .title = "work that runs side by side",
    .columns = columns,
    .formula =
        "The time of the chosen steps is cut by which kinds of work run. overlap_ratio is the time "
        "in "
        "which communication and computing run, divided by the time in which communication runs.",
    .source = "HTA get_comm_comp_overlap, get_temporal_breakdown and the types of "
              "get_gpu_kernel_breakdown",
    .make = make,
};
