/*
 * hta_queue.c - HTA's queue length: the operations of a stream that are launched and not begun.
 *
 * Threads, memory: see metric.h. 32 bytes for each change while a table is made.
 */
#include <errno.h>
#include <stdlib.h>

#include "report/hta/hta_table.h"

static const struct sl_setting full_settings[] = {
    {"max_queue_length", "", "length from which on a queue is full", 1, 1e9, 1024, NULL},
    {NULL, NULL, NULL, 0, 0, 0, NULL},
};

static const struct sl_column series_columns[] = {
    {"rank", SL_COLUMN_INTEGER, "rank; 0 if the file does not name it"},
    {"ts", SL_COLUMN_INTEGER, "us from the first event of all ranks"},
    {"pid", SL_COLUMN_INTEGER, "the device"},
    {"tid", SL_COLUMN_INTEGER, "the lane of the stream"},
    {"stream", SL_COLUMN_INTEGER, "CUDA's number of the stream"},
    {"queue_length", SL_COLUMN_INTEGER, "operations that are launched and not begun"},
    {NULL, SL_COLUMN_TEXT, NULL},
};

static const struct sl_column summary_columns[] = {
    {"rank", SL_COLUMN_INTEGER, "rank; 0 if the file does not name it"},
    {"stream", SL_COLUMN_INTEGER, "CUDA's number of the stream"},
    SL_HTA_DESCRIBE_COLUMNS,
    {NULL, SL_COLUMN_TEXT, NULL},
};

static const struct sl_column full_columns[] = {
    {"rank", SL_COLUMN_INTEGER, "rank; 0 if the file does not name it"},
    {"stream", SL_COLUMN_INTEGER, "the last stream whose queue was full"},
    {"duration_at_max_queue_length", SL_COLUMN_FLOAT, "us at this length or more"},
    {"relative_duration_at_max_queue_length", SL_COLUMN_FLOAT,
     "part of the time from the first to the last start in the trace"},
    {NULL, SL_COLUMN_TEXT, NULL},
};

/* A launch makes the queue longer, and the start of its operation makes it shorter. */
struct change {
    int64_t ts;
    int64_t stream;
    uint32_t order; /* at the same time: launches first, in the order of rows */
    uint32_t lane;
    int32_t length; /* after the change; first the difference */
};

