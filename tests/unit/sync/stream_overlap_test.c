/*
 * stream_overlap_test.c - kernels that overlap on one stream, as programmatic dependent launch has
 * it: the one that ends last is what its stream is waited for, however many others came since.
 */
#include "sync/job.h"
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

static void of_operations_that_overlap_on_one_stream_the_last_to_end_is_told(void **state)
{
    struct job *j = begin();
    (void)state;
    uint64_t long_one = job_kernel(j, 13, 10, 25, 100);

    job_kernel(j, 13, 13, 60, 70);
    job_kernel(j, 13, 16, 75, 90);
    job_record(j, 13, 5, 0, 19);
    uint64_t stream = job_stream_sync(j, 13, 40, 106);
    uint64_t event = job_event_sync(j, 5, 0, 107, 108);
    uint64_t next = job_kernel(j, 13, 110, 115, 130);
    uint64_t last = job_kernel(j, 13, 113, 125, 140);
    uint64_t device = job_device_sync(j, 120, 146);

    sl_edges_flush(j->edges);
    assert_wait(job_edge(j, long_one, stream), SL_EDGE_STREAM_SYNC, 60, 6, 1);
    assert_wait(job_edge(j, long_one, event), SL_EDGE_EVENT_SYNC, 0, 1, 0);
    assert_wait(job_edge(j, last, device), SL_EDGE_DEVICE_SYNC, 20, 6, 1);
    assert_null(job_edge(j, next, device));
    assert_int_equal(j->count, 3);
    job_end(j);
}

/* All that came since is over for every wait to come, and is forgotten; the long one is not. */
static void it_is_kept_when_those_behind_it_are_forgotten(void **state)
{
    struct job *j = begin();
    (void)state;
    uint64_t long_one = job_kernel(j, 13, 10, 15, 9000);
    uint64_t sync;

    for (unsigned i = 0; i < MANY; i++) {
        job_kernel(j, 13, 20 + 10 * i, 23 + 10 * i, 25 + 10 * i);
        sl_edges_delivered(j->edges, (25 + 10 * i) * US);
    }
    sync = job_stream_sync(j, 13, 8000, 9005);
    sl_edges_flush(j->edges);
    assert_wait(job_edge(j, long_one, sync), SL_EDGE_STREAM_SYNC, 1000, 5, 1);
    assert_int_equal(j->count, 1);
    assert_int_equal(job_lost(j), 0);
    job_end(j);
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

/* Kernels that end in their order are one look each, and those that do not are counted where the
 * last to end is too far back. */
static void too_far_back_is_counted(void **state)
{
    struct job *j = begin();
    (void)state;

    job_kernel(j, 13, 10, 15, 60000);
    for (unsigned i = 0; i < 5000; i++)
        job_kernel(j, 13, 20 + 4 * i, 23 + 4 * i, 50000 + i);
    job_stream_sync(j, 13, 55000, 60005);
    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 0);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_GAVE_UP), 1);
    job_end(j);
}

/* Which stands before those that came after it by its call alone: what seems to overlap them may
 * have come later, too. */
static void behind_one_without_a_time_nothing_overlaps(void **state)
{
    struct job *j = begin();
    (void)state;
    job_call(j, LAUNCH, 10, 60);
    job_ran(j, 13, 110, 120);
    j->thread = 200;
    job_kernel(j, 13, 20, 0, 0);
    uint64_t tail = job_kernel(j, 13, 25, 70, 100);
    uint64_t sync = job_stream_sync(j, 13, 30, 126);

    sl_edges_flush(j->edges);
    assert_wait(job_edge(j, tail, sync), SL_EDGE_STREAM_SYNC, 70, 26, 1);
    assert_int_equal(j->count, 1);
    job_end(j);
}

/* Of what its stream came behind since, its wait is not the stream's. */
static void what_the_next_came_behind_is_not_waited_for_again(void **state)
{
    struct job *j = begin();
    (void)state;
    uint64_t side = job_kernel(j, 14, 5, 8, 30);
    uint64_t long_one = job_kernel(j, 13, 10, 15, 100);

    job_record(j, 14, 1, 0, 13);
    job_wait_event(j, 13, 1, 0, 16);
    uint64_t behind = job_kernel(j, 13, 18, 35, 40);
    uint64_t sync = job_stream_sync(j, 13, 22, 106);

    sl_edges_flush(j->edges);
    assert_wait(job_edge(j, long_one, sync), SL_EDGE_STREAM_SYNC, 78, 6, 1);
    assert_non_null(job_edge(j, side, behind));
    assert_null(job_edge(j, side, sync));
    assert_int_equal(j->count, 2);
    job_end(j);
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

/* An operation is free when all before it have ended. */
static void what_comes_behind_is_free_when_it_has_ended(void **state)
{
    struct job *j = begin();
    (void)state;
    job_kernel(j, 13, 10, 15, 100);
    job_kernel(j, 13, 13, 20, 30);
    uint64_t side = job_kernel(j, 14, 16, 18, 60);

    job_record(j, 14, 1, 0, 19);
    job_wait_event(j, 13, 1, 0, 21);
    uint64_t behind = job_kernel(j, 13, 23, 101, 110);

    sl_edges_flush(j->edges);
    assert_wait(job_edge(j, side, behind), SL_EDGE_STREAM_WAIT, 0, 1, 0);
    assert_int_equal(j->count, 1);
    job_end(j);
}

/* Launched during another thread's wait, which returned before it had ended: neither it nor what
 * came behind it was waited for. */
static void what_outlasts_the_wait_was_not_waited_for(void **state)
{
    struct job *j = begin();
    (void)state;
    uint64_t before = job_kernel(j, 13, 8, 10, 50);
    uint64_t sync = job_stream_sync(j, 13, 40, 56);

    j->thread = 200;
    job_kernel(j, 13, 41, 44, 300);
    job_kernel(j, 13, 44, 50, 54);
    sl_edges_flush(j->edges);
    assert_wait(job_edge(j, before, sync), SL_EDGE_STREAM_SYNC, 10, 6, 1);
    assert_int_equal(j->count, 1);
    assert_int_equal(job_lost(j), 0);
    job_end(j);
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
        cmocka_unit_test(of_operations_that_overlap_on_one_stream_the_last_to_end_is_told),
        cmocka_unit_test(it_is_kept_when_those_behind_it_are_forgotten),
        cmocka_unit_test_setup_teardown(it_is_kept_alone, rig_make, rig_drop),
        cmocka_unit_test_setup_teardown(between_it_and_the_next_nothing_comes_late, rig_make,
                                        rig_drop),
        cmocka_unit_test_setup_teardown(it_may_come_behind_those_that_it_outlasts, rig_make,
                                        rig_drop),
        cmocka_unit_test(too_far_back_is_counted),
        cmocka_unit_test(what_comes_behind_is_free_when_it_has_ended),
        cmocka_unit_test(what_outlasts_the_wait_was_not_waited_for),
        cmocka_unit_test_setup_teardown(of_a_graphs_nodes_it_is_kept, rig_make, rig_drop),
        cmocka_unit_test(behind_one_without_a_time_nothing_overlaps),
        cmocka_unit_test(what_the_next_came_behind_is_not_waited_for_again),
        cmocka_unit_test_setup_teardown(its_stream_has_not_run_dry, rig_make, rig_drop),
        cmocka_unit_test_setup_teardown(legacy_order_goes_by_the_last_on_the_stream, rig_make,
                                        rig_drop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
