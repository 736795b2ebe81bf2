/*
 * hta_bandwidth.c - HTA's memory bandwidth of copies and memsets.
 *
 * Threads, memory: see metric.h. 40 bytes for each change while a table is made.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/hta/hta_table.h"

static const struct sl_column series_columns[] = {
    {"rank", SL_COLUMN_INTEGER, "rank; 0 if the file does not name it"},
    {"ts", SL_COLUMN_INTEGER, "us from the first event of all ranks"},
    {"pid", SL_COLUMN_INTEGER, "the device"},
    {"name", SL_COLUMN_TEXT, "the first 11 letters of the name, or Memset"},
    {"memory_bw_gbps", SL_COLUMN_FLOAT, "GB/s from this time on"},
    {NULL, SL_COLUMN_TEXT, NULL},
};

static const struct sl_column summary_columns[] = {
    {"rank", SL_COLUMN_INTEGER, "rank; 0 if the file does not name it"},
    {"name", SL_COLUMN_TEXT, "the first 11 letters of the name, or Memset"},
    SL_HTA_DESCRIBE_COLUMNS,
    {NULL, SL_COLUMN_TEXT, NULL},
};

struct change {
    const char *name;
    int64_t ts;
    double by;      /* the difference, then the sum of all so far */
    uint32_t order; /* at the same time: starts first, in the order of rows */
    uint32_t lane;
};

static int order_of_changes(const void *a, const void *b)
{
    const struct change *x = a, *y = b;
    int names = x->name == y->name ? 0 : strcmp(x->name, y->name);

    if (names)
        return names;
    if (x->ts != y->ts)
        return x->ts < y->ts ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

static int is_memory(const struct sl_hta *h, const struct sl_hta_row *row)
{
    return row->stream != -1 && sl_hta_work(h, row) == SL_HTA_MEMORY;
}

/* Returns the name as HTA cuts it, from the report's names. */
static const char *short_name(const struct sl_report *report, const struct sl_hta_row *row)
{
    const char *name = sl_report_name(report, row->name);
    char cut[16];

    if (strncmp(name, "Memset", 6) == 0)
        return "Memset";
    if (strncmp(name, "Memcpy", 6) != 0)
        return "Memcpy Unknown";
    snprintf(cut, sizeof(cut), "%.11s", name);
    return sl_report_name(report, sl_intern_put(report->recordings.names, cut, strlen(cut)));
}

/* Lists the changes by name and time. The caller frees the list. Returns the number, or -ENOMEM. */
static int64_t find_changes(const struct sl_report *report, const struct sl_hta_rank *r,
                            struct change **out)
{
    struct sl_hta_list list = sl_hta_select(report->hta, r, is_memory);
    struct change *of = malloc((2 * list.count + 1) * sizeof(*of));
    size_t count = 0;

    *out = of;
    if (!of || !list.row) {
        free(list.row);
        return -ENOMEM;
    }
    for (size_t i = 0; i < list.count; i++) {
        const struct sl_hta_row *row = &r->row[list.row[i]];
        const char *name = short_name(report, row);
        int64_t end = row->ts + (row->dur ? row->dur : 1);

        of[count++] = (struct change){name, row->ts, row->bandwidth, (uint32_t)i, row->lane};
        of[count++] =
            (struct change){name, end, -row->bandwidth, (uint32_t)(list.count + i), row->lane};
    }
    free(list.row);
    if (count)
        qsort(of, count, sizeof(*of), order_of_changes);
    for (size_t i = 1; i < count; i++)
        if (strcmp(of[i].name, of[i - 1].name) == 0)
            of[i].by += of[i - 1].by;
    return (int64_t)count;
}

static int add_series(const struct sl_report *report, const struct sl_hta_rank *r,
                      struct sl_table *out)
{
    struct change *of;
    int64_t count = find_changes(report, r, &of);

    for (int64_t i = 0; i < count; i++) {
        struct sl_cell *row = sl_table_row(out);

        row[0] = sl_cell_integer(r->rank);
        row[1] = sl_cell_integer(of[i].ts);
        row[2] = sl_cell_integer(r->lane[of[i].lane].pid);
        row[3] = sl_cell_text(of[i].name);
        row[4] = sl_hta_float(of[i].by);
    }
    free(of);
    return count < 0 ? -ENOMEM : 0;
}

static int add_summary(const struct sl_report *report, const struct sl_hta_rank *r,
                       struct sl_table *out)
{
    struct change *of;
    int64_t count = find_changes(report, r, &of), end;
    double *values = malloc((size_t)(count < 0 ? 1 : count + 1) * sizeof(*values));

    for (int64_t i = 0; values && i < count; i = end) {
        struct sl_cell *row;
        size_t used = 0;

        for (end = i; end < count && strcmp(of[end].name, of[i].name) == 0; end++)
            if (of[end].by > 0)
                values[used++] = of[end].by;
        if (!used)
            continue;
        row = sl_table_row(out);
        row[0] = sl_cell_integer(r->rank);
        row[1] = sl_cell_text(of[i].name);
        sl_hta_describe(row + 2, values, used, -1);
    }
    free(of);
    free(values);
    return count < 0 || !values ? -ENOMEM : 0;
}

static void make_series(const struct sl_report *report, struct sl_table *out)
{
    sl_hta_each_rank(report, add_series, out);
}

static void make_summary(const struct sl_report *report, struct sl_table *out)
{
    sl_hta_each_rank(report, add_summary, out);
}

const struct sl_metric sl_hta_bandwidth_summary = {
    .name = "memory_bw_summary",
    .title = "statistics of the bandwidth of copies and memsets",
    .columns = summary_columns,
    .formula = "Over the values of memory_bw_time_series above 0, whatever time they last. After "
               "copies that overlap, errors of rounding may be above 0.",
    .source = "HTA get_memory_bw_summary",
    .make = make_summary,
};

const struct sl_metric sl_hta_bandwidth_series = {
    .name = "memory_bw_time_series",
    .title = "each change of the bandwidth of copies and memsets",
    .columns = series_columns,
    .formula = "The file's bandwidth (GB/s) of a copy is added at its start and subtracted at its "
               "end. A duration of 0 counts as 1 us.",
    .source = "HTA get_memory_bw_time_series",
    .make = make_series,
};
