/*
 * metric_bandwidth_series.c - the bandwidth of each kind of copy over time.
 *
 * Threads, memory: see metric.h.
 */
#include "report/counters.h"
#include "report/metric.h"

enum {
    RANK,
    DEVICE,
    NAME,
    BEGIN,
    BANDWIDTH
};

static const struct sl_column columns[] = {
    [RANK] = {"rank", SL_COLUMN_COUNT, "rank of the process; none if the file does not name it"},
    [DEVICE] = {"device", SL_COLUMN_COUNT, "CUDA's number of the device"},
    [NAME] = {"name", SL_COLUMN_TEXT, "kind of the copy"},
    [BEGIN] = {"begin_ns", SL_COLUMN_NS, "time of the change"},
    [BANDWIDTH] = {"gb_per_s", SL_COLUMN_REAL, "10^9 bytes a second from then on"},
    {NULL, SL_COLUMN_TEXT, NULL},
};

static const struct sl_setting settings[] = {
    SL_SERIES_POINTS,
    {NULL, NULL, NULL, 0, 0, 0, NULL},
};

static int add(void *user, const struct sl_report *report, const struct sl_recording *r,
               struct sl_counter *counter)
{
    struct sl_table *out = user;
    struct sl_series *s = &counter->series;

    sl_counter_thin(report, counter, sl_setting(&report->settings, out->metric, 0).number);
    for (size_t i = 0; i < s->points; i++) {
        struct sl_cell *row = sl_table_row(out);

        row[RANK] = sl_cell_id(sl_report_rank(r));
        row[DEVICE] = sl_cell_device(counter->device);
        row[NAME] = sl_cell_text(sl_report_name(report, counter->name));
        row[BEGIN] = sl_cell_time(s->point[i].ns);
        row[BANDWIDTH] = sl_cell_real(s->point[i].value);
    }
    return 0;
}

static void make(const struct sl_report *report, struct sl_table *out)
{
    for (size_t i = 0; i < report->recordings.count && !out->failed; i++)
        out->failed |= sl_counters_bandwidth(report, &report->recordings.of[i], add, out) != 0;
}

const struct sl_metric sl_metric_bandwidth_series = {
    .name = "bandwidth_series",
    .title = "the bandwidth of copies and memsets over time",
    .columns = columns,
    .settings = settings,
    .is_by_stream = 1,
    .formula = "The points of `bandwidth`, and those at which it becomes 0. A longer series is "
               "divided into equal spans of time, each with its lowest and its highest point.",
    .source = "HTA get_memory_bw_time_series",
    .make = make,
};
