/*
 * clock.h - timestamps in CUPTI's clock domain.
 *
 * CUPTI's default clock on Linux is CLOCK_REALTIME in ns. sl_clock_now() computes the same time
 * from the TSC, which is calibrated against CLOCK_REALTIME. sl_clock_now() takes about 10 ns,
 * clock_gettime() 25 to 50 ns. If the TSC is not invariant, or not calibrated yet, sl_clock_now()
 * calls clock_gettime. The clocks are read through a table of functions, so that tests can supply
 * their own clocks.
 */
#ifndef SL_CLOCK_H
#define SL_CLOCK_H

#include <stdint.h>

struct sl_clock_source {
    uint64_t (*realtime_ns)(void);  /* CLOCK_REALTIME */
    uint64_t (*monotonic_ns)(void); /* CLOCK_MONOTONIC: for timeouts */
    uint64_t (*ticks)(void);        /* reads the tick counter; NULL: no usable tick counter */
};

/* Sets the clocks of the process; NULL restores the system's clocks. No other thread may take
 * stamps meanwhile. */
void sl_clock_set_source(const struct sl_clock_source *source);

/* Any thread. CLOCK_REALTIME ns. */
uint64_t sl_clock_now(void);

/* Any thread. Returns the cheapest stamp: ticks if there is a usable counter, else CLOCK_REALTIME
 * ns. The reader of the stamp converts it to a time later. */
uint64_t sl_clock_stamp(void);

/* Takes a stamp and the CLOCK_REALTIME ns of the same moment. The time of a stamp between two such
 * pairs can be interpolated. Returns 0, or -EAGAIN if the clocks could not be read together. */
int sl_clock_take_point(uint64_t *stamp, uint64_t *ns);

/* Any thread. CLOCK_MONOTONIC ns, for intervals and timeouts. */
uint64_t sl_clock_monotonic(void);

/* One background thread calls this function about once a second. Measures the tick rate again,
 * because NTP slews CLOCK_REALTIME, and publishes the new line. Readers never see half of a
 * line. */
void sl_clock_calibrate(void);

/* Calibrating thread only. Returns 1 if the wall clock was set since the last calibration, else
 * 0. If the clock was set, drops the line, so that sl_clock_now() calls clock_gettime() until the
 * next calibration. */
int sl_clock_follow(void);

/* Any thread. Returns the tick counter, or 0 if there is no usable counter. */
uint64_t sl_clock_ticks(void);

/* A line converts ticks t to CLOCK_REALTIME: ns + ((t - ticks) * rate >> 32), with a signed
 * difference. */
struct sl_clock_line {
    uint64_t ticks, ns; /* one moment in ticks and in CLOCK_REALTIME ns */
    uint64_t rate;      /* ns per tick, 32.32 fixed point */
};

/* Any thread. Writes the line of the last calibration. Returns 0, or -ENODATA if there is no usable
 * counter, or no line. */
int sl_clock_get_line(struct sl_clock_line *out);

/* Any thread. Converts a tick count to CLOCK_REALTIME ns by the last calibration. The error is
 * about 100 ns for stamps of the last second. Returns 0, or -ENODATA if there is no usable counter,
 * or no line. */
int sl_clock_from_ticks(uint64_t ticks, uint64_t *ns);

/* Measures another clock that claims to be CLOCK_REALTIME (cuptiGetTimestamp). Reads the other
 * clock `rounds` times, each time between two readings of our clock. Returns the difference (other
 * clock minus ours, in ns) from the round with the shortest interval. `uncertainty_ns` is half of
 * that interval. */
int64_t sl_clock_offset(int (*other)(void *user, uint64_t *ns), void *user, int rounds,
                        uint64_t *uncertainty_ns);

#endif
