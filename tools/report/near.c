/*
 * near.c - looks for the waits before and after a launch.
 *
 * Threads, memory: see near.h.
 */
#include "report/near.h"

#define MOST 64u /* waits without a line that are passed over */

const char *sl_near_name(enum sl_near near)
{
    static const char *const names[] = {"at", "before", "after"};

    return names[near];
}

/* Returns the index of the first wait of the thread that begins at `ns` or later, or of a later
 * thread. */
static size_t first_from(const struct sl_recording *r, uint32_t thread, uint64_t ns)
{
    size_t low = 0, high = r->waits;

    while (low < high) {
        size_t middle = (low + high) / 2;
        const struct sl_report_wait *w = &r->wait[middle];

        if (w->thread < thread || (w->thread == thread && w->start_ns < ns))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Returns the wait that is nearest to the launch, or NULL. Sets *near. */
static const struct sl_report_wait *nearest(const struct sl_recording *r,
                                            const struct sl_report_launch *l, enum sl_near *near)
{
    uint32_t part = sl_recording_part(r, l->start_ns);
    const struct sl_report_wait *next = NULL, *last = NULL;
    size_t from = first_from(r, l->thread, l->start_ns);

    for (size_t i = from; i < r->waits && r->wait[i].thread == l->thread && !next; i++) {
        if (i - from == MOST || sl_recording_part(r, r->wait[i].start_ns) != part)
            break;
        next = r->wait[i].line ? &r->wait[i] : NULL;
    }
    for (size_t i = from; i > 0 && r->wait[i - 1].thread == l->thread && !last; i--) {
        if (from - i == MOST || sl_recording_part(r, r->wait[i - 1].start_ns) != part)
            break;
        last = r->wait[i - 1].line ? &r->wait[i - 1] : NULL;
    }
    *near = next ? SL_NEAR_BEFORE : SL_NEAR_AFTER;
    if (next && last && last->end_ns < l->start_ns &&
        l->start_ns - last->end_ns < next->start_ns - l->start_ns)
        *near = SL_NEAR_AFTER;
    return *near == SL_NEAR_BEFORE ? next : last;
}

static void add_recording(const struct sl_report *report, size_t at, enum sl_part part,
                          uint32_t place, uint32_t name, struct sl_sums *lines)
{
    const struct sl_recording *r = &report->recordings.of[at];
    const struct sl_parts *p = &report->parts[at];

    for (size_t i = 0; i < p->gaps; i++) {
        const struct sl_gap *gap = &p->gap[i];
        const struct sl_report_launch *l =
            gap->next && gap->next->launch ? &r->launch[gap->next->launch - 1] : NULL;
        const struct sl_report_wait *wait;
        enum sl_near near;

        if (!l || l->line || l->place != place || l->name != name || !gap->part_ns[part] ||
            !sl_report_counts_step(report, r, p->interval[gap->interval].step))
            continue;
        wait = nearest(r, l, &near);
        if (wait) {
            const uint32_t key[SL_SUM_KEYS] = {wait->line, near};

            sl_sums_add(lines, key, gap->part_ns[part]);
        }
    }
}

uint32_t sl_near_line(const struct sl_report *report, enum sl_part part, uint32_t place,
                      uint32_t name, enum sl_near *near)
{
    struct sl_sums lines = {0};
    uint32_t line = 0;

    *near = SL_NEAR_AT;
    for (size_t at = 0; at < report->recordings.count; at++)
        add_recording(report, at, part, place, name, &lines);
    sl_sums_sort(&lines);
    if (lines.count) {
        line = lines.sum[0].key[0];
        *near = (enum sl_near)lines.sum[0].key[1];
    }
    sl_sums_free(&lines);
    return line;
}
