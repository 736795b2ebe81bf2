/*
 * metric_idle.c - why the devices were idle: causes, with the place in the program.
 *
 * Threads, memory: see metric.h.
 */
#include "report/metric.h"
#include "report/sums.h"

enum {
    RANK,
    DEVICE,
    CAUSE,
    PLACE,
    LINE,
    CALL,
    GAPS,
    IDLE,
    LONGEST,
    PER_STEP,
    SHARE
};

static const struct sl_column columns[] = {
    [RANK] = {"rank", SL_COLUMN_COUNT, "rank of the process; none if the file does not name it"},
    [DEVICE] = {"device", SL_COLUMN_COUNT, "CUDA's number of the device"},
    [CAUSE] = {"cause", SL_COLUMN_TEXT,
               "sync, cpu, loader, launch, queued or unknown; see `parts`"},
    [PLACE] = {"place", SL_COLUMN_TEXT,
               "innermost operator or range around the wait, or around the launch that came late"},
    [LINE] = {"line", SL_COLUMN_TEXT, "line of the user's code, if the file has it"},
    [CALL] = {"call", SL_COLUMN_TEXT,
              "sync: the call that waited; queued: the GPU work waited for; else the launch"},
    [GAPS] = {"gaps", SL_COLUMN_COUNT, "number of times"},
    [IDLE] = {"idle_ns", SL_COLUMN_NS, "their length together"},
    [LONGEST] = {"longest_ns", SL_COLUMN_NS, "the longest"},
    [PER_STEP] = {"per_step_ns", SL_COLUMN_NS, "idle_ns divided by the number of steps"},
    [SHARE] = {"share_ratio", SL_COLUMN_RATIO, "idle_ns divided by the length of the steps"},
    {NULL, SL_COLUMN_TEXT, NULL},
};

/* The members of a group's key. */
enum {
    KEY_DEVICE,
    KEY_CAUSE,
    KEY_PLACE,
    KEY_LINE,
    KEY_CALL
};

static void add_cause(struct sl_sums *groups, const struct sl_recording *r,
                      const struct sl_gap *gap, uint8_t device, enum sl_part part)
{
    const struct sl_report_op *next = gap->next;
    const struct sl_report_launch *l = next && next->launch ? &r->launch[next->launch - 1] : NULL;
    uint32_t key[SL_SUM_KEYS] = {[KEY_DEVICE] = device, [KEY_CAUSE] = part};

    if (part == SL_PART_SYNC && gap->wait) {
        key[KEY_PLACE] = gap->wait->place;
        key[KEY_LINE] = gap->wait->line;
        key[KEY_CALL] = gap->wait->name;
    } else if (l) {
        key[KEY_PLACE] = l->place;
        key[KEY_LINE] = l->line;
        key[KEY_CALL] = part == SL_PART_QUEUED ? next->awaited : l->name;
    }
    sl_sums_add(groups, key, gap->part_ns[part]);
}

static void add_gaps(const struct sl_report *report, size_t at, struct sl_sums *groups)
{
    const struct sl_recording *r = &report->recordings.of[at];
    const struct sl_parts *p = &report->parts[at];

    for (size_t i = 0; i < p->gaps; i++) {
        const struct sl_gap *gap = &p->gap[i];
        const struct sl_interval *in = &p->interval[gap->interval];

        if (!sl_report_counts_step(report, r, in->step))
            continue;
        for (int part = SL_PART_SYNC; part < SL_PART_COUNT; part++)
            if (gap->part_ns[part])
                add_cause(groups, r, gap, in->device, (enum sl_part)part);
    }
}

/* Adds the rows of the rank whose recordings are [first, end). */
static void add_rank(const struct sl_report *report, size_t first, size_t end, struct sl_table *out)
{
    struct sl_sums groups = {0};

    for (size_t i = first; i < end; i++)
        add_gaps(report, i, &groups);
    sl_sums_sort(&groups);
    out->failed |= groups.failed;
    for (size_t i = 0; i < groups.count; i++) {
        const struct sl_sum *g = &groups.sum[i];
        uint8_t device = (uint8_t)g->key[KEY_DEVICE];
        struct sl_report_time time = sl_report_time(report, first, end, device);
        struct sl_cell *row = sl_table_row(out);

        row[RANK] = sl_cell_id(sl_report_rank(&report->recordings.of[first]));
        row[DEVICE] = sl_cell_device(device);
        row[CAUSE] = sl_cell_text(sl_part_name((enum sl_part)g->key[KEY_CAUSE]));
        row[PLACE] = sl_cell_text(sl_report_name(report, g->key[KEY_PLACE]));
        row[LINE] = sl_cell_text(sl_report_name(report, g->key[KEY_LINE]));
        row[CALL] = sl_cell_text(sl_report_name(report, g->key[KEY_CALL]));
        row[GAPS] = sl_cell_number(g->count);
        row[IDLE] = sl_cell_number(g->total_ns);
        row[LONGEST] = sl_cell_number(g->longest_ns);
        row[PER_STEP] = sl_cell_number(time.steps ? g->total_ns / time.steps : 0);
        row[SHARE] = sl_cell_ratio(g->total_ns, time.length_ns);
    }
    sl_sums_free(&groups);
}

static void make(const struct sl_report *report, struct sl_table *out)
{
    sl_report_each_rank(report, add_rank, out);
}

const struct sl_metric sl_metric_idle = {
    .name = "idle",
    .title = "why the devices were idle",
    .columns = columns,
    .formula =
        "An idle interval [a, b) of a device ends with operation N, whose launch ran from s to e "
        "on thread T. If the launch is not in the file: unknown. If s < a: launch if b - max(a, e) "
        "< 30 us, else queued. Else [a, s) is divided by what T did: in a call that waits for the "
        "GPU (sync), in PyTorch's DataLoader (loader), or other work (cpu); [s, b) is launch.",
    .source = "syncline",
    .make = make,
};
