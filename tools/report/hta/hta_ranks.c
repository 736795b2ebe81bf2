/*
 * hta_ranks.c - HTA's steps, and the ranks that come late to collectives.
 *
 * Threads, memory: see metric.h.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "read/grow.h"
#include "report/hta/hta_table.h"

/* ---- steps ---- */

static const struct sl_setting step_settings[] = {
    {"include_last_profiler_step", "", "1: the last step counts, in all tables", 0, 1, 0, NULL},
    {NULL, NULL, NULL, 0, 0, 0, NULL},
};

static const struct sl_column step_columns[] = {
    {"profiler_step", SL_COLUMN_INTEGER, "number of the step"},
    {NULL, SL_COLUMN_TEXT, NULL},
};

struct steps {
    int32_t *of;
    size_t count, slots;
};

static int order_of_steps(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

    return (x > y) - (x < y);
}

/* Finds the steps of all ranks, each once, in order. Returns 0 or -ENOMEM. */
static int find_steps(const struct sl_report *report, struct steps *out)
{
    size_t kept = 0;

    for (size_t i = 0; i < report->hta->count; i++) {
        const struct sl_hta_rank *r = &report->hta->of[i];

        for (size_t k = 0; k < r->rows; k++) {
            int32_t step = SL_HTA_NO_STEP, *to;

            if (report->hta->about[r->row[k].name] & SL_HTA_HAS_STEP)
                step = sl_hta_step_number(sl_report_name(report, r->row[k].name));
            if (step == SL_HTA_NO_STEP)
                continue;
            to = sl_grow((void **)&out->of, &out->count, &out->slots, sizeof(*to));
            if (!to)
                return -ENOMEM;
            *to = step;
        }
    }
    if (out->count)
        qsort(out->of, out->count, sizeof(*out->of), order_of_steps);
    for (size_t i = 0; i < out->count; i++)
        if (i == 0 || out->of[i] != out->of[i - 1])
            out->of[kept++] = out->of[i];
    out->count = kept;
    return 0;
}

static int has_step(const struct steps *steps, int32_t step)
{
    return steps->count &&
           bsearch(&step, steps->of, steps->count, sizeof(*steps->of), order_of_steps) != NULL;
}

int sl_hta_keeps_last(const struct sl_report *report)
{
    return sl_setting(&report->settings, &sl_hta_steps, 0).number != 0;
}

static void make_steps(const struct sl_report *report, struct sl_table *out)
{
    struct steps steps = {NULL, 0, 0};

    out->failed = find_steps(report, &steps) != 0;
    for (size_t i = 0; i < steps.count && !out->failed; i++)
        sl_table_row(out)[0] = sl_cell_integer(steps.of[i]);
    free(steps.of);
}

const struct sl_metric sl_hta_steps = {
    .name = "profiler_steps",
    .title = "the steps that count",
    .columns = step_columns,
    .settings = step_settings,
    .formula = "If the traces have several steps, HTA leaves out the last. With "
               "include_last_profiler_step nothing is left out of a trace whose times are much "
               "later than 0, because HTA compares times of two origins.",
    .source = "HTA get_profiler_steps",
    .make = make_steps,
};

/* ---- stragglers ---- */

static const struct sl_setting straggler_settings[] = {
    {"num_candidates", "", "ranks to name", 1, 1e6, 2, NULL},
    {NULL, NULL, NULL, 0, 0, 0, NULL},
};

static const struct sl_column straggler_columns[] = {
    {"rank", SL_COLUMN_INTEGER, "a rank that began collectives late, the most often first"},
    {NULL, SL_COLUMN_TEXT, NULL},
};

/* The part of HTA's mean step from which on a kernel is significant. */
#define SIGNIFICANT 0.01

/* The last long kernel of a name, stream and step on a rank. */
struct kernel {
    const char *name;
    int64_t stream;
    int32_t step;
    uint32_t rank;  /* index */
    uint32_t order; /* of the rows */
    int64_t ts, dur;
};

struct kernels {
    struct kernel *of;
    size_t count, slots;
};

