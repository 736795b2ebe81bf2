/*
 * ops_line_test.c - finds the source line of an API call: the line of the innermost operator that
 * has one, or the line of a waiting function that is not an operator.
 */
#include "test.h"

#include <string.h>

#include "event/ops.h"

#define THREAD 7

static struct sl_ops *ops;
static struct sl_intern *places;
static unsigned rows;

static void take(void *user, const struct sl_event *ev)
{
    (void)user;
    rows += ev->kind == SL_EV_CPU_OP;
}

static int setup(void **state)
{
    struct sl_ops_options opt = {.sink = take};

    rows = 0;
    if (sl_intern_create(&places, 1 << 20))
        return -1;
    opt.places = places;
    return sl_ops_create(&ops, &opt);
}

static int teardown(void **state)
{
    sl_ops_destroy(ops);
    sl_intern_destroy(places);
    return 0;
}

static void begin(uint64_t ns, uint32_t handle, uint32_t line, int is_site)
{
    const struct sl_op op = {
        .handle = handle, .sequence = -1, .name = 1, .line = line, .is_site = (uint8_t)is_site};

    sl_ops_begin(ops, THREAD, ns, &op);
}

/* Returns the line of a call at `ns`, and writes the call's operator to `op`. */
static uint32_t line_at(uint64_t ns, uint32_t *op)
{
    struct sl_event call = {.kind = SL_EV_RUNTIME, .start_ns = ns, .end_ns = ns, .thread = THREAD};
    struct sl_op_place place = {0, 0};
    size_t length = 0;
    const char *text;

    sl_ops_call(ops, &call);
    text = sl_intern_get(places, call.place, &length);
    if (text && length == sizeof(place))
        memcpy(&place, text, sizeof(place));
    *op = call.u.call.op;
    return place.line;
}

static void test_the_innermost_line(void **state)
{
    uint32_t op;

    begin(100, 11, 5, 0);
    begin(110, 12, 0, 0); /* called by the operator around it, not by Python */
    begin(120, 13, 6, 0); /* called by Python code */
    assert_int_equal(sl_ops_line(ops, THREAD), 6);
    sl_ops_end(ops, THREAD, 13, 130);
    assert_int_equal(sl_ops_line(ops, THREAD), 5);
    sl_ops_end(ops, THREAD, 12, 140);
    sl_ops_end(ops, THREAD, 11, 150);
    assert_int_equal(sl_ops_line(ops, THREAD), 0);
    assert_int_equal(sl_ops_line(ops, THREAD + 1), 0);
    assert_int_equal(line_at(105, &op), 5);
    assert_int_equal(line_at(115, &op), 5);
    assert_int_equal(op, 12);
    assert_int_equal(line_at(125, &op), 6);
    assert_int_equal(op, 13);
    assert_int_equal(line_at(135, &op), 5);
    assert_int_equal(line_at(150, &op), 0);
    assert_int_equal(rows, 3);
}

static void test_what_waits_and_is_no_operator(void **state)
{
    uint32_t op;

    begin(100, 0, 5, 1);
    sl_ops_end(ops, THREAD, 0, 110);
    begin(120, 11, 6, 0);
    begin(130, 0, 7, 1);
    begin(132, 0, 8, 1);
    sl_ops_end(ops, THREAD, 0, 134);
    sl_ops_end(ops, THREAD, 0, 140);
    sl_ops_end(ops, THREAD, 11, 150);
    assert_int_equal(line_at(105, &op), 5);
    assert_int_equal(op, 0);
    assert_int_equal(line_at(131, &op), 7);
    assert_int_equal(op, 11); /* the operator around this call */
    assert_int_equal(line_at(133, &op), 8);
    assert_int_equal(line_at(145, &op), 6);
    begin(160, 0, 9, 1);
    sl_ops_close(ops, 170); /* closing makes no row for an operator without a row */
    assert_int_equal(rows, 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_the_innermost_line),
        TEST(test_what_waits_and_is_no_operator),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
