/*
 * idle.c - looks at the launch of the operation that ended a gap, and at what the launching thread
 * did since the gap began.
 *
 * Let the gap be [a, b), and let the call that launched the operation run from `start` to `end`.
 * If the launch began before a, the CPU was early enough: the gap is the latency of the launch if
 * that is short, else the operation was queued. If the call had also ended before a, the gap is one
 * between queued operations. If the launch began later, the CPU was late: the
 * time up to its start is what the thread did, and the rest is the launch.
 *
 * Threads, memory: see idle.h.
 */
#include "report/idle.h"

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Returns the index of the thread's first wait that ends after `ns`, or of another thread's. Calls
 * of a thread do not overlap, so their ends are in the order of their starts. */
static size_t first_wait(const struct sl_recording *r, uint32_t thread, uint64_t ns)
{
    size_t low = 0, high = r->waits;

    while (low < high) {
        size_t middle = (low + high) / 2;
        const struct sl_report_wait *w = &r->wait[middle];

        if (w->thread < thread || (w->thread == thread && w->end_ns <= ns))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static size_t first_load(const struct sl_recording *r, uint32_t thread, uint64_t ns)
{
    size_t low = 0, high = r->loads;

    while (low < high) {
        size_t middle = (low + high) / 2;
        const struct sl_report_load *l = &r->load[middle];

        if (l->thread < thread || (l->thread == thread && l->end_ns <= ns))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static size_t first_call(const struct sl_recording *r, uint32_t thread, uint64_t ns)
{
    size_t low = 0, high = r->calls;

    while (low < high) {
        size_t middle = (low + high) / 2;
        const struct sl_report_launch *c = &r->call[middle];

        if (c->thread < thread || (c->thread == thread && c->end_ns <= ns))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Finds the CUDA call in which the thread spent most of [a, b). */
static void find_call(const struct sl_recording *r, struct sl_gap *gap, uint32_t thread, uint64_t a,
                      uint64_t b)
{
    for (size_t i = first_call(r, thread, a);
         i < r->calls && r->call[i].thread == thread && r->call[i].start_ns < b; i++) {
        uint64_t ns = earlier(r->call[i].end_ns, b) - later(r->call[i].start_ns, a);

        if (ns <= gap->call_ns)
            continue;
        gap->call_ns = ns;
        gap->call = &r->call[i];
    }
}

/* Divides [a, b), in which the thread had not begun to launch yet, into waits for the GPU, loads of
 * data and other work. A load that waits for the GPU counts as a wait. */
static void explain_thread(const struct sl_recording *r, struct sl_gap *gap, uint32_t thread,
                           uint64_t b)
{
    size_t i = first_wait(r, thread, gap->begin_ns), k = first_load(r, thread, gap->begin_ns);
    uint64_t at = gap->begin_ns, until, longest = 0;

    for (; at < b; at = until) {
        const struct sl_report_wait *w;
        const struct sl_report_load *l;

        while (i < r->waits && r->wait[i].thread == thread && r->wait[i].end_ns <= at)
            i++;
        while (k < r->loads && r->load[k].thread == thread && r->load[k].end_ns <= at)
            k++;
        w = i < r->waits && r->wait[i].thread == thread ? &r->wait[i] : NULL;
        l = k < r->loads && r->load[k].thread == thread ? &r->load[k] : NULL;
        if (w && w->start_ns <= at) {
            until = earlier(w->end_ns, b);
            gap->part_ns[SL_PART_SYNC] += until - at;
            gap->is_after_sync |= at == gap->begin_ns;
            if (until - at > longest) {
                longest = until - at;
                gap->wait = w;
            }
            continue;
        }
        until = w ? earlier(w->start_ns, b) : b;
        if (l && l->start_ns <= at) {
            until = earlier(l->end_ns, until);
            gap->part_ns[SL_PART_LOADER] += until - at;
        } else {
            until = l ? earlier(l->start_ns, until) : until;
            gap->part_ns[SL_PART_CPU] += until - at;
            find_call(r, gap, thread, at, until);
        }
    }
}

void sl_idle_explain(const struct sl_recording *r, struct sl_gap *gap)
{
    uint64_t a = gap->begin_ns, b = gap->end_ns;
    const struct sl_report_launch *l;

    if (!gap->next->launch || (gap->next->graph && !gap->next->is_node)) {
        gap->part_ns[SL_PART_UNKNOWN] = b - a;
        return;
    }
    l = &r->launch[gap->next->launch - 1];
    if (l->start_ns < a) {
        int is_short = b - earlier(later(a, l->end_ns), b) < SL_IDLE_LAUNCH_NS;

        gap->part_ns[is_short ? SL_PART_LAUNCH : SL_PART_QUEUED] = b - a;
        gap->is_between = is_short && l->end_ns <= a;
        return;
    }
    if (l->start_ns >= b) { /* the clocks of CPU and GPU differ */
        gap->part_ns[SL_PART_UNKNOWN] = b - a;
        return;
    }
    explain_thread(r, gap, l->thread, l->start_ns);
    gap->part_ns[SL_PART_LAUNCH] = b - l->start_ns;
}
