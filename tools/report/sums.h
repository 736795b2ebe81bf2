/*
 * sums.h - adds up times by a key of several numbers.
 *
 * Threads: one owner. Memory: 80 bytes for each group, and up to twice as much while the table
 * grows.
 */
#ifndef SL_REPORT_SUMS_H
#define SL_REPORT_SUMS_H

#include <stddef.h>
#include <stdint.h>

#define SL_SUM_KEYS 5

struct sl_sum {
    uint32_t key[SL_SUM_KEYS];
    uint32_t number; /* from 0 on, in the order in which the groups were added */
    uint64_t count, total_ns, shortest_ns, longest_ns;
    double mean_ns,
        squares; /* mean, and sum of the squared distances from it, by Welford's method */
    uint64_t bytes, most_bytes; /* for the caller */
};

struct sl_sums {
    struct sl_sum *sum;
    size_t count, slots;
    uint32_t *index; /* hash table of group numbers + 1 */
    size_t index_slots;
    int failed; /* 1: there was not enough memory for all groups */
};

/* A groups struct of zeroes is empty. */
void sl_sums_free(struct sl_sums *g);

/* Adds a time to the group with this key. Returns the group, valid until the next call, or NULL if
 * there is no memory. */
struct sl_sum *sl_sums_add(struct sl_sums *g, const uint32_t key[SL_SUM_KEYS], uint64_t ns);

static inline double sl_sum_mean(const struct sl_sum *sum)
{
    return (double)sum->total_ns / (double)sum->count;
}

/* Returns the standard deviation of the sample in ns, or 0 for one time. */
double sl_sum_deviation(const struct sl_sum *group);

/* Sorts by descending total; groups with equal totals stay in the order of their numbers. No time
 * can be added afterwards. */
void sl_sums_sort(struct sl_sums *g);

#endif
