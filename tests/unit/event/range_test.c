/* range_test.c - NVTX ranges: nested ranges of several domains, ranges that any thread may end, and
 * the end of a thread. */
#include "event/range_rig.h"

/* Ranges of two domains overlap without nesting. Each domain nests separately. */
static void domains_nest_on_their_own(void **state)
{
    push(1, 10, 1);
    push(2, 20, 2);
    pop(1, 30);
    push(1, 40, 3);
    pop(2, 50);
    pop(1, 60);
    pop(1, 70); /* there is no open range */
    assert_int_equal(row(SL_EV_NVTX_RANGE, 1)->end_ns, 30);
    assert_int_equal(row(SL_EV_NVTX_RANGE, 2)->end_ns, 50);
    assert_int_equal(row(SL_EV_NVTX_RANGE, 3)->end_ns, 60);
    assert_int_equal(around(THREAD, 35), 2);
    assert_int_equal(around(THREAD, 55), 3);
}

static void started_ranges_end_in_any_order(void **state)
{
    const struct sl_range_look one = {.name = 1}, two = {.name = 2};
    uint32_t where;

    sl_ranges_start(ranges, THREAD, 100, 10, 1000, &one);
    sl_ranges_start(ranges, THREAD, 200, 20, 1001, &two);
    assert_non_null(sl_ranges_started(ranges, 100, &where));
    assert_int_equal(where, 1000);
    sl_ranges_end(ranges, 100, 30);
    assert_null(sl_ranges_started(ranges, 100, &where));
    assert_int_equal(around(THREAD, 35), 2);
    sl_ranges_end(ranges, 200, 40);
    sl_ranges_end(ranges, 200, 50);
    assert_int_equal(row(SL_EV_NVTX_RANGE, 1)->thread, 1000);
    assert_int_equal(row(SL_EV_NVTX_RANGE, 2)->end_ns, 40);
    assert_int_equal(around(THREAD, 45), 0);
}

static void a_thread_takes_its_ranges_along(void **state)
{
    push(0, 10, 1);
    push(3, 20, 2);
    sl_ranges_end_thread(ranges, THREAD, 30);
    assert_int_equal(row(SL_EV_NVTX_RANGE, 1)->end_ns, 30);
    assert_int_equal(row(SL_EV_NVTX_RANGE, 2)->end_ns, 30);
    assert_int_equal(around(THREAD, 40), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(domains_nest_on_their_own, create, destroy),
        cmocka_unit_test_setup_teardown(started_ranges_end_in_any_order, create, destroy),
        cmocka_unit_test_setup_teardown(a_thread_takes_its_ranges_along, create, destroy),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
