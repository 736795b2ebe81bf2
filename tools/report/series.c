/*
 * series.c - merges what begins and what ends, and adds up.
 *
 * Operations of a stream begin and end in order, so the two lists are rarely sorted.
 *
 * Threads, memory: see series.h.
 */
#include "report/series.h"

#include <errno.h>
#include <stdlib.h>

#include "read/grow.h"

void sl_series_free(struct sl_series *s)
{
    free(s->point);
    free(s->begin);
    free(s->end);
    *s = (struct sl_series){0};
}

int sl_series_change(struct sl_series *s, uint64_t begin_ns, uint64_t end_ns, double height,
                     int counts)
{
    struct sl_series_point *begin =
        sl_grow((void **)&s->begin, &s->begins, &s->begin_slots, sizeof(*begin));
    struct sl_series_point *end = sl_grow((void **)&s->end, &s->ends, &s->end_slots, sizeof(*end));

    if (!begin || !end)
        return -ENOMEM;
    *begin = (struct sl_series_point){begin_ns, height, counts};
    *end = (struct sl_series_point){end_ns, height, counts};
    return 0;
}

/* Compares all members, so that the order does not depend on that of the file. */
static int order_of_points(const void *a, const void *b)
{
    const struct sl_series_point *x = a, *y = b;

    if (x->ns != y->ns)
        return x->ns < y->ns ? -1 : 1;
    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    return x->counts - y->counts;
}

static void sort(struct sl_series_point *point, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (order_of_points(&point[i - 1], &point[i]) > 0) {
            qsort(point, count, sizeof(*point), order_of_points);
            return;
        }
}

int sl_series_sum(struct sl_series *s, enum sl_series_order order)
{
    size_t i = 0, k = 0;
    double value = 0;

    s->point = malloc((s->begins + s->ends + 1) * sizeof(*s->point));
    if (!s->point)
        return -ENOMEM;
    sort(s->begin, s->begins);
    sort(s->end, s->ends);
    while (k < s->ends) {
        int begins =
            i < s->begins &&
            (s->begin[i].ns < s->end[k].ns ||
             (s->begin[i].ns == s->end[k].ns && (order == SL_SERIES_BEGINS_FIRST || i == k)));
        const struct sl_series_point *change = begins ? &s->begin[i++] : &s->end[k++];

        value += begins ? change->value : -change->value;
        if (i == k)
            value = 0; /* adding up leaves errors of rounding */
        s->point[s->points++] = (struct sl_series_point){change->ns, value, change->counts};
    }
    free(s->begin);
    free(s->end);
    s->begin = s->end = NULL;
    return 0;
}

int sl_series_summary(const struct sl_series *s, double least, double high,
                      struct sl_series_summary *out)
{
    double *value = malloc((s->points + 1) * sizeof(*value)), area = 0;

    *out = (struct sl_series_summary){0};
    if (!value)
        return -ENOMEM;
    for (size_t i = 0; i < s->points; i++) {
        const struct sl_series_point *p = &s->point[i];
        uint64_t length_ns = i + 1 < s->points ? s->point[i + 1].ns - p->ns : 0;

        if (!p->counts || p->value < least)
            continue;
        value[out->points++] = p->value;
        area += p->value * (double)length_ns;
        out->length_ns += length_ns;
        out->high_ns += p->value >= high ? length_ns : 0;
    }
    if (out->points)
        out->of = sl_spread_summary(value, out->points);
    if (out->length_ns)
        out->mean_over_time = area / (double)out->length_ns;
    free(value);
    return 0;
}

/* Keeps the lowest and the highest of the points [first, end), in the order of time. Returns the
 * number of points that are kept, from `to` on. */
static size_t keep_extremes(struct sl_series_point *point, size_t first, size_t end, size_t to)
{
    size_t low = first, high = first;
    struct sl_series_point a, b;

    for (size_t i = first + 1; i < end; i++) {
        low = point[i].value < point[low].value ? i : low;
        high = point[i].value > point[high].value ? i : high;
    }
    a = point[low < high ? low : high];
    b = point[low < high ? high : low];
    point[to] = a;
    if (low == high)
        return 1;
    point[to + 1] = b;
    return 2;
}

void sl_series_thin(struct sl_series *s, size_t most)
{
    size_t kept = 0, end, slices = most / 2;
    uint64_t begin_ns, slice_ns;

    for (size_t i = 0; i < s->points; i++)
        if (s->point[i].counts)
            s->point[kept++] = s->point[i];
    s->points = kept;
    if (kept <= most || slices == 0)
        return;
    begin_ns = s->point[0].ns;
    slice_ns = (s->point[kept - 1].ns - begin_ns) / slices + 1;
    kept = 0;
    for (size_t i = 0; i < s->points; i = end) {
        uint64_t slice = (s->point[i].ns - begin_ns) / slice_ns;

        for (end = i + 1; end < s->points && (s->point[end].ns - begin_ns) / slice_ns == slice;)
            end++;
        kept += keep_extremes(s->point, i, end, kept);
    }
    s->points = kept;
}
