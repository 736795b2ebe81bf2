/* time_test.c - converts times of other clocks to the trace's clock. The clocks are system clocks,
 * clocks of the program, and unknown clocks. A program describes its clock by a unit, by points in
 * time, by a factor, by a function, or relative to another clock. */
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExtPayload.h>

#include "test.h"
#include <errno.h>
#include <math.h>

#include "base/clock.h"
#include "base/stats.h"
#include "collect/nvtx/time.h"

#define TYPE(name) NVTX_TIMESTAMP_TYPE_##name
#define ID(n)      (NVTX_TIME_DOMAIN_ID_STATIC_START + (n))
#define MS         1000000
#define S          1000000000
#define EPOCH      (1700000000ll * S)
#define BOOT       (5000ll * S)

/* ---- fake system clocks, which advance only when a test advances them ---- */

/* Elapsed time, and how far the wall clock was set forward, both in ns. */
static int64_t passed, was_set;

static uint64_t realtime(void)
{
    return (uint64_t)(EPOCH + passed + was_set);
}

static uint64_t monotonic(void)
{
    return (uint64_t)(BOOT + passed);
}

static uint64_t ticks(void)
{
    return 1 + 3 * (uint64_t)(BOOT + passed);
}

static int init(void **state)
{
    static const struct sl_clock_source source = {realtime, monotonic, ticks};

    sl_clock_set_source(&source);
    sl_nvtx_time_init();
    passed = 10 * MS;
    return 0;
}

static void assert_time_of(unsigned domain, uint64_t id, int64_t at, int64_t wanted)
{
    uint64_t ns = 0;

    assert_int_equal(sl_nvtx_time_ns(domain, id, at, &ns), 0);
    assert_in_range((int64_t)ns - wanted + 5, 0, 10);
}

static void assert_unknown(unsigned domain, uint64_t id, int64_t at)
{
    uint64_t ns = 77;

    assert_int_equal(sl_nvtx_time_ns(domain, id, at, &ns), -ENODATA);
    assert_int_equal(ns, 77);
}

/* ---- clocks of the system ---- */

static void clocks_of_the_system(void **state)
{
    assert_time_of(1, TYPE(TOOL_PROVIDED), EPOCH + 5, EPOCH + 5);
    assert_time_of(1, TYPE(CPU_CLOCK_GETTIME_REALTIME), EPOCH + 5, EPOCH + 5);
    assert_time_of(1, TYPE(CPP_SYSTEM_CLOCK), EPOCH + 5, EPOCH + 5);
    assert_time_of(1, TYPE(C_TIME), EPOCH / S + 2, EPOCH + 2ll * S);
    assert_time_of(1, TYPE(CPU_CLOCK_GETTIME_MONOTONIC), BOOT + 7 * MS, EPOCH + 7 * MS);
    assert_time_of(1, TYPE(CPP_STEADY_CLOCK), BOOT - 3ll * S, EPOCH - 3ll * S);
}

/* The wall clock is set. Times of earlier events are converted with the old setting, as for all
 * other rows of that time. */
static void the_wall_clock_is_set(void **state)
{
    const uint64_t clock = TYPE(CPU_CLOCK_GETTIME_MONOTONIC);
    int64_t before;

    passed += 1 * S;
    before = passed;
    assert_time_of(1, clock, BOOT + passed, EPOCH + passed);
    passed += 1 * S;
    was_set = 3600ll * S;
    assert_time_of(1, clock, BOOT + passed, EPOCH + passed + was_set);
    assert_time_of(1, clock, BOOT + passed + MS, EPOCH + passed + MS + was_set);
    assert_time_of(1, clock, BOOT + before - 1, EPOCH + before - 1);
    was_set = 0;
    passed += 10ll * S;
    assert_time_of(1, clock, BOOT + passed, EPOCH + passed);
}

/* ---- clocks of the program that are described by their properties ---- */

static void a_unit_of_its_own(void **state)
{
    const struct sl_nvtx_clock us = {.domain = 2,
                                     .id = ID(1),
                                     .type = TYPE(CPU_CLOCK_GETTIME_MONOTONIC),
                                     .ticks_per_s = 1000000};
    const struct sl_nvtx_clock ms = {.domain = 2, .ticks_per_s = 1000, .is_unix_time = 1};
    const struct sl_nvtx_clock same = {.domain = 2, .type = TYPE(CPP_STEADY_CLOCK)};
    uint64_t id;

    assert_int_equal(sl_nvtx_time_add(&us), ID(1));
    assert_time_of(2, ID(1), BOOT / 1000 + 5, EPOCH + 5000);
    id = sl_nvtx_time_add(&ms);
    assert_true(id >= NVTX_TIME_DOMAIN_ID_DYNAMIC_START);
    assert_time_of(2, id, EPOCH / MS + 5, EPOCH + 5 * MS);
    assert_time_of(9, id, EPOCH / MS + 5, EPOCH + 5 * MS); /* generated ids are valid in the whole
                                                            * process */
    assert_time_of(2, sl_nvtx_time_add(&same), BOOT + 5, EPOCH + 5);
    assert_unknown(3, ID(1), 5); /* a clock of another domain with the same number */
}

