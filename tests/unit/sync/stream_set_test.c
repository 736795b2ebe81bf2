/* stream_set_test.c - one member a stream, the later one; who keeps an operation alive. */
#include "sync/streams.h"

#include "sync/stream_state_impl.h"

static struct sl_link to(struct sl_op *op)
{
    return (struct sl_link){.op = op, .by = op->by};
}

static void a_later_operation_stands_for_earlier_ones(void **state)
{
    struct rig *r = *state;
    struct sl_stream *a = rig_stream(r, 13, 1), *b = rig_stream(r, 14, 1);
    struct sl_link first = to(rig_push(r, a, 10, 20, 30));
    struct sl_link second = to(rig_push(r, a, 12, 30, 40));
    struct sl_link other = to(rig_push(r, b, 14, 20, 90));
    struct sl_set set = {0};

    sl_set_open(&r->streams, &set);
    sl_set_add(&r->streams, &set, &first);
    sl_set_add(&r->streams, &set, &second);
    sl_set_add(&r->streams, &set, &other);
    sl_set_add(&r->streams, &set, &first);
    assert_int_equal(set_size(&set), 2);
    assert_null(rig_member(&set, 10));
    assert_non_null(rig_member(&set, 12));
    assert_non_null(rig_member(&set, 14));
    sl_set_clear(&r->streams, &set);
    assert_null(set.first);
}

static void the_link_that_is_certain_is_kept(void **state)
{
    struct rig *r = *state;
    struct sl_stream *a = rig_stream(r, 13, 1);
    struct sl_link certain = to(rig_push(r, a, 10, 20, 30)), unsure = certain;
    struct sl_set set = {0};

    unsure.overlapping = 1;
    for (int i = 0; i < 2; i++) {
        sl_set_open(&r->streams, &set);
        sl_set_add(&r->streams, &set, i ? &certain : &unsure);
        sl_set_add(&r->streams, &set, i ? &unsure : &certain);
        assert_int_equal(set_size(&set), 1);
        assert_int_equal(set.first->overlapping, 0);
        assert_int_equal(certain.op->refs, 2);
        sl_set_clear(&r->streams, &set);
    }
    assert_int_equal(certain.op->refs, 1);
}

/* While another set is built, a stream does not know its member of the first any more. */
static void a_set_can_be_opened_again(void **state)
{
    struct rig *r = *state;
    struct sl_stream *a = rig_stream(r, 13, 1);
    struct sl_link first = to(rig_push(r, a, 10, 20, 30));
    struct sl_link second = to(rig_push(r, a, 12, 30, 40));
    struct sl_set set = {0}, between = {0};

    sl_set_open(&r->streams, &set);
    sl_set_add(&r->streams, &set, &first);
    sl_set_open(&r->streams, &between);
    sl_set_add(&r->streams, &between, &first);
    sl_set_open(&r->streams, &set);
    sl_set_add(&r->streams, &set, &second);
    assert_int_equal(set_size(&set), 1);
    assert_non_null(rig_member(&set, 12));
    assert_int_equal(set_size(&between), 1);
    assert_non_null(rig_member(&between, 10));
    sl_set_clear(&r->streams, &between);
    sl_set_clear(&r->streams, &set);
}

static void an_operation_lives_as_long_as_a_set_has_it(void **state)
{
    struct rig *r = *state;
    struct sl_stream *a = rig_stream(r, 13, 1);
    struct sl_op *old = rig_push(r, a, 10, 20, 30);
    struct sl_link link = to(old);
    struct sl_set set = {0};

    sl_set_open(&r->streams, &set);
    sl_set_add(&r->streams, &set, &link);
    assert_int_equal(old->refs, 2);
    sl_streams_forget(&r->streams);
    assert_int_equal(old->refs, 1);
    assert_int_equal(set.first->op->pub.end_ns, 30 * US);
    sl_set_clear(&r->streams, &set);
    /* its place is used again */
    assert_ptr_equal(rig_push(r, a, 12, 40, 50), old);
}

static void past_the_bound_a_set_is_marked(void **state)
{
    struct rig *r = *state;
    struct sl_link link = to(rig_push(r, rig_stream(r, 13, 1), 10, 20, 30));
    struct sl_set set = {0};

    r->store.cap_bytes = r->store.used_bytes; /* not a link more */
    sl_set_open(&r->streams, &set);
    sl_set_add(&r->streams, &set, &link);
    assert_int_equal(set_size(&set), 0);
    assert_int_equal(set.lost, 1u << SL_EDGE_LOST_MEMORY);
    assert_int_equal(link.op->refs, 1);
    sl_set_clear(&r->streams, &set);
    assert_int_equal(set.lost, 0);
}

static void order_is_of_starts_then_of_ids(void **state)
{
    struct sl_edge_op a = {.correlation = 5, .start_ns = 10};
    struct sl_edge_op b = {.correlation = 4, .start_ns = 20};
    struct sl_edge_op rounded = {.correlation = 6, .start_ns = 10};
    struct sl_edge_op untimed = {.correlation = 7};
    (void)state;

    assert_true(sl_op_later(&b, &a));
    assert_false(sl_op_later(&a, &b));
    assert_true(sl_op_later(&rounded, &a));
    assert_true(sl_op_later(&untimed, &b));
    assert_false(sl_op_later(&b, &untimed));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_later_operation_stands_for_earlier_ones, rig_make,
                                        rig_drop),
        cmocka_unit_test_setup_teardown(the_link_that_is_certain_is_kept, rig_make, rig_drop),
        cmocka_unit_test_setup_teardown(a_set_can_be_opened_again, rig_make, rig_drop),
        cmocka_unit_test_setup_teardown(an_operation_lives_as_long_as_a_set_has_it, rig_make,
                                        rig_drop),
        cmocka_unit_test_setup_teardown(past_the_bound_a_set_is_marked, rig_make, rig_drop),
        cmocka_unit_test(order_is_of_starts_then_of_ids),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
