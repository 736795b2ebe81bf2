/* ops_call_test.c - finds the PyTorch operator in which an API call was made, although calls arrive
 * late and in any order. Also tests which operators are forgotten if memory is full. */
#include "event/ops_rig.h"

#define MANY 200000

static void calls_are_in_the_innermost_operator(void **state)
{
    static const struct {
        uint64_t ns;
        uint32_t op;
    } wanted[] = {{99, 0},  {100, 1}, {250, 2}, {300, 1}, {450, 3},
                  {599, 4}, {600, 3}, {850, 1}, {900, 0}};

    nest();
    for (int back = 0; back < 2; back++)
        for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
            size_t at = back ? sizeof(wanted) / sizeof(*wanted) - 1 - i : i;

            assert_int_equal(call_at(wanted[at].ns).u.call.op, wanted[at].op);
        }
    assert_int_equal(f.rows, 4);
    assert_true(f.row[0].name == 2 && f.row[0].start_ns == 200 && f.row[0].end_ns == 300);
    assert_true(f.row[3].name == 1 && f.row[3].order < f.row[0].order);
}

static void other_threads_are_others(void **state)
{
    struct sl_event ev = {.kind = SL_EV_DRIVER, .thread = THREAD + 1, .start_ns = 250};

    nest();
    sl_ops_call(f.ops, &ev);
    assert_int_equal(ev.u.call.op, 0);
}

/* A user scope (record_function) contains operators. Here the scope has no row, and a call that is
 * directly in the scope belongs to no operator. */
static void scopes_are_passed_over(void **state)
{
    struct sl_op scope = op(5);

    scope.is_user = 1;
    begin(1, 100);
    sl_ops_begin(f.ops, THREAD, 150, &scope);
    begin(2, 200);
    end(2, 300);
    assert_int_equal(call_at(350).u.call.op, 1);
    assert_int_equal(end(5, 400), 1);
    assert_int_equal(end(1, 500), 0);
    assert_int_equal(f.rows, 2);
}

/* Autograd's thread runs a backward node of a graph that another thread made. An operator and a
 * recomputed forward operator run inside the node. All API calls of these operators are counted for
 * the thread that made the graph. */
static void a_backward_pass_is_for_the_thread_that_made_the_graph(void **state)
{
    struct sl_event ev = {.kind = SL_EV_RUNTIME, .thread = THREAD + 1};
    struct sl_op around = op(9), node = op(10), inner = op(11), own = op(12);

    begin(1, 100);
    end(1, 150);
    around.number = node.number = inner.number = own.number = 2;
    around.is_evaluation = node.is_backward = 1;
    node.forward_number = 1;
    own.forward_number = 2;
    sl_ops_begin(f.ops, THREAD + 1, 190, &around);
    sl_ops_begin(f.ops, THREAD + 1, 200, &node);
    sl_ops_begin(f.ops, THREAD + 1, 300, &inner);
    sl_ops_begin(f.ops, THREAD + 1, 400, &own);
    for (ev.start_ns = 250; ev.start_ns < 500; ev.start_ns += 100)
        assert_int_equal(sl_ops_call(f.ops, &ev), THREAD);
    for (uint32_t handle = 12; handle >= 10; handle--)
        sl_ops_end(f.ops, THREAD + 1, handle, 500);
    ev.start_ns = 450;
    assert_int_equal(sl_ops_call(f.ops, &ev), THREAD);
    ev.start_ns = 550; /* a call of the autograd engine after the node */
    assert_int_equal(sl_ops_call(f.ops, &ev), THREAD);
    sl_ops_end(f.ops, THREAD + 1, 9, 580);
    ev.start_ns = 600;
    assert_int_equal(sl_ops_call(f.ops, &ev), 0);
    node.forward_number = 3; /* a thread that has run no operator */
    sl_ops_begin(f.ops, THREAD + 1, 700, &node);
    ev.start_ns = 750;
    assert_int_equal(sl_ops_call(f.ops, &ev), 0);
    ev = (struct sl_event){.kind = SL_EV_RUNTIME, .thread = THREAD, .start_ns = 120};
    assert_int_equal(sl_ops_call(f.ops, &ev), 0); /* the thread works for itself */
    /* The id of the thread that called backward() is unknown, so this thread may have called it. */
    assert_false(sl_ops_is_worker(f.ops, THREAD + 1));
    assert_false(sl_ops_is_worker(f.ops, THREAD));
    assert_false(sl_ops_is_worker(f.ops, THREAD + 9));
}

/* The thread that called backward() is known. The API calls of the backward pass are counted for
 * that thread, even if another thread made the graph. */
