/*
 * edge_missing_test.c - files of torch.profiler's in which a launch has no row of its operation: on
 * which stream that was stands nowhere. What was seen came before a wait all the same, but may not
 * be what released it: such edges are marked, and counted, until the streams are known again.
 */
#include "sync/job.h"

static struct job *foreign(void)
{
    return job_begin((struct sl_edges_options){.foreign = 1});
}

static uint64_t no_record(const struct job *j)
{
    return sl_edges_lost(j->edges, SL_EDGE_LOST_NO_RECORD);
}

/* An edge that was marked, once counted. */
static void assert_marked(const struct job *j, uint64_t source, uint64_t destination)
{
    const struct sl_edge *edge = job_edge(j, source, destination);

    assert_non_null(edge);
    assert_int_equal(edge->basis, SL_BASIS_INFERRED);
}

static void assert_exact(const struct job *j, uint64_t source, uint64_t destination)
{
    const struct sl_edge *edge = job_edge(j, source, destination);

    assert_non_null(edge);
    assert_int_equal(edge->basis, SL_BASIS_EXACT);
}

/* The kernel without a row may be what the wait was for. The next kernel comes behind it, and so
 * does the wait for that. */
static void a_wait_may_be_for_a_kernel_without_a_row(void **state)
{
    struct job *j = foreign();
    (void)state;
    uint64_t seen = job_kernel(j, 13, 10, 15, 40);

    job_call(j, LAUNCH, 14, 18);
    uint64_t sync = job_stream_sync(j, 13, 20, 220);
    uint64_t next = job_kernel(j, 13, 230, 235, 300);
    uint64_t known = job_stream_sync(j, 13, 240, 306);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 2);
    assert_marked(j, seen, sync);
    assert_wait(job_edge(j, next, known), SL_EDGE_STREAM_SYNC, 60, 6, 1);
    assert_int_equal(no_record(j), 1);
    assert_int_equal(job_lost(j), 1);
    job_end(j);
}

/* A later operation of the stream came behind it, a wait for the stream was for it. */
static void until_the_stream_is_known_again(void **state)
{
    struct job *j = foreign();
    (void)state;
    uint64_t a = job_kernel(j, 14, 5, 8, 30);

    job_kernel(j, 13, 10, 15, 40);
    job_call(j, LAUNCH, 14, 18);
    uint64_t b = job_kernel(j, 13, 19, 60, 100);
    uint64_t behind = job_stream_sync(j, 13, 22, 106);
    uint64_t marked = job_stream_sync(j, 14, 110, 112);
    uint64_t covered = job_stream_sync(j, 14, 120, 122);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 3);
    assert_wait(job_edge(j, b, behind), SL_EDGE_STREAM_SYNC, 78, 6, 1);
    assert_marked(j, a, marked);
    assert_exact(j, a, covered);
    assert_int_equal(no_record(j), 1);
    assert_int_equal(job_lost(j), 1);
    job_end(j);
}

/* It may have been on any stream of the context: on one that no row tells of, too. */
static void a_wait_for_the_device_is_for_it_too(void **state)
{
    struct job *j = foreign();
    (void)state;
    job_call(j, LAUNCH, 5, 9);
    uint64_t a = job_kernel(j, 13, 10, 15, 40);
    uint64_t sync = job_device_sync(j, 20, 220);
    uint64_t again = job_device_sync(j, 230, 232);
    uint64_t stream = job_stream_sync(j, 14, 234, 236);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 2);
    assert_marked(j, a, sync);
    assert_exact(j, a, again);
    assert_null(job_edge(j, a, stream));
    assert_int_equal(no_record(j), 1);
    assert_int_equal(job_lost(j), 1);
    job_end(j);
}

/* An event holds what its stream held, which is not known. */
static void events_hold_it(void **state)
{
    struct job *j = foreign();
    (void)state;
    uint64_t a = job_kernel(j, 13, 10, 15, 40);

    job_record(j, 13, 5, 1, 13);
    job_call(j, LAUNCH, 14, 18);
    job_record(j, 13, 6, 2, 19);
    uint64_t before = job_event_sync(j, 5, 1, 21, 46);
    job_wait_event(j, 14, 6, 2, 48);
    uint64_t b = job_kernel(j, 14, 50, 230, 240);
    uint64_t behind = job_event_sync(j, 6, 2, 241, 243);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 3);
    assert_exact(j, a, before);
    assert_marked(j, a, b);
    assert_marked(j, a, behind);
    assert_int_equal(no_record(j), 2);
    assert_int_equal(job_lost(j), 2);
    job_end(j);
}

/* Since when an operation waited is not known if one without a row may stand before it. */
static void what_an_operation_waited_for_last_may_be_it(void **state)
{
    struct job *j = foreign();
    (void)state;
    uint64_t a = job_kernel(j, 13, 10, 15, 40);

    job_record(j, 13, 5, 1, 13);
    job_wait_event(j, 14, 5, 1, 15);
    job_call(j, LAUNCH, 18, 22);
    uint64_t b = job_kernel(j, 14, 24, 90, 100);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 1);
    assert_marked(j, a, b);
    assert_int_equal(no_record(j), 1);
    assert_int_equal(job_lost(j), 1);
    job_end(j);
}

