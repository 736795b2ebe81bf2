/* clock_test.c - CUPTI on the wall clock, on the tick counter, on a clock of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <time.h>

#include "base/clock.h"
#include "collect/cupti/clock.h"

#define MS 1000000ull

static uint64_t far_ns; /* how far the clock of its own is off */

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

    (void)state;
    sl_clock_calibrate();
    nanosleep(&nap, NULL);
    sl_clock_calibrate();
    return 0;
}

static void stamps_of_the_wall_clock_stay(void **state)
{
    struct sl_cupti_clock clock = {0};
    uint64_t stamp = 12345;

    (void)state;
    assert_int_equal(sl_cupti_clock_look(&clock, realtime), SL_CUPTI_CLOCK_REALTIME);
    assert_false(clock.is_mixed);
    assert_int_equal(sl_cupti_clock_to_real(&clock, &stamp), 0);
    assert_int_equal(stamp, 12345); /* whatever they are: nobody has set a clock */
}

static void one_buffer_may_hold_both(void **state)
{
    struct sl_cupti_clock clock = {0};
    uint64_t before = sl_clock_now(), stamp = before, ticks = sl_clock_ticks(), after;

    (void)state;
    if (!ticks)
        skip();
    sl_cupti_clock_look(&clock, realtime);
    assert_int_equal(sl_cupti_clock_look(&clock, counter), SL_CUPTI_CLOCK_TICKS);
    after = sl_clock_now();
    assert_int_equal(sl_cupti_clock_to_real(&clock, &stamp), 0);
    assert_int_equal(stamp, before);
    assert_int_equal(sl_cupti_clock_to_real(&clock, &ticks), 0);
    assert_in_range(ticks, before - 1000, after);
    stamp = 0;
    assert_int_equal(sl_cupti_clock_to_real(&clock, &stamp), 0);
    assert_int_equal(stamp, 0);
}

static void what_neither_clock_gives_is_refused(void **state)
{
    struct sl_cupti_clock clock = {0};
    uint64_t stamp;

    (void)state;
    if (!sl_clock_ticks())
        skip();
    sl_cupti_clock_look(&clock, counter);
    far_ns = 86400000000000000ull; /* a thousand days */
    sl_cupti_clock_look(&clock, realtime);
    assert_int_equal(sl_cupti_clock_look(&clock, another), SL_CUPTI_CLOCK_UNKNOWN);
    assert_true(clock.is_mixed);
    another(&stamp);
    assert_int_equal(sl_cupti_clock_to_real(&clock, &stamp), -ERANGE);
    stamp = sl_clock_ticks() + (1ull << 53); /* days ahead; those behind may be before the boot */
    assert_int_equal(sl_cupti_clock_to_real(&clock, &stamp), -ERANGE);
    realtime(&stamp);
    assert_int_equal(sl_cupti_clock_to_real(&clock, &stamp), 0);
}

/* Nobody knows whether another client has set the clock: each stamp is judged by itself. */
static void without_an_answer_stamps_tell(void **state)
{
    struct sl_cupti_clock clock = {0};
    uint64_t before = sl_clock_now(), stamp = before, ticks = sl_clock_ticks();

    (void)state;
    if (!ticks)
        skip();
    assert_int_equal(sl_cupti_clock_look(&clock, no_answer), SL_CUPTI_CLOCK_REALTIME);
    assert_int_equal(sl_cupti_clock_to_real(&clock, &stamp), 0);
    assert_int_equal(stamp, before);
    assert_int_equal(sl_cupti_clock_to_real(&clock, &ticks), 0);
    assert_in_range(ticks, before - 1000, sl_clock_now());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stamps_of_the_wall_clock_stay),
        cmocka_unit_test(one_buffer_may_hold_both),
        cmocka_unit_test(what_neither_clock_gives_is_refused),
        cmocka_unit_test(without_an_answer_stamps_tell),
    };

    return cmocka_run_group_tests(tests, make_line, NULL);
}
