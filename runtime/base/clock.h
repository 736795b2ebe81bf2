/*
 * clock.h - our stamps in CUPTI's clock domain.
 *
 * CUPTI's default clock on Linux is CLOCK_REALTIME in ns. sl_clock_now() gives the same clock from
 * the TSC, calibrated against it (about 10 ns a stamp instead of 25-50); where the TSC is not
 * invariant, and before calibration, it is clock_gettime itself. The source sits behind a table, so
 * that tests can drive time.
 */
#ifndef SL_CLOCK_H
#define SL_CLOCK_H

#include <stdint.h>

struct sl_clock_source {
    uint64_t (*realtime_ns)(void);  /* CLOCK_REALTIME */
    uint64_t (*monotonic_ns)(void); /* CLOCK_MONOTONIC: for timeouts */
    uint64_t (*ticks)(void);        /* NULL: no usable tick counter */
};

/* Process-wide; NULL restores the real one. Not while other threads stamp. */
void sl_clock_set_source(const struct sl_clock_source *source);

/* Any thread. CLOCK_REALTIME ns. */
uint64_t sl_clock_now(void);

/* Any thread. The cheapest stamp there is, to be turned into a time by whoever reads it: ticks
 * where there is a usable counter, else CLOCK_REALTIME ns. */
uint64_t sl_clock_stamp(void);

/* A stamp and the CLOCK_REALTIME ns of the same moment: between two such points stamps are
 * interpolated. 0, or -EAGAIN: none could be taken. */
int sl_clock_take_point(uint64_t *stamp, uint64_t *ns);

/* Any thread. CLOCK_MONOTONIC ns, for intervals and timeouts. */
uint64_t sl_clock_monotonic(void);

/* One background thread, about once a second: measures ticks against CLOCK_REALTIME again (NTP
 * slews it) and publishes the new line; readers never see a half-written one. */
void sl_clock_calibrate(void);

/* The calibrating thread. The wall clock may have been set since the last calibration: then the
 * line is given up, and sl_clock_now() asks the kernel until the next one. 1 if so, else 0. */
int sl_clock_follow(void);

/* Any thread. The tick counter as it stands; 0 where there is none that can be used. */
uint64_t sl_clock_ticks(void);

/* From the counter to CLOCK_REALTIME: ns + ((t - ticks) * rate >> 32), the difference signed. */
struct sl_clock_line {
    uint64_t ticks, ns; /* one moment */
    uint64_t rate;      /* ns per tick, 32.32 fixed point */
};

/* Any thread. The line of the last calibration. 0; -ENODATA: no usable counter, or not calibrated.
 */
int sl_clock_get_line(struct sl_clock_line *out);

/* Any thread. When the counter stood so, by the line of the last calibration: good to some 100 ns
 * for stamps of the last second. 0; -ENODATA: no usable counter, or not calibrated. */
int sl_clock_from_ticks(uint64_t ticks, uint64_t *ns);

/* Bracketed difference other - ours, in ns, of another clock that claims to be CLOCK_REALTIME
 * (cuptiGetTimestamp): the tightest of `rounds` brackets. `uncertainty_ns` is half its width. */
int64_t sl_clock_offset(int (*other)(void *user, uint64_t *ns), void *user, int rounds,
                        uint64_t *uncertainty_ns);

#endif