static int order_of_kernels(const void *a, const void *b)
{
    const struct kernel *x = a, *y = b;
    int names;

    if (x->stream != y->stream)
        return x->stream < y->stream ? -1 : 1;
    names = x->name == y->name ? 0 : strcmp(x->name, y->name);
    if (names)
        return names;
    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

static int is_same(const struct kernel *x, const struct kernel *y)
{
    return x->stream == y->stream && x->name == y->name;
}

/* The time of the chosen steps on all ranks. */
struct extent {
    int64_t first, last;
};

static void extend(struct extent *e, int64_t ts, int64_t dur)
{
    e->first = ts < e->first ? ts : e->first;
    e->last = ts + dur > e->last ? ts + dur : e->last;
}

/* Finds the extent of the rows in the steps, and which steps have rows. Returns the number of those
 * steps, or -ENOMEM. */
static int64_t find_extent(const struct sl_report *report, const struct steps *steps,
                           struct extent *extent)
{
    struct steps seen = {NULL, 0, 0};
    int64_t count = 0;

    *extent = (struct extent){INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < report->hta->count; i++) {
        const struct sl_hta_rank *r = &report->hta->of[i];

        for (size_t k = 0; k < r->rows; k++) {
            int32_t *to;

            if (!has_step(steps, r->row[k].step))
                continue;
            extend(extent, r->row[k].ts, r->row[k].dur);
            if (seen.count && seen.of[seen.count - 1] == r->row[k].step)
                continue;
            to = sl_grow((void **)&seen.of, &seen.count, &seen.slots, sizeof(*to));
            if (!to) {
                free(seen.of);
                return -ENOMEM;
            }
            *to = r->row[k].step;
        }
        for (size_t k = 0; k < r->others; k++)
            if (has_step(steps, sl_hta_step(r, r->other[k].ts)))
                extend(extent, r->other[k].ts, r->other[k].dur);
    }
    if (seen.count)
        qsort(seen.of, seen.count, sizeof(*seen.of), order_of_steps);
    for (size_t i = 0; i < seen.count; i++)
        count += i == 0 || seen.of[i] != seen.of[i - 1];
    free(seen.of);
    return count;
}

/* Lists the long kernels of communication. Returns 0 or -ENOMEM. */
static int find_kernels(const struct sl_report *report, const struct steps *steps, double least,
                        struct kernels *out)
{
    size_t kept = 0;

    for (size_t i = 0; i < report->hta->count; i++) {
        const struct sl_hta_rank *r = &report->hta->of[i];

        for (size_t k = 0; k < r->rows; k++) {
            const struct sl_hta_row *row = &r->row[k];
            struct kernel *to;

            if (row->stream <= 0 || row->step <= 0 || (double)row->dur < least ||
                sl_hta_work(report->hta, row) != SL_HTA_COMMUNICATION ||
                !has_step(steps, row->step))
                continue;
            to = sl_grow((void **)&out->of, &out->count, &out->slots, sizeof(*to));
            if (!to)
                return -ENOMEM;
            *to = (struct kernel){sl_report_name(report, row->name),
                                  row->stream,
                                  row->step,
                                  (uint32_t)i,
                                  (uint32_t)k,
                                  row->ts,
                                  row->dur};
        }
    }
    if (out->count)
        qsort(out->of, out->count, sizeof(*out->of), order_of_kernels);
    for (size_t i = 0; i < out->count; i++) {
        const struct kernel *next = i + 1 < out->count ? &out->of[i + 1] : NULL;

        if (!next || !is_same(&out->of[i], next) || out->of[i].step != next->step ||
            out->of[i].rank != next->rank)
            out->of[kept++] = out->of[i];
    }
    out->count = kept;
    return 0;
}

/* Returns how much the length of a kernel differs between the ranks: the mean over steps of the
 * standard deviation; NaN if no step has two ranks. `length` has room for all ranks. */
static double difference(const struct kernel *of, size_t count, double mean_step, double *length)
{
    double sum = 0;
    size_t used = 0, end;

    for (size_t i = 0; i < count; i = end) {
        for (end = i; end < count && of[end].step == of[i].step; end++)
            length[end - i] = (double)of[end].dur / mean_step;
        if (end - i > 1) {
            sum += sl_hta_deviation(length, end - i);
            used++;
        }
    }
    return used ? sum / (double)used : NAN;
}

/* Chooses the kernel whose length differs most. Returns 0, or -ENOENT if none is on two ranks. */
static int choose(const struct kernels *all, double mean_step, double *length,
                  struct kernels *chosen)
{
    double most = NAN;
    size_t end;

    for (size_t i = 0; i < all->count; i = end) {
        double here;

        for (end = i + 1; end < all->count && is_same(&all->of[end], &all->of[i]);)
            end++;
        here = difference(all->of + i, end - i, mean_step, length);
        if (here > most || (isnan(most) && !isnan(here))) {
            most = here;
            *chosen = (struct kernels){all->of + i, end - i, 0};
        }
    }
    return isnan(most) ? -ENOENT : 0;
}

static int order_of_starts(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x < y) - (x > y);
}

