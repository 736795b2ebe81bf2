/* clock_test.c - tests how syncline detects the clock of CUPTI's time stamps: the wall clock, the
 * tick counter, or an unknown clock. */
#include "test.h"

#include <errno.h>
#include <time.h>

#include "base/clock.h"
#include "collect/cupti/clock.h"

#define MS 1000000ull

static uint64_t far_ns; /* ns by which the unknown clock is ahead of the wall clock */

static int realtime(uint64_t *stamp)
{
    *stamp = sl_clock_now();
    return 0;
}

static int counter(uint64_t *stamp)
{
    *stamp = sl_clock_ticks();
    return 0;
}

static int another(uint64_t *stamp)
{
    *stamp = sl_clock_now() + far_ns;
    return 0;
}

static int no_answer(uint64_t *stamp)
{
    (void)stamp;
    return 1;
}

static int make_line(void **state)
{
    struct timespec nap = {.tv_nsec = 60 * MS};

    sl_clock_calibrate();
    nanosleep(&nap, NULL);
    sl_clock_calibrate();
    return 0;
}

static void what_neither_clock_gives_is_refused(void **state)
{
    struct sl_cupti_clock clock = {0};
    uint64_t stamp;

    if (!sl_clock_ticks())
        skip();
    sl_cupti_clock_look(&clock, counter);
    far_ns = 86400000000000000ull; /* a thousand days */
    sl_cupti_clock_look(&clock, realtime);
    assert_int_equal(sl_cupti_clock_look(&clock, another), SL_CUPTI_CLOCK_UNKNOWN);
    assert_true(clock.is_mixed);
    another(&stamp);
    assert_int_equal(sl_cupti_clock_to_real(&clock, &stamp), -ERANGE);
    /* a stamp days in the future, because one in the past may be before the boot */
    stamp = sl_clock_ticks() + (1ull << 53);
    assert_int_equal(sl_cupti_clock_to_real(&clock, &stamp), -ERANGE);
    realtime(&stamp);
    assert_int_equal(sl_cupti_clock_to_real(&clock, &stamp), 0);
}

/* cuptiGetTimestamp fails, so another client may have changed CUPTI's clock unnoticed. syncline
 * recognizes the clock of each time stamp from the stamp's value. */
static void without_an_answer_stamps_tell(void **state)
{
    struct sl_cupti_clock clock = {0};
    uint64_t before = sl_clock_now(), stamp = before, ticks = sl_clock_ticks();

    if (!ticks)
        skip();
    assert_int_equal(sl_cupti_clock_look(&clock, no_answer), SL_CUPTI_CLOCK_REALTIME);
    assert_int_equal(sl_cupti_clock_to_real(&clock, &stamp), 0);
    assert_int_equal(stamp, before);
    assert_int_equal(sl_cupti_clock_to_real(&clock, &ticks), 0);
    assert_in_range(ticks, before - 1000, sl_clock_now());
}

/* A fake machine: a counter with 3 ticks per ns, and a wall clock that the test can set. Each
 * reading of a clock takes 10 ns. */
static struct {
    uint64_t ticks;
    int64_t set_ns, set_in_bracket_ns;
} machine;

static uint64_t machine_ticks(void)
{
    return machine.ticks += 30;
}

static uint64_t machine_monotonic(void)
{
    return machine_ticks() / 3;
}

static uint64_t machine_realtime(void)
{
    return 1700000000000000000ull + machine_monotonic() + (uint64_t)machine.set_ns;
}

/* CUPTI's clock is the wall clock. The test can set it, also during a reading. */
static int settable(uint64_t *stamp)
{
    machine.set_ns += machine.set_in_bracket_ns;
    machine.set_in_bracket_ns = 0;
    *stamp = machine_realtime();
    return 0;
}

static void a_setting_of_the_wall_clock_is_no_other_clock(void **state)
{
    static const struct sl_clock_source source = {machine_realtime, machine_monotonic,
                                                  machine_ticks};
    static const int64_t by_ns[] = {3600000000000, -7200000000000, 5 * MS, -5 * (int64_t)MS};
    struct sl_cupti_clock clock = {0};

    machine.ticks = 1ull << 40;
    far_ns = 3600000000000;
    for (size_t i = 0; i < 2 * sizeof(by_ns) / sizeof(*by_ns); i++) {
        sl_clock_set_source(&source);
        sl_clock_calibrate();
        machine.ticks += 3 * 60 * MS;
        sl_clock_calibrate();
        assert_int_equal(sl_cupti_clock_look(&clock, settable), SL_CUPTI_CLOCK_REALTIME);
        *(i % 2 ? &machine.set_in_bracket_ns : &machine.set_ns) += by_ns[i / 2];
        assert_int_equal(sl_cupti_clock_look(&clock, settable), SL_CUPTI_CLOCK_REALTIME);
        assert_in_range(machine_realtime() - clock.last_ns, 0, MS);
        assert_false(clock.is_mixed);
        /* syncline still notices that another clock is different. */
        assert_int_equal(sl_cupti_clock_look(&clock, another), SL_CUPTI_CLOCK_UNKNOWN);
    }
    sl_clock_set_source(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_neither_clock_gives_is_refused),
        cmocka_unit_test(without_an_answer_stamps_tell),
        cmocka_unit_test(a_setting_of_the_wall_clock_is_no_other_clock),
    };

    return cmocka_run_group_tests(tests, make_line, NULL);
}
