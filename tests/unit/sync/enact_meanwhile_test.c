/*
 * enact_meanwhile_test.c - calls of two threads that touch one stream at the same time.
 *
 * Which came first no record says. What a record of an event stood for, and what a launch came
 * behind, is told as one of the orders has it, and marked; what neither order has is not told.
 */
#include "sync/job.h"

enum {
    EVENT = 5
};

static uint64_t launch(struct job *j, uint32_t thread, uint32_t stream, unsigned from, unsigned to,
                       unsigned gpu_from, unsigned gpu_to)
{
    j->thread = thread;
    job_call(j, LAUNCH, from, to);
    job_ran(j, stream, gpu_from, gpu_to);
    return j->correlation;
}

static void record(struct job *j, uint32_t thread, uint32_t stream, unsigned from, unsigned to)
{
    struct sl_event ev = {.kind = SL_EV_CUDA_EVENT, .context = 1, .stream = stream};

    j->thread = thread;
    ev.correlation = job_call(j, EVENT_RECORD, from, to);
    ev.u.sync.event_id = EVENT;
    job_tell(j, &ev);
}

static void assert_marked(const struct sl_edge *edge)
{
    assert_non_null(edge);
    assert_int_equal(edge->basis, SL_BASIS_OVERLAPPING);
}

/* The record entered first: it may stand for the launch all the same. */
static void a_record_during_which_something_is_launched_is_marked(void **state)
{
    struct job *j = begin();
    (void)state;
    uint64_t before = launch(j, 200, 13, 20, 22, 23, 60);

    record(j, 100, 13, 30, 50);
    launch(j, 200, 13, 31, 33, 61, 100);
    j->thread = 100;
    uint64_t sync = job_event_sync(j, EVENT, 0, 52, 106);
    uint64_t made_to_wait =
        (job_wait_event(j, 14, EVENT, 0, 107), job_kernel(j, 14, 110, 113, 120));

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 2);
    assert_marked(job_edge(j, before, sync));
    assert_marked(job_edge(j, before, made_to_wait));
    assert_int_equal(job_lost(j), 0);
    job_end(j);
}

/* And if the stream was made to wait for something. */
static void a_record_during_which_the_stream_is_made_to_wait_is_marked(void **state)
{
    struct job *j = begin();
    (void)state;
    uint64_t before = launch(j, 200, 13, 20, 22, 23, 60);

    launch(j, 200, 14, 23, 24, 25, 90);
    job_record(j, 14, EVENT + 1, 0, 25);
    record(j, 100, 13, 30, 50);
    j->thread = 200;
    job_wait_event(j, 13, EVENT + 1, 0, 31);
    j->thread = 100;
    uint64_t sync = job_event_sync(j, EVENT, 0, 52, 66);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 1);
    assert_marked(job_edge(j, before, sync));
    job_end(j);
}

/* Another stream's launch says nothing of it, nor does one behind the record. */
static void a_record_is_certain_if_nothing_joins_its_stream(void **state)
{
    struct job *j = begin();
    (void)state;
    uint64_t before = launch(j, 200, 13, 20, 22, 23, 60);

    record(j, 100, 13, 30, 50);
    launch(j, 200, 14, 31, 33, 34, 100);
    launch(j, 200, 13, 50, 52, 61, 100);
    j->thread = 100;
    uint64_t sync = job_event_sync(j, EVENT, 0, 52, 66);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 1);
    assert_wait(job_edge(j, before, sync), SL_EDGE_EVENT_SYNC, 8, 6, 1);
    job_end(j);
}

/* On a stream that has nothing else: the wait for it is left out, and counted. */
static void a_record_of_perhaps_nothing_is_left_out(void **state)
{
    struct job *j = begin();
    (void)state;
    launch(j, 200, 14, 20, 22, 23, 60);
    record(j, 100, 13, 30, 50);
    launch(j, 200, 13, 31, 33, 61, 100);
    j->thread = 100;
    job_event_sync(j, EVENT, 0, 52, 106);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 0);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_AMBIGUOUS), 1);
    assert_int_equal(job_lost(j), 1);
    job_end(j);
}

/* The launch entered first; the wait may have got onto the stream before it. */
static void a_launch_during_which_its_stream_is_made_to_wait_is_marked(void **state)
{
    struct job *j = begin();
    (void)state;
    uint64_t source = launch(j, 200, 13, 20, 22, 23, 60);

    job_record(j, 13, EVENT, 0, 24);
    uint64_t during = launch(j, 100, 14, 30, 50, 61, 100);
    j->thread = 200;
    job_wait_event(j, 14, EVENT, 0, 31);
    uint64_t sync = job_stream_sync(j, 14, 60, 106);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 3);
    assert_wait(job_edge(j, source, sync), SL_EDGE_STREAM_SYNC, 0, 46, 0); /* in either order */
    assert_marked(job_edge(j, source, during));
    assert_int_equal(job_edge(j, source, during)->kind, SL_EDGE_STREAM_WAIT);
    assert_int_equal(job_edge(j, source, during)->wait_ns, 10 * US);
    assert_wait(job_edge(j, during, sync), SL_EDGE_STREAM_SYNC, 40, 6, 1);
    assert_int_equal(job_lost(j), 0);
    job_end(j);
}

/* It began before the source had ended, so it did not wait for that: the stream's wait stands
 * behind it. */
static void a_launch_that_did_not_wait_has_no_edge(void **state)
{
    struct job *j = begin();
    (void)state;
    uint64_t source = launch(j, 200, 13, 20, 22, 23, 90);

    job_record(j, 13, EVENT, 0, 24);
    uint64_t during = launch(j, 100, 14, 30, 50, 51, 80);
    j->thread = 200;
    job_wait_event(j, 14, EVENT, 0, 31);
    uint64_t sync = job_stream_sync(j, 14, 60, 96);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 2);
    assert_null(job_edge(j, source, during));
    assert_wait(job_edge(j, source, sync), SL_EDGE_STREAM_SYNC, 30, 6, 1);
    assert_wait(job_edge(j, during, sync), SL_EDGE_STREAM_SYNC, 20, 16, 0);
    job_end(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_during_which_something_is_launched_is_marked),
        cmocka_unit_test(a_record_during_which_the_stream_is_made_to_wait_is_marked),
        cmocka_unit_test(a_record_is_certain_if_nothing_joins_its_stream),
        cmocka_unit_test(a_record_of_perhaps_nothing_is_left_out),
        cmocka_unit_test(a_launch_during_which_its_stream_is_made_to_wait_is_marked),
        cmocka_unit_test(a_launch_that_did_not_wait_has_no_edge),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
