/*
 * foreign_guess_test.c - waits of torch.profiler's files of which no row says what they were for.
 *
 * Every test says the whole list of edges: a false one fails it as much as a missing one.
 */
#include "sync/job.h"

/* An event may have been recorded behind any operation, a stream's wait is for its last. */
static void a_guess_is_left_out_where_two_operations_fit(void **state)
{
    struct job *j =
        job_begin((struct sl_edges_options){.foreign = 1, .recording_since_ns = 5 * US});
    (void)state;
    job_kernel(j, 13, 10, 15, 60);
    uint64_t tail = job_kernel(j, 13, 14, 60, 64);

    job_call(j, EVENT_SYNC, 20, 68);
    uint64_t stream = job_call(j, STREAM_SYNC, 30, 69);

    job_kernel(j, 13, 80, 85, 130);
    uint64_t last = job_kernel(j, 13, 84, 130, 170);
    uint64_t sync = job_call(j, EVENT_SYNC, 90, 176); /* the first had ended long before */

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 2);
    assert_int_equal(job_edge(j, tail, stream)->basis, SL_BASIS_INFERRED);
    assert_int_equal(job_edge(j, last, sync)->basis, SL_BASIS_INFERRED);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_AMBIGUOUS), 1);
    assert_int_equal(job_lost(j), 1);
    job_end(j);
}

/* Which runs on when the wait returns: the one before it is the only one that fits. */
static void an_event_may_be_behind_what_is_not_its_streams_last(void **state)
{
    struct job *j =
        job_begin((struct sl_edges_options){.foreign = 1, .recording_since_ns = 5 * US});
    (void)state;
    uint64_t source = job_kernel(j, 13, 10, 15, 60);
    uint64_t behind = job_kernel(j, 13, 14, 61, 110);
    uint64_t event = job_call(j, EVENT_SYNC, 30, 66);
    uint64_t stream = job_call(j, STREAM_SYNC, 70, 115);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 2);
    assert_int_equal(job_edge(j, source, event)->basis, SL_BASIS_INFERRED);
    assert_int_equal(job_edge(j, source, event)->wait_ns, 30 * US);
    assert_int_equal(job_edge(j, behind, stream)->basis, SL_BASIS_INFERRED);
    assert_int_equal(job_lost(j), 0);
    job_end(j);
}

/* Kernels that overlap on one stream: the first of three ends within 20 us of the return, too. */
static void what_ends_behind_later_ones_fits_too(void **state)
{
    struct job *j =
        job_begin((struct sl_edges_options){.foreign = 1, .recording_since_ns = 5 * US});
    (void)state;
    job_kernel(j, 13, 8, 12, 100);
    job_kernel(j, 13, 11, 15, 20);
    job_kernel(j, 13, 14, 101, 102);
    job_call(j, EVENT_SYNC, 30, 108);
    /* And here the latest does, which an earlier one outlasts. */
    job_kernel(j, 13, 120, 125, 200);
    job_kernel(j, 13, 123, 180, 195);
    job_call(j, EVENT_SYNC, 130, 206);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 0);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_AMBIGUOUS), 2);
    assert_int_equal(job_lost(j), 2);
    job_end(j);
}

/* Another thread goes on launching: what it looks behind no more is a candidate all the same. */
static void both_that_fit_are_kept_while_others_launch(void **state)
{
    struct job *j =
        job_begin((struct sl_edges_options){.foreign = 1, .recording_since_ns = 5 * US});
    (void)state;
    job_call(j, EVENT_SYNC, 10, 200);
    j->thread = 200;
    job_kernel(j, 13, 20, 25, 183);
    job_kernel(j, 13, 24, 183, 188);
    for (unsigned i = 0; i < 8; i++) /* the last ones while both have ended */
        job_kernel(j, 13, 180 + 2 * i, 300 + 10 * i, 305 + 10 * i);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 0);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_AMBIGUOUS), 1);
    assert_int_equal(job_lost(j), 1);
    job_end(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_that_fit_are_kept_while_others_launch),
        cmocka_unit_test(what_ends_behind_later_ones_fits_too),
        cmocka_unit_test(an_event_may_be_behind_what_is_not_its_streams_last),
        cmocka_unit_test(a_guess_is_left_out_where_two_operations_fit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