/* Counts for each rank the steps in which it is one of the latest. Returns 0 or -ENOMEM. */
static int count_late(const struct kernels *chosen, size_t candidates, uint32_t *late)
{
    int64_t *start = malloc((chosen->count + 1) * sizeof(*start));
    size_t end;

    if (!start)
        return -ENOMEM;
    for (size_t i = 0; i < chosen->count; i = end) {
        size_t nth;

        for (end = i; end < chosen->count && chosen->of[end].step == chosen->of[i].step; end++)
            start[end - i] = chosen->of[end].ts;
        nth = candidates < end - i ? candidates : end - i;
        qsort(start, end - i, sizeof(*start), order_of_starts);
        for (size_t k = i; k < end; k++)
            late[chosen->of[k].rank] += chosen->of[k].ts >= start[nth - 1] ? 2 : 0;
        /* Also a rank that is never late has the kernel, and so may be named. */
        for (size_t k = i; k < end; k++)
            late[chosen->of[k].rank] |= 1;
    }
    free(start);
    return 0;
}

static void print_late(const struct sl_hta *h, size_t candidates, uint32_t *late,
                       struct sl_table *out)
{
    for (size_t n = 0; n < candidates; n++) {
        size_t most = 0;

        for (size_t i = 1; i < h->count; i++)
            most = late[i] > late[most] ? i : most;
        if (!late[most])
            return;
        sl_table_row(out)[0] = sl_cell_integer(h->of[most].rank);
        late[most] = 0;
    }
}

static int find_late(const struct sl_report *report, const struct steps *steps,
                     struct kernels *kernels, double *length, uint32_t *late, struct sl_table *out)
{
    size_t candidates = (size_t)sl_setting(&report->settings, &sl_hta_stragglers, 0).number;
    struct kernels chosen = {NULL, 0, 0};
    struct extent extent;
    int64_t count = find_extent(report, steps, &extent);
    double mean_step;
    int rc;

    if (count <= 0)
        return count < 0 ? -ENOMEM : -ENOENT;
    mean_step = (double)(extent.last - extent.first) / (double)count;
    rc = find_kernels(report, steps, mean_step * SIGNIFICANT, kernels);
    if (rc == 0)
        rc = choose(kernels, mean_step, length, &chosen);
    if (rc == 0)
        rc = count_late(&chosen, candidates, late);
    if (rc == 0)
        print_late(report->hta, candidates, late, out);
    return rc;
}

static void make_stragglers(const struct sl_report *report, struct sl_table *out)
{
    double *length = calloc(report->hta->count + 1, sizeof(*length));
    uint32_t *late = calloc(report->hta->count + 1, sizeof(*late));
    struct kernels kernels = {NULL, 0, 0};
    struct steps steps = {NULL, 0, 0};
    int rc = length && late ? find_steps(report, &steps) : -ENOMEM;

    if (rc == 0)
        rc = find_late(report, &steps, &kernels, length, late, out);
    if (rc == -ENOENT)
        out->note[0] = "Stragglers need the traces of several ranks, with steps and with kernels "
                       "of NCCL that take 1 % of a step.";
    else
        out->failed |= rc != 0;
    free(length);
    free(late);
    free(kernels.of);
    free(steps.of);
}

const struct sl_metric sl_hta_stragglers = {
    .name = "potential_stragglers",
    .title = "ranks that begin collectives late",
    .columns = straggler_columns,
    .settings = straggler_settings,
    .formula = "Of the last long kernel of each name and stream in a step, the one whose length "
               "differs most between the ranks. The num_candidates ranks that begin it last count "
               "once for each step. HTA knows the kernels of old NCCL alone (ncclKernel), and "
               "fails without them; here all names count that match ^nccl.*Kernel.",
    .source = "HTA get_potential_stragglers",
    .make = make_stragglers,
};
