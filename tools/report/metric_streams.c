/*
 * metric_streams.c - why each stream was idle between two of its operations.
 *
 * Threads, memory: see metric.h; also 8 bytes for each idle time of a stream.
 */
#include <errno.h>

#include "read/grow.h"
#include "report/idle.h"
#include "report/metric.h"
#include "report/op_groups.h"

enum {
    RANK,
    DEVICE,
    STREAM,
    WAIT,
    CAUSE,
    GAPS,
    IDLE,
    SHARE,
    SUMMARY
};

static const struct sl_column columns[] = {
    [RANK] = {"rank", SL_COLUMN_COUNT, "rank of the process; none if the file does not name it"},
    [DEVICE] = {"device", SL_COLUMN_COUNT, "CUDA's number of the device"},
    [STREAM] = {"stream", SL_COLUMN_COUNT, "CUDA's number of the stream"},
    [WAIT] = {"wait", SL_COLUMN_TEXT, "host, kernel, stream, other or unknown"},
    [CAUSE] = {"cause", SL_COLUMN_TEXT, "of a host wait: sync, cpu, loader or launch"},
    [GAPS] = {"gaps", SL_COLUMN_COUNT, "number of idle times with this cause"},
    [IDLE] = {"idle_ns", SL_COLUMN_NS, "their length together"},
    [SHARE] = {"share_ratio", SL_COLUMN_RATIO, "idle_ns divided by all idle time of the stream"},
    SL_SUMMARY_COLUMNS(SUMMARY, SL_COLUMN_REAL_NS, "_ns", "length"),
    {NULL, SL_COLUMN_TEXT, NULL},
};

enum {
    CONSECUTIVE_KERNEL_DELAY
};

static const struct sl_setting settings[] = {
    [CONSECUTIVE_KERNEL_DELAY] = {"consecutive_kernel_delay", "us",
                                  "a shorter time after the launch is a kernel wait", 0, 1e9, 30,
                                  NULL},
    {NULL, NULL, NULL, 0, 0, 0, NULL},
};

/* Causes, in the order of the rows. The first four are those of a host wait. */
enum cause {
    SYNC,
    CPU,
    LOADER,
    LAUNCH,
    KERNEL,
    OTHER_STREAM,
    OTHER,
    UNKNOWN,
    CAUSES
};

static const char *const wait_name[CAUSES] = {"host",   "host",   "host",  "host",
                                              "kernel", "stream", "other", "unknown"};

struct lengths {
    double *ns;
    size_t count, slots;
    uint64_t total_ns;
};

static int add(struct lengths *of, uint64_t ns)
{
    double *place;

    if (!ns)
        return 0;
    place = sl_grow((void **)&of->ns, &of->count, &of->slots, sizeof(*place));
    if (!place)
        return -ENOMEM;
    *place = (double)ns;
    of->total_ns += ns;
    return 0;
}

/* Adds the idle time [a, b) before an operation. */
static int add_gap(const struct sl_recording *r, const struct sl_report_op *op, uint64_t a,
                   double delay_ns, struct lengths *of)
{
    const struct sl_report_launch *l = op->launch ? &r->launch[op->launch - 1] : NULL;
    struct sl_gap gap = {.begin_ns = a, .end_ns = op->start_ns, .next = op};
    uint64_t b = op->start_ns, from = a;
    int rc;

    if (!l || l->start_ns >= b || (op->graph && !op->is_node))
        return add(&of[UNKNOWN], b - a);
    if (l->start_ns < a) {
        if (l->end_ns > a)
            from = l->end_ns < b ? l->end_ns : b;
        return add(&of[(double)(b - from) < delay_ns ? KERNEL
                       : op->has_waited              ? OTHER_STREAM
                                                     : OTHER],
                   b - a);
    }
    sl_idle_explain(r, &gap);
    rc = add(&of[SYNC], gap.part_ns[SL_PART_SYNC]);
    rc = rc ? rc : add(&of[CPU], gap.part_ns[SL_PART_CPU]);
    rc = rc ? rc : add(&of[LOADER], gap.part_ns[SL_PART_LOADER]);
    return rc ? rc : add(&of[LAUNCH], gap.part_ns[SL_PART_LAUNCH]);
}

