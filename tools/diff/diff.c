/*
 * diff.c - pairs the ranks of both sides, and compares their steps and the parts of the steps.
 *
 * Threads, memory: see diff.h.
 */
#include "diff/diff.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define VALUES (SL_PART_COUNT + 1) /* the parts, and the step */

/* ---- the steps of a rank ---- */

/* Returns 1 if the first step of a device has no step or other work before it, so that its begin is
 * not known: it is taken to be its first operation. */
static int is_first_cut(const struct sl_parts *parts)
{
    for (size_t i = 0; i < parts->intervals; i++)
        if (parts->interval[i].step == 1 &&
            (i == 0 || parts->interval[i - 1].device != parts->interval[i].device))
            return 1;
    return 0;
}

/* Returns 1 if the first step of a recording is left out, because it is cut and others are left. */
static int leaves_first(const struct sl_report *report, size_t at)
{
    const struct sl_recording *r = &report->recordings.of[at];

    return r->steps && sl_report_counts_step(report, r, 1) &&
           sl_report_cpu_steps(report, r) >= SL_DIFF_ENOUGH && is_first_cut(&report->parts[at]);
}

int sl_diff_steps_make(struct sl_diff_steps *s, const struct sl_report *report, size_t first,
                       size_t end)
{
    size_t parts = 0;

    *s = (struct sl_diff_steps){.base = calloc(end - first + 1, sizeof(*s->base))};
    for (size_t i = first; i < end; i++)
        parts += 2 * report->recordings.of[i].steps + 1;
    s->of_part = malloc((parts + 1) * sizeof(*s->of_part));
    if (!s->base || !s->of_part)
        return -ENOMEM;
    parts = 0;
    for (size_t i = first; i < end; i++) {
        const struct sl_recording *r = &report->recordings.of[i];
        const int without_first = leaves_first(report, i);

        s->base[i - first] = parts;
        for (uint32_t part = 0; part <= 2 * r->steps; part++)
            s->of_part[parts++] =
                sl_report_counts_part(report, r, part) && !(part == 1 && without_first)
                    ? (uint32_t)s->count++
                    : UINT32_MAX;
    }
    return 0;
}

void sl_diff_steps_free(struct sl_diff_steps *s)
{
    free(s->of_part);
    free(s->base);
    *s = (struct sl_diff_steps){0};
}

/* The times of the steps of a rank on one side: the mean of its devices. */
struct times {
    double *value[VALUES];
    size_t *devices;
    size_t count;
};

static void free_times(struct times *t)
{
    for (int i = 0; i < VALUES; i++)
        free(t->value[i]);
    free(t->devices);
}

static void add_intervals(struct times *t, const struct sl_diff_steps *s,
                          const struct sl_report *report, size_t first, size_t end)
{
    for (size_t at = first; at < end; at++)
        for (size_t i = 0; i < report->parts[at].intervals; i++) {
            const struct sl_interval *in = &report->parts[at].interval[i];
            uint32_t sample = s->of_part[s->base[at - first] + (in->step ? 2 * in->step - 1 : 0)];

            if (sample == UINT32_MAX)
                continue;
            t->devices[sample]++;
            t->value[SL_PART_COUNT][sample] += (double)(in->end_ns - in->begin_ns);
            for (int part = 0; part < SL_PART_COUNT; part++)
                t->value[part][sample] += (double)in->part_ns[part];
        }
}

/* Leaves out the steps without GPU work. */
static void close_up(struct times *t)
{
    size_t kept = 0;

    for (size_t i = 0; i < t->count; i++) {
        if (!t->devices[i])
            continue;
        for (int k = 0; k < VALUES; k++)
            t->value[k][kept] = t->value[k][i] / (double)t->devices[i];
        kept++;
    }
    t->count = kept;
}

static int make_times(struct times *t, const struct sl_report *report, size_t first, size_t end)
{
    struct sl_diff_steps s;
    int rc = sl_diff_steps_make(&s, report, first, end);

    *t = (struct times){.count = s.count};
    t->devices = calloc(s.count + 1, sizeof(*t->devices));
    if (!t->devices)
        rc = -ENOMEM;
    for (int i = 0; i < VALUES; i++) {
        t->value[i] = calloc(s.count + 1, sizeof(*t->value[i]));
        if (!t->value[i])
            rc = -ENOMEM;
    }
    if (rc == 0) {
        add_intervals(t, &s, report, first, end);
        close_up(t);
    }
    sl_diff_steps_free(&s);
    return rc;
}

static int compare_rank(const struct sl_diff *d, struct sl_diff_rank *rank)
{
    struct times t[2];
    int rc = 0;

    memset(t, 0, sizeof(t));
    for (int side = 0; side < 2 && rc == 0; side++) {
        rc = make_times(&t[side], &d->side[side], rank->first[side], rank->end[side]);
        rank->steps[side] = t[side].count;
    }
    for (int i = 0; i < VALUES && rc == 0; i++) {
        struct sl_diff_change *to = i == SL_PART_COUNT ? &rank->step : &rank->part[i];

        *to = sl_diff_compare(t[0].value[i], t[0].count, t[1].value[i], t[1].count);
    }
    free_times(&t[0]);
    free_times(&t[1]);
    return rc;
}

