/*
 * hta_idle.c - HTA's idle time of each stream, by cause.
 *
 * Threads, memory: see metric.h.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/hta/hta_table.h"

enum {
    HOST_WAIT,
    KERNEL_WAIT,
    OTHER,
    CAUSES
};

static const char *const cause_names[] = {"host_wait", "kernel_wait", "other"};

static const struct sl_setting settings[] = {
    {"consecutive_kernel_delay", "us", "shorter gaps are the latency of a launch", 0, 1e9, 30,
     NULL},
    {"streams", "", "only these streams, such as 7,20", 0, 0, 0, ""},
    {NULL, NULL, NULL, 0, 0, 0, NULL},
};

enum {
    DELAY,
    STREAMS
};

static const struct sl_column columns[] = {
    {"rank", SL_COLUMN_INTEGER, "rank; 0 if the file does not name it"},
    {"stream", SL_COLUMN_INTEGER, "CUDA's number of the stream"},
    {"idle_category", SL_COLUMN_TEXT, "host_wait, kernel_wait or other"},
    {"idle_time", SL_COLUMN_FLOAT, "length of the gaps in us; below 0 if rows overlap"},
    {"idle_time_ratio", SL_COLUMN_FLOAT, "part of the stream's idle time, 0 to 1"},
    {NULL, SL_COLUMN_TEXT, NULL},
};

static const struct sl_column interval_columns[] = {
    {"idle_category", SL_COLUMN_TEXT, "host_wait, kernel_wait or other"},
    {"rank", SL_COLUMN_INTEGER, "rank; 0 if the file does not name it"},
    {"stream", SL_COLUMN_INTEGER, "CUDA's number of the stream"},
    SL_HTA_DESCRIBE_COLUMNS,
    {NULL, SL_COLUMN_TEXT, NULL},
};

/* The gaps of a stream. */
struct stream {
    int64_t number;
    size_t ops[CAUSES]; /* the first operation counts as other, without a gap */
    double *gap[CAUSES];
    size_t gaps[CAUSES];
    double sum[CAUSES];
};

static int is_op(const struct sl_hta *h, const struct sl_hta_row *row)
{
    (void)h;
    return row->stream != -1 && (row->category == SL_CAT_KERNEL || row->category == SL_CAT_MEMCPY ||
                                 row->category == SL_CAT_MEMSET);
}

/* Returns 1 and the time at which the launch of an operation began. HTA takes the row with the
 * number 0 for operations whose launch is not in the file. */
static int launch_time(const struct sl_hta_rank *r, const struct sl_hta_row *row, int64_t *ts)
{
    const struct sl_hta_row *launch = sl_hta_launch(r, row);

    if (row->link == 0)
        *ts = r->first_row_ts;
    else if (launch)
        *ts = launch->ts;
    return row->link == 0 ? r->has_first_row : launch != NULL;
}

static int cause_of(const struct sl_hta_rank *r, const struct sl_hta_row *row, int64_t before_end,
                    double delay)
{
    int64_t launch = 0;

    if (launch_time(r, row, &launch) && launch > before_end)
        return HOST_WAIT;
    return (double)(row->ts - before_end) < delay ? KERNEL_WAIT : OTHER;
}

/* Divides the gaps of the operations of a stream, which are in the order of time. Returns 0 or
 * -ENOMEM. */
static int divide(const struct sl_hta_rank *r, const uint32_t *op, size_t count, double delay,
                  struct stream *out)
{
    *out = (struct stream){.number = r->row[op[0]].stream};
    for (int cause = 0; cause < CAUSES; cause++) {
        out->gap[cause] = malloc(count * sizeof(double));
        if (!out->gap[cause])
            return -ENOMEM;
    }
    out->ops[OTHER] = 1;
    for (size_t i = 1; i < count; i++) {
        const struct sl_hta_row *row = &r->row[op[i]], *before = &r->row[op[i - 1]];
        int64_t end = before->ts + before->dur;
        int cause = cause_of(r, row, end, delay);
        double gap = (double)(row->ts - end);

        out->ops[cause]++;
        out->gap[cause][out->gaps[cause]++] = gap;
        out->sum[cause] += gap;
    }
    return 0;
}

static void free_stream(struct stream *s)
{
    for (int cause = 0; cause < CAUSES; cause++)
        free(s->gap[cause]);
}

static void print_causes(const struct stream *s, int64_t rank, struct sl_table *out)
{
    double total = s->sum[0] + s->sum[1] + s->sum[2];

    for (int cause = 0; cause < CAUSES; cause++) {
        struct sl_cell *row;

        if (!s->ops[cause])
            continue;
        row = sl_table_row(out);
        row[0] = sl_cell_integer(rank);
        row[1] = sl_cell_integer(s->number);
        row[2] = sl_cell_text(cause_names[cause]);
        row[3] = sl_hta_float(s->sum[cause]);
        row[4] = sl_hta_float(sl_hta_round(s->sum[cause] / total, 2));
    }
}

static void print_intervals(const struct stream *s, int64_t rank, struct sl_table *out)
{
    for (int cause = 0; cause < CAUSES; cause++) {
        struct sl_cell *row;

        if (!s->ops[cause])
            continue;
        row = sl_table_row(out);
        row[0] = sl_cell_text(cause_names[cause]);
        row[1] = sl_cell_integer(rank);
        row[2] = sl_cell_integer(s->number);
        sl_hta_describe(row + 3, s->gap[cause], s->gaps[cause], 2);
    }
}

struct place {
    int64_t stream;
    uint32_t at; /* place in the order of time */
    uint32_t row;
};

