/* step_test.c - which source of steps counts, and who is told when a step begins. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "collect/step.h"

static unsigned wakes;

static void wake(void)
{
    wakes++;
}

/* How many steps `count` calls of this source end. */
static uint64_t ended(enum sl_step_source source, int count)
{
    uint64_t before = sl_step_number();

    while (count--)
        sl_step_take(source);
    return sl_step_number() - before;
}

/* One process long, as in a job: each source silences those below it for good. */
static void the_best_source_counts(void **state)
{
    (void)state;
    assert_int_equal(ended(SL_STEP_LOADER, 1), 0); /* the first batch begins step 0 */
    assert_int_equal(ended(SL_STEP_LOADER, 2), 2);
    assert_int_equal(ended(SL_STEP_OPTIMIZER, 3), 3);
    assert_int_equal(ended(SL_STEP_LOADER, 5), 0);
    assert_int_equal(ended(SL_STEP_OPTIMIZER, 1), 1);
    /* A session of torch.profiler's in between, with steps of its own. */
    assert_int_equal(ended(SL_STEP_NAMED, 1), 1);
    assert_int_equal(ended(SL_STEP_OPTIMIZER, 1), 0);
    assert_int_equal(ended(SL_STEP_NAMED, 1), 1);
    assert_int_equal(ended(SL_STEP_OPTIMIZER, 2), 0);
    assert_int_equal(ended(SL_STEP_OPTIMIZER, 4), 4);
    assert_int_equal(ended(SL_STEP_JOB, 2), 2);
    assert_int_equal(ended(SL_STEP_OPTIMIZER, 2), 0);
    assert_int_equal(ended(SL_STEP_JOB, 1), 1);
}

static void who_waits_is_told_of_the_first_step_that_fits(void **state)
{
    uint64_t now = sl_step_number(), number = 0, ns = 0, before, first_ns;

    (void)state;
    sl_step_set_wake(wake);
    sl_step_take(SL_STEP_JOB);
    assert_int_equal(sl_step_awaited(&number, &ns), -EAGAIN);
    sl_step_await(now + 3, 0);
    sl_step_take(SL_STEP_JOB);
    assert_int_equal(sl_step_awaited(&number, &ns), -EAGAIN);
    assert_int_equal(wakes, 0);
    before = sl_clock_now();
    sl_step_take(SL_STEP_JOB);
    assert_int_equal(sl_step_awaited(&number, &ns), 0);
    assert_int_equal(number, now + 3);
    assert_true(ns >= before && ns <= sl_clock_now());
    assert_int_equal(wakes, 1);
    sl_step_take(SL_STEP_JOB); /* the first one stays */
    assert_int_equal(sl_step_awaited(&number, &before), 0);
    assert_true(before == ns && number == now + 3 && wakes == 1);
    first_ns = ns;
    /* One that is over already: the next there is. */
    sl_step_await(now, 0);
    assert_int_equal(sl_step_awaited(&number, &ns), -EAGAIN);
    sl_step_take(SL_STEP_JOB);
    assert_int_equal(sl_step_awaited(&number, &ns), 0);
    assert_int_equal(number, now + 5);
    sl_step_await(now + 3, 1); /* or that one itself */
    assert_int_equal(sl_step_awaited(&number, &before), 0);
    assert_true(number == now + 3 && before == first_ns);
    sl_step_await(now + 6, 1);
    assert_int_equal(sl_step_awaited(&number, &ns), -EAGAIN);
    sl_step_await(UINT64_MAX, 0);
    assert_int_equal(sl_step_awaited(&number, &ns), -EAGAIN);
}

static void names_of_steps(void **state)
{
    static const char *const no[] = {"", "ProfilerStep", "ProfilerStep#", "profilerStep#1", "x"};

    (void)state;
    assert_true(sl_step_is_name("ProfilerStep#0", 14));
    assert_true(sl_step_is_name("ProfilerStep#12", 15));
    for (size_t i = 0; i < sizeof(no) / sizeof(*no); i++)
        assert_false(sl_step_is_name(no[i], strlen(no[i])));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_source_counts),
        cmocka_unit_test(who_waits_is_told_of_the_first_step_that_fits),
        cmocka_unit_test(names_of_steps),
    };

    return cmocka_run_group_tests_name("step", tests, NULL, NULL);
}
