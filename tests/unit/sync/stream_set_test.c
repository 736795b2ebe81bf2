/* stream_set_test.c - one member a stream, the later one; who keeps an operation alive. */
#include "sync/streams.h"
#include "sync/wait.h"

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

/* Tied at those times to a stream that has no operation; how many members are kept beside a wait
 * that is open. */
static size_t kept_beside(struct rig *r, struct sl_stream *waits, struct sl_stream *source,
                          unsigned from, unsigned to)
{
    for (unsigned at = from; at < to; at += 10) {
        struct sl_set set = {0};
        struct sl_moment by = rig_call(at + 1, at + 3);

        sl_set_open(&r->streams, &set);
        sl_set_add(&r->streams, &set,
                   &(struct sl_link){.op = rig_push(r, source, at, at + 1, at + 2)});
        sl_stream_follow(&r->streams, waits, &set, SL_VIA_STREAM_WAIT, &by);
        sl_set_clear(&r->streams, &set);
    }
    return set_size(&waits->extra);
}

/* Each wait that is open finds the last that was over when it returns, and nothing else is kept. */
static void what_an_open_wait_may_look_for_stays_beside(void **state)
{
    struct rig *r = *state;
    struct sl_stream *waits = rig_stream(r, 13, 1), *source = rig_stream(r, 14, 1);
    struct sl_open open = {0};
    struct sl_wait wait = {.when = {.from_ns = 50 * US, .to_ns = 500 * US}};

    r->streams.open = &open;
    assert_int_equal(kept_beside(r, waits, source, 10, 40), 1);
    assert_int_equal(sl_open_add(&open, &r->store, &wait), 0);
    assert_int_equal(kept_beside(r, waits, source, 60, 1000), 2);
    assert_non_null(rig_member(&waits->extra, 490)); /* the last that it may have been for */
    assert_non_null(rig_member(&waits->extra, 990));
    wait.when = (struct sl_moment){.from_ns = 1005 * US, .to_ns = 1500 * US};
    assert_int_equal(sl_open_add(&open, &r->store, &wait), 0);
    assert_int_equal(kept_beside(r, waits, source, 1010, 2000), 3);
    assert_non_null(rig_member(&waits->extra, 490));
    assert_non_null(rig_member(&waits->extra, 1490));
    while (sl_open_take(&open, UINT64_MAX, &wait))
        ;
    assert_int_equal(kept_beside(r, waits, source, 2010, 2020), 1);
    sl_open_forget(&open, &r->store);
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
        cmocka_unit_test_setup_teardown(what_an_open_wait_may_look_for_stays_beside, rig_make,
                                        rig_drop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
