/* assemble_call_test.c - the rows of API calls in the trace. Each correlation id has one CPU row.
 * The row of a waiting call contains the result of the wait. */
#include "unit/event/assemble_rig.h"

static void a_driver_row_waits_for_the_row_around_it(void **state)
{
    struct sl_assemble *a = make(0);
    struct sl_assemble_counts counts;

    feed(a, launch(SL_EV_DRIVER, 9, 10, 20), 100);
    feed(a, row(SL_EV_KERNEL, 9, 30, 40), 100);
    sl_assemble_tick(a, 1099);
    assert_int_equal(got.count, 1); /* only the kernel */
    sl_assemble_tick(a, 1100);
    assert_int_equal(got.count, 3);
    assert_int_equal(got.event[1].kind, SL_EV_DRIVER);
    assert_int_equal(got.event[2].kind, SL_EV_FLOW);
    /* This record arrives after its id's row was written. It is dropped, because an id has only one
     * CPU row. */
    feed(a, launch(SL_EV_RUNTIME, 9, 5, 25), 1200);
    assert_int_equal(got.count, 3);
    sl_assemble_get_counts(a, &counts);
    assert_int_equal(counts.late_outer, 1);
    sl_assemble_destroy(a);
}

static void of_two_nested_driver_rows_the_outer_stays(void **state)
{
    struct sl_assemble *a = make(0);

    feed(a, launch(SL_EV_DRIVER, 9, 12, 18), 0);
    feed(a, launch(SL_EV_DRIVER, 9, 10, 20), 0);
    feed(a, launch(SL_EV_DRIVER, 9, 13, 17), 0);
    sl_assemble_flush(a);
    assert_int_equal(got.count, 1);
    assert_int_equal(got.event[0].start_ns, 10);
    sl_assemble_destroy(a);
}

/* The row of a driver call is delayed, because a runtime call around it may still arrive. held_ns()
 * returns the start of the earliest delayed call. So the caller knows until which time all rows are
 * written. */
static void what_is_held_is_known(void **state)
{
    struct sl_assemble *a = make(0);

    assert_int_equal(sl_assemble_held_ns(a), UINT64_MAX);
    feed(a, launch(SL_EV_DRIVER, 9, 12, 18), 0);
    feed(a, launch(SL_EV_DRIVER, 10, 10, 40), 0);
    assert_int_equal(sl_assemble_held_ns(a), 10);
    /* the runtime call replaces the driver call inside it */
    feed(a, launch(SL_EV_RUNTIME, 10, 8, 42), 0);
    assert_int_equal(sl_assemble_held_ns(a), 12);
    sl_assemble_flush(a);
    assert_int_equal(sl_assemble_held_ns(a), UINT64_MAX);
    sl_assemble_destroy(a);
}

static void a_full_queue_lets_the_oldest_driver_row_go(void **state)
{
    struct sl_assemble *a = make(256 * 1024);
    uint32_t id;

    for (id = 1; id <= 3000; id++)
        feed(a, launch(SL_EV_DRIVER, id, id, id + 1), 0);
    assert_true(got.count > 1000);
    assert_int_equal(got.event[0].correlation, 1);
    sl_assemble_flush(a);
    assert_int_equal(got.count, 3000);
    sl_assemble_destroy(a);
}

/* CUPTI before 12.8 makes a record for every query, without its result. The record of the query's
 * API call has the result. So a query of unfinished work is not written as a wait. */
static void queries_of_unfinished_work_are_no_waits(void **state)
{
    static const enum sl_event_kind call[] = {SL_EV_RUNTIME, SL_EV_DRIVER};
    struct sl_assemble_counts counts;
    struct sl_assemble *a;

    for (int i = 0; i < 4; i++) {
        struct sl_event query = row(call[i / 2], 1, 10, 20), ready = row(call[i / 2], 2, 30, 40);
        struct sl_event wait[2] = {row(SL_EV_SYNC, 1, 11, 19), row(SL_EV_SYNC, 2, 31, 39)};
        int waits_first = i % 2;

        a = make(0);
        query.u.call.result = SL_RESULT_NOT_READY;
        for (int k = 0; k < 2; k++)
            wait[k].flags = SL_EVF_NO_RESULT;
        for (int k = 0; k < 2; k++) {
            if ((k == 0) == waits_first) {
                feed(a, wait[0], 0);
                feed(a, wait[1], 0);
            } else {
                feed(a, query, 0);
                feed(a, ready, 0);
            }
        }
        sl_assemble_flush(a);
        assert_int_equal(got.count, 3);
        for (size_t k = 0; k < got.count; k++)
            if (got.event[k].kind == SL_EV_SYNC) {
                assert_int_equal(got.event[k].correlation, 2);
                assert_int_equal(got.event[k].flags, 0);
            }
        sl_assemble_get_counts(a, &counts);
        assert_int_equal(counts.not_ready, 1);
        assert_int_equal(counts.duplicates + counts.nested_dropped, 0);
        sl_assemble_destroy(a);
    }
}