/* Nothing else was seen there: nothing is told, but it is counted; so is an operation that waited
 * for it alone. */
static void without_anything_seen_it_is_counted(void **state)
{
    struct job *j = foreign();
    (void)state;
    job_device_sync(j, 1, 3); /* nothing is pending from before */
    job_call(j, LAUNCH, 10, 14);
    job_record(j, 13, 5, 1, 15);
    job_wait_event(j, 14, 5, 1, 17);
    job_kernel(j, 14, 19, 90, 100);
    job_stream_sync(j, 13, 105, 110);
    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 0);
    assert_int_equal(no_record(j), 2);
    assert_int_equal(job_lost(j), 2);
    job_end(j);
}

/* Another thread launched it during the wait: the wait may have been for it. */
static void it_may_be_launched_during_the_wait(void **state)
{
    struct job *j = foreign();
    (void)state;
    uint64_t a = job_kernel(j, 13, 10, 15, 40);
    uint64_t sync = job_stream_sync(j, 13, 20, 220);

    j->thread = 101;
    job_call(j, LAUNCH, 30, 34);
    j->thread = 100;
    uint64_t late = job_kernel(j, 13, 230, 235, 240);
    uint64_t known = job_stream_sync(j, 13, 236, 246);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 2);
    assert_marked(j, a, sync);
    assert_exact(j, late, known);
    assert_int_equal(no_record(j), 1);
    assert_int_equal(job_lost(j), 1);
    job_end(j);
}

/* One that came later is nothing to a wait before it. */
static void who_waited_before_is_not_concerned(void **state)
{
    struct job *j = foreign();
    (void)state;
    uint64_t a = job_kernel(j, 13, 10, 15, 40);
    uint64_t sync = job_stream_sync(j, 13, 20, 46);

    job_call(j, LAUNCH, 50, 54);
    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 1);
    assert_exact(j, a, sync);
    assert_int_equal(job_lost(j), 0);
    job_end(j);
}

/* These have no row rightly: what is captured into a graph, and copies and memsets of nothing, from
 * which the call is back at once. */
static void what_runs_nothing_misses_nothing(void **state)
{
    struct job *j = foreign();
    (void)state;
    uint64_t a = job_kernel(j, 13, 10, 15, 400);

    job_call(j, CAPTURE_BEGIN, 13, 14);
    job_call(j, LAUNCH, 15, 20);
    job_call(j, MEMCPY_ASYNC, 21, 26);
    job_call(j, CAPTURE_END, 27, 30);
    job_call(j, MEMCPY_ASYNC, 31, 32);
    job_call(j, MEMSET, 33, 34);
    uint64_t sync = job_stream_sync(j, 13, 35, 406);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 1);
    assert_exact(j, a, sync);
    assert_int_equal(job_lost(j), 0);
    job_end(j);
}

/* After the end of a capture launches are launches again. A copy of something without a row may
 * have been waited for: an edge of its own is missing. */
static void others_do(void **state)
{
    struct job *j = foreign();
    (void)state;
    uint64_t a = job_kernel(j, 13, 10, 15, 40);

    job_call(j, CAPTURE_BEGIN, 13, 14);
    job_call(j, CAPTURE_END, 15, 16);
    job_call(j, MEMCPY, 17, 60);
    uint64_t sync = job_stream_sync(j, 13, 61, 62);
    uint64_t b = job_kernel(j, 13, 70, 75, 90);

    job_call(j, GRAPH_LAUNCH, 74, 80);
    uint64_t after = job_stream_sync(j, 13, 81, 120);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 2);
    assert_marked(j, a, sync);
    assert_marked(j, b, after);
    assert_int_equal(no_record(j), 3);
    assert_int_equal(job_lost(j), 3);
    job_end(j);
}

/* In a job CUPTI says when records are lost, and a record may come late. */
static void in_a_job_records_are_waited_for(void **state)
{
    struct job *j = begin();
    (void)state;
    uint64_t a = job_kernel(j, 13, 10, 15, 40);

    job_call(j, LAUNCH, 14, 18);
    uint64_t sync = job_stream_sync(j, 13, 20, 46);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 1);
    assert_exact(j, a, sync);
    assert_int_equal(job_lost(j), 0);
    job_end(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_may_be_for_a_kernel_without_a_row),
        cmocka_unit_test(until_the_stream_is_known_again),
        cmocka_unit_test(a_wait_for_the_device_is_for_it_too),
        cmocka_unit_test(events_hold_it),
        cmocka_unit_test(what_an_operation_waited_for_last_may_be_it),
        cmocka_unit_test(without_anything_seen_it_is_counted),
        cmocka_unit_test(it_may_be_launched_during_the_wait),
        cmocka_unit_test(who_waited_before_is_not_concerned),
        cmocka_unit_test(what_runs_nothing_misses_nothing),
        cmocka_unit_test(others_do),
        cmocka_unit_test(in_a_job_records_are_waited_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
