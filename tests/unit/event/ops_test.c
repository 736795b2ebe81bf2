/* ops_test.c - which operator a call was made in, whatever order and however late calls come; rows,
 * arrows and what is forgotten. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "event/ops.h"

#define THREAD 77
#define MANY   200000

static struct {
    struct sl_ops *ops;
    struct sl_intern *places;
    struct sl_event row[64];
    unsigned rows, all;
} f;

static void take(void *user, const struct sl_event *ev)
{
    (void)user;
    if (f.rows < sizeof(f.row) / sizeof(*f.row))
        f.row[f.rows++] = *ev;
    f.all++;
}

static int set_up(void **state)
{
    struct sl_ops_options opt = {.cap_bytes = 3 << 20, .begins = 1, .sink = take};

    (void)state;
    memset(&f, 0, sizeof(f));
    assert_int_equal(sl_intern_create(&f.places, 1 << 20), 0);
    opt.places = f.places;
    return sl_ops_create(&f.ops, &opt);
}

static int tear_down(void **state)
{
    (void)state;
    sl_ops_destroy(f.ops);
    sl_intern_destroy(f.places);
    return 0;
}

static struct sl_op op(uint64_t handle)
{
    return (struct sl_op){.handle = handle, .sequence = -1, .number = 1, .name = (uint32_t)handle};
}

static void begin(uint64_t handle, uint64_t ns)
{
    struct sl_op it = op(handle);

    sl_ops_begin(f.ops, THREAD, ns, &it);
}

static int end(uint64_t handle, uint64_t ns)
{
    return sl_ops_end(f.ops, THREAD, (uint32_t)handle, ns);
}

static struct sl_event call_at(uint64_t ns)
{
    struct sl_event ev = {.kind = SL_EV_RUNTIME, .thread = THREAD, .start_ns = ns};

    sl_ops_call(f.ops, &ev);
    return ev;
}

/* 1 [100, 900): 2 [200, 300), 3 [400, 800): 4 [500, 600) */
static void nest(void)
{
    begin(1, 100);
    begin(2, 200);
    end(2, 300);
    begin(3, 400);
    begin(4, 500);
    end(4, 600);
    end(3, 800);
    end(1, 900);
}

static void calls_are_in_the_innermost_operator(void **state)
{
    static const struct {
        uint64_t ns;
        uint32_t op;
    } wanted[] = {{99, 0},  {100, 1}, {250, 2}, {300, 1}, {450, 3},
                  {599, 4}, {600, 3}, {850, 1}, {900, 0}};

    (void)state;
    nest();
    for (int back = 0; back < 2; back++)
        for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
            size_t at = back ? sizeof(wanted) / sizeof(*wanted) - 1 - i : i;

            assert_int_equal(call_at(wanted[at].ns).u.call.op, wanted[at].op);
        }
    assert_int_equal(f.rows, 4);
    assert_true(f.row[0].name == 2 && f.row[0].start_ns == 200 && f.row[0].end_ns == 300);
    assert_true(f.row[3].name == 1 && f.row[3].stream < f.row[0].stream);
}

static void other_threads_are_others(void **state)
{
    struct sl_event ev = {.kind = SL_EV_DRIVER, .thread = THREAD + 1, .start_ns = 250};

    (void)state;
    nest();
    sl_ops_call(f.ops, &ev);
    assert_int_equal(ev.u.call.op, 0);
}

