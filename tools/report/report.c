/*
 * report.c - small questions that several metrics ask.
 *
 * Threads, memory: see report.h.
 */
#include "report/report.h"

#include <errno.h>
#include <string.h>

int64_t sl_report_rank(const struct sl_recording *r)
{
    return r->header.has_rank ? r->header.rank : -1;
}

const char *sl_report_name(const struct sl_report *report, uint32_t id)
{
    const char *name = sl_intern_get(report->recordings.names, id, NULL);

    return name ? name : "";
}

int sl_report_counts_step(const struct sl_report *report, const struct sl_recording *r,
                          uint32_t step)
{
    uint64_t number;

    if (!step)
        return report->counts_between || r->steps == 0;
    number = r->step[step - 1].number;
    return number >= report->first_step && number <= report->last_step;
}

int sl_report_has_steps(const struct sl_report *report)
{
    for (size_t i = 0; i < report->recordings.count; i++)
        if (report->recordings.of[i].steps)
            return 1;
    return 0;
}

int sl_report_find_late(struct sl_report *report)
{
    struct sl_sums late = {0}; /* the waiting, by the rank that began last */
    uint64_t total_ns = 0;
    int rc;

    for (size_t at = 0; at < report->recordings.count; at++) {
        const struct sl_recording *r = &report->recordings.of[at];
        const struct sl_peers *peers = &report->peers[at];

        for (size_t i = 0; peers->last_start_ns && i < r->ops; i++) {
            const struct sl_report_op *op = &r->op[i];
            uint64_t until_ns =
                peers->last_start_ns[i] < op->end_ns ? peers->last_start_ns[i] : op->end_ns;
            const uint32_t key[SL_SUM_KEYS] = {(uint32_t)peers->last_rank[i]};

            if (until_ns <= op->start_ns || !sl_report_counts_part(report, r, op->part))
                continue;
            sl_sums_add(&late, key, until_ns - op->start_ns);
            total_ns += until_ns - op->start_ns;
        }
    }
    sl_sums_sort(&late);
    report->late_rank = late.count ? (int64_t)late.sum[0].key[0] : -1;
    report->late_ratio = late.count ? (double)late.sum[0].total_ns / (double)total_ns : 0;
    rc = late.failed ? -ENOMEM : 0;
    sl_sums_free(&late);
    return rc;
}

uint64_t sl_report_lost(const struct sl_report *report)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < report->recordings.count; i++) {
        const struct sl_header *h = &report->recordings.of[i].header;

        for (unsigned k = 0; k < h->counters; k++)
            if (sl_header_is_loss(h->counter[k].name))
                sum += h->counter[k].value;
    }
    return sum;
}

size_t sl_report_cpu_steps(const struct sl_report *report, const struct sl_recording *r)
{
    size_t count = 0;

    for (uint32_t i = 0; i < r->steps; i++)
        count += (size_t)sl_report_counts_step(report, r, i + 1);
    return r->steps ? count : 1;
}

void sl_report_time_add(struct sl_report_time *time, const struct sl_interval *in)
{
    time->steps++;
    time->length_ns += in->end_ns - in->begin_ns;
    for (int part = 0; part < SL_PART_COUNT; part++)
        time->part_ns[part] += in->part_ns[part];
    time->between_ns += in->between_ns;
}

struct sl_report_time sl_report_time(const struct sl_report *report, size_t first, size_t end,
                                     uint8_t device)
{
    struct sl_report_time time = {0};

    for (size_t at = first; at < end; at++) {
        const struct sl_parts *p = &report->parts[at];

        for (size_t i = 0; i < p->intervals; i++) {
            if (p->interval[i].device != device ||
                !sl_report_counts_step(report, &report->recordings.of[at], p->interval[i].step))
                continue;
            sl_report_time_add(&time, &p->interval[i]);
        }
    }
    return time;
}

size_t sl_report_rank_end(const struct sl_report *report, size_t first)
{
    const struct sl_recordings *all = &report->recordings;
    int64_t rank = sl_report_rank(&all->of[first]);
    size_t end = first + 1;

    while (end < all->count && rank >= 0 && sl_report_rank(&all->of[end]) == rank)
        end++;
    return end;
}

void sl_report_each_rank(const struct sl_report *report,
                         void (*add)(const struct sl_report *report, size_t first, size_t end,
                                     struct sl_table *out),
                         struct sl_table *out)
{
    size_t end;

    for (size_t first = 0; first < report->recordings.count; first = end) {
        end = sl_report_rank_end(report, first);
        add(report, first, end, out);
    }
}

int sl_report_devices(const struct sl_report *report, size_t first, size_t end,
                      uint8_t seen[UINT8_MAX + 1])
{
    int count = 0;

    memset(seen, 0, UINT8_MAX + 1);
    for (size_t at = first; at < end; at++)
        for (size_t i = 0; i < report->parts[at].intervals; i++) {
            uint8_t device = report->parts[at].interval[i].device;

            count += !seen[device];
            seen[device] = 1;
        }
    return count;
}

void sl_report_each_device(const struct sl_report *report,
                           void (*add)(const struct sl_report *report, size_t first, size_t end,
                                       uint8_t device, struct sl_table *out),
                           struct sl_table *out)
{
    uint8_t seen[UINT8_MAX + 1];
    size_t end;

    for (size_t first = 0; first < report->recordings.count; first = end) {
        end = sl_report_rank_end(report, first);
        sl_report_devices(report, first, end, seen);
        for (int device = 0; device <= UINT8_MAX; device++)
            if (seen[device])
                add(report, first, end, (uint8_t)device, out);
    }
}

const char sl_report_whole_replays[] =
    "Of some replays of CUDA graphs the nodes were not recorded: record with syncline, with "
    "torch.profiler, or with nsys --cuda-graph-trace=node; no tool may record whole graphs "
    "beside it.";

int sl_report_is_replayed(const struct sl_report *report, const struct sl_recording *r,
                          const struct sl_report_op *op)
{
    return op->graph ||
           (op->launch &&
            strstr(sl_report_name(report, r->launch[op->launch - 1].name), "GraphLaunch") != NULL);
}

struct sl_sums sl_report_kernels(const struct sl_report *report, size_t first, size_t end)
{
    struct sl_sums groups = {0};

    for (size_t i = first; i < end; i++) {
        const struct sl_recording *r = &report->recordings.of[i];

        for (size_t k = 0; k < r->ops; k++) {
            const struct sl_report_op *op = &r->op[k];
            const uint32_t key[SL_SUM_KEYS] = {op->work, op->name};

            if (sl_report_counts_op(report, r, op))
                sl_sums_add(&groups, key, op->end_ns - op->start_ns);
        }
    }
    sl_sums_sort(&groups);
    return groups;
}
