/*
 * near.c - looks for the calls with a line before and after a launch.
 *
 * Threads, memory: see near.h.
 */
#include "report/near.h"

const char *sl_near_name(enum sl_near near)
{
    static const char *const names[] = {"at", "before", "after"};

    return names[near];
}

/* Returns the site that is nearest to the launch, or NULL. Sets *near. */
static const struct sl_report_site *nearest(const struct sl_recording *r,
                                            const struct sl_report_launch *l, enum sl_near *near)
{
    uint32_t part = sl_recording_part(r, l->start_ns);
    size_t at = sl_recording_site(r, l->thread, l->start_ns);
    const struct sl_report_site *next = at < r->sites ? &r->site[at] : NULL,
                                *last = at ? &r->site[at - 1] : NULL;

    if (next && (next->thread != l->thread || sl_recording_part(r, next->start_ns) != part))
        next = NULL;
    if (last && (last->thread != l->thread || sl_recording_part(r, last->start_ns) != part))
        last = NULL;
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
        const struct sl_report_site *site;
        enum sl_near near;

        if (!l || l->line || l->place != place || l->name != name || !gap->part_ns[part] ||
            !sl_report_counts_step(report, r, p->interval[gap->interval].step))
            continue;
        site = nearest(r, l, &near);
        if (site) {
            const uint32_t key[SL_SUM_KEYS] = {site->line, near};

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
