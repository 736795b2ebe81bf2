/*
 * apply_test.c - the order in which calls put their operations on streams.
 *
 * Every test says the whole list of edges: a false one fails it as much as a missing one.
 */
#include "sync/job.h"

static void legacy_order_binds_blocking_streams_only(void **state)
{
    struct job *j = begin();
    (void)state;
    job_stream(j, 7, 3);
    job_stream(j, 13, 1);
    job_stream(j, 14, 2);
    uint64_t blocking = job_kernel(j, 13, 10, 15, 60);

    job_kernel(j, 14, 13, 15, 200);
    uint64_t legacy = job_kernel(j, 7, 16, 61, 80);
    uint64_t after = job_kernel(j, 13, 19, 82, 90);
    uint64_t sync = job_stream_sync(j, 7, 22, 96);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 4);
    assert_wait(job_edge(j, blocking, legacy), SL_EDGE_LEGACY_DEFAULT, 42, 1, 1);
    assert_wait(job_edge(j, legacy, after), SL_EDGE_LEGACY_DEFAULT, 20, 2, 1);
    assert_wait(job_edge(j, legacy, sync), SL_EDGE_STREAM_SYNC, 58, 16, 0);
    assert_wait(job_edge(j, after, sync), SL_EDGE_STREAM_SYNC, 68, 6, 1);
    job_end(j);
}

/* That it is the legacy stream need not be told: in files its flags stand with its first row only.
 */
static void the_legacy_stream_is_known_by_its_id(void **state)
{
    struct job *j = begin();
    (void)state;
    job_stream(j, 13, 1);
    uint64_t blocking = job_kernel(j, 13, 10, 15, 60);
    uint64_t sync = job_stream_sync(j, 7, 13, 66);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 1);
    assert_wait(job_edge(j, blocking, sync), SL_EDGE_STREAM_SYNC, 47, 6, 1);
    job_end(j);
}

/* The second thread's kernel got onto the stream first, and may be what waited for the other
 * stream's. */
static void a_launch_that_another_thread_overtakes_is_marked(void **state)
{
    struct job *j = begin();
    (void)state;
    uint64_t side = job_kernel(j, 14, 2, 4, 35);

    job_record(j, 14, 5, 1, 5);
    job_wait_event(j, 13, 5, 1, 7);
    uint64_t slow = job_call(j, LAUNCH, 10, 30);

    job_ran(j, 13, 40, 50);
    j->thread = 200;
    job_call(j, LAUNCH, 15, 17);
    job_ran(j, 13, 36, 39);
    sl_edges_flush(j->edges);
    assert_non_null(job_edge(j, side, slow));
    assert_int_equal(job_edge(j, side, slow)->basis, SL_BASIS_OVERLAPPING);
    job_end(j);
}

/* Between the slow call's id and its stamp its thread was stopped. */
static void a_launch_that_began_after_another_is_not_overtaken(void **state)
{
    struct job *j = begin();
    (void)state;
    job_stream(j, 13, 1);
    uint64_t blocking = job_kernel(j, 13, 2, 4, 14);

    job_call(j, LAUNCH, 30, 32);
    job_ran(j, 7, 36, 50);
    j->thread = 200;
    uint64_t first = job_kernel(j, 7, 15, 18, 25);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 1);
    assert_wait(job_edge(j, blocking, first), SL_EDGE_LEGACY_DEFAULT, 0, 1, 0);
    job_end(j);
}

static void a_launch_comes_behind_a_wait_with_a_higher_id(void **state)
{
    struct job *j = begin();
    (void)state;
    uint64_t side = job_kernel(j, 14, 2, 4, 45);

    job_record(j, 14, 5, 1, 5);
    uint64_t late = job_call(j, LAUNCH, 30, 32);

    job_ran(j, 13, 46, 50);
    j->thread = 200;
    job_wait_event(j, 13, 5, 1, 15);
    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 1);
    assert_wait(job_edge(j, side, late), SL_EDGE_STREAM_WAIT, 13, 1, 1);
    job_end(j);
}

/* What the stream came behind by then is not known: no edge may say that it is. */
static void a_launch_comes_behind_what_is_not_known_with_a_higher_id(void **state)
{
    static const unsigned streams[] = {7, 13};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct job *j = begin();

        job_stream(j, 13, 1);
        job_kernel(j, 13, 2, 4, 14);
        job_call(j, LAUNCH, 30, 32);
        job_ran(j, streams[i], 46, 50);
        j->thread = 200;
        job_wait_event(j, 13, 5, 1, 15); /* of which no record was seen */
        sl_edges_flush(j->edges);
        assert_int_equal(j->count, 0);
        assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_NO_RECORD), 1);
        job_end(j);
    }
}

static void an_event_has_the_record_that_was_made_last(void **state)
{
    struct job *j = begin();
    (void)state;
    uint64_t last = job_kernel(j, 14, 2, 4, 45);

    job_kernel(j, 15, 5, 8, 60);
    job_record(j, 14, 5, 0, 30);
    j->thread = 200;
    job_record(j, 15, 5, 0, 15);
    uint64_t sync = job_event_sync(j, 5, 0, 35, 47);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 1);
    assert_wait(job_edge(j, last, sync), SL_EDGE_EVENT_SYNC, 10, 2, 1);
    job_end(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(legacy_order_binds_blocking_streams_only),
        cmocka_unit_test(the_legacy_stream_is_known_by_its_id),
        cmocka_unit_test(a_launch_that_another_thread_overtakes_is_marked),
        cmocka_unit_test(a_launch_that_began_after_another_is_not_overtaken),
        cmocka_unit_test(a_launch_comes_behind_a_wait_with_a_higher_id),
        cmocka_unit_test(a_launch_comes_behind_what_is_not_known_with_a_higher_id),
        cmocka_unit_test(an_event_has_the_record_that_was_made_last),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