static void add_rows(const struct sl_recording *r, const struct sl_op_group *stream,
                     struct lengths *of, struct sl_table *out)
{
    static const char *const cause_name[CAUSES] = {"sync", "cpu", "loader", "launch"};
    uint64_t all_ns = 0;

    for (int i = 0; i < CAUSES; i++)
        all_ns += of[i].total_ns;
    for (int i = 0; i < CAUSES; i++) {
        struct sl_summary summary;
        struct sl_cell *row;

        if (!of[i].count)
            continue;
        summary = sl_spread_summary(of[i].ns, of[i].count);
        row = sl_table_row(out);
        row[RANK] = sl_cell_id(sl_report_rank(r));
        row[DEVICE] = sl_cell_device(stream->device);
        row[STREAM] = sl_cell_number(stream->key);
        row[WAIT] = sl_cell_text(wait_name[i]);
        row[CAUSE] = sl_cell_text(cause_name[i]);
        row[GAPS] = sl_cell_number(of[i].count);
        row[IDLE] = sl_cell_number(of[i].total_ns);
        row[SHARE] = sl_cell_ratio(of[i].total_ns, all_ns);
        sl_cells_summary(&row[SUMMARY], &summary);
    }
}

static int add_stream(const struct sl_report *report, const struct sl_recording *r,
                      const struct sl_op_groups *groups, const struct sl_op_group *stream,
                      struct sl_table *out)
{
    double delay_ns =
        1000 * sl_setting(&report->settings, out->metric, CONSECUTIVE_KERNEL_DELAY).number;
    struct lengths of[CAUSES] = {{0}};
    uint64_t end_ns = groups->op[stream->first]->end_ns;
    int rc = 0;

    for (size_t i = stream->first + 1; i < stream->end && rc == 0; i++) {
        const struct sl_report_op *op = groups->op[i];

        if (op->start_ns > end_ns && sl_report_counts_op(report, r, op))
            rc = add_gap(r, op, end_ns, delay_ns, of);
        end_ns = op->end_ns > end_ns ? op->end_ns : end_ns;
    }
    add_rows(r, stream, of, out);
    for (int i = 0; i < CAUSES; i++)
        free(of[i].ns);
    return rc;
}

static uint32_t stream_of(void *user, const struct sl_report_op *op)
{
    return sl_report_counts_stream(user, op->stream) ? op->stream : SL_OP_GROUPS_NONE;
}

static void make(const struct sl_report *report, struct sl_table *out)
{
    for (size_t at = 0; at < report->recordings.count && !out->failed; at++) {
        const struct sl_recording *r = &report->recordings.of[at];
        struct sl_op_groups groups;

        if (sl_op_groups_make(&groups, r, stream_of, (void *)report) != 0) {
            out->failed = 1;
            break;
        }
        for (size_t i = 0; i < groups.groups && !out->failed; i++)
            out->failed |= add_stream(report, r, &groups, &groups.group[i], out) != 0;
        sl_op_groups_free(&groups);
    }
}

const struct sl_metric sl_metric_streams = {
    .name = "streams",
    .title = "why each stream was idle between two of its operations",
    .columns = columns,
    .settings = settings,
    .is_by_stream = 1,
    .formula =
        "An idle time [a, b) of a stream ends with operation N, whose launch ran from s to e. It "
        "counts in the step of N. If the launch is not in the file: unknown. If s >= a: a host "
        "wait, divided by what the launching thread did; see `idle`. Else, if b - max(a, e) < "
        "consecutive_kernel_delay: a kernel wait; else if N waited for another stream: a stream "
        "wait; else other.",
    .source = "HTA get_idle_time_breakdown, whose kernel wait has b - a < consecutive_kernel_delay",
    .make = make,
};
