/*
 * lane_read.h - the lanes, read in the order of each thread's calls, with times instead of stamps.
 *
 * Threads: the collector. Memory: fixed.
 */
#ifndef SL_LANE_READ_H
#define SL_LANE_READ_H

#include <stdint.h>

#include "collect/lane/lane.h"

struct sl_lane_reader_options {
    void *user;
    /* A thread's records, SL_LANE_THREAD_BEGIN and SL_LANE_THREAD_END among them. */
    void (*record)(void *user, uint32_t thread, const struct sl_lane_record *record, uint64_t ns);
};

struct sl_lane_point {
    uint64_t stamp, ns;
};

struct sl_lane_reader {
    struct sl_lane_reader_options opt;
    struct sl_lane_point before, between, now; /* `before` is the older one that is used */
    double ns_per_tick;
};

void sl_lane_reader_init(struct sl_lane_reader *r, const struct sl_lane_reader_options *opt);

/* What was recorded before until_ns, if not more was read already, and not since this began: a
 * thread's records are never read before what led to them in another's. */
void sl_lane_reader_read(struct sl_lane_reader *r, uint64_t until_ns);

#endif
