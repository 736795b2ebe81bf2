/*
 * metric_bandwidth.c - the bandwidth of each kind of copy, while there is one.
 *
 * Threads, memory: see metric.h.
 */
#include <float.h>

#include "report/counters.h"
#include "report/metric.h"

enum {
    RANK,
    DEVICE,
    NAME,
    COPIES,
    BUSY,
    TIME_MEAN,
    SUMMARY
};

static const struct sl_column columns[] = {
    [RANK] = {"rank", SL_COLUMN_COUNT, "rank of the process; none if the file does not name it"},
    [DEVICE] = {"device", SL_COLUMN_COUNT, "CUDA's number of the device"},
    [NAME] = {"name", SL_COLUMN_TEXT, "kind of the copy"},
    [COPIES] = {"copies", SL_COLUMN_COUNT, "number of copies"},
    [BUSY] = {"busy_ns", SL_COLUMN_NS, "time in which at least one ran"},
    [TIME_MEAN] = {"mean_over_time_gb_per_s", SL_COLUMN_REAL,
                   "each value counts as long as it lasted"},
    SL_SUMMARY_COLUMNS(SUMMARY, SL_COLUMN_REAL, "_gb_per_s",
                       "of the values above 0, each change counting once"),
    {NULL, SL_COLUMN_TEXT, NULL},
};

static int add(void *user, const struct sl_report *report, const struct sl_recording *r,
               struct sl_counter *counter)
{
    struct sl_series_summary summary;
    int rc = sl_series_summary(&counter->series, DBL_MIN, DBL_MIN, &summary);
    struct sl_cell *row;

    if (rc || !summary.points)
        return rc;
    row = sl_table_row(user);
    row[RANK] = sl_cell_id(sl_report_rank(r));
    row[DEVICE] = sl_cell_device(counter->device);
    row[NAME] = sl_cell_text(sl_report_name(report, counter->name));
    row[COPIES] = sl_cell_number(counter->things);
    row[BUSY] = sl_cell_number(summary.length_ns);
    row[TIME_MEAN] = sl_cell_real(summary.mean_over_time);
    sl_cells_summary(&row[SUMMARY], &summary.of);
    return 0;
}

static void make(const struct sl_report *report, struct sl_table *out)
{
    for (size_t i = 0; i < report->recordings.count && !out->failed; i++)
        out->failed |= sl_counters_bandwidth(report, &report->recordings.of[i], add, out) != 0;
}

const struct sl_metric sl_metric_bandwidth = {
    .name = "bandwidth",
    .title = "the bandwidth of copies and memsets",
    .columns = columns,
    .is_by_stream = 1,
    .formula = "At each moment the sum over the copies of a kind that run, each with its bytes "
               "divided by its length, in 10^9 bytes a second. Copies without length or size are "
               "left out. At equal times an end comes before a begin.",
    .source = "HTA get_memory_bw_summary, by device, and with a mean over time",
    .make = make,
};
