/*
 * metric_launch.c - how long launches take, and how long after them the GPU begins.
 *
 * Threads, memory: see metric.h.
 */
#include "report/metric.h"
#include "report/sums.h"

enum {
    RANK,
    CALL,
    LAUNCHES,
    CALL_MEAN,
    CALL_MAX,
    DELAY_MEAN,
    DELAY_MAX,
    SHORT,
    SLOW,
    LATE
};

static const struct sl_column columns[] = {
    [RANK] = {"rank", SL_COLUMN_COUNT, "rank of the process; none if the file does not name it"},
    [CALL] = {"call", SL_COLUMN_TEXT, "the call that launched"},
    [LAUNCHES] = {"launches", SL_COLUMN_COUNT, "GPU operations that it launched"},
    [CALL_MEAN] = {"call_mean_ns", SL_COLUMN_REAL_NS, "mean length of the call"},
    [CALL_MAX] = {"call_max_ns", SL_COLUMN_NS, "longest call"},
    [DELAY_MEAN] =
        {"delay_mean_ns", SL_COLUMN_REAL_NS,
         "mean time from the end of the call to the operation's start; 0 if that is earlier"},
    [DELAY_MAX] = {"delay_max_ns", SL_COLUMN_NS, "longest such time"},
    [SHORT] = {"short_kernels", SL_COLUMN_COUNT,
               "operations shorter than their call, which took at most runtime_cutoff"},
    [SLOW] = {"slow_calls", SL_COLUMN_COUNT, "operations whose call took more than runtime_cutoff"},
    [LATE] = {"late_kernels", SL_COLUMN_COUNT,
              "operations that began more than launch_delay_cutoff after their call"},
    {NULL, SL_COLUMN_TEXT, NULL},
};

enum {
    RUNTIME_CUTOFF,
    LAUNCH_DELAY_CUTOFF
};

static const struct sl_setting settings[] = {
    [RUNTIME_CUTOFF] = {"runtime_cutoff", "us", "a call that takes longer is slow", 0, 1e9, 50,
                        NULL},
    [LAUNCH_DELAY_CUTOFF] = {"launch_delay_cutoff", "us",
                             "an operation that begins later after its call is late", 0, 1e9, 100,
                             NULL},
    {NULL, NULL, NULL, 0, 0, 0, NULL},
};

/* The groups of one call: `delay` and `call` have the same keys. */
struct launches {
    double slow_ns, late_ns; /* the limits */
    struct sl_sums call, delay, is_short, slow, late;
};

static void add_op(struct launches *all, const struct sl_report_op *op,
                   const struct sl_report_launch *l)
{
    const uint32_t key[SL_SUM_KEYS] = {l->name};
    uint64_t call_ns = l->end_ns - l->start_ns, gpu_ns = op->end_ns - op->start_ns;
    uint64_t delay_ns = op->start_ns > l->end_ns ? op->start_ns - l->end_ns : 0;

    sl_sums_add(&all->call, key, call_ns);
    sl_sums_add(&all->delay, key, delay_ns);
    if (gpu_ns < call_ns && (double)call_ns <= all->slow_ns)
        sl_sums_add(&all->is_short, key, 0);
    if ((double)call_ns > all->slow_ns)
        sl_sums_add(&all->slow, key, 0);
    if ((double)delay_ns > all->late_ns)
        sl_sums_add(&all->late, key, 0);
}

static uint64_t count_of(const struct sl_sums *sums, uint32_t name)
{
    for (size_t i = 0; i < sums->count; i++)
        if (sums->sum[i].key[0] == name)
            return sums->sum[i].count;
    return 0;
}

static const struct sl_sum *sum_of(const struct sl_sums *sums, uint32_t name)
{
    size_t i = 0;

    while (sums->sum[i].key[0] != name)
        i++;
    return &sums->sum[i];
}

static void add_rows(const struct sl_report *report, int64_t rank, struct launches *all,
                     struct sl_table *out)
{
    sl_sums_sort(&all->call);
    for (size_t i = 0; i < all->call.count; i++) {
        const struct sl_sum *call = &all->call.sum[i], *delay = sum_of(&all->delay, call->key[0]);
        struct sl_cell *row = sl_table_row(out);

        row[RANK] = sl_cell_id(rank);
        row[CALL] = sl_cell_text(sl_report_name(report, call->key[0]));
        row[LAUNCHES] = sl_cell_number(call->count);
        row[CALL_MEAN] = sl_cell_real(sl_sum_mean(call));
        row[CALL_MAX] = sl_cell_number(call->longest_ns);
        row[DELAY_MEAN] = sl_cell_real(sl_sum_mean(delay));
        row[DELAY_MAX] = sl_cell_number(delay->longest_ns);
        row[SHORT] = sl_cell_number(count_of(&all->is_short, call->key[0]));
        row[SLOW] = sl_cell_number(count_of(&all->slow, call->key[0]));
        row[LATE] = sl_cell_number(count_of(&all->late, call->key[0]));
    }
}

static void add_rank(const struct sl_report *report, size_t first, size_t end, struct sl_table *out)
{
    const struct sl_settings *set = &report->settings;
    struct launches all = {.slow_ns = 1000 * sl_setting(set, out->metric, RUNTIME_CUTOFF).number,
                           .late_ns =
                               1000 * sl_setting(set, out->metric, LAUNCH_DELAY_CUTOFF).number};

    for (size_t i = first; i < end; i++) {
        const struct sl_recording *r = &report->recordings.of[i];

        for (size_t k = 0; k < r->ops; k++)
            if (r->op[k].launch && sl_report_counts_op(report, r, &r->op[k]))
                add_op(&all, &r->op[k], &r->launch[r->op[k].launch - 1]);
    }
    out->failed |= all.call.failed || all.delay.failed || all.is_short.failed || all.slow.failed ||
                   all.late.failed;
    if (!out->failed)
        add_rows(report, sl_report_rank(&report->recordings.of[first]), &all, out);
    sl_sums_free(&all.call);
    sl_sums_free(&all.delay);
    sl_sums_free(&all.is_short);
    sl_sums_free(&all.slow);
    sl_sums_free(&all.late);
}

static void make(const struct sl_report *report, struct sl_table *out)
{
    sl_report_each_rank(report, add_rank, out);
}

const struct sl_metric sl_metric_launch = {
    .name = "launch",
    .title = "launches and their delay",
    .columns = columns,
    .settings = settings,
    .is_by_stream = 1,
    .formula = "delay = max(0, start of the operation - end of the call). All calls that launched "
               "count; HTA "
               "leaves out cuLaunchKernelEx, which Triton uses.",
    .source = "HTA get_cuda_kernel_launch_stats, added up by call",
    .make = make,
};
