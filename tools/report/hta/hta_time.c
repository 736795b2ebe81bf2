/*
 * hta_time.c - HTA's temporal breakdown, kernel types, and overlap of communication.
 *
 * Threads, memory: see metric.h.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/hta/hta_table.h"

/* ---- temporal breakdown ---- */

static const struct sl_column temporal_columns[] = {
    {"rank", SL_COLUMN_INTEGER, "rank; 0 if the file does not name it"},
    {"idle_time(us)", SL_COLUMN_INTEGER, "kernel_time in which no row with a stream runs"},
    {"compute_time(us)", SL_COLUMN_INTEGER, "rows run that count as computation"},
    {"non_compute_time(us)", SL_COLUMN_INTEGER, "the rest"},
    {"kernel_time(us)", SL_COLUMN_INTEGER, "from the first start to the last end"},
    {"idle_time_pctg", SL_COLUMN_FLOAT, "percent of kernel_time"},
    {"compute_time_pctg", SL_COLUMN_FLOAT, "percent of kernel_time"},
    {"non_compute_time_pctg", SL_COLUMN_FLOAT, "percent of kernel_time"},
    {NULL, SL_COLUMN_TEXT, NULL},
};

static struct sl_cell percent(int64_t part, int64_t of)
{
    return sl_hta_float(sl_hta_round(100 * ((double)part / (double)of), 2));
}

static int add_temporal(const struct sl_report *report, const struct sl_hta_rank *r,
                        struct sl_table *out)
{
    struct sl_hta_merged all, compute;
    int64_t time[4];
    struct sl_cell *row;

    if (sl_hta_merge(report->hta, r, -1, &all) != 0)
        return -ENOMEM;
    if (sl_hta_merge(report->hta, r, SL_HTA_COMPUTATION, &compute) != 0) {
        sl_hta_merged_free(&all);
        return -ENOMEM;
    }
    if (all.count) {
        time[3] = all.end[all.count - 1] - all.begin[0];
        time[0] = time[3] - sl_hta_merged_time(&all);
        time[1] = sl_hta_merged_time(&compute);
        time[2] = time[3] - time[1] - time[0];
        row = sl_table_row(out);
        row[0] = sl_cell_integer(r->rank);
        for (int i = 0; i < 4; i++)
            row[1 + i] = sl_cell_integer(time[i]);
        for (int i = 0; i < 3; i++)
            row[5 + i] = percent(time[i], time[3]);
    }
    sl_hta_merged_free(&all);
    sl_hta_merged_free(&compute);
    return 0;
}

static void make_temporal(const struct sl_report *report, struct sl_table *out)
{
    sl_hta_each_rank(report, add_temporal, out);
}

const struct sl_metric sl_hta_temporal = {
    .name = "temporal_breakdown",
    .title = "idle, computing and other time of each rank",
    .columns = temporal_columns,
    .formula = "Rows of synchronization with a stream count as GPU work. `Stream Wait Event` "
               "counts as computation.",
    .source = "HTA get_temporal_breakdown",
    .make = make_temporal,
};

/* ---- which kinds of work run at once ---- */

/* The times at which a state changes, in order. At the same time, the changes of an earlier kind
 * come first, and of one kind the starts. */
struct changes {
    struct sl_hta_change *of;
    size_t count;
};

static int add_changes(struct changes *to, const struct sl_hta_merged *m, int32_t by)
{
    struct sl_hta_change *joined = malloc((to->count + 2 * m->count + 1) * sizeof(*joined));
    size_t count = 0, begin = 0, end = 0, old = 0;

    if (!joined)
        return -ENOMEM;
    while (old < to->count || begin < m->count || end < m->count) {
        int64_t next_begin = begin < m->count ? m->begin[begin] : INT64_MAX;
        int64_t next_end = end < m->count ? m->end[end] : INT64_MAX;
        int64_t next = next_begin <= next_end ? next_begin : next_end;

        if (old < to->count && to->of[old].ts <= next)
            joined[count++] = to->of[old++];
        else if (next_begin <= next_end)
            joined[count++] = (struct sl_hta_change){m->begin[begin++], by};
        else
            joined[count++] = (struct sl_hta_change){m->end[end++], -by};
    }
    free(to->of);
    to->of = joined;
    to->count = count;
    return 0;
}

/* Adds the changes of a kind of work. Returns 0 or -ENOMEM. */
static int take_work(const struct sl_hta *h, const struct sl_hta_rank *r, enum sl_hta_work work,
                     int32_t by, struct changes *to, int64_t *time)
{
    struct sl_hta_merged merged;
    int rc = sl_hta_merge(h, r, (int)work, &merged);

    if (rc)
        return rc;
    *time = sl_hta_merged_time(&merged);
    rc = add_changes(to, &merged, by);
    sl_hta_merged_free(&merged);
    return rc;
}

/* ---- kernel types ---- */