static int order_of_changes(const void *a, const void *b)
{
    const struct change *x = a, *y = b;

    if (x->stream != y->stream)
        return x->stream < y->stream ? -1 : 1;
    if (x->ts != y->ts)
        return x->ts < y->ts ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

/* Adds the launch of an operation and its start, and returns the number of changes. HTA needs as
 * many launches as operations, and fails otherwise. Here an operation counts once, with its first
 * launch in the file. */
static size_t add_op(const struct sl_hta *h, const struct sl_hta_rank *r, uint32_t at,
                     struct change *to)
{
    const struct sl_hta_row *op = &r->row[at];

    for (uint32_t i = r->first_member[op->group]; i < r->first_member[op->group + 1]; i++) {
        const struct sl_hta_row *row = &r->row[r->member[i]];

        if (row->is_gpu)
            break;
        if (!(h->about[row->name] & SL_HTA_QUEUES) || row->link <= 0)
            continue;
        to[0] = (struct change){row->ts, op->stream, r->member[i], op->lane, 1};
        to[1] = (struct change){op->ts, op->stream, (uint32_t)r->rows + at, op->lane, -1};
        return 2;
    }
    return 0;
}

/* Lists the changes by stream and time. The caller frees the list. Returns the number, or
 * -ENOMEM. */
static int64_t find_changes(const struct sl_hta *h, const struct sl_hta_rank *r,
                            struct change **out)
{
    struct sl_hta_list list = sl_hta_select(h, r, sl_hta_is_work);
    struct change *of = malloc((2 * list.count + 1) * sizeof(*of));
    size_t count = 0;

    *out = of;
    if (!of || !list.row) {
        free(list.row);
        return -ENOMEM;
    }
    for (size_t i = 0; i < list.count; i++)
        if (r->row[list.row[i]].group)
            count += add_op(h, r, list.row[i], of + count);
    free(list.row);
    if (count)
        qsort(of, count, sizeof(*of), order_of_changes);
    for (size_t i = 1; i < count; i++)
        if (of[i].stream == of[i - 1].stream)
            of[i].length += of[i - 1].length;
    return (int64_t)count;
}

/* ---- tables ---- */

static int add_series(const struct sl_report *report, const struct sl_hta_rank *r,
                      struct sl_table *out)
{
    struct change *of;
    int64_t count = find_changes(report->hta, r, &of);

    for (int64_t i = 0; i < count; i++) {
        struct sl_cell *row = sl_table_row(out);

        row[0] = sl_cell_integer(r->rank);
        row[1] = sl_cell_integer(of[i].ts);
        row[2] = sl_cell_integer(r->lane[of[i].lane].pid);
        row[3] = sl_cell_integer(r->lane[of[i].lane].tid);
        row[4] = sl_cell_integer(of[i].stream);
        row[5] = sl_cell_integer(of[i].length);
    }
    free(of);
    return count < 0 ? -ENOMEM : 0;
}

static int add_summary(const struct sl_report *report, const struct sl_hta_rank *r,
                       struct sl_table *out)
{
    struct change *of;
    int64_t count = find_changes(report->hta, r, &of), end;
    double *lengths = malloc((size_t)(count < 0 ? 1 : count + 1) * sizeof(*lengths));

    for (int64_t i = 0; lengths && i < count; i = end) {
        struct sl_cell *row = sl_table_row(out);

        for (end = i; end < count && of[end].stream == of[i].stream; end++)
            lengths[end - i] = of[end].length;
        row[0] = sl_cell_integer(r->rank);
        row[1] = sl_cell_integer(of[i].stream);
        sl_hta_describe(row + 2, lengths, (size_t)(end - i), -1);
    }
    free(of);
    free(lengths);
    return count < 0 || !lengths ? -ENOMEM : 0;
}

static int add_full(const struct sl_report *report, const struct sl_hta_rank *r,
                    struct sl_table *out)
{
    double most = sl_setting(&report->settings, &sl_hta_queue_full, 0).number, time = 0;
    struct change *of;
    int64_t count = find_changes(report->hta, r, &of);
    int64_t stream = -1;
    int has = 0;

    for (int64_t i = 0; i < count; i++) {
        if (of[i].length < most)
            continue;
        if (!has || of[i].stream != stream)
            time = 0;
        has = 1;
        stream = of[i].stream;
        if (i + 1 < count && of[i + 1].stream == stream)
            time += (double)(of[i + 1].ts - of[i].ts);
    }
    free(of);
    if (has) {
        struct sl_cell *row = sl_table_row(out);

        row[0] = sl_cell_integer(r->rank);
        row[1] = sl_cell_integer(stream);
        row[2] = sl_hta_float(time);
        row[3] = sl_hta_float(time / (double)(r->last_ts - r->first_ts));
    }
    return count < 0 ? -ENOMEM : 0;
}

static void make_series(const struct sl_report *report, struct sl_table *out)
{
    sl_hta_each_rank(report, add_series, out);
}

static void make_summary(const struct sl_report *report, struct sl_table *out)
{
    sl_hta_each_rank(report, add_summary, out);
}

static void make_full(const struct sl_report *report, struct sl_table *out)
{
    sl_hta_each_rank(report, add_full, out);
}

const struct sl_metric sl_hta_queue_summary = {
    .name = "queue_length_summary",
    .title = "statistics of the queue length of each stream",
    .columns = summary_columns,
    .formula = "Over the values of queue_length_time_series, whatever time they last.",
    .source = "HTA get_queue_length_summary",
    .make = make_summary,
};

const struct sl_metric sl_hta_queue_series = {
    .name = "queue_length_time_series",
    .title = "each change of a queue length",
    .columns = series_columns,
    .formula = "A launch adds 1, and the start of its operation subtracts 1. Launches by "
               "cuLaunchKernelEx and graphs do not count. At the same time launches come first; "
               "HTA's order there is not fixed.",
    .source = "HTA get_queue_length_time_series",
    .make = make_series,
};

const struct sl_metric sl_hta_queue_full = {
    .name = "time_spent_blocked_on_full_queue",
    .title = "the time for which a queue was full",
    .columns = full_columns,
    .settings = full_settings,
    .formula = "Of several streams of a rank that were full, HTA keeps the last.",
    .source = "HTA get_time_spent_blocked_on_full_queue",
    .make = make_full,
};
