/* ops_forward_test.c - finds the forward operator of a backward operator. */
#include "event/ops_rig.h"

static void backward_follows_forward(void **state)
{
    struct sl_op forward = op(1), later = op(2), engine = op(3), backward = op(4);

    forward.sequence = later.sequence = backward.sequence = 9;
    engine.is_evaluation = backward.is_backward = 1;
    engine.number = backward.number = 2;
    backward.forward_number = 1;
    sl_ops_begin(f.ops, THREAD, 100, &forward);
    sl_ops_begin(f.ops, THREAD, 110, &later);
    end(2, 120);
    end(1, 130);
    sl_ops_begin(f.ops, THREAD + 1, 200, &engine);
    sl_ops_begin(f.ops, THREAD + 1, 210, &backward);
    /* The arrow starts at the last operator that began with this sequence number. Operators of the
     * autograd engine that have the same number are ignored. */
    assert_int_equal(f.row[2].kind, SL_EV_FLOW_BACK);
    assert_true(f.row[2].thread == THREAD && f.row[2].start_ns == 110);
    assert_true(f.row[2].u.flow.head_thread == THREAD + 1 && f.row[2].u.flow.head_ns == 210);
    sl_ops_end_thread(f.ops, THREAD + 1, 300);
    assert_true(f.row[4].name == 3 && f.row[4].u.row.sequence == 9 && f.row[4].forward_thread == 1);
    /* A second backward operator with this number gets no arrow. */
    sl_ops_begin(f.ops, THREAD + 1, 400, &backward);
    assert_int_equal(f.rows, 5);
}

/* Each thread counts its own sequence numbers, so two threads use equal numbers. The arrow starts
 * on the thread whose id autograd reports. */
static void arrows_go_from_the_thread_that_autograd_names(void **state)
{
    struct sl_op forward = op(1), backward = op(2);

    forward.sequence = backward.sequence = 9;
    forward.number = 1;
    sl_ops_begin(f.ops, THREAD, 100, &forward);
    forward.number = 2;
    sl_ops_begin(f.ops, THREAD + 1, 110, &forward);
    backward.number = 3;
    backward.is_backward = 1;
    backward.forward_number = 1;
    sl_ops_begin(f.ops, THREAD + 2, 200, &backward);
    assert_int_equal(f.rows, 1);
    assert_true(f.row[0].thread == THREAD && f.row[0].start_ns == 100);
    backward.forward_number = 2;
    sl_ops_begin(f.ops, THREAD + 2, 300, &backward);
    assert_int_equal(f.rows, 2);
    assert_true(f.row[1].thread == THREAD + 1 && f.row[1].start_ns == 110);
    assert_int_not_equal(f.row[0].arrow, f.row[1].arrow);
}

static void without_a_forward_operator_there_is_no_arrow(void **state)
{
    struct sl_op forward = op(1), backward = op(2);

    backward.number = 2;
    backward.is_backward = 1;
    backward.forward_number = 1;
    /* this operator has no sequence number, because autograd is off */
    sl_ops_begin(f.ops, THREAD, 100, &forward);
    sl_ops_begin(f.ops, THREAD + 1, 200, &backward);
    backward.sequence = 9; /* no operator began with this number */
    sl_ops_begin(f.ops, THREAD + 1, 210, &backward);
    assert_int_equal(f.rows, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(backward_follows_forward, set_up, tear_down),
        cmocka_unit_test_setup_teardown(arrows_go_from_the_thread_that_autograd_names, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(without_a_forward_operator_there_is_no_arrow, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
