/* ops_test.c - tests the rows of operators: ends that are lost or come from another thread,
 * operators that cross the edges of a window, and autograd nodes that run operators. */
#include "event/ops_rig.h"

/* The ends of inner operators are lost. The inner operators end together with the outer
 * operator. */
static void an_end_may_be_lost(void **state)
{
    begin(1, 100);
    begin(2, 200);
    assert_int_equal(end(1, 300), 0);
    assert_int_equal(f.rows, 2);
    assert_int_equal(end(2, 400), 0);
    assert_int_equal(f.rows, 2);
    begin(3, 500);
    sl_ops_end_thread(f.ops, THREAD, 600);
    assert_true(f.rows == 3 && f.row[2].end_ns == 600);
}

static void one_may_end_elsewhere(void **state)
{
    struct sl_op it = op(1ull << 40);

    sl_ops_start(f.ops, THREAD, 100, &it);
    assert_int_equal(call_at(150).u.call.op, 0);
    sl_ops_finish(f.ops, 1, 200);
    assert_int_equal(f.rows, 0);
    sl_ops_finish(f.ops, 1ull << 40, 300);
    assert_true(f.rows == 1 && f.row[0].thread == THREAD && f.row[0].end_ns == 300);
}

static void what_runs_at_a_windows_end_is_cut(void **state)
{
    begin(1, 100);
    begin(2, 200);
    sl_ops_tell_begun(f.ops);
    assert_true(f.rows == 2 && f.row[0].name == 1 && f.row[0].end_ns == SL_END_UNKNOWN);
    sl_ops_tell_begun(f.ops);
    assert_int_equal(f.rows, 2);
    sl_ops_close(f.ops, 500);
    assert_int_equal(f.rows, 4);
    assert_true(f.row[2].flags & SL_EVF_CUT_END && f.row[2].flags & SL_EVF_BEGUN);
    assert_int_equal(f.row[2].end_ns, 500);
    /* The operator still contains later calls, but its row is already written. */
    assert_int_equal(call_at(600).u.call.op, 2);
    end(2, 700);
    end(1, 800);
    assert_int_equal(f.rows, 4);
}

static void a_node_has_the_innermost_operator(void **state)
{
    struct sl_op scope = op(9), nameless = op(8);

    scope.is_user = 1;
    nameless.name = 0;
    sl_ops_node(f.ops, THREAD, 70); /* no operator runs at this time */
    begin(1, 100);
    sl_ops_begin(f.ops, THREAD, 150, &(struct sl_op){.handle = 2, .sequence = 41, .name = 12});
    sl_ops_begin(f.ops, THREAD, 200, &scope);
    sl_ops_node(f.ops, THREAD, 71);
    sl_ops_node(f.ops, THREAD + 1, 72);
    end(9, 300);
    end(2, 400);
    sl_ops_node(f.ops, THREAD, 73);
    sl_ops_begin(f.ops, THREAD, 500, &nameless);
    sl_ops_node(f.ops, THREAD, 74);
    end(8, 600);
    end(1, 700);
    sl_ops_node(f.ops, THREAD, 75);
    for (unsigned i = 0, nodes = 0; i < f.rows; i++) {
        const struct sl_event *ev = &f.row[i];

        if (ev->kind != SL_EV_META_NODE)
            continue;
        assert_int_equal(ev->fact, SL_NODE_CAPTURED);
        assert_int_equal(ev->u.node.id, nodes ? 73 : 71);
        assert_int_equal(ev->u.node.other, nodes ? 1 : 2);
        assert_int_equal(ev->name, nodes ? 1 : 12);
        assert_int_equal(ev->node_sequence, nodes ? -1 : 41);
        assert_in_range(++nodes, 1, 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_end_may_be_lost, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_may_end_elsewhere, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_runs_at_a_windows_end_is_cut, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_node_has_the_innermost_operator, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
