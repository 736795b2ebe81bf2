/*
 * counters.h - values over time that are made from operations: the length of each stream's queue,
 * and the bandwidth of each kind of copy.
 *
 * Threads: one owner. Memory: series.h, of one series at a time, and op_groups.h.
 */
#ifndef SL_REPORT_COUNTERS_H
#define SL_REPORT_COUNTERS_H

#include "report/report.h"
#include "report/series.h"

struct sl_counter {
    uint8_t device;
    uint32_t stream;         /* of a queue */
    uint32_t name;           /* kind of the copy; 0: the counter is a queue */
    size_t things;           /* launches or copies of the chosen steps */
    size_t counters;         /* number of counters of the recording */
    struct sl_series series; /* freed after the call */
};

/* Returns 0 or -errno, which ends the walk. */
typedef int (*sl_counter_fn)(void *user, const struct sl_report *report,
                             const struct sl_recording *r, struct sl_counter *counter);

/* The queue of a stream holds what was launched and has not begun yet. An operation is in it from
 * the begin of its launch on. A graph's launch counts once, until its first operation begins.
 * Operations whose launch is not in the file are left out. Calls `fn` for each stream that counts.
 * Returns 0, -ENOMEM or what `fn` returned. */
int sl_counters_queues(const struct sl_report *report, const struct sl_recording *r,
                       sl_counter_fn fn, void *user);

/* The bandwidth in 10^9 bytes a second: at each moment, the sum over the copies or memsets that
 * run, each with its bytes divided by its length. Those without length or size are left out. Calls
 * `fn` for each device and kind, such as "Memcpy HtoD". Returns as above. */
int sl_counters_bandwidth(const struct sl_report *report, const struct sl_recording *r,
                          sl_counter_fn fn, void *user);

/* The setting of tables with points in time. */
#define SL_SERIES_POINTS                                                                           \
    {                                                                                              \
        "points", "", "most points of a series; all together have 100 times as many at most", 2,   \
            1e6, 2000, NULL                                                                        \
    }

/* Leaves at most `points` points of a counter, or less if there are many counters. */
void sl_counter_thin(const struct sl_report *report, struct sl_counter *counter, double points);

#endif
