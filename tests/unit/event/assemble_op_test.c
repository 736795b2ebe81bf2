/* assemble_op_test.c - joins GPU operations with their launches. Also tests records that arrive
 * twice. */
#include "unit/event/assemble_rig.h"

static void the_same_record_twice_is_one_row(void **state)
{
    struct sl_event call = launch(SL_EV_RUNTIME, 4, 10, 20), kernel = row(SL_EV_KERNEL, 4, 30, 40);
    struct sl_event driver = launch(SL_EV_DRIVER, 5, 50, 60);
    struct sl_assemble_counts counts;
    struct sl_assemble *a = make(0);
    int i;

    for (i = 0; i < 2; i++) {
        feed(a, call, 0);
        feed(a, kernel, 0);
        feed(a, driver, 0);
        feed(a, node(6, 100, 1), 0);
        feed(a, node(6, 120, 2), 0);
        feed(a, node(6, 140, 3), 0);
    }
    sl_assemble_flush(a);
    feed(a, driver, 0);
    assert_int_equal(count_kind(SL_EV_RUNTIME), 1);
    assert_int_equal(count_kind(SL_EV_DRIVER), 1);
    assert_int_equal(count_kind(SL_EV_KERNEL), 4);
    assert_int_equal(count_kind(SL_EV_FLOW), 1);
    sl_assemble_get_counts(a, &counts);
    assert_int_equal(counts.duplicates, 7);
    assert_int_equal(counts.gpu_without_call, 3);
    sl_assemble_destroy(a);
}

/* A record is delivered twice. Between the deliveries, CUPTI describes the operation's stream, so
 * the two events differ. The operation still gets only one row. */
static void the_same_record_twice_is_one_row_whatever_is_known_of_its_stream(void **state)
{
    struct sl_event kernel = row(SL_EV_KERNEL, 4, 30, 40), copied = row(SL_EV_MEMCPY, 5, 50, 60);
    struct sl_assemble_counts counts;
    struct sl_assemble *a = make(0);

    kernel.shape = 1;
    feed(a, kernel, 0);
    kernel.shape = 2;
    feed(a, kernel, 0);
    feed(a, copied, 0);
    copied.u.op.bytes = 8;
    feed(a, copied, 0);
    assert_int_equal(count_kind(SL_EV_KERNEL), 1);
    assert_int_equal(count_kind(SL_EV_MEMCPY), 2);
    sl_assemble_get_counts(a, &counts);
    assert_int_equal(counts.duplicates, 1);
    sl_assemble_destroy(a);
}

/* An operation has no times, so neither its row nor its arrow is written. The launch's arrow goes
 * to the next operation. */
static void an_operation_without_a_time_does_not_take_the_start_of_the_arrow(void **state)
{
    for (int call_first = 0; call_first < 2; call_first++) {
        struct sl_assemble *a = make(0);
        int starts = 0;

        if (call_first)
            feed(a, launch(SL_EV_RUNTIME, 6, 10, 20), 0);
        feed(a, node(6, 0, 1), 0);
        feed(a, node(6, 120, 2), 0);
        feed(a, node(6, 140, 3), 0);
        if (!call_first)
            feed(a, launch(SL_EV_RUNTIME, 6, 10, 20), 0);
        for (size_t i = 0; i < got.count; i++)
            starts += got.event[i].kind == SL_EV_FLOW && got.event[i].flags & SL_EVF_FLOW_FIRST;
        assert_int_equal(count_kind(SL_EV_FLOW), 2);
        assert_int_equal(starts, 1);
        sl_assemble_destroy(a);
    }
}

/* CUPTI delivers a buffer twice, with many other records in between. A graph's operations are
 * written once. */
static void a_graph_told_twice_is_told_once(void **state)
{
    struct sl_assemble *a = make(0);
    struct sl_assemble_counts counts;

    for (int turn = 0; turn < 2; turn++)
        for (uint64_t i = 0; i < 1000; i++)
            feed(a, node(6, 100 + 20 * i, i + 1), 0);
    assert_int_equal(count_kind(SL_EV_KERNEL), 1000);
    sl_assemble_get_counts(a, &counts);
    assert_int_equal(counts.duplicates, 1000);
    sl_assemble_destroy(a);
}

static void waits_delivered_twice_pass_once(void **state)
{
    struct sl_assemble *a = make(0);
    struct sl_event wait = row(SL_EV_SYNC, 5, 100, 140), record = row(SL_EV_CUDA_EVENT, 6, 0, 0);
    struct sl_event other = wait;
    struct sl_assemble_counts counts;

    wait.u.sync.event_id = 3;
    other.u.sync.event_id = 4;
    feed(a, wait, 0);
    feed(a, record, 0);
    feed(a, wait, 0);
    feed(a, record, 0);
    feed(a, other, 0);
    assert_int_equal(count_kind(SL_EV_SYNC), 2);
    assert_int_equal(count_kind(SL_EV_CUDA_EVENT), 1);
    sl_assemble_get_counts(a, &counts);
    assert_int_equal(counts.duplicates, 2);
    sl_assemble_destroy(a);
}

static void launches_wait_until_their_operation_comes(void **state)
{
    struct sl_assemble *a = make(0);
    struct sl_event failed = launch(SL_EV_RUNTIME, 3, 30, 40);

    feed(a, launch(SL_EV_RUNTIME, 1, 10, 20), 0);
    feed(a, launch(SL_EV_RUNTIME, 2, 20, 30), 0);
    assert_int_equal(sl_assemble_waiting(a), 2);
    failed.u.call.result = 1;
    feed(a, failed, 0);
    feed(a, row(SL_EV_RUNTIME, 4, 40, 50), 0);
    assert_int_equal(sl_assemble_waiting(a), 2);
    feed(a, row(SL_EV_KERNEL, 1, 50, 60), 0);
    feed(a, row(SL_EV_KERNEL, 1, 60, 70), 0); /* the graph's second operation */
    assert_int_equal(sl_assemble_waiting(a), 1);
    feed(a, row(SL_EV_KERNEL, 2, 50, 60), 0);
    assert_int_equal(sl_assemble_waiting(a), 0);
    sl_assemble_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_record_twice_is_one_row),
        cmocka_unit_test(the_same_record_twice_is_one_row_whatever_is_known_of_its_stream),
        cmocka_unit_test(an_operation_without_a_time_does_not_take_the_start_of_the_arrow),
        cmocka_unit_test(a_graph_told_twice_is_told_once),
        cmocka_unit_test(waits_delivered_twice_pass_once),
        cmocka_unit_test(launches_wait_until_their_operation_comes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
