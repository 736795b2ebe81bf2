/*
 * edge_unseen_test.c - work that may have gone on unseen: what is claimed beside it, and when it is
 * over.
 */
#include "sync/job.h"

static void before_the_window_nothing_is_claimed(void **state)
{
    struct job *j = job_begin((struct sl_edges_options){.recording_since_ns = 5 * US});
    (void)state;
    job_stream_sync(j, 13, 10, 20);
    uint64_t known = job_kernel(j, 14, 22, 25, 40);
    uint64_t sync = job_stream_sync(j, 14, 26, 44);

    uint64_t first = job_device_sync(j, 46, 60); /* of stream 13 nobody knows */
    uint64_t last = job_kernel(j, 15, 62, 65, 80);
    uint64_t whole = job_device_sync(j, 70, 85);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 4);
    assert_int_equal(job_edge(j, known, first)->basis, SL_BASIS_INFERRED);
    assert_int_equal(job_edge(j, known, whole)->basis, SL_BASIS_EXACT);
    assert_wait(job_edge(j, known, sync), SL_EDGE_STREAM_SYNC, 14, 4, 1);
    assert_wait(job_edge(j, last, whole), SL_EDGE_DEVICE_SYNC, 10, 5, 1);
    assert_non_null(job_edge(j, known, whole));
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_BEFORE_WINDOW), 2);
    job_end(j);
}

static void a_foreign_file_has_no_lead_in(void **state)
{
    struct job *j =
        job_begin((struct sl_edges_options){.foreign = 1, .recording_since_ns = 5 * US});
    (void)state;
    uint64_t kernel = job_kernel(j, 13, 10, 15, 60);
    uint64_t sync = job_device_sync(j, 20, 66);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 1);
    assert_int_equal(job_edge(j, kernel, sync)->wait_ns, 40 * US);
    assert_int_equal(job_edge(j, kernel, sync)->released, 1);
    assert_int_equal(job_edge(j, kernel, sync)->basis, SL_BASIS_INFERRED);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_BEFORE_WINDOW), 1);
    job_end(j);
}

/* A job whose window opened later than work was enqueued: an operation that was seen, and a wait
 * for all of them. */
static struct job *begin_with_unseen_work(uint64_t *seen, uint64_t *sync)
{
    struct job *j = job_begin((struct sl_edges_options){.online = 1});

    job_kernel(j, 13, 10, 15, 60);
    sl_edges_forget(j->edges, SL_EDGE_LOST_BEFORE_WINDOW);
    *seen = job_kernel(j, 14, 20, 25, 70);
    *sync = job_device_sync(j, 30, 76);
    return j;
}

/* The same as for a file, while the job runs. */
static void a_wait_for_the_context_is_marked_where_work_may_be_unseen(void **state)
{
    uint64_t seen, sync;
    struct job *j = begin_with_unseen_work(&seen, &sync);
    (void)state;
    uint64_t next = job_kernel(j, 14, 80, 85, 90);
    uint64_t covered = job_device_sync(j, 86, 95);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 2);
    assert_int_equal(job_edge(j, seen, sync)->basis, SL_BASIS_INFERRED);
    assert_int_equal(job_edge(j, seen, sync)->released, 1);
    assert_wait(job_edge(j, next, covered), SL_EDGE_DEVICE_SYNC, 4, 5, 1);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_BEFORE_WINDOW), 1);
    job_end(j);
}

/* It comes behind an event for certain; what its stream held before may have ended later. */
static void an_operation_is_marked_where_its_stream_may_hold_unseen_work(void **state)
{
    struct job *j = job_begin((struct sl_edges_options){.recording_since_ns = 5 * US});
    (void)state;
    uint64_t source = job_kernel(j, 13, 10, 15, 60);
    job_record(j, 13, 5, 1, 20);
    job_wait_event(j, 14, 5, 1, 22);
    uint64_t first = job_kernel(j, 14, 24, 65, 70);
    job_wait_event(j, 14, 5, 1, 72);
    uint64_t second = job_kernel(j, 14, 74, 80, 85);

    sl_edges_flush(j->edges);
    assert_int_equal(job_edge(j, source, first)->basis, SL_BASIS_INFERRED);
    assert_int_equal(job_edge(j, source, first)->wait_ns, 34 * US);
    assert_int_equal(job_edge(j, source, second)->basis, SL_BASIS_EXACT);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_BEFORE_WINDOW), 1);
    job_end(j);
}