/* ---- the ranks ---- */

/* Finds the recordings of B that belong to those of A at `first`. Recordings of no rank are paired
 * in their order; `nth` is the number of those before. If both sides have one rank and none was
 * chosen, these are a pair. Returns the index of the first, or the number of recordings if there is
 * none. */
static size_t partner(const struct sl_diff *d, const uint64_t *only, size_t first, size_t nth)
{
    const struct sl_report *a = &d->side[0], *b = &d->side[1];
    int64_t rank = sl_report_rank(&a->recordings.of[first]);
    size_t end;

    if (!only && b->recordings.count && sl_report_rank_end(a, 0) == a->recordings.count &&
        sl_report_rank_end(b, 0) == b->recordings.count)
        return 0;
    for (size_t i = 0; i < b->recordings.count; i = end) {
        end = sl_report_rank_end(b, i);
        if (sl_report_rank(&b->recordings.of[i]) == rank && (rank >= 0 || nth-- == 0))
            return i;
    }
    return b->recordings.count;
}

static size_t count_ranks(const struct sl_report *report)
{
    size_t count = 0;

    for (size_t i = 0; i < report->recordings.count; i = sl_report_rank_end(report, i))
        count++;
    return count;
}

static int pair_ranks(struct sl_diff *d, const uint64_t *only)
{
    const struct sl_report *a = &d->side[0], *b = &d->side[1];
    size_t end, nth = 0;

    d->rank = calloc(a->recordings.count + 1, sizeof(*d->rank));
    if (!d->rank)
        return -ENOMEM;
    for (size_t first = 0; first < a->recordings.count; first = end) {
        struct sl_diff_rank *rank = &d->rank[d->ranks];
        int64_t number = sl_report_rank(&a->recordings.of[first]);
        size_t other;

        end = sl_report_rank_end(a, first);
        if (only && number != (int64_t)*only)
            continue;
        other = partner(d, only, first, number < 0 ? nth++ : 0);
        if (other == b->recordings.count)
            continue;
        *rank = (struct sl_diff_rank){
            .rank = number, .first = {first, other}, .end = {end, sl_report_rank_end(b, other)}};
        if (rank->rank < 0)
            rank->rank = sl_report_rank(&b->recordings.of[other]);
        d->ranks++;
    }
    for (int side = 0; side < 2 && !only; side++)
        d->alone[side] = count_ranks(&d->side[side]) - d->ranks;
    return 0;
}

static void take_mean(struct sl_diff *d)
{
    for (size_t i = 0; i < d->ranks; i++) {
        const struct sl_diff_rank *rank = &d->rank[i];

        sl_diff_add(&d->mean.step, &rank->step);
        for (int part = 0; part < SL_PART_COUNT; part++)
            sl_diff_add(&d->mean.part[part], &rank->part[part]);
        for (int side = 0; side < 2; side++)
            d->mean.steps[side] += rank->steps[side];
        if (fabs(rank->step.change_ns) > fabs(d->rank[d->worst].step.change_ns))
            d->worst = i;
    }
    d->mean.rank = d->ranks == 1 ? d->rank[0].rank : -1;
    sl_diff_divide(&d->mean.step, d->ranks);
    for (int part = 0; part < SL_PART_COUNT; part++)
        sl_diff_divide(&d->mean.part[part], d->ranks);
}

static int has_places(const struct sl_report *report)
{
    for (size_t i = 0; i < report->recordings.count; i++)
        for (size_t k = 0; k < report->recordings.of[i].launches; k++)
            if (report->recordings.of[i].launch[k].place)
                return 1;
    return 0;
}

/* Returns 1 if the side has records of synchronization. */
static int has_waits(const struct sl_report *report)
{
    for (size_t i = 0; i < report->recordings.count; i++)
        if (report->recordings.of[i].has_sync_rows)
            return 1;
    return 0;
}

int sl_diff_make(struct sl_diff *d, const uint64_t *only)
{
    int rc = pair_ranks(d, only);

    for (size_t i = 0; i < d->ranks && rc == 0; i++)
        rc = compare_rank(d, &d->rank[i]);
    if (rc)
        return rc;
    take_mean(d);
    d->has_waits[0] = has_waits(&d->side[0]);
    d->has_waits[1] = has_waits(&d->side[1]);
    d->has_places[0] = has_places(&d->side[0]);
    d->has_places[1] = has_places(&d->side[1]);
    for (int side = 0; side < 2; side++)
        d->has_gpu[side] = d->mean.steps[side] != 0;
    return sl_diff_rows_make(d);
}

void sl_diff_free(struct sl_diff *d)
{
    free(d->rank);
    free(d->row);
}