static int order_of_places(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    if (x->stream != y->stream)
        return x->stream < y->stream ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

/* Groups the operations by stream. Returns 0 or -ENOMEM. */
static int group_streams(const struct sl_hta_rank *r, struct sl_hta_list *list)
{
    struct place *place = malloc((list->count + 1) * sizeof(*place));

    if (!place)
        return -ENOMEM;
    for (size_t i = 0; i < list->count; i++)
        place[i] = (struct place){r->row[list->row[i]].stream, (uint32_t)i, list->row[i]};
    if (list->count)
        qsort(place, list->count, sizeof(*place), order_of_places);
    for (size_t i = 0; i < list->count; i++)
        list->row[i] = place[i].row;
    free(place);
    return 0;
}

/* The operations of a stream. */
struct first {
    size_t first, count; /* in the list */
    uint32_t row;        /* the earliest row in the data frame */
};

static int order_of_firsts(const void *a, const void *b)
{
    const struct first *x = a, *y = b;

    return (x->row > y->row) - (x->row < y->row);
}

/* Finds the streams, in the order in which they first appear. Returns their number, or -ENOMEM. */
static int64_t find_streams(const struct sl_hta_rank *r, const struct sl_hta_list *list,
                            struct first **out)
{
    size_t count = 0, end;
    struct first *of;

    for (size_t i = 0; i < list->count; i++)
        count += i == 0 || r->row[list->row[i]].stream != r->row[list->row[i - 1]].stream;
    *out = of = malloc((count + 1) * sizeof(*of));
    if (!of)
        return -ENOMEM;
    count = 0;
    for (size_t i = 0; i < list->count; i = end) {
        uint32_t least = list->row[i];

        for (end = i;
             end < list->count && r->row[list->row[end]].stream == r->row[list->row[i]].stream;
             end++)
            least = list->row[end] < least ? list->row[end] : least;
        of[count++] = (struct first){i, end - i, least};
    }
    if (count)
        qsort(of, count, sizeof(*of), order_of_firsts);
    return (int64_t)count;
}

struct output {
    const struct sl_hta_rank *r;
    const uint32_t *op;
    double delay;
    void (*print)(const struct stream *s, int64_t rank, struct sl_table *out);
    struct sl_table *out;
};

static int add_stream(const struct output *to, const struct first *first)
{
    struct stream stream;
    int rc = divide(to->r, to->op + first->first, first->count, to->delay, &stream);

    if (rc == 0)
        to->print(&stream, to->r->rank, to->out);
    free_stream(&stream);
    return rc;
}

/* Adds the streams of a list such as "7,20", in its order; of an empty list all. */
static int add_streams(const struct output *to, const struct first *first, int64_t count,
                       const char *list)
{
    int rc = 0;

    for (int64_t i = 0; i < count && !*list && rc == 0; i++)
        rc = add_stream(to, &first[i]);
    for (; *list && rc == 0; list += strcspn(list, ","), list += *list == ',')
        for (int64_t i = 0; i < count && rc == 0; i++)
            if (to->r->row[first[i].row].stream == strtoll(list, NULL, 10))
                rc = add_stream(to, &first[i]);
    return rc;
}

static int add_rank(const struct sl_report *report, const struct sl_hta_rank *r,
                    struct sl_table *out,
                    void (*print)(const struct stream *s, int64_t rank, struct sl_table *out))
{
    struct sl_hta_list list = sl_hta_select(report->hta, r, is_op);
    const struct output to = {
        r, list.row, sl_setting(&report->settings, &sl_hta_idle, DELAY).number, print, out};
    struct first *first = NULL;
    int64_t count = -ENOMEM;
    int rc = -ENOMEM;

    if (list.row && sl_hta_sort(r, &list) == 0 && group_streams(r, &list) == 0)
        count = find_streams(r, &list, &first);
    if (count >= 0)
        rc = add_streams(&to, first, count,
                         sl_setting(&report->settings, &sl_hta_idle, STREAMS).text);
    free(first);
    free(list.row);
    return rc;
}

static int add_causes(const struct sl_report *report, const struct sl_hta_rank *r,
                      struct sl_table *out)
{
    return add_rank(report, r, out, print_causes);
}

static int add_intervals(const struct sl_report *report, const struct sl_hta_rank *r,
                         struct sl_table *out)
{
    return add_rank(report, r, out, print_intervals);
}

static void make(const struct sl_report *report, struct sl_table *out)
{
    sl_hta_each_rank(report, add_causes, out);
}

static void make_intervals(const struct sl_report *report, struct sl_table *out)
{
    sl_hta_each_rank(report, add_intervals, out);
}

const struct sl_metric sl_hta_idle = {
    .name = "idle_time_breakdown",
    .title = "idle time of each stream by cause",
    .columns = columns,
    .settings = settings,
    .formula = "A gap lies between two operations of a stream. host_wait: the launch of the second "
               "began after the first had ended. Else kernel_wait if the gap is shorter than "
               "consecutive_kernel_delay, which HTA's documentation gives in ns. Else other. An "
               "operation without a launch in the file takes row 0 of the file for its launch.",
    .source = "HTA get_idle_time_breakdown",
    .make = make,
};

const struct sl_metric sl_hta_intervals = {
    .name = "idle_time_breakdown_intervals",
    .title = "the length of gaps by cause",
    .columns = interval_columns,
    .formula = "The second table of HTA's method (show_idle_interval_stats), in us. The settings "
               "of idle_time_breakdown count here too.",
    .source = "HTA get_idle_time_breakdown",
    .make = make_intervals,
};