static void a_scope_has_a_clock(void **state)
{
    const struct sl_nvtx_clock clock = {
        .domain = 3, .type = TYPE(CPP_STEADY_CLOCK), .scope = 1u << 24};
    uint64_t id = sl_nvtx_time_add(&clock);

    assert_int_equal(sl_nvtx_time_of_scope(3, 1u << 24), id);
    assert_int_equal(sl_nvtx_time_of_scope(4, 1u << 24), 0);
    assert_int_equal(sl_nvtx_time_of_scope(3, 0), 0);
}

/* ---- clocks whose relation to another clock is given by points or factors ---- */

static void two_points_make_it_known(void **state)
{
    const uint64_t real = TYPE(CPU_CLOCK_GETTIME_REALTIME);

    sl_nvtx_time_point(4, ID(1), real, 1000, EPOCH);
    assert_unknown(4, ID(1), 1000);
    sl_nvtx_time_point(4, ID(1), real, 1100, EPOCH + 1000);
    assert_time_of(4, ID(1), 1050, EPOCH + 500);
    assert_time_of(4, ID(1), 1200, EPOCH + 2000);
    assert_time_of(4, ID(1), 900, EPOCH - 1000);
    /* From this point in time on, the clock is slower. The call has the two clocks in the other
     * order. */
    sl_nvtx_time_point(4, real, ID(1), EPOCH + 3000, 1200);
    assert_time_of(4, ID(1), 1150, EPOCH + 2000);
    assert_time_of(4, ID(1), 1300, EPOCH + 5000);
    assert_time_of(4, ID(1), 1050, EPOCH + 500);
}

/* The program may give any number of points, in any order. */
static void points_without_end(void **state)
{
    const uint64_t steady = TYPE(CPP_STEADY_CLOCK);

    for (int64_t i = 1; i <= 1000; i++) {
        sl_nvtx_time_point(5, ID(1), steady, i * i, BOOT + i * i * 10);
        sl_nvtx_time_point(5, ID(1), steady, -i, BOOT - i * 10);
        sl_nvtx_time_point(5, ID(1), steady, 1, BOOT + 10);
    }
    assert_time_of(5, ID(1), -1000, EPOCH - 10000);
    assert_time_of(5, ID(1), 777, EPOCH + 7770);
    assert_time_of(5, ID(1), 1000000, EPOCH + 10000000);
}

static void a_unit_does_with_one_point(void **state)
{
    const struct sl_nvtx_clock clock = {.domain = 6, .id = ID(1), .ticks_per_s = 1000};

    sl_nvtx_time_add(&clock);
    assert_unknown(6, ID(1), 5);
    sl_nvtx_time_point(6, ID(1), TYPE(CPP_STEADY_CLOCK), 100, BOOT);
    assert_time_of(6, ID(1), 105, EPOCH + 5 * MS);
}

static void a_factor_does_with_one_point(void **state)
{
    sl_nvtx_time_factor(6, ID(2), TYPE(CPP_STEADY_CLOCK), 2.5, 100, BOOT);
    assert_time_of(6, ID(2), 300, EPOCH + 500);
    sl_nvtx_time_factor(6, TYPE(CPP_STEADY_CLOCK), ID(3), 0.5, BOOT, 100);
    assert_time_of(6, ID(3), 300, EPOCH + 400);
}

/* Clock a is relative to b, b to c, and c to a system clock. Nothing is known until the last
 * relation is given. */
static void over_other_clocks(void **state)
{
    sl_nvtx_time_factor(7, ID(1), ID(2), 10, 0, 6);
    sl_nvtx_time_factor(7, ID(3), ID(2), 2, 0, 0);
    assert_unknown(7, ID(1), 1);
    sl_nvtx_time_factor(7, ID(3), TYPE(CPP_STEADY_CLOCK), 4, 0, BOOT);
    assert_time_of(7, ID(1), 100, EPOCH + (100 * 10 + 6) / 2 * 4);
}

