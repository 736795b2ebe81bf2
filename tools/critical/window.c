/*
 * window.c - chooses the time whose critical path is sought: a step, a range, or all.
 *
 * Threads, memory: see critical.h; 24 bytes for each step or range of the name.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "critical/critical.h"
#include "read/grow.h"

struct candidate {
    uint64_t begin_ns, end_ns;
    uint64_t number;
    uint32_t name;
};

struct candidates {
    struct candidate *of;
    size_t count, slots;
};

static int by_start(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;

    if (x->begin_ns != y->begin_ns)
        return x->begin_ns < y->begin_ns ? -1 : 1;
    return x->end_ns < y->end_ns ? -1 : x->end_ns > y->end_ns;
}

/* Of two equal lengths, the earlier is less. */
static int by_length(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    uint64_t length_x = x->end_ns - x->begin_ns, length_y = y->end_ns - y->begin_ns;

    if (length_x != length_y)
        return length_x < length_y ? -1 : 1;
    return by_start(a, b);
}

static int add(struct candidates *c, uint64_t begin_ns, uint64_t end_ns, uint64_t number,
               uint32_t name)
{
    struct candidate *at = sl_grow((void **)&c->of, &c->count, &c->slots, sizeof(*at));

    if (!at)
        return -ENOMEM;
    *at = (struct candidate){begin_ns, end_ns, number, name};
    return 0;
}

static void take(struct sl_critical_window *out, const struct candidate *c)
{
    out->begin_ns = c->begin_ns;
    out->end_ns = c->end_ns;
    out->number = c->number;
    out->name = c->name;
}

static int take_middle(struct sl_critical_window *out, struct candidates *c)
{
    if (c->count == 0)
        return -ENOENT;
    qsort(c->of, c->count, sizeof(*c->of), by_length);
    take(out, &c->of[(c->count - 1) / 2]);
    out->candidates = c->count;
    out->is_middle = c->count > 1;
    return 0;
}

/* The first and the last step of a recording may be cut, or have the profiler's own work. */
static int choose_step(struct sl_critical_window *out, const struct sl_recording *r,
                       const uint64_t *step, struct candidates *c)
{
    const size_t edge = r->steps >= 3;

    out->what = SL_CRITICAL_STEP;
    for (size_t i = 0; step && i < r->steps; i++)
        if (r->step[i].number == *step) {
            take(out, &(struct candidate){r->step[i].start_ns, r->step[i].end_ns, *step, 0});
            out->candidates = r->steps;
            return 0;
        }
    for (size_t i = edge; !step && i + edge < r->steps; i++)
        if (add(c, r->step[i].start_ns, r->step[i].end_ns, r->step[i].number, 0) != 0)
            return -ENOMEM;
    return take_middle(out, c);
}

static int choose_range(struct sl_critical_window *out, const struct sl_recordings *all,
                        const struct sl_recording *r, const char *range, struct candidates *c)
{
    const size_t size = strlen(range);

    out->what = SL_CRITICAL_RANGE;
    for (size_t i = 0; i < r->cpus; i++) {
        const struct sl_report_cpu *cpu = &r->cpu[i];
        const char *name = sl_intern_get(all->names, cpu->name, NULL);

        if (cpu->kind != SL_CPU_CALL && name && sl_critical_matches(range, size, name) &&
            add(c, cpu->start_ns, cpu->end_ns, 0, cpu->name) != 0)
            return -ENOMEM;
    }
    if (c->count)
        qsort(c->of, c->count, sizeof(*c->of), by_start);
    for (size_t i = 0; i < c->count; i++)
        c->of[i].number = i;
    return take_middle(out, c);
}

static int choose_all(struct sl_critical_window *out, const struct sl_recording *r)
{
    out->what = SL_CRITICAL_ALL;
    out->begin_ns = UINT64_MAX;
    for (size_t i = 0; i < r->cpus; i++) {
        if (r->cpu[i].start_ns < out->begin_ns)
            out->begin_ns = r->cpu[i].start_ns;
        if (r->cpu[i].end_ns > out->end_ns)
            out->end_ns = r->cpu[i].end_ns;
    }
    for (size_t i = 0; i < r->ops; i++)
        if (!r->op[i].launch) {
            if (r->op[i].start_ns < out->begin_ns)
                out->begin_ns = r->op[i].start_ns;
            if (r->op[i].end_ns > out->end_ns)
                out->end_ns = r->op[i].end_ns;
        }
    out->candidates = 1;
    return out->begin_ns < out->end_ns ? 0 : -ENOENT;
}

int sl_critical_choose(struct sl_critical_window *out, const struct sl_recordings *all,
                       const struct sl_recording *r, const uint64_t *step, const char *range,
                       int is_all)
{
    struct candidates c = {0};
    int rc;

    *out = (struct sl_critical_window){0};
    if (range)
        rc = choose_range(out, all, r, range, &c);
    else if (is_all || (!step && r->steps == 0))
        rc = choose_all(out, r);
    else
        rc = choose_step(out, r, step, &c);
    free(c.of);
    return rc;
}
