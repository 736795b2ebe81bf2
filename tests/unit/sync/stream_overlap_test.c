/*
 * stream_overlap_test.c - kernels that overlap on one stream, as programmatic dependent launch has
 * it: the one that ends last is what its stream is waited for, however many others came since.
 */
#include "sync/stream_state_impl.h"
#include "sync/streams.h"

enum {
    MANY = 300
};

/* For who looks then. */
static struct sl_set tail(struct rig *r, struct sl_stream *stream, unsigned at)
{
    struct sl_moment when = rig_call(at, at);
    struct sl_set set = {0};

    sl_set_open(&r->streams, &set);
    sl_stream_collect(&r->streams, stream, 0, &when, &set);
    return set;
}

/* It stands for its stream with one operation, however long it goes on. */
static void it_is_kept_alone(void **state)
{
    struct rig *r = *state;
    struct sl_stream *stream = rig_stream(r, 13, 1);
    struct sl_set set;

    rig_push(r, stream, 1, 5, 9000);
    for (unsigned i = 2; i < MANY; i++) {
        r->streams.horizon_ns = 10 * i * US;
        rig_push(r, stream, 10 * i, 10 * i + 3, 10 * i + 5);
    }
    assert_in_range(stream->ops, 2, 10);
    uint32_t there = 0;
    for (const struct sl_op *at = stream->newest; at; at = at->older)
        there++;
    assert_int_equal(stream->kept, there);
    set = tail(r, stream,
               8); /* between the long one and the others: who is that late is told nothing */
    assert_int_equal(set_size(&set), 0);
    assert_int_equal(set.lost, 1u << SL_EDGE_LOST_GAVE_UP);
    sl_set_clear(&r->streams, &set);
    set = tail(r, stream, 8000);
    assert_int_equal(set_size(&set), 1);
    assert_non_null(rig_member(&set, 1));
    sl_set_clear(&r->streams, &set);
}

/* What is older than what is kept matters to nobody, between the two that are kept neither. */
static void between_it_and_the_next_nothing_comes_late(void **state)
{
    struct rig *r = *state;
    struct sl_stream *stream = rig_stream(r, 13, 1);

    rig_push(r, stream, 1, 5, 9000);
    for (unsigned i = 2; i < 30; i++) {
        r->streams.horizon_ns = 10 * i * US;
        rig_push(r, stream, 10 * i, 10 * i + 3, 10 * i + 5);
    }
    assert_non_null(stream->newest->older);
    assert_null(rig_push(r, stream, 41, 46, 47));
}

/* Two threads launch: the long one's records come when a later one's are there. */
static void it_may_come_behind_those_that_it_outlasts(void **state)
{
    struct rig *r = *state;
    struct sl_stream *stream = rig_stream(r, 13, 1);
    struct sl_set set;

    rig_push(r, stream, 10, 15, 20);
    rig_push(r, stream, 30, 35, 40);
    rig_push(r, stream, 40, 45, 50);
    rig_push(r, stream, 20, 25, 100);
    set = tail(r, stream, 60);
    assert_int_equal(set_size(&set), 1);
    assert_non_null(rig_member(&set, 20));
    sl_set_clear(&r->streams, &set);
}

/* Its place goes to no other stream while it runs, though the latest has ended long ago. */
static void its_stream_has_not_run_dry(void **state)
{
    struct rig *r = *state;
    struct sl_stream *stream = rig_stream(r, 13, 1);
    struct sl_set set;

    rig_push(r, stream, 10, 15, 90000);
    rig_push(r, stream, 20, 25, 30);
    r->streams.horizon_ns = 50000 * US;
    r->streams.most = 1;
    for (uint32_t id = 100; id < 120; id++)
        rig_stream(r, id, 1);
    set = tail(r, rig_stream(r, 13, 1), 60000);
    assert_non_null(rig_member(&set, 10));
    sl_set_clear(&r->streams, &set);
}

/* For want of memory a launched graph's nodes are forgotten between its first and its last: not the
 * one that ends last. */
static void of_a_graphs_nodes_it_is_kept(void **state)
{
    struct rig *r = *state;
    struct sl_stream *stream = rig_stream(r, 13, 1);
    struct sl_set set;

    for (unsigned i = 0; i < 10; i++)
        rig_push_by(r, stream, rig_call(10, 10), 15 + i, i == 4 ? 900 : 16 + i, NULL);
    (void)sl_streams_make_room(&r->streams);
    assert_in_range(stream->kept, 2, 4);
    set = tail(r, stream, 1000);
    assert_int_equal(set_size(&set), 1);
    assert_int_equal(set.first->op->pub.end_ns, 900 * US);
    sl_set_clear(&r->streams, &set);
}

/* The same on the legacy default stream: others came behind it, and it behind them. */
static void legacy_order_goes_by_the_last_on_the_stream(void **state)
{
    struct rig *r = *state;
    struct sl_stream *legacy = rig_stream(r, SL_STREAM_LEGACY, SL_STREAM_FLAG_LEGACY);
    struct sl_stream *blocking = rig_stream(r, 13, 1);
    struct sl_set set;

    rig_push(r, legacy, 10, 15, 100);
    rig_push(r, blocking, 12, 101, 102);
    rig_push(r, legacy, 14, 103, 130);
    rig_push(r, legacy, 16, 120, 125);
    set = tail(r, legacy, 60);
    assert_int_equal(set_size(&set), 1);
    assert_non_null(rig_member(&set, 14));
    sl_set_clear(&r->streams, &set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(it_is_kept_alone, rig_make, rig_drop),
        cmocka_unit_test_setup_teardown(between_it_and_the_next_nothing_comes_late, rig_make,
                                        rig_drop),
        cmocka_unit_test_setup_teardown(it_may_come_behind_those_that_it_outlasts, rig_make,
                                        rig_drop),
        cmocka_unit_test_setup_teardown(of_a_graphs_nodes_it_is_kept, rig_make, rig_drop),
        cmocka_unit_test_setup_teardown(its_stream_has_not_run_dry, rig_make, rig_drop),
        cmocka_unit_test_setup_teardown(legacy_order_goes_by_the_last_on_the_stream, rig_make,
                                        rig_drop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
