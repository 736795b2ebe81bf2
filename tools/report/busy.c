/*
 * busy.c - merges the spans of each kind of work, and adds up the chosen steps.
 *
 * Threads, memory: see busy.h.
 */
#include "report/busy.h"

#include <errno.h>

#include "report/spans.h"

/* Returns the sums of a device, which are new if the device is. Returns NULL past `most`. */
static struct sl_busy *of_device(struct sl_busy *out, int *count, int most, uint8_t device)
{
    for (int i = 0; i < *count; i++)
        if (out[i].device == device)
            return &out[i];
    if (*count == most)
        return NULL;
    out[*count] = (struct sl_busy){.device = device};
    return &out[(*count)++];
}

static void add_interval(struct sl_spans *work, const struct sl_interval *in, struct sl_busy *out)
{
    uint64_t until;

    for (uint64_t ns = in->begin_ns; ns < in->end_ns; ns = until) {
        uint32_t running;

        until = in->end_ns;
        running = sl_spans_at(work, SL_WORK_COUNT, ns, &until);
        out->ns[running] += until - ns;
    }
}

/* Adds the operations [i, end) of a recording, which are of one device. */
static int add_device(const struct sl_report *report, size_t at, size_t i, size_t end,
                      struct sl_busy *out)
{
    const struct sl_recording *r = &report->recordings.of[at];
    const struct sl_parts *p = &report->parts[at];
    struct sl_spans work[SL_WORK_COUNT] = {{0}};
    int rc = 0;

    for (; i < end && rc == 0; i++)
        rc = sl_spans_add(&work[r->op[i].work], r->op[i].start_ns, r->op[i].end_ns);
    for (int k = 0; k < SL_WORK_COUNT; k++)
        sl_spans_merge(&work[k]);
    for (size_t k = 0; k < p->intervals && rc == 0; k++)
        if (p->interval[k].device == out->device &&
            sl_report_counts_step(report, r, p->interval[k].step))
            add_interval(work, &p->interval[k], out);
    for (int k = 0; k < SL_WORK_COUNT; k++)
        sl_spans_free(&work[k]);
    return rc;
}

int sl_busy_make(const struct sl_report *report, size_t first, size_t end, struct sl_busy *out,
                 int most)
{
    int count = 0;

    for (size_t at = first; at < end; at++) {
        const struct sl_recording *r = &report->recordings.of[at];
        size_t until;

        for (size_t i = 0; i < r->ops; i = until) {
            struct sl_busy *busy = of_device(out, &count, most, r->op[i].device);

            for (until = i; until < r->ops && r->op[until].device == r->op[i].device; until++)
                ;
            if (busy && add_device(report, at, i, until, busy) != 0)
                return -ENOMEM;
        }
    }
    return count;
}
