/* step_test.c - several sources can report training steps: the optimizer, the data loader, names,
 * the job. Tests which source is used. Also tests that the recorder is woken when an awaited step
 * begins, and finds when it began. */
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "collect/lane/lane.h"
#include "collect/lane/step.h"

static unsigned wakes;

static void wake(void)
{
    wakes++;
}

/* Reports `count` steps of this source. Returns the number of steps that end by these reports. */
static uint64_t ended(enum sl_step_source source, int count)
{
    uint64_t before = sl_step_number();

    while (count--)
        sl_step_take(source);
    return sl_step_number() - before;
}

/* Returns the number of the step that begins with this name. */
static uint64_t named(uint32_t given, int tells_end)
{
    struct sl_step_name as;
    uint64_t number;
    char wanted[64];
    int is_other = sl_step_begin_named(given, tells_end, &as);

    number = sl_step_number();
    assert_int_equal(is_other, number != given);
    if (!is_other)
        return number;
    snprintf(wanted, sizeof(wanted), "ProfilerStep#%llu", (unsigned long long)number);
    assert_string_equal(as.name, wanted);
    snprintf(wanted, sizeof(wanted), "\"called\":\"ProfilerStep#%u\"", given);
    assert_string_equal(as.more, wanted);
    return number;
}

/* The cases run in one process, like a job. After a better source has reported a step, weaker
 * sources are ignored permanently. */
static void the_best_source_counts(void **state)
{
    assert_int_equal(ended(SL_STEP_LOADER, 1), 0); /* the first batch begins step 0 */
    assert_int_equal(ended(SL_STEP_LOADER, 2), 2);
    assert_int_equal(ended(SL_STEP_OPTIMIZER, 3), 3);
    assert_int_equal(ended(SL_STEP_LOADER, 5), 0);
    assert_int_equal(ended(SL_STEP_OPTIMIZER, 1), 1);
    /* The job names ranges, and their ends are not reported. */
    assert_int_equal(named(0, 0), 7);
    assert_int_equal(ended(SL_STEP_OPTIMIZER, 1), 0);
    assert_int_equal(named(1, 0), 8);
    assert_int_equal(ended(SL_STEP_OPTIMIZER, 2), 0);
    assert_int_equal(ended(SL_STEP_OPTIMIZER, 4), 4);
    /* A session of torch.profiler reports the ends of the steps, too. */
    assert_int_equal(named(0, 1), 13);
    assert_int_equal(ended(SL_STEP_OPTIMIZER, 9), 0);
    sl_step_end_named();
    assert_int_equal(ended(SL_STEP_OPTIMIZER, 3), 1);
    /* The job reports a step for the first time. The optimizer has already ended that iteration, so
     * the first report is ignored. */
    assert_int_equal(ended(SL_STEP_JOB, 1), 0);
    assert_int_equal(ended(SL_STEP_JOB, 2), 2);
    assert_int_equal(ended(SL_STEP_OPTIMIZER, 2), 0);
    assert_int_equal(ended(SL_STEP_JOB, 1), 1);
}

static void the_recorder_is_woken_once_and_finds_the_step(void **state)
{
    uint64_t now, before, first_ns;
    struct sl_step_look look;

    sl_lanes_set_wake(wake);
    sl_step_take(SL_STEP_JOB);
    now = sl_step_number();
    assert_int_equal(wakes, 0);
    sl_step_await(now + 2);
    sl_step_take(SL_STEP_JOB);
    assert_int_equal(wakes, 0);
    sl_step_look(now + 2, &look);
    assert_true(look.running == now + 1 && look.number == 0 && look.began_ns == 0);
    before = sl_clock_now();
    sl_step_take(SL_STEP_JOB);
    assert_int_equal(wakes, 1);
    sl_step_look(now + 2, &look);
    assert_true(look.running == now + 2 && look.number == now + 2);
    assert_true(look.began_ns >= before && look.began_ns <= sl_clock_now());
    first_ns = look.began_ns;
    sl_step_take(SL_STEP_JOB);
    assert_int_equal(wakes, 1);
    sl_step_look(now + 2, &look); /* a late look finds the same step */
    assert_true(look.running == now + 3 && look.number == now + 2 && look.began_ns == first_ns);
    sl_step_await(UINT64_MAX);
    sl_step_take(SL_STEP_JOB);
    assert_int_equal(wakes, 1);
}

static void the_last_steps_are_remembered(void **state)
{
    uint64_t first = sl_step_number() + 1, begun_ns = sl_clock_now(), length_ns;
    struct sl_step_look look;

    for (unsigned i = 0; i < SL_STEP_KEPT; i++)
        sl_step_take(SL_STEP_JOB);
    length_ns = sl_clock_now() - begun_ns;
    sl_step_look(first, &look);
    assert_int_equal(look.number, first);
    assert_in_range(look.length_ns, 0, length_ns);
    sl_step_take(SL_STEP_JOB);
    sl_step_look(first, &look); /* is forgotten, so the next step is reported */
    assert_int_equal(look.number, first + 1);
    sl_step_look(first + SL_STEP_KEPT + 1, &look); /* has not begun */
    assert_int_equal(look.number, 0);
}

static void names_of_steps(void **state)
{
    static const char *const no[] = {
        "",  "ProfilerStep",        "ProfilerStep#",          "profilerStep#1",
        "x", "ProfilerStep#1 warm", "ProfilerStep#1000000000"};
    uint32_t number = 1;

    assert_int_equal(sl_step_read_name("ProfilerStep#0", 14, &number), 0);
    assert_int_equal(number, 0);
    assert_int_equal(sl_step_read_name("ProfilerStep#999999999 more", 22, &number), 0);
    assert_int_equal(number, 999999999);
    for (size_t i = 0; i < sizeof(no) / sizeof(*no); i++)
        assert_int_equal(sl_step_read_name(no[i], strlen(no[i]), &number), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_source_counts),
        cmocka_unit_test(the_recorder_is_woken_once_and_finds_the_step),
        cmocka_unit_test(the_last_steps_are_remembered),
        cmocka_unit_test(names_of_steps),
    };

    return cmocka_run_group_tests_name("step", tests, NULL, NULL);
}
