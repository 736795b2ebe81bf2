/*
 * change.c - tells a change from the noise of the steps.
 *
 * Pure functions; any thread. Memory: none.
 */
#include <math.h>

#include "diff/diff.h"

static struct sl_diff_value value_of(double *value, size_t count, struct sl_summary *s)
{
    *s = (struct sl_summary){0};
    if (count)
        *s = sl_spread_summary(value, count);
    return (struct sl_diff_value){
        .usual_ns = s->median, .median_ns = s->median, .mean_ns = s->mean};
}

static double spread_of(const struct sl_summary *s, size_t count, int is_mean)
{
    if (count < SL_DIFF_FEW)
        return s->max - s->min;
    return is_mean ? s->std : s->p75 - s->p25;
}

static void judge(struct sl_diff_change *c)
{
    double size_ns;

    c->change_ns = c->of[1].usual_ns - c->of[0].usual_ns;
    size_ns = fabs(c->change_ns);
    /* Half a nanosecond may be lost where means are added up. */
    c->is_change = size_ns > c->of[0].spread_ns && size_ns > c->of[1].spread_ns && size_ns >= 0.5;
}

struct sl_diff_change sl_diff_compare(double *a, size_t as, double *b, size_t bs)
{
    struct sl_summary s[2];
    struct sl_diff_change c = {.of = {value_of(a, as, &s[0]), value_of(b, bs, &s[1])}};
    const int is_mean = c.of[0].median_ns == 0 && c.of[1].median_ns == 0;
    const size_t count[2] = {as, bs};

    for (int side = 0; side < 2; side++) {
        c.of[side].spread_ns = spread_of(&s[side], count[side], is_mean);
        if (is_mean)
            c.of[side].usual_ns = c.of[side].mean_ns;
    }
    judge(&c);
    return c;
}

void sl_diff_add(struct sl_diff_change *sum, const struct sl_diff_change *change)
{
    for (int side = 0; side < 2; side++) {
        struct sl_diff_value *to = &sum->of[side];
        const struct sl_diff_value *from = &change->of[side];

        to->usual_ns += from->usual_ns;
        to->median_ns += from->median_ns;
        to->mean_ns += from->mean_ns;
        to->spread_ns += from->spread_ns;
        to->count += from->count;
    }
}

void sl_diff_divide(struct sl_diff_change *sum, size_t count)
{
    for (int side = 0; side < 2 && count; side++) {
        struct sl_diff_value *of = &sum->of[side];

        of->usual_ns /= (double)count;
        of->median_ns /= (double)count;
        of->mean_ns /= (double)count;
        of->spread_ns /= (double)count;
        of->count /= (double)count;
    }
    judge(sum);
}

enum sl_diff_verdict sl_diff_verdict(const struct sl_diff_change *c)
{
    if (c->is_change)
        return c->change_ns > 0 ? SL_DIFF_MORE : SL_DIFF_LESS;
    return fabs(c->change_ns) < 0.5 ? SL_DIFF_SAME : SL_DIFF_NOISE;
}

enum sl_diff_verdict sl_diff_row_verdict(const struct sl_diff_row *row)
{
    if (row->name[0] && row->name[1])
        return row->kind != SL_DIFF_OPERATORS &&
                       (row->name[0] != row->name[1] || row->names[0] + row->names[1] > 2 ||
                        (row->kind == SL_DIFF_WAITS && row->line[0] != row->line[1]))
                   ? SL_DIFF_REPLACED
                   : sl_diff_verdict(&row->change);
    return row->name[1] ? SL_DIFF_ADDED : SL_DIFF_REMOVED;
}

const char *sl_diff_verdict_name(enum sl_diff_verdict verdict)
{
    static const char *const names[] = {"same",  "noise",   "less",    "more",
                                        "added", "removed", "replaced"};

    return names[verdict];
}

const char *sl_diff_kind_name(enum sl_diff_kind kind)
{
    static const char *const names[SL_DIFF_KINDS] = {"kernels", "operators", "launches", "waits",
                                                     "collectives"};

    return names[kind];
}