static const struct sl_column type_columns[] = {
    {"kernel_type", SL_COLUMN_TEXT, "the kinds of work that run at once"},
    {"sum", SL_COLUMN_INTEGER, "us in which exactly these run, on all ranks together"},
    {"percentage", SL_COLUMN_FLOAT, "part of all sums, in percent"},
    {NULL, SL_COLUMN_TEXT, NULL},
};

/* Index: a bit for each kind of work. */
struct types {
    int64_t us[8];
    int has[8];
};

static const char *const type_names[8] = {
    "",
    "COMPUTATION",
    "COMMUNICATION",
    "COMPUTATION overlapping COMMUNICATION",
    "MEMORY",
    "COMPUTATION overlapping MEMORY",
    "COMMUNICATION overlapping MEMORY",
    "COMPUTATION overlapping COMMUNICATION overlapping MEMORY",
};

static void add_types(const struct changes *changes, struct types *types)
{
    int32_t running = 0;

    for (size_t i = 0; i + 1 < changes->count; i++) {
        running += changes->of[i].by;
        if (running <= 0)
            continue;
        types->us[running & 7] += changes->of[i + 1].ts - changes->of[i].ts;
        types->has[running & 7] = 1;
    }
}

static int order_of_types(const struct types *types, int a, int b)
{
    if (types->us[a] != types->us[b])
        return types->us[a] > types->us[b] ? -1 : 1;
    return strcmp(type_names[a], type_names[b]);
}

static void print_types(const struct types *types, struct sl_table *out)
{
    int order[8], count = 0;
    int64_t total = 0;

    for (int i = 0; i < 8; i++) {
        int at = count;

        if (!types->has[i])
            continue;
        total += types->us[i];
        for (count++; at > 0 && order_of_types(types, i, order[at - 1]) < 0; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    for (int i = 0; i < count; i++) {
        struct sl_cell *row = sl_table_row(out);

        row[0] = (struct sl_cell){.has = 1, .text = type_names[order[i]]};
        row[1] = sl_cell_integer(types->us[order[i]]);
        row[2] = sl_hta_float(sl_hta_round((double)types->us[order[i]] / (double)total * 100, 1));
    }
}

static void make_types(const struct sl_report *report, struct sl_table *out)
{
    struct types types = {{0}, {0}};
    int kinds =
        sl_setting(&report->settings, &sl_hta_kernels, SL_HTA_INCLUDE_MEMORY).number ? 3 : 2;

    for (size_t i = 0; i < report->hta->count && !out->failed; i++) {
        struct changes changes = {NULL, 0};
        int64_t time;

        for (int work = 0; work < kinds && !out->failed; work++)
            out->failed = take_work(report->hta, &report->hta->of[i], (enum sl_hta_work)work,
                                    1 << work, &changes, &time) != 0;
        add_types(&changes, &types);
        free(changes.of);
    }
    if (!out->failed)
        print_types(&types, out);
}

const struct sl_metric sl_hta_types = {
    .name = "gpu_kernel_breakdown",
    .title = "which kinds of GPU work run at once",
    .columns = type_columns,
    .formula = "The first table of HTA's method. The setting include_memory_kernels of "
               "gpu_kernel_breakdown_kernels counts here too.",
    .source = "HTA get_gpu_kernel_breakdown",
    .make = make_types,
};

/* ---- overlap ---- */

static const struct sl_column overlap_columns[] = {
    {"rank", SL_COLUMN_INTEGER, "rank; 0 if the file does not name it"},
    {"comp_comm_overlap_pctg", SL_COLUMN_FLOAT,
     "percent of the communication during which computation runs; none without communication"},
    {NULL, SL_COLUMN_TEXT, NULL},
};

static int add_overlap(const struct sl_report *report, const struct sl_hta_rank *r,
                       struct sl_table *out)
{
    struct changes changes = {NULL, 0};
    int64_t communication, compute, both = 0;
    int32_t running = 0;
    struct sl_cell *row;

    if (take_work(report->hta, r, SL_HTA_COMMUNICATION, 1, &changes, &communication) != 0 ||
        take_work(report->hta, r, SL_HTA_COMPUTATION, 2, &changes, &compute) != 0) {
        free(changes.of);
        return -ENOMEM;
    }
    for (size_t i = 0; i + 1 < changes.count; i++) {
        running += changes.of[i].by;
        if (running == 3)
            both += changes.of[i + 1].ts - changes.of[i].ts;
    }
    free(changes.of);
    row = sl_table_row(out);
    row[0] = sl_cell_integer(r->rank);
    row[1] = sl_hta_float(sl_hta_round(100 * ((double)both / (double)communication), 2));
    return 0;
}

static void make_overlap(const struct sl_report *report, struct sl_table *out)
{
    sl_hta_each_rank(report, add_overlap, out);
}

const struct sl_metric sl_hta_overlap = {
    .name = "comm_comp_overlap",
    .title = "how much of the communication is beside computation",
    .columns = overlap_columns,
    .formula = "The time in which both run, divided by the time in which communication runs.",
    .source = "HTA get_comm_comp_overlap",
    .make = make_overlap,
};