/* If records of API calls are disabled, a wait has no call. The wait is written all the same. */
static void a_wait_without_its_call_is_written(void **state)
{
    struct sl_assemble *a = make(0);
    struct sl_event wait = row(SL_EV_SYNC, 1, 11, 19);

    wait.flags = SL_EVF_NO_RESULT;
    feed(a, wait, 0);
    sl_assemble_tick(a, 999);
    assert_int_equal(got.count, 0);
    sl_assemble_tick(a, 1000);
    assert_int_equal(got.count, 1);
    sl_assemble_destroy(a);
}

static void driver(struct sl_assemble *a, uint32_t id, uint32_t thread, uint64_t start,
                   uint64_t end, uint16_t flags)
{
    struct sl_event ev = row(SL_EV_DRIVER, id, start, end);

    ev.thread = thread;
    ev.flags = flags;
    sl_assemble_event(a, &ev, 0);
}

/* The row of a driver call is delayed until a later call of the same thread begins. A runtime call
 * around the driver call would have returned before. */
static void test_a_later_call_of_the_thread_releases(void **state)
{
    struct sl_assemble *a = make(0);

    driver(a, 1, 100, 10, 20, 0);
    driver(a, 2, 101, 15, 40, 0);
    sl_assemble_complete(a, 50);
    assert_int_equal(got.count, 0); /* each call may be inside a runtime call */
    driver(a, 3, 100, 30, 35, 0);
    sl_assemble_complete(a, 30);
    assert_int_equal(got.count, 0); /* records from before that time may still arrive */
    sl_assemble_complete(a, 50);
    assert_int_equal(got.count, 1);
    assert_int_equal(got.event[0].correlation, 1);
    assert_int_equal(sl_assemble_held_ns(a), 15);
    sl_assemble_tick(a, 2000);
    assert_int_equal(got.count, 3);
    sl_assemble_destroy(a);
}

/* Two driver calls inside one runtime call share its id. The second driver call does not show that
 * the runtime call has returned, so the rows of both are delayed. */
static void test_calls_inside_one_call_wait_for_it(void **state)
{
    struct sl_assemble *a = make(0);
    struct sl_event outer = row(SL_EV_RUNTIME, 1, 5, 60);

    driver(a, 1, 100, 10, 20, 0);
    driver(a, 1, 100, 30, 35, 0);
    sl_assemble_complete(a, 50);
    assert_int_equal(got.count, 0);
    outer.thread = 100;
    sl_assemble_event(a, &outer, 0);
    assert_int_equal(got.count, 1);
    assert_int_equal(got.event[0].kind, SL_EV_RUNTIME);
    sl_assemble_complete(a, 100);
    sl_assemble_tick(a, 2000);
    assert_int_equal(got.count, 1);
    sl_assemble_destroy(a);
}

/* A thread may launch a kernel and then sleep. So the row of a driver launch is delayed only for a
 * short time after the launch has ended. */
static void test_a_launch_releases_itself(void **state)
{
    const uint64_t ms = 1000000;
    struct sl_assemble *a = make(0);

    driver(a, 1, 100, ms, 2 * ms, SL_EVF_LAUNCH);
    driver(a, 2, 101, ms, 2 * ms, 0);
    sl_assemble_complete(a, 20 * ms);
    assert_int_equal(got.count, 0);
    sl_assemble_complete(a, 23 * ms);
    assert_int_equal(got.count, 1);
    assert_int_equal(got.event[0].correlation, 1);
    sl_assemble_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_driver_row_waits_for_the_row_around_it),
        cmocka_unit_test(of_two_nested_driver_rows_the_outer_stays),
        cmocka_unit_test(what_is_held_is_known),
        cmocka_unit_test(a_full_queue_lets_the_oldest_driver_row_go),
        cmocka_unit_test(queries_of_unfinished_work_are_no_waits),
        cmocka_unit_test(a_wait_without_its_call_is_written),
        cmocka_unit_test(test_a_later_call_of_the_thread_releases),
        cmocka_unit_test(test_calls_inside_one_call_wait_for_it),
        cmocka_unit_test(test_a_launch_releases_itself),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
