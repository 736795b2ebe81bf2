/* system_clock_test.c - each clock named by NVTX is the right clock of the system. */
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExtPayload.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <time.h>

#include "base/clock.h"
#include "collect/nvtx/system_clock.h"

#define TYPE(name) NVTX_TIMESTAMP_TYPE_##name

static int64_t now(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void clocks_are_those_of_the_kernel(void **state)
{
    static const struct {
        uint64_t type;
        clockid_t id;
    } pairs[] = {
        {TYPE(CPU_CLOCK_GETTIME_MONOTONIC), CLOCK_MONOTONIC},
        {TYPE(CPU_CLOCK_GETTIME_MONOTONIC_COARSE), CLOCK_MONOTONIC},
        {TYPE(CPP_STEADY_CLOCK), CLOCK_MONOTONIC},
        {TYPE(CPU_CLOCK_GETTIME_MONOTONIC_RAW), CLOCK_MONOTONIC_RAW},
        {TYPE(CPU_CLOCK_GETTIME_BOOTTIME), CLOCK_BOOTTIME},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
        int64_t before = now(pairs[i].id), at = sl_nvtx_system_clock(pairs[i].type)->read();

        assert_in_range(at, before, now(pairs[i].id));
    }
}

static void the_tick_counter_is_the_one_that_stamps(void **state)
{
    int64_t before = (int64_t)sl_clock_ticks();
    int64_t at = sl_nvtx_system_clock(TYPE(CPU_TSC))->read();

    (void)state;
    assert_in_range(at, before, (int64_t)sl_clock_ticks());
}

static uint64_t standing(void)
{
    return 1000;
}

static void a_tick_counter_that_cannot_be_used_is_none(void **state)
{
    static const struct sl_clock_source source = {standing, standing, NULL};

    (void)state;
    sl_clock_set_source(&source);
    assert_null(sl_nvtx_system_clock(TYPE(CPU_TSC)));
    sl_clock_set_source(NULL);
    assert_non_null(sl_nvtx_system_clock(TYPE(CPU_TSC)));
}

static void clocks_of_the_trace_s_time_need_no_reading(void **state)
{
    (void)state;
    assert_null(sl_nvtx_system_clock(TYPE(CPP_SYSTEM_CLOCK))->read);
    assert_int_equal(sl_nvtx_system_clock(TYPE(CPU_CLOCK_GETTIME_REALTIME))->ticks_per_s,
                     1000000000);
    assert_int_equal(sl_nvtx_system_clock(TYPE(C_TIME))->ticks_per_s, 1);
}

static void clocks_that_are_none(void **state)
{
    static const uint64_t none[] = {TYPE(NONE), TYPE(CPU_CLOCK_GETTIME_THREAD_CPUTIME_ID),
                                    TYPE(WIN_QPC), TYPE(GPU_GLOBALTIMER), UINT64_MAX};

    (void)state;
    for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++)
        assert_null(sl_nvtx_system_clock(none[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clocks_are_those_of_the_kernel),
        cmocka_unit_test(the_tick_counter_is_the_one_that_stamps),
        cmocka_unit_test(a_tick_counter_that_cannot_be_used_is_none),
        cmocka_unit_test(clocks_of_the_trace_s_time_need_no_reading),
        cmocka_unit_test(clocks_that_are_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
