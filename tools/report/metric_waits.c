/*
 * metric_waits.c - the waits of the CPU for the GPU, by line of code and call.
 *
 * Threads, memory: see metric.h.
 */
#include "report/metric.h"
#include "report/sums.h"

enum {
    RANK,
    LINE,
    PLACE,
    CALL,
    SOURCE,
    KIND,
    CALLS,
    WAITED,
    LONGEST,
    PER_STEP
};

static const struct sl_column columns[] = {
    [RANK] = {"rank", SL_COLUMN_COUNT, "rank of the process; none if the file does not name it"},
    [LINE] = {"line", SL_COLUMN_TEXT, "line of the user's code, if the file has it"},
    [PLACE] = {"place", SL_COLUMN_TEXT, "innermost operator or range around the call"},
    [CALL] = {"call", SL_COLUMN_TEXT, "the CUDA call that waited"},
    [SOURCE] = {"source", SL_COLUMN_TEXT, "the GPU operation that released the wait"},
    [KIND] = {"kind", SL_COLUMN_TEXT, "kind of the edge; see `syncline edges --help`"},
    [CALLS] = {"calls", SL_COLUMN_COUNT, "calls that waited"},
    [WAITED] = {"waited_ns", SL_COLUMN_NS, "time that they waited"},
    [LONGEST] = {"longest_ns", SL_COLUMN_NS, "the longest wait"},
    [PER_STEP] = {"per_step_ns", SL_COLUMN_NS, "waited_ns divided by the number of steps"},
    {NULL, SL_COLUMN_TEXT, NULL},
};

/* Adds the rows of the rank whose recordings are [first, end). */
static void add_rank(const struct sl_report *report, size_t first, size_t end, struct sl_table *out)
{
    struct sl_sums groups = {0};
    uint64_t steps = 0;

    for (size_t i = first; i < end; i++) {
        const struct sl_recording *r = &report->recordings.of[i];

        steps += sl_report_cpu_steps(report, r);
        for (size_t k = 0; k < r->waits; k++) {
            const struct sl_report_wait *w = &r->wait[k];
            const uint32_t key[SL_SUM_KEYS] = {w->line, w->place, w->name, w->source, w->kind};

            if (w->wait_ns && sl_report_counts_part(report, r, sl_recording_part(r, w->start_ns)))
                sl_sums_add(&groups, key, w->wait_ns);
        }
    }
    sl_sums_sort(&groups);
    out->failed |= groups.failed;
    for (size_t i = 0; i < groups.count; i++) {
        const struct sl_sum *g = &groups.sum[i];
        struct sl_cell *row = sl_table_row(out);

        row[RANK] = sl_cell_id(sl_report_rank(&report->recordings.of[first]));
        row[LINE] = sl_cell_text(sl_report_name(report, g->key[0]));
        row[PLACE] = sl_cell_text(sl_report_name(report, g->key[1]));
        row[CALL] = sl_cell_text(sl_report_name(report, g->key[2]));
        row[SOURCE] = sl_cell_text(sl_report_name(report, g->key[3]));
        row[KIND] = sl_cell_text(sl_edge_kind_name((enum sl_edge_kind)g->key[4]));
        row[CALLS] = sl_cell_number(g->count);
        row[WAITED] = sl_cell_number(g->total_ns);
        row[LONGEST] = sl_cell_number(g->longest_ns);
        row[PER_STEP] = sl_cell_number(steps ? g->total_ns / steps : 0);
    }
    sl_sums_free(&groups);
}

static void make(const struct sl_report *report, struct sl_table *out)
{
    sl_report_each_rank(report, add_rank, out);
}

const struct sl_metric sl_metric_waits = {
    .name = "waits",
    .title = "waits of the CPU for the GPU",
    .columns = columns,
    .formula =
        "Each call is counted once, with the edge that released it, or else with its longest "
        "wait. docs/sync-edges.md says how edges are found.",
    .source = "syncline edges",
    .make = make,
};