/* A scope of the user's is around operators, has no row here, and no call is in it. */
static void scopes_are_passed_over(void **state)
{
    struct sl_op scope = op(5);

    (void)state;
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

static void a_call_has_its_place(void **state)
{
    struct sl_op outer = op(1), collective = op(2);
    struct sl_op_place place;
    struct sl_event ev;
    size_t length = 0;
    const char *text;

    (void)state;
    outer.line = 11;
    collective.is_collective = 1;
    collective.detail = 22;
    sl_ops_begin(f.ops, THREAD, 100, &outer);
    sl_ops_begin(f.ops, THREAD, 200, &collective);
    ev = call_at(250);
    text = sl_intern_get(f.places, ev.stream, &length);
    assert_int_equal(length, sizeof(place));
    memcpy(&place, text, sizeof(place));
    assert_true(place.line == 11 && place.collective == 22);
    end(2, 300);
    ev = call_at(350);
    text = sl_intern_get(f.places, ev.stream, &length);
    memcpy(&place, text, sizeof(place));
    assert_true(place.line == 11 && place.collective == 0);
}

/* Ends that were lost: those inside end with the outer one. */
static void an_end_may_be_lost(void **state)
{
    (void)state;
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

static void backward_follows_forward(void **state)
{
    struct sl_op forward = op(1), later = op(2), engine = op(3), backward = op(4);

    (void)state;
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
    /* From the last that began with this number; what the engine does for it has the number too. */
    assert_int_equal(f.row[2].kind, SL_EV_FLOW_BACK);
    assert_true(f.row[2].thread == THREAD && f.row[2].start_ns == 110);
    assert_true(f.row[2].context == THREAD + 1 && f.row[2].end_ns == 210);
    sl_ops_end_thread(f.ops, THREAD + 1, 300);
    assert_true(f.row[4].name == 3 && f.row[4].u.row.sequence == 9 && f.row[4].context == 1);
    /* Once. */
    sl_ops_begin(f.ops, THREAD + 1, 400, &backward);
    assert_int_equal(f.rows, 5);
}

static void one_may_end_elsewhere(void **state)
{
    struct sl_op it = op(1ull << 40);

    (void)state;
    sl_ops_start(f.ops, THREAD, 100, &it);
    assert_int_equal(call_at(150).u.call.op, 0);
    sl_ops_finish(f.ops, 1, 200);
    assert_int_equal(f.rows, 0);
    sl_ops_finish(f.ops, 1ull << 40, 300);
    assert_true(f.rows == 1 && f.row[0].thread == THREAD && f.row[0].end_ns == 300);
}

static void what_runs_at_a_windows_end_is_cut(void **state)
{
    (void)state;
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
    /* It stays around its calls, and has had its row. */
    assert_int_equal(call_at(600).u.call.op, 2);
    end(2, 700);
    end(1, 800);
    assert_int_equal(f.rows, 4);
}

/* Memory is fixed: the oldest are forgotten, one that runs all along keeps its row. */
static void the_oldest_are_forgotten(void **state)
{
    struct sl_ops_counts counts;

    (void)state;
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

static void what_is_in_makes_room(void **state)
{
    struct sl_ops_counts counts;

    (void)state;
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

static void a_node_has_the_innermost_operator(void **state)
{
    struct sl_op scope = op(9), nameless = op(8);

    (void)state;
    scope.is_user = 1;
    nameless.name = 0;
    sl_ops_node(f.ops, THREAD, 70); /* nothing runs there */
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
        assert_int_equal(ev->shape, SL_NODE_CAPTURED);
        assert_int_equal(ev->u.node.id, nodes ? 73 : 71);
        assert_int_equal(ev->u.node.other, nodes ? 1 : 2);
        assert_int_equal(ev->name, nodes ? 1 : 12);
        assert_int_equal(ev->correlation, nodes ? 0 : 42);
        assert_in_range(++nodes, 1, 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(calls_are_in_the_innermost_operator, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_threads_are_others, set_up, tear_down),
        cmocka_unit_test_setup_teardown(scopes_are_passed_over, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_call_has_its_place, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_end_may_be_lost, set_up, tear_down),
        cmocka_unit_test_setup_teardown(backward_follows_forward, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_may_end_elsewhere, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_runs_at_a_windows_end_is_cut, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_oldest_are_forgotten, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_in_makes_room, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_node_has_the_innermost_operator, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
