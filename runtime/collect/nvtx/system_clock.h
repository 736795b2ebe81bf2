/*
 * system_clock.h - the system clocks that NVTX has a name for.
 *
 * Pure functions except for reading clocks; any thread.
 */
#ifndef SL_NVTX_SYSTEM_CLOCK_H
#define SL_NVTX_SYSTEM_CLOCK_H

#include <stdint.h>

struct sl_nvtx_system_clock {
    uint64_t type;         /* NVTX_TIMESTAMP_TYPE_* */
    int64_t (*read)(void); /* NULL: the clock is the trace's clock, perhaps in another unit */
    int64_t ticks_per_s;   /* rate of the clock; 0: the rate must be measured */
};

/* Returns NULL if the type is no system clock, or if this machine cannot read the clock. */
const struct sl_nvtx_system_clock *sl_nvtx_system_clock(uint64_t type);

#endif
