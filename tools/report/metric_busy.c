/*
 * metric_busy.c - how busy each device was over the recording, in bins of equal length.
 *
 * Threads, memory: see metric.h. For each operation 32 bytes are needed while a device is counted.
 */
#include <errno.h>
#include <stdlib.h>

#include "report/metric.h"
#include "report/spans.h"

enum {
    RANK,
    DEVICE,
    BEGIN,
    LENGTH,
    BUSY,
    FIRST_WORK,
    LAST = FIRST_WORK + SL_WORK_COUNT
};

static const struct sl_column columns[] = {
    [RANK] = {"rank", SL_COLUMN_COUNT, "rank of the process; none if the file does not name it"},
    [DEVICE] = {"device", SL_COLUMN_COUNT, "CUDA's number of the device"},
    [BEGIN] = {"begin_ns", SL_COLUMN_NS, "begin of the bin, in the file's time"},
    [LENGTH] = {"length_ns", SL_COLUMN_NS, "its length"},
    [BUSY] = {"busy_ns", SL_COLUMN_NS, "time in which anything ran"},
    [FIRST_WORK + SL_WORK_COMPUTE] = {"compute_ns", SL_COLUMN_NS,
                                      "time in which a kernel ran that is not communication"},
    [FIRST_WORK + SL_WORK_COMMUNICATION] = {"communication_ns", SL_COLUMN_NS,
                                            "time in which communication ran"},
    [FIRST_WORK + SL_WORK_COPY] = {"copy_ns", SL_COLUMN_NS, "time in which a copy or memset ran"},
    [LAST] = {NULL, SL_COLUMN_TEXT, NULL},
};

static const struct sl_setting settings[] = {
    {"bins", "", "number of bins for each device and recording", 1, 100000, 200, NULL},
    {NULL, NULL, NULL, 0, 0, 0, NULL},
};

#define LISTS (SL_WORK_COUNT + 1) /* the last list has everything */

struct bins {
    uint64_t begin_ns, end_ns;
    size_t count;
    uint64_t *ns[LISTS];
};

/* Returns the begin of a bin. `at` may be the number of bins. */
static uint64_t begin_of(const struct bins *b, size_t at)
{
    return b->begin_ns + (uint64_t)((__uint128_t)(b->end_ns - b->begin_ns) * at / b->count);
}

/* Adds merged spans to the bins that they touch. */
static void add_spans(struct bins *b, int list, const struct sl_spans *s)
{
    size_t at = 0;

    for (size_t i = 0; i < s->count; i++) {
        uint64_t from_ns = s->span[i].begin_ns;

        while (from_ns < s->span[i].end_ns) {
            uint64_t until_ns;

            while (at + 1 < b->count && begin_of(b, at + 1) <= from_ns)
                at++;
            until_ns = begin_of(b, at + 1);
            if (at + 1 == b->count || until_ns > s->span[i].end_ns)
                until_ns = s->span[i].end_ns;
            b->ns[list][at] += until_ns - from_ns;
            from_ns = until_ns;
        }
    }
}

/* Fills the bins of the operations op[0 .. count), which are of one device. */
static int fill(struct bins *b, const struct sl_report_op *op, size_t count)
{
    struct sl_spans list[LISTS] = {{0}};
    int rc = 0;

    b->begin_ns = op[0].start_ns;
    b->end_ns = op[0].end_ns;
    for (size_t i = 0; i < count && rc == 0; i++) {
        b->end_ns = op[i].end_ns > b->end_ns ? op[i].end_ns : b->end_ns;
        rc = sl_spans_add(&list[op[i].work], op[i].start_ns, op[i].end_ns);
        if (rc == 0)
            rc = sl_spans_add(&list[SL_WORK_COUNT], op[i].start_ns, op[i].end_ns);
    }
    for (int i = 0; i < LISTS; i++) {
        b->ns[i] = calloc(b->count, sizeof(**b->ns));
        if (!b->ns[i])
            rc = -ENOMEM;
        sl_spans_merge(&list[i]);
        if (rc == 0)
            add_spans(b, i, &list[i]);
        sl_spans_free(&list[i]);
    }
    return rc;
}

static void add_device(const struct sl_recording *r, const struct sl_report_op *op, size_t count,
                       size_t bins, struct sl_table *out)
{
    struct bins b = {.count = bins};

    if (fill(&b, op, count) != 0)
        out->failed = 1;
    for (size_t i = 0; i < bins && !out->failed; i++) {
        struct sl_cell *row = sl_table_row(out);

        row[RANK] = sl_cell_id(sl_report_rank(r));
        row[DEVICE] = sl_cell_id(op->device == SL_DEVICE_NONE ? -1 : op->device);
        row[BEGIN] = sl_cell_number(begin_of(&b, i) - SL_REPORT_ORIGIN_NS);
        row[LENGTH] = sl_cell_number(begin_of(&b, i + 1) - begin_of(&b, i));
        row[BUSY] = sl_cell_number(b.ns[SL_WORK_COUNT][i]);
        for (int work = 0; work < SL_WORK_COUNT; work++)
            row[FIRST_WORK + work] = sl_cell_number(b.ns[work][i]);
    }
    for (int i = 0; i < LISTS; i++)
        free(b.ns[i]);
}

static void make(const struct sl_report *report, struct sl_table *out)
{
    size_t bins = (size_t)sl_setting(&report->settings, out->metric, 0).number;

    for (size_t at = 0; at < report->recordings.count; at++) {
        const struct sl_recording *r = &report->recordings.of[at];
        size_t end;

        for (size_t i = 0; i < r->ops && !out->failed; i = end) {
            for (end = i; end < r->ops && r->op[end].device == r->op[i].device; end++)
                ;
            add_device(r, &r->op[i], end - i, bins, out);
        }
    }
}

const struct sl_metric sl_metric_busy = {
    .name = "busy",
    .title = "how busy each device was over time",
    .columns = columns,
    .settings = settings,
    .formula =
        "The time from the first start to the last end on a device is cut into 200 bins of equal "
        "length, to the nanosecond. All operations of the recording count, also those outside of "
        "the chosen steps.",
    .source = "syncline",
    .make = make,
};
