/*
 * series.h - a value that changes in steps over time, such as the length of a queue.
 *
 *   sl_series_change(&s, begin_ns, end_ns, height, counts);    for each thing that begins and ends
 *   sl_series_sum(&s, SL_SERIES_BEGINS_FIRST);                 s.point are the values
 *
 * Threads: one owner. Memory: 48 bytes for each thing.
 */
#ifndef SL_REPORT_SERIES_H
#define SL_REPORT_SERIES_H

#include <stddef.h>
#include <stdint.h>

#include "report/spread.h"

struct sl_series_point {
    uint64_t ns;
    double value; /* from `ns` to the next point */
    int counts;   /* 1: the point is of a chosen step */
};

/* A struct of zeroes is an empty series. */
struct sl_series {
    struct sl_series_point *point; /* by time; set by sl_series_sum() */
    size_t points;
    struct sl_series_point *begin, *end; /* `value` is the height that is added or taken away */
    size_t begins, ends, begin_slots, end_slots;
};

/* The first of several changes at one time. */
enum sl_series_order {
    SL_SERIES_BEGINS_FIRST,
    SL_SERIES_ENDS_FIRST
};

void sl_series_free(struct sl_series *s);

/* Adds `height` to the value from begin_ns to end_ns. Returns 0 or -ENOMEM. */
int sl_series_change(struct sl_series *s, uint64_t begin_ns, uint64_t end_ns, double height,
                     int counts);

/* Makes the points, one for each change. Nothing can be added afterwards. Returns 0 or -ENOMEM. */
int sl_series_sum(struct sl_series *s, enum sl_series_order order);

/* The statistics of the points that count and whose value is at least `least`. */
struct sl_series_summary {
    struct sl_summary of; /* each point counts once; not set if `points` is 0 */
    size_t points;
    double mean_over_time; /* each value counts as long as it lasts; 0 if `length_ns` is 0 */
    uint64_t length_ns;    /* the time that these values last */
    uint64_t high_ns;      /* the time in which the value is at least `high` */
};

/* Returns 0 or -ENOMEM. */
int sl_series_summary(const struct sl_series *s, double least, double high,
                      struct sl_series_summary *out);

/* Keeps at most about `most` of the points that count: of equal spans of time, the first lowest and
 * the first highest point. */
void sl_series_thin(struct sl_series *s, size_t most);

#endif
