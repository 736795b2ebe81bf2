/*
 * lane_read.h - reads the lanes (collect/lane/lane.h) in the order of each thread's calls, and
 * turns stamps into times.
 *
 * Threads: the recorder thread. Memory: fixed.
 */
#ifndef SL_LANE_READ_H
#define SL_LANE_READ_H

#include <stdint.h>

#include "collect/lane/lane.h"

struct sl_lane_reader_options {
    void *user;
    /* Receives each record of a thread, including SL_LANE_THREAD_BEGIN and SL_LANE_THREAD_END. */
    void (*record)(void *user, uint32_t thread, const struct sl_lane_record *record, uint64_t ns);
};

struct sl_lane_point {
    uint64_t stamp, ns;
};

struct sl_lane_reader {
    struct sl_lane_reader_options opt;
    struct sl_lane_point before, between, now; /* `before` is the older of the two clock readings
                                                * for the conversion of stamps */
    double ns_per_tick;
};

void sl_lane_reader_init(struct sl_lane_reader *r, const struct sl_lane_reader_options *opt);

/* Reads unread records that were made before until_ns. Records made after this call began are left
 * for the next call. So if one thread's record was caused by another thread's record, the effect is
 * never read before the cause. */
void sl_lane_reader_read(struct sl_lane_reader *r, uint64_t until_ns);

#endif
