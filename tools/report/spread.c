/*
 * spread.c - medians and slopes by sorting, and quartiles by selection.
 *
 * Threads, memory: see spread.h.
 */
#include "report/spread.h"

#include <errno.h>
#include <math.h>
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
    spread = spread > least ? spread : least;
    return spread < (double)(INT64_MAX - median) ? median + (uint64_t)spread : UINT64_MAX;
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

/* Moves the value that would have index k in the sorted array [low, high] there, none larger before
 * it and none smaller behind it (Hoare's selection). */
static void select_value(double *value, size_t low, size_t high, size_t k)
{
    while (low < high) {
        /* The pivot is at no regular place, because values often rise and fall, and then the one in
         * the middle is the largest. It is not the last. */
        double pivot = value[low + (high * 0x9e3779b97f4a7c15u >> 16) % (high - low)], swap;
        size_t i = low, j = high;

        for (;;) {
            while (value[i] < pivot)
                i++;
            while (value[j] > pivot)
                j--;
            if (i >= j)
                break;
            swap = value[i];
            value[i++] = value[j];
            value[j--] = swap;
        }
        if (k <= j)
            high = j;
        else
            low = j + 1;
    }
}

/* Returns the value at `share` of the sorted sample. The values before index `sorted` are in their
 * places, none of them larger than a later one. */
static double quantile(double *value, size_t count, double share, size_t *sorted)
{
    double place = share * (double)(count - 1), part;
    size_t k = (size_t)place;

    select_value(value, *sorted, count - 1, k);
    *sorted = k;
    part = place - (double)k;
    if (part == 0)
        return value[k];
    select_value(value, k + 1, count - 1, k + 1);
    return value[k] + (value[k + 1] - value[k]) * part;
}

struct sl_summary sl_spread_summary(double *value, size_t count)
{
    struct sl_summary s = {.min = value[0], .max = value[0]};
    double squares = 0;
    size_t sorted = 0;

    for (size_t i = 0; i < count; i++) {
        s.mean += value[i];
        s.min = value[i] < s.min ? value[i] : s.min;
        s.max = value[i] > s.max ? value[i] : s.max;
    }
    s.mean /= (double)count;
    for (size_t i = 0; i < count; i++)
        squares += (value[i] - s.mean) * (value[i] - s.mean);
    s.std = count < 2 ? 0 : sqrt(squares / (double)(count - 1));
    s.p25 = quantile(value, count, 0.25, &sorted);
    s.median = quantile(value, count, 0.5, &sorted);
    s.p75 = quantile(value, count, 0.75, &sorted);
    return s;
}