static void a_backward_pass_is_for_its_caller_where_that_is_known(void **state)
{
    struct sl_event ev = {.kind = SL_EV_RUNTIME, .thread = THREAD + 1};
    struct sl_op around = op(9), node = op(10), own = op(12);

    begin(1, 100);
    end(1, 150);
    around.number = node.number = 2;
    around.is_evaluation = node.is_backward = 1;
    node.forward_number = 1;
    around.caller = node.caller = THREAD + 2;
    sl_ops_begin(f.ops, THREAD + 1, 190, &around);
    sl_ops_begin(f.ops, THREAD + 1, 200, &node);
    for (ev.start_ns = 195; ev.start_ns < 300; ev.start_ns += 10)
        assert_int_equal(sl_ops_call(f.ops, &ev), THREAD + 2);
    assert_true(sl_ops_is_worker(f.ops, THREAD + 1));
    own.caller = THREAD;
    sl_ops_begin(f.ops, THREAD, 300, &own);
    ev = (struct sl_event){.kind = SL_EV_RUNTIME, .thread = THREAD, .start_ns = 350};
    assert_int_equal(sl_ops_call(f.ops, &ev), 0); /* the thread works for itself */
}

static void a_call_has_its_place(void **state)
{
    struct sl_op outer = op(1), collective = op(2);
    struct sl_op_place place;
    struct sl_event ev;
    size_t length = 0;
    const char *text;

    outer.line = 11;
    collective.is_collective = 1;
    collective.detail = 22;
    sl_ops_begin(f.ops, THREAD, 100, &outer);
    sl_ops_begin(f.ops, THREAD, 200, &collective);
    ev = call_at(250);
    text = sl_intern_get(f.places, ev.place, &length);
    assert_int_equal(length, sizeof(place));
    memcpy(&place, text, sizeof(place));
    assert_true(place.line == 11 && place.collective == 22);
    end(2, 300);
    ev = call_at(350);
    text = sl_intern_get(f.places, ev.place, &length);
    memcpy(&place, text, sizeof(place));
    assert_true(place.line == 11 && place.collective == 0);
}

/* The memory has a fixed size. The oldest operators are forgotten, but an operator that is still
 * running keeps its row. */
static void the_oldest_are_forgotten(void **state)
{
    struct sl_ops_counts counts;

    begin(1, 1);
    for (uint64_t i = 0; i < MANY; i++) {
        begin(10 + i, 10 + 10 * i);
        end(10 + i, 15 + 10 * i);
    }
    assert_int_equal(call_at(12 + 10 * (MANY - 1)).u.call.op, 10 + MANY - 1);
    assert_int_equal(call_at(12).u.call.op, 0);
    end(1, 20 + 10 * MANY);
    sl_ops_get_counts(f.ops, &counts);
    assert_int_equal(counts.ops, MANY + 1);
    assert_true(counts.forgotten > 0 && counts.forgotten < MANY && counts.lost == 0);
}

/* All operators have the same start time, because the clock is coarse. The memory of the parents of
 * running operators has been reused for other operators of the thread. The call still finds the
 * right operator. */
static void places_that_are_taken_again_are_not_taken_for_parents(void **state)
{
    for (uint64_t i = 0; i < MANY; i++) {
        begin(10 + i, 50);
        if (i % 100) /* every hundredth operator keeps running, as a parent */
            end(10 + i, 50);
    }
    assert_int_equal(call_at(60).u.call.op, 10 + MANY - 100);
}

static void what_is_in_makes_room(void **state)
{
    struct sl_ops_counts counts;

    for (uint64_t i = 0; i < MANY; i++) {
        begin(10 + i, 10 + 10 * i);
        end(10 + i, 15 + 10 * i);
        if (i % 1000 == 0)
            sl_ops_complete(f.ops, 10 * i);
    }
    sl_ops_get_counts(f.ops, &counts);
    assert_int_equal(counts.forgotten, 0);
    assert_int_equal(call_at(12 + 10 * (MANY - 1)).u.call.op, 10 + MANY - 1);
}

/* More threads run operators than the table has entries. The entry of a thread is reused if all its
 * operators have been written, but not if an operator is still running. */
static void more_threads_than_places_are_kept_apart(void **state)
{
    struct sl_op lasting = op(1), other = op(2);
    struct sl_event ev = {.kind = SL_EV_RUNTIME, .thread = THREAD};

    sl_ops_begin(f.ops, THREAD, 1, &lasting);
    for (uint32_t thread = 1000; thread < 5000; thread++) {
        sl_ops_begin(f.ops, thread, 10 * thread, &other);
        sl_ops_end(f.ops, thread, 2, 10 * thread + 5);
        sl_ops_complete(f.ops, 10 * thread);
    }
    ev.start_ns = 60000;
    sl_ops_call(f.ops, &ev);
    assert_int_equal(ev.u.call.op, 1);
    ev = (struct sl_event){.kind = SL_EV_RUNTIME, .thread = 4999, .start_ns = 49992};
    sl_ops_call(f.ops, &ev);
    assert_int_equal(ev.u.call.op, 2);
    assert_int_equal(f.all, 4000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(calls_are_in_the_innermost_operator, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_threads_are_others, set_up, tear_down),
        cmocka_unit_test_setup_teardown(scopes_are_passed_over, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_backward_pass_is_for_the_thread_that_made_the_graph,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_backward_pass_is_for_its_caller_where_that_is_known,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_call_has_its_place, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_oldest_are_forgotten, set_up, tear_down),
        cmocka_unit_test_setup_teardown(places_that_are_taken_again_are_not_taken_for_parents,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_in_makes_room, set_up, tear_down),
        cmocka_unit_test_setup_teardown(more_threads_than_places_are_kept_apart, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
