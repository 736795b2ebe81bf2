/*
 * spread.c - medians by sorting.
 *
 * Threads, memory: see spread.h.
 */
#include "report/spread.h"

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
