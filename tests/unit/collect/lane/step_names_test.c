/* step_names_test.c - a job gives each training step a name with a number, so syncline uses the
 * numbers of the job. */
#include "test.h"

#include "collect/lane/step.h"

/* Returns the number of the step that begins with this name. */
static uint64_t named(uint32_t given)
{
    struct sl_step_name as;
    int is_other = sl_step_begin_named(given, 0, &as);

    assert_int_equal(is_other, sl_step_number() != given);
    return sl_step_number();
}

/* The first named step has the job's number. If a number was already used, the next free number is
 * used instead. */
static void numbers_of_names(void **state)
{
    struct sl_step_look look;

    assert_int_equal(named(0), 0);
    sl_step_look(0, &look);
    assert_true(look.running == 0 && look.number == 0 && look.began_ns > 0);
    assert_int_equal(named(0), 0); /* the same step, named by NVTX and by record_function() */
    sl_step_look(1, &look);
    assert_true(look.running == 0 && look.number == 0 && look.began_ns == 0);
    assert_int_equal(named(1), 1);
    assert_int_equal(named(5), 5);
    sl_step_look(2, &look); /* the job has no steps 2 to 4 */
    assert_true(look.running == 5 && look.number == 5 && look.began_ns > 0);
    assert_int_equal(named(2), 6);
    assert_int_equal(named(2), 6);
    assert_int_equal(named(3), 7);
    assert_int_equal(named(999999999), 1000000003);
    for (int i = 0; i < 4; i++) /* only the third call begins a step */
        sl_step_take(SL_STEP_LOADER);
    assert_int_equal(sl_step_number(), 1000000004);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_of_names),
    };

    return cmocka_run_group_tests_name("step_names", tests, NULL, NULL);
}
