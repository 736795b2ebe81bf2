/*
 * hta_launches.c - HTA's statistics of launches, and the kernels and delays of operators.
 *
 * Threads, memory: see metric.h. 56 bytes for each launch while a table is made.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/hta/hta_table.h"

/* ---- launches ---- */

static const struct sl_setting launch_settings[] = {
    {"include_memory_events", "", "0: leave out copies and memsets", 0, 1, 1, NULL},
    {NULL, NULL, NULL, 0, 0, 0, NULL},
};

static const struct sl_column launch_columns[] = {
    {"rank", SL_COLUMN_INTEGER, "rank; 0 if the file does not name it"},
    {"correlation", SL_COLUMN_INTEGER, "CUPTI's id of the launch"},
    {"cpu_duration", SL_COLUMN_INTEGER, "us of the call"},
    {"gpu_duration", SL_COLUMN_INTEGER, "us of the operation"},
    {"launch_delay", SL_COLUMN_INTEGER,
     "us from the end of the call to the start of the operation; 0 if that is earlier"},
    {NULL, SL_COLUMN_TEXT, NULL},
};

/* Returns 1 if a call of the statistics has this correlation id. */
static int is_launch(const struct sl_hta *h, const struct sl_hta_rank *r, uint32_t group,
                     unsigned wanted)
{
    for (uint32_t i = r->first_member[group]; i < r->first_member[group + 1]; i++) {
        const struct sl_hta_row *row = &r->row[r->member[i]];

        if (row->is_gpu)
            return 0;
        if ((h->about[row->name] & wanted) == wanted)
            return 1;
    }
    return 0;
}

static void add_launch(const struct sl_hta_rank *r, const struct sl_hta_row *call,
                       struct sl_table *out)
{
    for (uint32_t i = r->first_member[call->group]; i < r->first_member[call->group + 1]; i++) {
        const struct sl_hta_row *op = &r->row[r->member[i]];
        int64_t delay = op->ts - call->ts - call->dur;
        struct sl_cell *row;

        if (op->stream == -1)
            continue;
        row = sl_table_row(out);
        row[0] = sl_cell_integer(r->rank);
        row[1] = sl_cell_integer(call->correlation);
        row[2] = sl_cell_integer(call->dur);
        row[3] = sl_cell_integer(op->dur);
        row[4] = sl_cell_integer(delay > 0 ? delay : 0);
    }
}

static int add_launches(const struct sl_report *report, const struct sl_hta_rank *r,
                        struct sl_table *out)
{
    int has_memory = sl_setting(&report->settings, &sl_hta_launches, 0).number != 0;
    unsigned wanted = SL_HTA_LAUNCHES | (has_memory ? 0 : SL_HTA_LAUNCHES_KERNEL);

    for (size_t i = 0; i < r->rows; i++)
        if (r->row[i].stream == -1 && r->row[i].group &&
            is_launch(report->hta, r, r->row[i].group, wanted))
            add_launch(r, &r->row[i], out);
    return 0;
}

static void make_launches(const struct sl_report *report, struct sl_table *out)
{
    sl_hta_each_rank(report, add_launches, out);
}

const struct sl_metric sl_hta_launches = {
    .name = "cuda_kernel_launch_stats",
    .title = "each launch and its delay",
    .columns = launch_columns,
    .settings = launch_settings,
    .formula = "Launches by cudaLaunchKernel, cudaLaunchKernelExC, cudaMemcpyAsync and "
               "cudaMemsetAsync. HTA's runtime_cutoff and launch_delay_cutoff are limits of its "
               "charts alone; the table `launch` has them.",
    .source = "HTA get_cuda_kernel_launch_stats",
    .make = make_launches,
};

/* ---- operators ---- */

static const struct sl_column operator_columns[] = {
    {"rank", SL_COLUMN_INTEGER, "rank; 0 if the file does not name it"},
    {"aten_op_name", SL_COLUMN_TEXT, "name of the operator"},
    {"kernel_sequence", SL_COLUMN_TEXT, "the kernels that it launched"},
    {"occurrence_count", SL_COLUMN_INTEGER, "calls of the operator that launched these"},
    {"avg_aten_op_launch_delay", SL_COLUMN_FLOAT,
     "us from its start to the start of its first launch"},
    {"avg_runtime_delay", SL_COLUMN_FLOAT,
     "us from the start of its first launch to the start of the kernel"},
    {NULL, SL_COLUMN_TEXT, NULL},
};

/* A launch in an operator. */
struct inside {
    int64_t thread, op_ts, op_delay, runtime_delay;
    uint32_t op, kernel; /* names */
    uint32_t order;      /* of the launches in the data frame */
};