/* Two threads wait for the context at once: what was not seen may have held up both. */
static void what_was_not_seen_is_over_for_later_waits_alone(void **state)
{
    uint64_t seen, sync;
    struct job *j = begin_with_unseen_work(&seen, &sync);
    (void)state;
    j->thread = 101;
    uint64_t beside = job_device_sync(j, 40, 77);

    j->thread = 102;
    uint64_t after = job_device_sync(j, 78, 80);
    sl_edges_flush(j->edges);
    assert_int_equal(job_edge(j, seen, sync)->basis, SL_BASIS_INFERRED);
    assert_int_equal(job_edge(j, seen, beside)->basis, SL_BASIS_INFERRED);
    assert_int_equal(job_edge(j, seen, after)->basis, SL_BASIS_EXACT);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_BEFORE_WINDOW), 2);
    job_end(j);
}

/* The same for a stream that waits for an event of which nothing is known. */
static void an_unknown_event_holds_up_all_that_wait_at_once(void **state)
{
    struct job *j = job_begin((struct sl_edges_options){.online = 1});
    (void)state;
    uint64_t known = job_kernel(j, 13, 10, 15, 20);
    job_wait_event(j, 13, 5, 9, 12);
    job_stream_sync(j, 13, 30, 76);
    j->thread = 101;
    uint64_t beside = job_stream_sync(j, 13, 40, 77);

    j->thread = 102;
    uint64_t after = job_stream_sync(j, 13, 78, 80);
    sl_edges_flush(j->edges);
    assert_null(job_edge(j, known, beside));
    assert_int_equal(job_edge(j, known, after)->basis, SL_BASIS_EXACT);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_NO_RECORD), 2);
    job_end(j);
}

/* Recording begins at 15 us. A call of thread 101 is on its way (it waits for its stream first,
 * say), and returns at 40 us; thread 100's kernel on stream 14 returns before. */
static struct job *begin_during_a_call(uint32_t cbid, uint64_t *source)
{
    struct job *j = job_begin((struct sl_edges_options){.online = 1});

    j->thread = 101;
    j->keep = 1;
    job_call(j, cbid, 10, 40);
    j->keep = 0;
    j->thread = 100;
    job_kernel(j, 15, 11, 13, 14); /* the last that is known from before */
    sl_edges_forget(j->edges, SL_EDGE_LOST_BEFORE_WINDOW);
    sl_edges_begin(j->edges, 15 * US);
    job_kernel(j, 14, 20, 25, 28);
    *source = job_kernel(j, 13, 42, 45, 60);
    job_record(j, 13, 5, 1, 45);
    job_wait_event(j, 14, 5, 1, 47);
    return j;
}

/* Its operation may have gone onto the stream last. */
static void a_call_that_is_on_its_way_when_recording_begins_may_be_last(void **state)
{
    uint64_t source;
    struct job *j = begin_during_a_call(MEMCPY, &source);
    (void)state;
    job_tell(j, &j->kept[0]);
    uint64_t after = job_kernel(j, 14, 50, 80, 90);
    uint64_t second = job_kernel(j, 14, 51, 90, 95);
    uint64_t sync = job_stream_sync(j, 14, 52, 99);

    sl_edges_flush(j->edges);
    assert_int_equal(job_edge(j, source, after)->basis, SL_BASIS_INFERRED);
    assert_int_equal(job_edge(j, second, sync)->basis, SL_BASIS_EXACT);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_BEFORE_WINDOW), 1);
    job_end(j);
}

static void a_wait_behind_a_call_on_its_way_is_left_out(void **state)
{
    uint64_t source;
    struct job *j = begin_during_a_call(MEMCPY, &source);
    (void)state;
    uint64_t kernel = j->correlation - 3; /* the one on stream 14 */

    job_tell(j, &j->kept[0]);
    uint64_t sync = job_stream_sync(j, 14, 50, 70);
    uint64_t again = job_stream_sync(j, 14, 71, 72); /* that is over now */

    sl_edges_flush(j->edges);
    assert_null(job_edge(j, kernel, sync));
    assert_null(job_edge(j, source, sync));
    assert_int_equal(job_edge(j, kernel, again)->basis, SL_BASIS_EXACT);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_BEFORE_WINDOW), 1);
    job_end(j);
}

/* It has not returned when what comes behind its operation is decided: that is known all the same.
 */
