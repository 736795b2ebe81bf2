/* system_clock_test.c - for each clock that NVTX defines, syncline reads the matching system
 * clock. */
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExtPayload.h>

#include "test.h"

#include <time.h>

#include "base/clock.h"
#include "collect/nvtx/system_clock.h"

#define TYPE(name) NVTX_TIMESTAMP_TYPE_##name

static uint64_t standing(void)
{
    return 1000;
}

static void a_tick_counter_that_cannot_be_used_is_none(void **state)
{
    static const struct sl_clock_source source = {standing, standing, NULL};

    sl_clock_set_source(&source);
    assert_null(sl_nvtx_system_clock(TYPE(CPU_TSC)));
    sl_clock_set_source(NULL);
    assert_non_null(sl_nvtx_system_clock(TYPE(CPU_TSC)));
}

static void clocks_that_are_none(void **state)
{
    static const uint64_t none[] = {TYPE(NONE), TYPE(CPU_CLOCK_GETTIME_THREAD_CPUTIME_ID),
                                    TYPE(WIN_QPC), TYPE(GPU_GLOBALTIMER), UINT64_MAX};

    for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++)
        assert_null(sl_nvtx_system_clock(none[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tick_counter_that_cannot_be_used_is_none),
        cmocka_unit_test(clocks_that_are_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
