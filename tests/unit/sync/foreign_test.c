/*
 * foreign_test.c - files of torch.profiler's in which some waits have no row: what such a wait
 * may have been for is not told as a fact, and what it cannot have been for stays one.
 */
#include "sync/job.h"
#include "sync/stream_state.h"

static struct job *foreign(void)
{
    return job_begin((struct sl_edges_options){.foreign = 1});
}

static uint64_t no_record(const struct job *j)
{
    return sl_edges_lost(j->edges, SL_EDGE_LOST_NO_RECORD);
}

/* 13 may have been made to wait for 20, whose kernel ended last. */
static void a_stream_may_have_waited_where_no_row_says_so(void **state)
{
    struct job *j = foreign();
    (void)state;
    job_kernel(j, 20, 100, 105, 200);
    job_kernel(j, 13, 103, 106, 150);
    job_call(j, STREAM_WAIT, 109, 111);
    job_stream_sync(j, 13, 115, 205);
    uint64_t next = job_kernel(j, 13, 210, 215, 240);
    uint64_t sync = job_stream_sync(j, 13, 213, 246);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 1);
    assert_wait(job_edge(j, next, sync), SL_EDGE_STREAM_SYNC, 27, 6, 1);
    assert_int_equal(no_record(j), 2); /* the call, and the first of the waits */
    assert_int_equal(job_lost(j), 2);
    job_end(j);
}

/* A wait for all of the context is for that too. */
static void a_wait_for_the_device_is_as_sure(void **state)
{
    struct job *j = foreign();
    (void)state;
    uint64_t a = job_kernel(j, 20, 100, 105, 200);
    uint64_t b = job_kernel(j, 13, 103, 106, 150);

    job_call(j, STREAM_WAIT, 109, 111);
    uint64_t sync = job_device_sync(j, 115, 206);
    uint64_t after = job_stream_sync(j, 13, 210, 212);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 3);
    assert_wait(job_edge(j, a, sync), SL_EDGE_DEVICE_SYNC, 85, 6, 1);
    assert_wait(job_edge(j, b, sync), SL_EDGE_DEVICE_SYNC, 35, 56, 0);
    assert_wait(job_edge(j, b, after), SL_EDGE_STREAM_SYNC, 0, 2, 0);
    assert_int_equal(job_lost(j), 1);
    job_end(j);
}

/* But not if the event may be another context's. */
static void unless_there_are_several_contexts(void **state)
{
    struct job *j = foreign();
    struct sl_event other = {.kind = SL_EV_KERNEL, .context = 2, .stream = 7, .device = 1};
    (void)state;
    uint64_t a = job_kernel(j, 13, 100, 105, 150);

    other.correlation = job_call(j, LAUNCH, 103, 105);
    other.start_ns = 107 * US;
    other.end_ns = 200 * US;
    job_tell(j, &other);
    job_call(j, STREAM_WAIT, 109, 111);
    uint64_t sync = job_device_sync(j, 115, 206);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 1);
    assert_int_equal(job_edge(j, a, sync)->basis, SL_BASIS_INFERRED);
    assert_int_equal(job_lost(j), 1);
    job_end(j);
}

/* From the first row of a stream's wait on Kineto leaves out those of streams alone that no work of
 * the file runs on. */
static void streams_with_work_are_known_once_a_row_is_there(void **state)
{
    struct job *j = foreign();
    (void)state;
    uint64_t a = job_kernel(j, 20, 100, 105, 200);

    job_record(j, 20, 3, 7, 103);
    job_wait_event(j, 13, 3, 7, 105);
    uint64_t b = job_kernel(j, 13, 107, 202, 210);

    job_record(j, 20, 4, 8, 109);
    job_call(j, STREAM_WAIT, 111, 112);
    uint64_t sync = job_stream_sync(j, 13, 115, 216);

    job_wait_event(j, 8, 4, 8, 220);
    job_call(j, STREAM_WAIT, 222, 223);
    uint64_t c = job_kernel(j, 8, 224, 230, 240);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 3);
    assert_int_equal(job_edge(j, a, b)->basis, SL_BASIS_EXACT);
    assert_wait(job_edge(j, b, sync), SL_EDGE_STREAM_SYNC, 95, 6, 1);
    assert_int_equal(job_edge(j, a, c)->basis, SL_BASIS_EXACT);
    assert_int_equal(job_lost(j), 2); /* the calls */
    job_end(j);
}