static void the_operation_of_a_call_on_its_way_is_not_overlooked(void **state)
{
    struct job *j = job_begin((struct sl_edges_options){.online = 1});
    (void)state;
    j->correlation = 1; /* the call's own */
    job_kernel(j, 15, 11, 13, 14);
    sl_edges_forget(j->edges, SL_EDGE_LOST_BEFORE_WINDOW);
    sl_edges_begin(j->edges, 15 * US);
    uint64_t last = job_kernel(j, 14, 20, 25, 28);

    j->correlation = 1;
    job_ran(j, 14, 30, 60);
    j->correlation = last;
    uint64_t source = job_kernel(j, 13, 42, 45, 80);

    job_record(j, 13, 5, 1, 45);
    job_wait_event(j, 14, 5, 1, 47);
    uint64_t after = job_kernel(j, 14, 50, 81, 90);

    job_wait_event(j, 14, 5, 1, 53);
    uint64_t next = job_kernel(j, 14, 55, 91, 95);

    sl_edges_delivered(j->edges, 200 * US);
    assert_int_equal(job_edge(j, source, after)->basis, SL_BASIS_INFERRED);
    assert_int_equal(job_edge(j, source, next)->basis, SL_BASIS_EXACT);
    job_end(j);
}

/* Its operation was enqueued before all that is known: nothing came between. */
static void one_that_was_enqueued_before_changes_nothing(void **state)
{
    struct job *j = job_begin((struct sl_edges_options){.online = 1});
    (void)state;
    j->correlation = 1;
    job_kernel(j, 15, 11, 13, 14);
    sl_edges_forget(j->edges, SL_EDGE_LOST_BEFORE_WINDOW);
    sl_edges_begin(j->edges, 15 * US);
    uint64_t sync = job_device_sync(j, 16, 62);

    j->correlation = 1;
    job_ran(j, 14, 30, 60);
    j->correlation = sync;
    uint64_t source = job_kernel(j, 13, 64, 66, 90);

    job_record(j, 13, 5, 1, 67);
    job_wait_event(j, 14, 5, 1, 70);
    uint64_t after = job_kernel(j, 14, 72, 91, 95);
    uint64_t whole = job_device_sync(j, 75, 99);

    sl_edges_flush(j->edges);
    assert_int_equal(job_edge(j, source, after)->basis, SL_BASIS_EXACT);
    assert_int_equal(job_edge(j, after, whole)->basis, SL_BASIS_EXACT);
    job_end(j);
}

/* The same of one that is forgotten with all that was lost, and of one that came before that. */
static void a_call_that_is_given_up_may_be_last(void **state)
{
    (void)state;
    for (int late = 0; late < 2; late++) {
        struct job *j = job_begin((struct sl_edges_options){.online = 1});

        j->thread = 101;
        j->keep = late;
        job_call(j, MEMCPY, 10, 40);
        j->keep = 0;
        j->thread = 100;
        job_kernel(j, 15, 11, 13, 14);
        sl_edges_forget(j->edges, SL_EDGE_LOST_GAVE_UP);
        job_kernel(j, 14, 20, 25, 28);
        if (late)
            job_tell(j, &j->kept[0]);
        uint64_t source = job_kernel(j, 13, 42, 45, 60);

        job_record(j, 13, 5, 1, 45);
        job_wait_event(j, 14, 5, 1, 47);
        uint64_t after = job_kernel(j, 14, 50, 80, 90);

        sl_edges_flush(j->edges);
        assert_int_equal(job_edge(j, source, after)->basis, SL_BASIS_INFERRED);
        job_end(j);
    }
}

/* One that only waits puts nothing on any stream. */
static void a_wait_on_its_way_when_recording_begins_changes_nothing(void **state)
{
    uint64_t source;
    struct job *j = begin_during_a_call(DEVICE_SYNC, &source);
    (void)state;
    job_tell(j, &j->kept[0]);
    uint64_t after = job_kernel(j, 14, 50, 80, 90);

    sl_edges_flush(j->edges);
    assert_int_equal(job_edge(j, source, after)->basis, SL_BASIS_EXACT);
    assert_int_equal(job_edge(j, source, after)->wait_ns, 8 * US);
    assert_int_equal(job_lost(j), 0);
    job_end(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(before_the_window_nothing_is_claimed),
        cmocka_unit_test(a_foreign_file_has_no_lead_in),
        cmocka_unit_test(a_wait_for_the_context_is_marked_where_work_may_be_unseen),
        cmocka_unit_test(an_operation_is_marked_where_its_stream_may_hold_unseen_work),
        cmocka_unit_test(what_was_not_seen_is_over_for_later_waits_alone),
        cmocka_unit_test(an_unknown_event_holds_up_all_that_wait_at_once),
        cmocka_unit_test(a_call_that_is_on_its_way_when_recording_begins_may_be_last),
        cmocka_unit_test(a_wait_behind_a_call_on_its_way_is_left_out),
        cmocka_unit_test(the_operation_of_a_call_on_its_way_is_not_overlooked),
        cmocka_unit_test(one_that_was_enqueued_before_changes_nothing),
        cmocka_unit_test(a_call_that_is_given_up_may_be_last),
        cmocka_unit_test(a_wait_on_its_way_when_recording_begins_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
