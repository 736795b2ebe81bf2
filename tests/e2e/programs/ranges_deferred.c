/*
 * ranges_deferred.c - runs the step `deferred:CLOCK` of `ranges`, which reports an event after the
 * event has ended. The clocks are:
 *
 *     deferred:              nvtxTimestampGet()
 *     deferred:monotonic     The system's monotonic clock. Also: raw, boottime, realtime, tsc.
 *     deferred:us            The monotonic clock in us, in a separate NVTX domain.
 *     deferred:timer         A clock whose function is given to NVTX.
 *     deferred:points        A clock that two points in time describe.
 *     deferred:nobodys       A clock that is not described to NVTX.
 */
#include "ranges.h"

#include <nvtx3/nvToolsExtSemanticsTime.h>

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#define OWN NVTX_TIME_DOMAIN_ID_STATIC_START

static int64_t gettime_ns(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static int64_t monotonic(void)
{
    return gettime_ns(CLOCK_MONOTONIC);
}

static int64_t monotonic_us(void)
{
    return monotonic() / 1000;
}

static int64_t monotonic_raw(void)
{
    return gettime_ns(CLOCK_MONOTONIC_RAW);
}

static int64_t boottime(void)
{
    return gettime_ns(CLOCK_BOOTTIME);
}

static int64_t realtime(void)
{
    return gettime_ns(CLOCK_REALTIME);
}

static int64_t counter(void)
{
#if defined(__x86_64__)
    return (int64_t)__rdtsc();
#else
    int64_t ticks;

    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#endif
}

/* Counts down by three per nanosecond, so that no other clock resembles this clock. */
static int64_t backwards(void)
{
    return -3 * monotonic_raw();
}

static const struct clock {
    const char *name;
    uint64_t id; /* 0: the clock is not described */
    int64_t (*read)(void);
} clocks[] = {
    {"", 0, nvtxTimestampGet},
    {"monotonic", NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_MONOTONIC, monotonic},
    {"raw", NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_MONOTONIC_RAW, monotonic_raw},
    {"boottime", NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_BOOTTIME, boottime},
    {"realtime", NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_REALTIME, realtime},
    {"tsc", NVTX_TIMESTAMP_TYPE_CPU_TSC, counter},
    {"us", OWN, monotonic_us},
    {"timer", OWN + 1, backwards},
    {"points", OWN + 2, backwards},
    {"nobodys", OWN + 3, backwards},
};

static const struct clock *find(const char *name)
{
    for (size_t i = 0; i < sizeof(clocks) / sizeof(*clocks); i++)
        if (strcmp(clocks[i].name, name) == 0)
            return &clocks[i];
    fprintf(stderr, "ranges: unknown clock '%s'\n", name);
    exit(2);
}

static void tell_point(nvtxDomainHandle_t domain, const struct clock *c)
{
    if (strcmp(c->name, "points") == 0)
        nvtxTimeSyncPoint(domain, c->id, NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_REALTIME, c->read(),
                          realtime());
}

static void tell_clock(nvtxDomainHandle_t domain, const struct clock *c)
{
    const nvtxTimeDomainAttr_t us = {.timeDomainId = c->id,
                                     .timestampTypeId =
                                         NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_MONOTONIC,
                                     .timerResolution = 1000000};

    if (strcmp(c->name, "us") == 0)
        nvtxTimeDomainRegister(domain, &us);
    if (strcmp(c->name, "timer") == 0)
        nvtxTimerSource(domain, c->id, NVTX_TIMER_SOURCE_SAFE_CALL_AFTER_PROCESS_TEARDOWN, c->read);
    tell_point(domain, c);
}

void ranges_deferred(nvtxDomainHandle_t domain, const char *clock)
{
    struct past {
        int64_t begin, end;
        const char *name;
    } past;
    const struct clock *c = find(clock);
    const nvtxSemanticsTime_t time = {
        {sizeof(time), NVTX_SEMANTIC_ID_TIME_V1, NVTX_TIME_SEMANTIC_VERSION, NULL}, c->id};
    const nvtxSemanticsHeader_t *semantics = c->id ? &time.header : NULL;
    const nvtxPayloadSchemaEntry_t entry[] = {
        {.flags = NVTX_PAYLOAD_ENTRY_FLAG_TIMESTAMP | NVTX_PAYLOAD_ENTRY_FLAG_RANGE_BEGIN,
         .type = NVTX_PAYLOAD_ENTRY_TYPE_INT64,
         .name = "begin",
         .semantics = semantics},
        {.flags = NVTX_PAYLOAD_ENTRY_FLAG_TIMESTAMP | NVTX_PAYLOAD_ENTRY_FLAG_RANGE_END,
         .type = NVTX_PAYLOAD_ENTRY_TYPE_INT64,
         .name = "end",
         .offset = offsetof(struct past, end),
         .semantics = semantics},
        {.flags = NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE,
         .type = NVTX_PAYLOAD_ENTRY_TYPE_CSTRING,
         .name = "name",
         .offset = offsetof(struct past, name)}};
    uint64_t schema =
        ranges_schema(domain, entry, 3, NVTX_PAYLOAD_SCHEMA_TYPE_STATIC, sizeof(struct past));
    nvtxPayloadData_t data = {schema, sizeof(past), &past};
    int64_t from, to;

    tell_clock(domain, c);
    from = realtime();
    past.begin = c->read();
    ranges_sleep_ms(2);
    past.end = c->read();
    to = realtime();
    past.name = "over";
    tell_point(domain, c);
    nvtxEventSubmit(domain, &data, 1);
    printf("deferred %lld %lld %lld\n", (long long)(past.end - past.begin), (long long)from,
           (long long)to);
}