/* 21 has no work: who waits for it, or for an event that was recorded there, may wait for 20's. */
static void streams_without_work_are_not(void **state)
{
    struct job *j = foreign();
    (void)state;
    job_kernel(j, 20, 100, 105, 200);
    job_record(j, 20, 3, 7, 103);
    job_wait_event(j, 20, 3, 7, 105);
    job_call(j, STREAM_WAIT, 107, 108);
    job_record(j, 21, 4, 8, 109);
    job_stream_sync(j, 21, 115, 205);
    job_event_sync(j, 4, 8, 206, 208);
    job_wait_event(j, 13, 4, 8, 210);
    job_kernel(j, 13, 212, 215, 220);
    assert_int_equal(j->count, 0);
    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 0);
    assert_int_equal(no_record(j), 4); /* the call, two waits, the kernel */
    assert_int_equal(job_lost(j), 4);
    job_end(j);
}

/* What a stream of which nothing is known came behind: known edges would not be all. */
static void an_operation_has_no_edges_that_may_not_be_all(void **state)
{
    struct job *j = foreign();
    (void)state;
    job_kernel(j, 20, 100, 105, 200);
    job_record(j, 20, 3, 7, 103);
    job_kernel(j, 13, 104, 106, 110);
    job_call(j, STREAM_WAIT, 107, 108);
    job_wait_event(j, 13, 3, 7, 109);
    job_kernel(j, 13, 111, 300, 310);
    uint64_t plain = job_kernel(j, 20, 311, 320, 330); /* nothing is known: nothing is left out */
    uint64_t sync = job_stream_sync(j, 20, 313, 335);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 1);
    assert_wait(job_edge(j, plain, sync), SL_EDGE_STREAM_SYNC, 17, 5, 1);
    assert_int_equal(no_record(j), 2);
    assert_int_equal(job_lost(j), 2);
    job_end(j);
}

static void many_waits_without_a_row_leave_others_known(void **state)
{
    struct job *j = foreign();
    (void)state;
    uint64_t a = job_kernel(j, 13, 10, 15, 20);

    job_record(j, 13, 3, 7, 13);
    job_wait_event(j, 13, 3, 7, 15);
    for (unsigned i = 0; i < 2 * SL_UNKNOWN_KEPT; i++)
        job_call(j, STREAM_WAIT, 30 + 2 * i, 31 + 2 * i);
    uint64_t sync = job_stream_sync(j, 13, 200, 202);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 1);
    assert_wait(job_edge(j, a, sync), SL_EDGE_STREAM_SYNC, 0, 2, 0);
    assert_int_equal(job_lost(j), 2 * SL_UNKNOWN_KEPT);
    job_end(j);
}

/* Its copy waits for what the stream held, all of it. */
static void a_copy_from_pageable_memory_may_have_waited_for_more(void **state)
{
    struct job *j = foreign();
    struct sl_shape shape = {
        .kind = SL_EV_MEMCPY, .copy_kind = 1, .src_memory = 1, .dst_memory = 3};
    struct sl_event copy = {.kind = SL_EV_MEMCPY, .context = 1, .stream = 13};
    (void)state;
    copy.shape = sl_shape_put(j->shapes, &shape);
    job_kernel(j, 20, 100, 105, 200);
    job_kernel(j, 13, 103, 106, 150);
    job_call(j, STREAM_WAIT, 109, 111);
    copy.correlation = job_call(j, MEMCPY, 115, 205);
    copy.start_ns = 201 * US;
    copy.end_ns = 204 * US;
    job_tell(j, &copy);
    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 0);
    assert_int_equal(no_record(j), 2);
    job_end(j);
}

