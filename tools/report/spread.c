/*
 * spread.c - medians by sorting, and quartiles by selection.
 *
 * Threads, memory: see spread.h.
 */
#include "report/spread.h"

#include <math.h>
#include <stdlib.h>

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

uint64_t sl_spread_limit(uint64_t *ns, size_t count)
{
    uint64_t median, spread;

    if (count < 5)
        return UINT64_MAX;
    median = sl_spread_median(ns, count);
    for (size_t i = 0; i < count; i++)
        ns[i] = ns[i] > median ? ns[i] - median : median - ns[i];
    spread = 6 * sl_spread_median(ns, count);
    return median + (spread > median / 100 ? spread : median / 100);
}

/* Moves the value that would have index k in the sorted array [low, high] there, none larger before
 * it and none smaller behind it (Hoare's selection). */
static void select_value(double *value, size_t low, size_t high, size_t k)
{
    while (low < high) {
        double pivot = value[low + (high - low) / 2], swap;
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
