/*
 * spread.c - medians and slopes by sorting.
 *
 * Threads, memory: see spread.h.
 */
#include "report/spread.h"

#include <errno.h>
#include <stdlib.h>

#define FEW         5 /* with less times, one more or less changes everything */
#define SLOPE_TIMES 200

static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

uint64_t sl_spread_median(uint64_t *ns, size_t count)
{
    if (count == 0)
        return 0;
    qsort(ns, count, sizeof(*ns), ascending);
    return ns[(count - 1) / 2];
}

uint64_t sl_spread_limit(uint64_t *ns, size_t count, double deviations, double least_ratio)
{
    uint64_t median;
    double spread, least;

    if (count < FEW)
        return UINT64_MAX;
    median = sl_spread_median(ns, count);
    for (size_t i = 0; i < count; i++)
        ns[i] = ns[i] > median ? ns[i] - median : median - ns[i];
    spread = deviations * (double)sl_spread_median(ns, count);
    least = least_ratio * (double)median;
    return median + (uint64_t)(spread > least ? spread : least);
}

static int ascending_slope(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Writes the slopes of all pairs of the times i * count / used. Returns their number. */
static size_t make_slopes(const uint64_t *x, const uint64_t *ns, size_t count, size_t used,
                          double *slope)
{
    size_t slopes = 0;

    for (size_t i = 0; i < used; i++)
        for (size_t k = 0; k < i; k++) {
            size_t a = k * count / used, b = i * count / used;

            if (x[a] != x[b])
                slope[slopes++] = ((double)ns[b] - (double)ns[a]) / ((double)x[b] - (double)x[a]);
        }
    return slopes;
}

int sl_spread_slope(const uint64_t *x, const uint64_t *ns, size_t count, double *slope,
                    double *agree)
{
    size_t used = count < SLOPE_TIMES ? count : SLOPE_TIMES, slopes, same = 0;
    double *all;

    *slope = *agree = 0;
    if (count < FEW)
        return 0;
    all = malloc(used * used / 2 * sizeof(*all));
    if (!all)
        return -ENOMEM;
    slopes = make_slopes(x, ns, count, used, all);
    if (slopes) {
        qsort(all, slopes, sizeof(*all), ascending_slope);
        *slope = (all[(slopes - 1) / 2] + all[slopes / 2]) / 2;
        for (size_t i = 0; i < slopes; i++)
            same += *slope < 0 ? all[i] < 0 : all[i] > 0;
        *agree = (double)same / (double)slopes;
    }
    free(all);
    return 0;
}