/* Whatever rows other calls have, and wherever these stand. */
static void a_device_sync_needs_no_row(void **state)
{
    struct job *j = foreign();
    (void)state;
    uint64_t a = job_kernel(j, 13, 10, 15, 60);
    uint64_t first = job_call(j, DEVICE_SYNC, 20, 66);
    uint64_t b = job_kernel(j, 13, 70, 75, 120);
    uint64_t second = job_stream_sync(j, 13, 80, 126);
    uint64_t c = job_kernel(j, 13, 130, 135, 160);
    uint64_t third = job_call(j, DEVICE_SYNC, 140, 166);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 3);
    assert_wait(job_edge(j, a, first), SL_EDGE_DEVICE_SYNC, 40, 6, 1);
    assert_wait(job_edge(j, b, second), SL_EDGE_STREAM_SYNC, 40, 6, 1);
    assert_wait(job_edge(j, c, third), SL_EDGE_DEVICE_SYNC, 20, 6, 1);
    assert_int_equal(job_lost(j), 0);
    job_end(j);
}

static void other_waits_are_guessed_or_counted_each(void **state)
{
    struct job *j = foreign();
    (void)state;
    uint64_t a = job_kernel(j, 13, 10, 15, 60);
    uint64_t guessed = job_call(j, EVENT_SYNC, 20, 66);
    uint64_t known = job_stream_sync(j, 13, 70, 72);

    job_call(j, STREAM_SYNC, 80, 82); /* nothing ended just before */
    job_call(j, STREAM_QUERY, 83, 84);
    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 2);
    assert_int_equal(job_edge(j, a, guessed)->basis, SL_BASIS_INFERRED);
    assert_wait(job_edge(j, a, known), SL_EDGE_STREAM_SYNC, 0, 2, 0);
    assert_int_equal(no_record(j), 2);
    assert_int_equal(job_lost(j), 2);
    job_end(j);
}

/* A thread that used none waits in one of several contexts. */
static void a_wait_in_nobody_knows_which_context_is_counted(void **state)
{
    struct job *j = foreign();
    struct sl_event other = {.kind = SL_EV_KERNEL, .context = 2, .stream = 7, .device = 1};
    (void)state;
    job_call(j, DEVICE_SYNC, 1, 2); /* nothing of any is known */
    job_kernel(j, 13, 10, 15, 60);
    other.correlation = job_call(j, LAUNCH, 13, 15);
    other.start_ns = 17 * US;
    other.end_ns = 50 * US;
    job_tell(j, &other);
    j->thread = 101;
    job_call(j, DEVICE_SYNC, 20, 66);
    job_call(j, STREAM_SYNC, 70, 72);
    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 0);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_AMBIGUOUS), 3);
    assert_int_equal(job_lost(j), 3);
    job_end(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stream_may_have_waited_where_no_row_says_so),
        cmocka_unit_test(a_wait_for_the_device_is_as_sure),
        cmocka_unit_test(unless_there_are_several_contexts),
        cmocka_unit_test(streams_with_work_are_known_once_a_row_is_there),
        cmocka_unit_test(streams_without_work_are_not),
        cmocka_unit_test(an_operation_has_no_edges_that_may_not_be_all),
        cmocka_unit_test(many_waits_without_a_row_leave_others_known),
        cmocka_unit_test(a_copy_from_pageable_memory_may_have_waited_for_more),
        cmocka_unit_test(a_device_sync_needs_no_row),
        cmocka_unit_test(other_waits_are_guessed_or_counted_each),
        cmocka_unit_test(a_wait_in_nobody_knows_which_context_is_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
