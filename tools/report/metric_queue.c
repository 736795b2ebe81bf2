/*
 * metric_queue.c - statistics of the length of each stream's queue.
 *
 * Threads, memory: see metric.h.
 */
#include "report/counters.h"
#include "report/metric.h"

enum {
    RANK,
    DEVICE,
    STREAM,
    LAUNCHES,
    TIME_MEAN,
    SUMMARY,
    BLOCKED = SUMMARY + SL_SUMMARY_CELLS,
    BLOCKED_RATIO,
    POINTS
};

static const struct sl_column columns[] = {
    [RANK] = {"rank", SL_COLUMN_COUNT, "rank of the process; none if the file does not name it"},
    [DEVICE] = {"device", SL_COLUMN_COUNT, "CUDA's number of the device"},
    [STREAM] = {"stream", SL_COLUMN_COUNT, "CUDA's number of the stream"},
    [LAUNCHES] = {"launches", SL_COLUMN_COUNT, "what was put into the queue"},
    [TIME_MEAN] = {"mean_over_time", SL_COLUMN_REAL, "each length counts as long as it lasted"},
    SL_SUMMARY_COLUMNS(SUMMARY, SL_COLUMN_REAL, "", "of the lengths, each change counting once"),
    [BLOCKED] = {"blocked_ns", SL_COLUMN_NS, "time with max_queue_length or more"},
    [BLOCKED_RATIO] = {"blocked_ratio", SL_COLUMN_RATIO, "part of the time from the first launch"},
    [POINTS] = {"changes", SL_COLUMN_COUNT, "changes of the length"},
    {NULL, SL_COLUMN_TEXT, NULL},
};

enum {
    MAX_QUEUE_LENGTH
};

static const struct sl_setting settings[] = {
    [MAX_QUEUE_LENGTH] = {"max_queue_length", "",
                          "a launch into a queue of this length waits for room", 1, 1e9, 1022,
                          NULL},
    {NULL, NULL, NULL, 0, 0, 0, NULL},
};

static int add(void *user, const struct sl_report *report, const struct sl_recording *r,
               struct sl_counter *counter)
{
    struct sl_table *out = user;
    double most = sl_setting(&report->settings, out->metric, MAX_QUEUE_LENGTH).number;
    struct sl_series_summary summary;
    struct sl_cell *row;
    int rc = sl_series_summary(&counter->series, 0, most, &summary);

    if (rc || !summary.points)
        return rc;
    row = sl_table_row(out);
    row[RANK] = sl_cell_id(sl_report_rank(r));
    row[DEVICE] = sl_cell_device(counter->device);
    row[STREAM] = sl_cell_number(counter->stream);
    row[LAUNCHES] = sl_cell_number(counter->things);
    row[TIME_MEAN] = sl_cell_real(summary.mean_over_time);
    sl_cells_summary(&row[SUMMARY], &summary.of);
    row[BLOCKED] = sl_cell_number(summary.high_ns);
    row[BLOCKED_RATIO] = sl_cell_ratio(summary.high_ns, summary.length_ns);
    row[POINTS] = sl_cell_number(summary.points);
    return 0;
}

static void make(const struct sl_report *report, struct sl_table *out)
{
    for (size_t i = 0; i < report->recordings.count && !out->failed; i++)
        out->failed |= sl_counters_queues(report, &report->recordings.of[i], add, out) != 0;
}

const struct sl_metric sl_metric_queue = {
    .name = "queue",
    .title = "the length of each stream's queue",
    .columns = columns,
    .settings = settings,
    .is_by_stream = 1,
    .formula =
        "The queue of a stream holds what was launched and has not begun: +1 when a launch begins, "
        "-1 when its operation begins; at equal times the launch comes first. A graph's launch "
        "counts once. On the GPUs that were measured, a launch into a stream with 1,022 unfinished "
        "operations waits. Operations without a launch in the file are left out.",
    .source = "HTA get_queue_length_summary and get_time_spent_blocked_on_full_queue, which take "
              "1,024 as the limit, keep one stream of a rank, and miss cuLaunchKernelEx and graphs",
    .make = make,
};
