/*
 * spread.h - median and spread of times and other values.
 *
 * Pure functions; any thread. Memory: at most 160 kB, while a slope is computed.
 */
#ifndef SL_REPORT_SPREAD_H
#define SL_REPORT_SPREAD_H

#include <stddef.h>
#include <stdint.h>

/* Returns the median, or 0 of none. Of an even number of times, the lower of the two in the middle.
 * Reorders the times. */
uint64_t sl_spread_median(uint64_t *ns, size_t count);

/* Returns the longest time that is usual: median + `deviations` times the median absolute
 * deviation, and at least 1 + `least_ratio` medians. Returns UINT64_MAX for less than 5 times.
 * Overwrites the times. */
uint64_t sl_spread_limit(uint64_t *ns, size_t count, double deviations, double least_ratio);

/* Sets *slope to the Theil-Sen slope of the times over `x`: the median of the slopes of all pairs.
 * Sets *agree to the part of the pairs whose slope has the same sign. Of more than 200 times, 200
 * are used, at equal distances. Less than 5 times have the slope 0. Returns 0 or -ENOMEM. */
int sl_spread_slope(const uint64_t *x, const uint64_t *ns, size_t count, double *slope,
                    double *agree);

/* The statistics of a sample. The deviation of a single value is 0. Quartiles are interpolated, as
 * pandas does. */
struct sl_summary {
    double mean, std, min, p25, median, p75, max;
};

/* `count` is not 0. Reorders the values. */
struct sl_summary sl_spread_summary(double *value, size_t count);

#endif
