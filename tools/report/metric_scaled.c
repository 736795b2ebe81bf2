/*
 * metric_scaled.c - the totals of a job of which several windows were recorded, scaled to the whole
 * time.
 *
 * Threads, memory: see metric.h.
 */
#include "report/metric.h"
#include "report/scaled.h"

enum {
    RANK,
    DEVICE,
    PART,
    WINDOWS,
    BASIS,
    RECORDED,
    ALL,
    FACTOR,
    PART_NS,
    SCALED_NS
};

static const struct sl_column columns[] = {
    [RANK] = {"rank", SL_COLUMN_COUNT, "rank of the process; none if the file does not name it"},
    [DEVICE] = {"device", SL_COLUMN_COUNT, "CUDA's number of the device"},
    [PART] = {"part", SL_COLUMN_TEXT, "part of the time, see `parts`; all: everything"},
    [WINDOWS] = {"windows", SL_COLUMN_COUNT, "number of recorded windows"},
    [BASIS] = {"basis", SL_COLUMN_TEXT, "steps or time: what the factor was computed from"},
    [RECORDED] = {"recorded", SL_COLUMN_COUNT, "recorded steps, or ns in the windows"},
    [ALL] = {"all", SL_COLUMN_COUNT,
             "steps or ns from the begin of the first window to the end of the last"},
    [FACTOR] = {"factor", SL_COLUMN_REAL, "all divided by recorded"},
    [PART_NS] = {"recorded_ns", SL_COLUMN_NS, "time of the part in the chosen steps"},
    [SCALED_NS] = {"scaled_ns", SL_COLUMN_NS, "recorded_ns times the factor: an estimate"},
    {NULL, SL_COLUMN_TEXT, NULL},
};

struct sl_scaled sl_scaled_make(const struct sl_report *report, size_t first, size_t end)
{
    struct sl_scaled s = {.windows = end - first, .is_steps = 1};
    uint64_t least = UINT64_MAX, most = 0, steps = 0, time_ns = 0;
    int64_t opened_ns = INT64_MAX, closed_ns = INT64_MIN;

    for (size_t at = first; at < end; at++) {
        const struct sl_recording *r = &report->recordings.of[at];
        const struct sl_header *h = &r->header;

        s.is_steps &= r->steps != 0;
        for (uint32_t i = 0; i < r->steps; i++) {
            if (!sl_report_counts_step(report, r, i + 1))
                continue;
            least = r->step[i].number < least ? r->step[i].number : least;
            most = r->step[i].number > most ? r->step[i].number : most;
            steps++;
        }
        if (!h->has_window || h->closed_ns <= h->opened_ns)
            continue;
        opened_ns = h->opened_ns < opened_ns ? h->opened_ns : opened_ns;
        closed_ns = h->closed_ns > closed_ns ? h->closed_ns : closed_ns;
        time_ns += (uint64_t)(h->closed_ns - h->opened_ns);
    }
    s.recorded = s.is_steps ? steps : time_ns;
    if (s.is_steps && steps)
        s.all = most - least + 1;
    else if (time_ns)
        s.all = (uint64_t)(closed_ns - opened_ns);
    if (s.recorded)
        s.factor = (double)s.all / (double)s.recorded;
    return s;
}

static void add_row(int64_t rank, uint8_t device, const char *part, const struct sl_scaled *s,
                    uint64_t ns, struct sl_table *out)
{
    struct sl_cell *row = sl_table_row(out);

    row[RANK] = sl_cell_id(rank);
    row[DEVICE] = sl_cell_id(device == SL_DEVICE_NONE ? -1 : device);
    row[PART] = sl_cell_text(part);
    row[WINDOWS] = sl_cell_number(s->windows);
    row[BASIS] = sl_cell_text(s->is_steps ? "steps" : "time");
    row[RECORDED] = sl_cell_number(s->recorded);
    row[ALL] = sl_cell_number(s->all);
    row[FACTOR] = sl_cell_real(s->factor);
    row[PART_NS] = sl_cell_number(ns);
    if ((double)ns * s->factor < (double)INT64_MAX) /* times may be wrong */
        row[SCALED_NS] = sl_cell_number((uint64_t)((double)ns * s->factor + 0.5));
}

static void add_device(const struct sl_report *report, size_t first, size_t end, uint8_t device,
                       struct sl_table *out)
{
    int64_t rank = sl_report_rank(&report->recordings.of[first]);
    struct sl_scaled s = sl_scaled_make(report, first, end);
    struct sl_report_time t = sl_report_time(report, first, end, device);

    if (s.windows < 2 || s.factor <= 0)
        return;
    add_row(rank, device, "all", &s, t.length_ns, out);
    for (int part = 0; part < SL_PART_COUNT; part++)
        add_row(rank, device, sl_part_name((enum sl_part)part), &s, t.part_ns[part], out);
}

static void make(const struct sl_report *report, struct sl_table *out)
{
    sl_report_each_device(report, add_device, out);
    if (out->rows == 0)
        out->note[0] = "No rank has several windows, so there is nothing to scale.";
}

const struct sl_metric sl_metric_scaled = {
    .name = "scaled",
    .title = "totals of several windows, scaled to the whole time",
    .columns = columns,
    .formula =
        "If all windows of a rank have steps, the factor is the number of steps from the first to "
        "the last recorded one, divided by the recorded steps. Else it is the time from the begin "
        "of the first window to the end of the last, divided by the time in windows. What was not "
        "recorded is taken to be like what was. A rank with one window has no rows.",
    .source = "syncline",
    .make = make,
};