static void points_that_lie(void **state)
{
    static const double rates[] = {0, -1, 1e300, 1e-300, INFINITY, NAN};
    uint64_t ns;

    for (unsigned i = 0; i < sizeof(rates) / sizeof(*rates); i++) {
        sl_nvtx_time_factor(8, ID(1), TYPE(TOOL_PROVIDED), rates[i], INT64_MIN, INT64_MAX);
        sl_nvtx_time_ns(8, ID(1), INT64_MAX, &ns);
    }
    sl_nvtx_time_factor(8, ID(2), TYPE(TOOL_PROVIDED), 1e300, 0, 0);
    assert_unknown(8, ID(2), 1000000000);
    sl_nvtx_time_point(8, ID(3), ID(3), 1, 2);
    sl_nvtx_time_point(8, ID(4), TYPE(TOOL_PROVIDED), 1, 2);
    sl_nvtx_time_point(8, ID(4), TYPE(TOOL_PROVIDED), 1, 3);
    assert_unknown(8, ID(4), 1); /* two equal points give no rate */
    /* Clocks of the system cannot be redefined. */
    sl_nvtx_time_factor(8, TYPE(CPP_STEADY_CLOCK), TYPE(TOOL_PROVIDED), 7, 0, 0);
    assert_time_of(8, TYPE(CPP_STEADY_CLOCK), BOOT + 5, EPOCH + 5);
}

/* ---- clocks read by a function ---- */

static unsigned calls;

/* Reads the program's clock, which has 10 ticks per microsecond. */
static int64_t read_own(void *data)
{
    calls++;
    return *(int64_t *)data + passed / 100;
}

static int64_t read_plain(void)
{
    return passed * 2;
}

static void a_function_that_reads_it(void **state)
{
    int64_t first = 500, start = passed;
    const struct sl_nvtx_timer timer = {.read_with = read_own, .data = &first},
                               plain = {.read = read_plain};
    unsigned before;

    sl_nvtx_time_set_timer(10, ID(1), &timer);
    assert_unknown(10, ID(1), 500); /* the clock's rate is not known yet */
    passed += 2 * MS;
    assert_time_of(10, ID(1), 500 + start / 100 + 10, EPOCH + start + 1000);
    before = calls;
    passed += 50 * MS;
    assert_time_of(10, ID(1), 500 + passed / 100, EPOCH + passed);
    assert_int_equal(calls, before); /* the last reading is recent enough */
    passed += 100 * MS;
    assert_time_of(10, ID(1), 500 + passed / 100, EPOCH + passed);
    assert_true(calls > before);
    before = calls;
    passed += 100 * MS;
    assert_time_of(11, TYPE(CPP_STEADY_CLOCK), BOOT + passed, EPOCH + passed);
    /* The program's clock is read only for events with its times. */
    assert_int_equal(calls, before);
    sl_nvtx_time_set_timer(10, ID(2), &plain);
    passed += 2 * MS;
    assert_time_of(10, ID(2), passed * 2 - 100, EPOCH + passed - 50);
}

/* A program's function that reads its clock. The function itself requests the conversion of a time
 * of the same clock. */
static int64_t read_nested(void)
{
    uint64_t ns;

    sl_nvtx_time_ns(10, ID(3), 5, &ns);
    return passed;
}

static void a_function_that_calls_back(void **state)
{
    const struct sl_nvtx_timer timer = {.read = read_nested};

    sl_nvtx_time_set_timer(10, ID(3), &timer);
    passed += 200 * MS;
    assert_time_of(10, ID(3), passed - 7, EPOCH + passed - 7);
}

/* This case must run last, because it fills the table of clocks. */
static void clocks_without_end(void **state)
{
    uint64_t lost = sl_stats_get(SL_STAT_NAMES_LOST);
    struct sl_nvtx_clock clock = {.domain = 12, .type = TYPE(CPP_STEADY_CLOCK)};
    unsigned refused = 0;

    for (unsigned i = 0; i < 1000; i++)
        refused += sl_nvtx_time_add(&clock) == 0;
    assert_in_range(refused, 900, 999);
    for (unsigned i = 0; i < 1000; i++)
        assert_unknown(13, ID(i), 5); /* requests of times need no entry in the table */
    assert_int_equal(sl_stats_get(SL_STAT_NAMES_LOST) - lost, refused);
    assert_time_of(4, ID(1), 1050, EPOCH + 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clocks_of_the_system),
        cmocka_unit_test(the_wall_clock_is_set),
        cmocka_unit_test(a_unit_of_its_own),
        cmocka_unit_test(a_scope_has_a_clock),
        cmocka_unit_test(two_points_make_it_known),
        cmocka_unit_test(points_without_end),
        cmocka_unit_test(a_unit_does_with_one_point),
        cmocka_unit_test(a_factor_does_with_one_point),
        cmocka_unit_test(over_other_clocks),
        cmocka_unit_test(points_that_lie),
        cmocka_unit_test(a_function_that_reads_it),
        cmocka_unit_test(a_function_that_calls_back),
        cmocka_unit_test(clocks_without_end),
    };

    return cmocka_run_group_tests(tests, init, NULL);
}
