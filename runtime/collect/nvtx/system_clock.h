/*
 * system_clock.h - the clocks of the system that NVTX has a name for.
 *
 * Pure but for the clocks; any thread.
 */
#ifndef SL_NVTX_SYSTEM_CLOCK_H
#define SL_NVTX_SYSTEM_CLOCK_H

#include <stdint.h>

struct sl_nvtx_system_clock {
    uint64_t type;         /* NVTX_TIMESTAMP_TYPE_* */
    int64_t (*read)(void); /* NULL: the trace's clock, but for the unit */
    int64_t ticks_per_s;   /* 0: as measured */
};

/* NULL: it is none, or cannot be read here. */
const struct sl_nvtx_system_clock *sl_nvtx_system_clock(uint64_t type);

#endif