/* A call of an operator, and then all that launched the same kernels. */
struct call {
    uint32_t op, sequence; /* names */
    int64_t count, op_delay, runtime_delay;
};

/* The operators that may be the innermost around a time, from the outermost. Each ends before those
 * below it. */
struct open_ops {
    uint32_t *row;
    size_t count;
};

static int is_operator(const struct sl_hta *h, const struct sl_hta_row *row)
{
    return (h->about[row->name] & SL_HTA_OPERATOR) != 0;
}

static int is_kernel_launch(const struct sl_hta *h, const struct sl_hta_row *row)
{
    return (h->about[row->name] & SL_HTA_LAUNCHES_KERNEL) != 0;
}

static int64_t end_of(const struct sl_hta_row *row)
{
    return row->ts + row->dur;
}

static void open_op(const struct sl_hta_rank *r, struct open_ops *open, uint32_t row)
{
    while (open->count && end_of(&r->row[open->row[open->count - 1]]) <= end_of(&r->row[row]))
        open->count--;
    open->row[open->count++] = row;
}

/* Returns the operator that began last of those that end at `end` or later, or NULL. */
static const struct sl_hta_row *innermost(const struct sl_hta_rank *r, const struct open_ops *open,
                                          int64_t end)
{
    size_t low = 0, high = open->count;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (end_of(&r->row[open->row[middle]]) >= end)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? &r->row[open->row[low - 1]] : NULL;
}

/* Returns the GPU row that HTA links to a launch, or NULL. If there is none or more than one, HTA
 * fails. */
static const struct sl_hta_row *kernel_of(const struct sl_hta_rank *r,
                                          const struct sl_hta_row *launch)
{
    for (uint32_t i = r->first_member[launch->group];
         launch->group && i < r->first_member[launch->group + 1]; i++) {
        const struct sl_hta_row *row = &r->row[r->member[i]];

        if (row->stream != -1 && row->link == (int32_t)launch->index)
            return row;
    }
    return NULL;
}

/* Opens the operators that began by `ts`. Of those that began at once, the first in the data frame
 * is taken for the innermost. */
static size_t open_until(const struct sl_hta_rank *r, const struct sl_hta_list *ops, size_t at,
                         int64_t ts, struct open_ops *open)
{
    size_t end;

    for (; at < ops->count && r->row[ops->row[at]].ts <= ts; at = end) {
        for (end = at + 1; end < ops->count && r->row[ops->row[end]].ts == r->row[ops->row[at]].ts;)
            end++;
        for (size_t i = end; i-- > at;)
            open_op(r, open, ops->row[i]);
    }
    return at;
}

/* Finds the operator and the kernel of each launch. `found` has room for all. Returns the number.
 */
static size_t find_inside(const struct sl_hta_rank *r, const struct sl_hta_list *ops,
                          const struct sl_hta_list *launches, struct open_ops *open,
                          struct inside *found)
{
    size_t at = 0, count = 0;

    for (size_t i = 0; i < launches->count; i++) {
        const struct sl_hta_row *launch = &r->row[launches->row[i]], *op, *kernel;

        at = open_until(r, ops, at, launch->ts, open);
        op = innermost(r, open, end_of(launch));
        kernel = op ? kernel_of(r, launch) : NULL;
        if (kernel)
            found[count++] = (struct inside){r->lane[op->lane].tid,   op->ts,   launch->ts - op->ts,
                                             kernel->ts - launch->ts, op->name, kernel->name,
                                             launches->row[i]};
    }
    return count;
}

static int order_of_inside(const void *a, const void *b)
{
    const struct inside *x = a, *y = b;

    if (x->op_ts != y->op_ts)
        return x->op_ts < y->op_ts ? -1 : 1;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->op != y->op)
        return x->op < y->op ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

/* Returns the name of all kernels of a call, or 0 if there is no memory. */
static uint32_t sequence_of(const struct sl_report *report, const struct inside *of, size_t count)
{
    char *text = NULL;
    uint32_t id = 0;
    size_t size;
    FILE *f;

    if (count == 1)
        return of->kernel;
    f = open_memstream(&text, &size);
    if (!f)
        return 0;
    for (size_t i = 0; i < count; i++) {
        fputs(i ? " -> " : "", f);
        fputs(sl_report_name(report, of[i].kernel), f);
    }
    if (fclose(f) == 0)
        id = sl_intern_put(report->recordings.names, text, size);
    free(text);
    return id;
}

static int order_of_calls(const void *a, const void *b)
{
    const struct call *x = a, *y = b;

    if (x->op != y->op)
        return x->op < y->op ? -1 : 1;
    return (x->sequence > y->sequence) - (x->sequence < y->sequence);
}

