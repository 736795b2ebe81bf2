/*
 * system_clock.c - the system clocks that NVTX has a name for.
 *
 * Threads: any. Memory: constant.
 */
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExtPayload.h>

#include "collect/nvtx/system_clock.h"

#include <stddef.h>
#include <time.h>

#include "base/clock.h"

#define NS_PER_S 1000000000

static int64_t gettime_ns(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

static int64_t read_monotonic(void)
{
    return (int64_t)sl_clock_monotonic();
}

static int64_t read_monotonic_raw(void)
{
    return gettime_ns(CLOCK_MONOTONIC_RAW);
}

static int64_t read_boottime(void)
{
    return gettime_ns(CLOCK_BOOTTIME);
}

static int64_t read_ticks(void)
{
    return (int64_t)sl_clock_ticks();
}

/* C++ clocks are the clocks of libstdc++. Two sorts of clocks are left out: CPU-time clocks of a
 * process or thread, because they stop while the thread waits, and clocks of other operating
 * systems. */
static const struct sl_nvtx_system_clock clocks[] = {
    {NVTX_TIMESTAMP_TYPE_TOOL_PROVIDED, NULL, NS_PER_S},
    {NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_REALTIME, NULL, NS_PER_S},
    {NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_REALTIME_COARSE, NULL, NS_PER_S},
    {NVTX_TIMESTAMP_TYPE_C_TIME, NULL, 1},
    {NVTX_TIMESTAMP_TYPE_C_TIMESPEC_GET, NULL, NS_PER_S},
    {NVTX_TIMESTAMP_TYPE_CPP_SYSTEM_CLOCK, NULL, NS_PER_S},
    {NVTX_TIMESTAMP_TYPE_CPP_HIGH_RESOLUTION_CLOCK, NULL, NS_PER_S},
    {NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_MONOTONIC, read_monotonic, NS_PER_S},
    {NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_MONOTONIC_COARSE, read_monotonic, NS_PER_S},
    {NVTX_TIMESTAMP_TYPE_CPP_STEADY_CLOCK, read_monotonic, NS_PER_S},
    {NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_BOOTTIME, read_boottime, NS_PER_S},
    {NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_MONOTONIC_RAW, read_monotonic_raw, 0},
    {NVTX_TIMESTAMP_TYPE_CPU_TSC, read_ticks, 0},
};

const struct sl_nvtx_system_clock *sl_nvtx_system_clock(uint64_t type)
{
    for (size_t i = 0; i < sizeof(clocks) / sizeof(*clocks); i++)
        if (clocks[i].type == type)
            return type == NVTX_TIMESTAMP_TYPE_CPU_TSC && !sl_clock_ticks() ? NULL : &clocks[i];
    return NULL;
}
