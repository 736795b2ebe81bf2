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

/* The nearest site to a launch that was found so far. */
struct nearest {
    const struct sl_report_site *site;
    enum sl_near near;
    uint64_t ns; /* the time between them */
};

/* Looks at the sites of a thread before and after the launch, in the same part of the CPU's time.
 */
static void look(struct nearest *found, const struct sl_recording *r, uint32_t thread, uint64_t ns)
{
    uint32_t part = sl_recording_part(r, ns);
    size_t at = sl_recording_site(r, thread, ns);
    const struct sl_report_site *next = at < r->sites ? &r->site[at] : NULL,
                                *last = at ? &r->site[at - 1] : NULL;

    if (next && next->thread == thread && sl_recording_part(r, next->start_ns) == part &&
        next->start_ns - ns < found->ns)
        *found = (struct nearest){next, SL_NEAR_BEFORE, next->start_ns - ns};
    if (last && last->thread == thread && sl_recording_part(r, last->start_ns) == part &&
        last->end_ns <= ns && ns - last->end_ns < found->ns)
        *found = (struct nearest){last, SL_NEAR_AFTER, ns - last->end_ns};
}

/* Finds the site that is nearest to a launch: of its thread or, if that has none in the step, of
 * any. Autograd launches on threads that run no Python code. */
static struct nearest find(const struct sl_recording *r, const struct sl_report_launch *l)
{
    struct nearest found = {NULL, SL_NEAR_AT, UINT64_MAX};

    look(&found, r, l->thread, l->start_ns);
    if (found.site)
        return found;
    for (size_t i = 0; i < r->sites; i = sl_recording_site(r, r->site[i].thread, UINT64_MAX))
        look(&found, r, r->site[i].thread, l->start_ns);
    return found;
}

static void add_recording(const struct sl_report *report, size_t at, enum sl_part part,
                          int is_inside, uint32_t place, uint32_t name, struct sl_sums *lines)
{
    const struct sl_recording *r = &report->recordings.of[at];
    const struct sl_parts *p = &report->parts[at];

    for (size_t i = 0; i < p->gaps; i++) {
        const struct sl_gap *gap = &p->gap[i];
        const struct sl_report_launch *l = is_inside ? gap->call
                                           : gap->next && gap->next->launch
                                               ? &r->launch[gap->next->launch - 1]
                                               : NULL;
        struct nearest found;

        if (!l || l->line || l->place != place || l->name != name || !gap->part_ns[part] ||
            !sl_report_counts_step(report, r, p->interval[gap->interval].step))
            continue;
        found = find(r, l);
        if (found.site) {
            const uint32_t key[SL_SUM_KEYS] = {found.site->line, found.near};

            sl_sums_add(lines, key, is_inside ? gap->call_ns : gap->part_ns[part]);
        }
    }
}

uint32_t sl_near_line(const struct sl_report *report, enum sl_part part, int is_inside,
                      uint32_t place, uint32_t name, enum sl_near *near)
{
    struct sl_sums lines = {0};
    uint32_t line = 0;

    *near = SL_NEAR_AT;
    for (size_t at = 0; at < report->recordings.count; at++)
        add_recording(report, at, part, is_inside, place, name, &lines);
    sl_sums_sort(&lines);
    if (lines.count) {
        line = lines.sum[0].key[0];
        *near = (enum sl_near)lines.sum[0].key[1];
    }
    sl_sums_free(&lines);
    return line;
}