/* Adds up the calls of an operator that launched the same. Returns the number that is left. */
static size_t join_calls(struct call *calls, size_t count)
{
    size_t kept = 0;

    if (count)
        qsort(calls, count, sizeof(*calls), order_of_calls);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || order_of_calls(&calls[i], &calls[kept - 1]) != 0) {
            calls[kept++] = calls[i];
            continue;
        }
        calls[kept - 1].count++;
        calls[kept - 1].op_delay += calls[i].op_delay;
        calls[kept - 1].runtime_delay += calls[i].runtime_delay;
    }
    return kept;
}

/* Makes calls of launches. `calls` has room for all. Returns the number, or -ENOMEM. */
static int64_t find_calls(const struct sl_report *report, struct inside *inside, size_t count,
                          struct call *calls)
{
    size_t found = 0, end;

    if (count)
        qsort(inside, count, sizeof(*inside), order_of_inside);
    for (size_t i = 0; i < count; i = end) {
        uint32_t sequence;

        for (end = i + 1; end < count && inside[end].op_ts == inside[i].op_ts &&
                          inside[end].thread == inside[i].thread && inside[end].op == inside[i].op;)
            end++;
        sequence = sequence_of(report, inside + i, end - i);
        if (!sequence)
            return -ENOMEM;
        calls[found++] =
            (struct call){inside[i].op, sequence, 1, inside[i].op_delay, inside[i].runtime_delay};
    }
    return (int64_t)join_calls(calls, found);
}

/* HTA sorts by the number of calls, and then by names. */
static int order_of_rows(const void *a, const void *b)
{
    const struct sl_cell *x = a, *y = b;
    int names;

    if (x[3].integer != y[3].integer)
        return x[3].integer > y[3].integer ? -1 : 1;
    names = strcmp(x[1].text, y[1].text);
    return names ? names : strcmp(x[2].text, y[2].text);
}

static void print_calls(const struct sl_report *report, int64_t rank, const struct call *calls,
                        size_t count, struct sl_table *out)
{
    size_t first = out->rows;

    for (size_t i = 0; i < count; i++) {
        struct sl_cell *row = sl_table_row(out);
        double n = (double)calls[i].count;

        row[0] = sl_cell_integer(rank);
        row[1] = sl_cell_text(sl_report_name(report, calls[i].op));
        row[2] = (struct sl_cell){.has = 1, .text = sl_report_name(report, calls[i].sequence)};
        row[3] = sl_cell_integer(calls[i].count);
        row[4] = sl_hta_float(sl_hta_round((double)calls[i].op_delay / n, 3));
        row[5] = sl_hta_float(sl_hta_round((double)calls[i].runtime_delay / n, 3));
    }
    if (!out->failed && count)
        qsort(out->cell + first * out->columns, count, out->columns * sizeof(*out->cell),
              order_of_rows);
}

static int add_operators(const struct sl_report *report, const struct sl_hta_rank *r,
                         struct sl_table *out)
{
    struct sl_hta_list ops = sl_hta_select(report->hta, r, is_operator);
    struct sl_hta_list launches = sl_hta_select(report->hta, r, is_kernel_launch);
    struct open_ops open = {malloc((ops.count + 1) * sizeof(*open.row)), 0};
    struct inside *inside = malloc((launches.count + 1) * sizeof(*inside));
    struct call *calls = malloc((launches.count + 1) * sizeof(*calls));
    int64_t count = -ENOMEM;

    if (ops.row && launches.row && open.row && inside && calls && sl_hta_sort(r, &ops) == 0 &&
        sl_hta_sort(r, &launches) == 0)
        count = find_calls(report, inside, find_inside(r, &ops, &launches, &open, inside), calls);
    if (count > 0)
        print_calls(report, r->rank, calls, (size_t)count, out);
    free(ops.row);
    free(launches.row);
    free(open.row);
    free(inside);
    free(calls);
    return count < 0 ? -ENOMEM : 0;
}

static void make_operators(const struct sl_report *report, struct sl_table *out)
{
    sl_hta_each_rank(report, add_operators, out);
}

const struct sl_metric sl_hta_operators = {
    .name = "aten_op_kernels_and_delay",
    .title = "the kernels of each operator, and the delays of the first",
    .columns = operator_columns,
    .needs = SL_HTA_NEED_OPERATORS,
    .formula = "A launch belongs to the operator that began last of those around it, on any "
               "thread. HTA fails if a launch in an operator has no kernel in the trace; here the "
               "launch is left out. For several ranks, HTA adds the rows of earlier ranks to those "
               "of later ones; here each rank has its own.",
    .source = "HTA get_aten_op_kernels_and_delay",
    .make = make_operators,
};
