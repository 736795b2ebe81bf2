/* range_list_test.c - finds the ranges that were open at a time. If memory is full, some ranges are
 * forgotten. */
#include "event/range_rig.h"

static void calls_that_come_late_find_their_range(void **state)
{
    push(0, 10, 1);
    push(0, 20, 2);
    pop(0, 30);
    push(0, 40, 3);
    pop(0, 50);
    pop(0, 60);
    assert_int_equal(around(THREAD, 55), 1);
    assert_int_equal(around(THREAD, 45), 3);
    assert_int_equal(around(THREAD, 25), 2);
    assert_int_equal(around(THREAD, 35), 1);
    assert_int_equal(around(THREAD, 20), 2);
    assert_int_equal(around(THREAD, 5), 0);
    assert_int_equal(around(THREAD, 60), 0);
    assert_int_equal(around(THREAD + 1, 25), 0);
}

static void memory_is_bounded(void **state)
{
    struct sl_ranges_counts counts;
    const struct sl_range_look look = {.name = 1};

    sl_ranges_destroy(ranges);
    assert_int_equal(create_with(512 * 1024), 0);
    /* Memory is full, so ended ranges are forgotten. Threads start and end meanwhile. */
    for (uint32_t i = 0; i < 100000; i++) {
        sl_ranges_push(ranges, i + 1, 0, i * 10, &look);
        sl_ranges_pop(ranges, i + 1, 0, i * 10 + 5);
    }
    sl_ranges_get_counts(ranges, &counts);
    assert_int_equal(counts.lost, 0);
    /* Memory is full of open ranges. Open ranges are not forgotten. */
    for (uint32_t i = 0; i < 100000; i++)
        push(0, 2000000 + i, 1);
    sl_ranges_get_counts(ranges, &counts);
    assert_true(counts.lost > 0 && counts.lost < 100000);
}

/* The range that ended first is forgotten together with its GPU times. Open ranges, and the ranges
 * that ended last, are kept. */
static void what_ended_first_gives_way(void **state)
{
    uint32_t ended = 0;

    sl_ranges_destroy(ranges);
    assert_int_equal(create_with(512 * 1024), 0);
    sl_ranges_window(ranges, UINT64_MAX, UINT64_MAX);
    push(0, 1, 1);
    for (uint32_t i = 0; i < 20000; i++) {
        push(0, 10 + 10 * i, 2);
        pop(0, 15 + 10 * i);
    }
    assert_int_equal(around(THREAD, 12 + 10 * 19999), 2);
    assert_int_equal(around(THREAD, 17 + 10 * 19999), 1);
    assert_int_equal(around(THREAD, 12), 1);
    for (uint32_t i = 0; i < 20000; i++)
        ended += around(THREAD, 12 + 10 * i) == 2;
    assert_in_range(ended, 100, 19999);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(calls_that_come_late_find_their_range, create, destroy),
        cmocka_unit_test_setup_teardown(memory_is_bounded, create, destroy),
        cmocka_unit_test_setup_teardown(what_ended_first_gives_way, create, destroy),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
