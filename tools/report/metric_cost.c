/*
 * metric_cost.c - what CUPTI and the driver spent beside the program's calls, and so what the
 * recording itself cost.
 *
 * Threads, memory: see metric.h.
 */
#include <string.h>

#include "report/cost.h"
#include "report/metric.h"

enum {
    RANK,
    NAME,
    IS_RECORDING,
    COUNT,
    SUM,
    LONGEST,
    PER_STEP,
    SHARE
};

static const struct sl_column columns[] = {
    [RANK] = {"rank", SL_COLUMN_COUNT, "rank of the process; none if the file does not name it"},
    [NAME] = {"name", SL_COLUMN_TEXT, "CUPTI's name of the overhead"},
    [IS_RECORDING] = {"is_recording", SL_COLUMN_COUNT,
                      "1: it would not be there without a recording"},
    [COUNT] = {"count", SL_COLUMN_COUNT, "number of times"},
    [SUM] = {"sum_ns", SL_COLUMN_NS, "their length together, on all threads"},
    [LONGEST] = {"longest_ns", SL_COLUMN_NS, "the longest"},
    [PER_STEP] = {"per_step_ns", SL_COLUMN_NS, "sum_ns divided by the number of steps"},
    [SHARE] = {"share_ratio", SL_COLUMN_RATIO, "sum_ns divided by the length of the steps"},
    {NULL, SL_COLUMN_TEXT, NULL},
};

static const struct sl_setting settings[] = {
    {"shown_ratio", "",
     "the first screen names the cost of the recording above this part of a step", 0, 1000, 0.01,
     NULL},
    {NULL, NULL, NULL, 0, 0, 0, NULL},
};

int sl_cost_is_recording(const char *name)
{
    static const char *const of_program[] = {"Command Buffer Full",
                                             "Runtime Triggered Module Loading",
                                             "Lazy Function Loading", "Driver Compiler"};

    for (size_t i = 0; i < sizeof(of_program) / sizeof(of_program[0]); i++)
        if (strcmp(of_program[i], name) == 0)
            return 0;
    return 1;
}

/* Returns the length of the chosen steps on the mean of the devices, and sets *steps. */
static uint64_t length_of(const struct sl_report *report, size_t first, size_t end, uint64_t *steps)
{
    uint8_t seen[UINT8_MAX + 1];
    int devices = sl_report_devices(report, first, end, seen);
    uint64_t length_ns = 0;

    *steps = 0;
    for (int device = 0; device <= UINT8_MAX; device++)
        if (seen[device]) {
            struct sl_report_time t = sl_report_time(report, first, end, (uint8_t)device);

            length_ns += t.length_ns;
            *steps = t.steps > *steps ? t.steps : *steps;
        }
    return devices ? length_ns / (uint64_t)devices : 0;
}

/* Returns 1 if an overhead at `ns` is in a chosen step or, without steps, while the GPUs worked. */
static int counts(const struct sl_report *report, size_t at, uint64_t ns)
{
    const struct sl_recording *r = &report->recordings.of[at];
    const struct sl_parts *p = &report->parts[at];

    if (r->steps)
        return sl_report_counts_part(report, r, sl_recording_part(r, ns));
    for (size_t i = 0; i < p->intervals; i++)
        if (ns >= p->interval[i].begin_ns && ns < p->interval[i].end_ns)
            return 1;
    return 0;
}

int sl_cost_make(const struct sl_report *report, size_t first, size_t end, struct sl_cost *out)
{
    *out = (struct sl_cost){.length_ns = 0};
    for (size_t at = first; at < end; at++) {
        const struct sl_recording *r = &report->recordings.of[at];

        for (size_t i = 0; i < r->overheads; i++) {
            const struct sl_report_overhead *o = &r->overhead[i];
            const uint32_t key[SL_SUM_KEYS] = {o->name};

            if (counts(report, at, o->start_ns))
                sl_sums_add(&out->by_name, key, o->end_ns - o->start_ns);
        }
    }
    sl_sums_sort(&out->by_name);
    out->length_ns = length_of(report, first, end, &out->steps);
    for (size_t i = 0; i < out->by_name.count; i++)
        if (sl_cost_is_recording(sl_report_name(report, out->by_name.sum[i].key[0])))
            out->recording_ns += out->by_name.sum[i].total_ns;
    return out->by_name.failed ? -1 : 0;
}

static void add_rank(const struct sl_report *report, size_t first, size_t end, struct sl_table *out)
{
    struct sl_cost cost;

    out->failed |= sl_cost_make(report, first, end, &cost) != 0;
    for (size_t i = 0; i < cost.by_name.count; i++) {
        const struct sl_sum *g = &cost.by_name.sum[i];
        const char *name = sl_report_name(report, g->key[0]);
        struct sl_cell *row = sl_table_row(out);

        row[RANK] = sl_cell_id(sl_report_rank(&report->recordings.of[first]));
        row[NAME] = sl_cell_text(name);
        row[IS_RECORDING] = sl_cell_number((uint64_t)sl_cost_is_recording(name));
        row[COUNT] = sl_cell_number(g->count);
        row[SUM] = sl_cell_number(g->total_ns);
        row[LONGEST] = sl_cell_number(g->longest_ns);
        if (cost.steps)
            row[PER_STEP] = sl_cell_number(g->total_ns / cost.steps);
        row[SHARE] = sl_cell_ratio(g->total_ns, cost.length_ns);
    }
    sl_sums_free(&cost.by_name);
}

static void make(const struct sl_report *report, struct sl_table *out)
{
    sl_report_each_rank(report, add_rank, out);
}

const struct sl_metric sl_metric_cost = {
    .name = "cost",
    .title = "what the recording itself cost",
    .columns = columns,
    .settings = settings,
    .formula =
        "Sums over the events of the category overhead that begin in the chosen steps or, without "
        "steps, between the first and the last GPU operation. They are of "
        "all threads, also of those that no step waits for, so the recording cost at most this. "
        "Full queues, loading of modules and compiling are the program's own. What the profiler "
        "does outside of CUPTI has no events; docs/measurements has it for syncline.",
    .source = "CUPTI_ACTIVITY_KIND_OVERHEAD",
    .make = make,
};
