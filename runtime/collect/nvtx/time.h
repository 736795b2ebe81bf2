/*
 * time.h - converts times of deferred events from the program's clocks to the trace's clock.
 *
 * NVTX calls a clock a time domain. System clocks are identified by their NVTX_TIMESTAMP_TYPE_*. A
 * clock of the program can be converted if a chain of links leads from it to a known clock. A link
 * is a pair of readings at one moment, a factor, or a function that reads the clock. Such a
 * function is called at most ten times a second, between two readings of the trace's clock, and
 * only when an event uses the clock. Times between two readings are interpolated. So slewing or
 * setting a clock does not move events that happened in the minutes before.
 *
 * Threads: any. Nothing blocks: if another thread is changing the table, we retry for some
 * microseconds. Memory: static. If the table is full, a new clock is counted as SL_STAT_NAMES_LOST,
 * and its events are treated like events of an unknown clock.
 */
#ifndef SL_NVTX_TIME_H
#define SL_NVTX_TIME_H

#include <stdint.h>

/* A clock (time domain) of an NVTX domain, with the attributes of nvtxTimeDomainAttr_t. */
struct sl_nvtx_clock {
    unsigned domain;
    uint64_t id;         /* id of the clock; 0: sl_nvtx_time_add() assigns an id */
    uint64_t type;       /* NVTX_TIMESTAMP_TYPE_* */
    uint64_t scope;      /* the scope whose events use this clock; 0: only events that name this
                          * clock use it */
    int64_t ticks_per_s; /* rate of the clock; 0: not given */
    int is_unix_time;    /* 1: the clock's 0 is the beginning of 1970, in UTC */
};

/* A function of the program that reads a clock. The function has one of two forms. The pointer for
 * the other form is NULL. The program must keep the function callable while it submits events with
 * this clock. We call the function only inside the program's own NVTX calls. */
struct sl_nvtx_timer {
    int64_t (*read)(void);
    int64_t (*read_with)(void *data);
    void *data;
};

/* Makes the first reading of system clocks whose rate must be measured. Call before the other
 * functions. */
void sl_nvtx_time_init(void);

/* Returns the clock's id, or 0 if the table is full. */
uint64_t sl_nvtx_time_add(const struct sl_nvtx_clock *clock);
void sl_nvtx_time_set_timer(unsigned domain, uint64_t id, const struct sl_nvtx_timer *timer);

/* Reports that the two clocks showed these values at the same moment. */
void sl_nvtx_time_point(unsigned domain, uint64_t a, uint64_t b, int64_t at_a, int64_t at_b);
/* Like sl_nvtx_time_point(), and also reports that clock `b` advances by `b_per_a` while clock `a`
 * advances by 1. */
void sl_nvtx_time_factor(unsigned domain, uint64_t a, uint64_t b, double b_per_a, int64_t at_a,
                         int64_t at_b);

/* Returns the clock of a scope's events, or 0 if no clock was registered for the scope. */
uint64_t sl_nvtx_time_of_scope(unsigned domain, uint64_t scope);

/* Writes to *ns the CLOCK_REALTIME ns at which clock `id` showed `at`. Returns 0, or -ENODATA if
 * the time cannot be converted. */
int sl_nvtx_time_ns(unsigned domain, uint64_t id, int64_t at, uint64_t *ns);

#endif
