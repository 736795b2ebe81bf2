/*
 * wait_test.c - which operations a call waited for, between threads too, and the numbers.
 *
 * Every test says the whole list of edges: a false one fails it as much as a missing one.
 */
#include "sync/job.h"

static void stream_sync_waits_for_its_tail_alone(void **state)
{
    struct job *j = begin();
    (void)state;
    uint64_t first = job_kernel(j, 13, 10, 15, 40);
    uint64_t second = job_kernel(j, 13, 13, 40, 90);
    job_kernel(j, 14, 16, 20, 500);
    uint64_t sync = job_stream_sync(j, 13, 20, 95);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 1);
    assert_null(job_edge(j, first, sync));
    assert_wait(job_edge(j, second, sync), SL_EDGE_STREAM_SYNC, 70, 5, 1);
    assert_int_equal(job_edge(j, second, sync)->dst_thread, 100);
    assert_int_equal(job_lost(j), 0);
    job_end(j);
}

static void device_sync_is_released_by_what_ends_last(void **state)
{
    struct job *j = begin();
    (void)state;
    uint64_t a = job_kernel(j, 13, 10, 15, 60);
    uint64_t b = job_kernel(j, 14, 13, 20, 80);
    uint64_t c = job_kernel(j, 15, 16, 18, 19);
    uint64_t sync = job_device_sync(j, 20, 86);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 3);
    assert_int_equal(j->calls, 1);
    assert_wait(job_edge(j, a, sync), SL_EDGE_DEVICE_SYNC, 40, 26, 0);
    assert_wait(job_edge(j, b, sync), SL_EDGE_DEVICE_SYNC, 60, 6, 1);
    assert_wait(job_edge(j, c, sync), SL_EDGE_DEVICE_SYNC, 0, 66, 0);
    job_end(j);
}

static void a_wait_names_the_record_it_was_for(void **state)
{
    struct job *j = begin();
    (void)state;
    uint64_t a = job_kernel(j, 13, 10, 15, 60);

    job_record(j, 13, 1, 1001, 12);
    uint64_t b = job_kernel(j, 13, 14, 60, 100);

    job_record(j, 13, 1, 1002, 17);
    job_kernel(j, 13, 19, 100, 300);
    uint64_t old = job_event_sync(j, 1, 1001, 20, 65);
    uint64_t last = job_event_sync(j, 1, 1002, 66, 106);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 2);
    assert_wait(job_edge(j, a, old), SL_EDGE_EVENT_SYNC, 40, 5, 1);
    assert_wait(job_edge(j, b, last), SL_EDGE_EVENT_SYNC, 34, 6, 1);
    job_end(j);
}

static void without_sync_ids_the_last_record_before_counts(void **state)
{
    struct job *j = begin();
    (void)state;
    uint64_t a = job_kernel(j, 13, 10, 15, 60);

    job_record(j, 13, 1, 0, 12);
    uint64_t sync = job_event_sync(j, 1, 0, 20, 65);

    job_kernel(j, 13, 70, 75, 90);
    job_record(j, 13, 1, 0, 73);
    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 1);
    assert_wait(job_edge(j, a, sync), SL_EDGE_EVENT_SYNC, 40, 5, 1);
    job_end(j);
}

/* Since when the operation could have begun is not known: the one before it has no time. */
static void behind_an_operation_without_a_time_nothing_is_said(void **state)
{
    struct job *j = begin();
    (void)state;
    job_kernel(j, 13, 10, 15, 60);
    job_record(j, 13, 1, 7, 12);
    job_kernel(j, 14, 14, 0, 0);
    job_wait_event(j, 14, 1, 7, 16);
    job_kernel(j, 14, 18, 60, 70);
    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 0);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_GAVE_UP), 1);
    job_end(j);
}

/* Nor where another thread's launch overlapped that of the one without a time: which of them is the
 * one before it, nobody knows. */
static void beside_an_operation_without_a_time_nothing_is_said(void **state)
{
    struct job *j = begin();
    (void)state;
    job_kernel(j, 13, 10, 15, 60);
    job_record(j, 13, 1, 7, 12);
    job_call(j, LAUNCH, 14, 30);
    job_ran(j, 14, 0, 0);
    j->thread = 200;
    job_kernel(j, 14, 15, 18, 50);
    job_wait_event(j, 14, 1, 7, 31);
    job_kernel(j, 14, 33, 60, 70);
    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 0);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_GAVE_UP), 1);
    job_end(j);
}

static void another_threads_launch_during_the_wait(void **state)
{
    struct job *j = begin();
    (void)state;
    uint64_t before = job_kernel(j, 13, 10, 15, 60);
    uint64_t sync = job_stream_sync(j, 13, 20, 66);

    j->thread = 200;
    /* enqueued meanwhile, still running when the wait returned */
    job_kernel(j, 13, 30, 60, 100);
    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 1);
    assert_wait(job_edge(j, before, sync), SL_EDGE_STREAM_SYNC, 40, 6, 1);
    job_end(j);
}

static void what_truly_overlaps_is_marked(void **state)
{
    struct job *j = begin();
    (void)state;
    job_kernel(j, 13, 10, 15, 40);
    uint64_t sync = job_stream_sync(j, 13, 20, 66);

    j->thread = 200;
    uint64_t meanwhile = job_kernel(j, 13, 30, 40, 60);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 1);
    assert_int_equal(job_edge(j, meanwhile, sync)->basis, SL_BASIS_OVERLAPPING);
    job_end(j);
}

/* What another thread put the stream behind meanwhile had ended before: whether the wait was for it
 * too, goes by which came first. */
static void what_overlaps_by_an_event_is_marked(void **state)
{
    struct job *j = begin();
    (void)state;
    uint64_t over = job_kernel(j, 14, 2, 4, 8);
    job_record(j, 14, 5, 77, 5);
    uint64_t before = job_kernel(j, 13, 10, 15, 60);
    uint64_t sync = job_stream_sync(j, 13, 20, 66);

    j->thread = 200;
    job_wait_event(j, 13, 5, 77, 30);

    sl_edges_flush(j->edges);
    assert_wait(job_edge(j, before, sync), SL_EDGE_STREAM_SYNC, 40, 6, 1);
    assert_int_equal(job_edge(j, before, sync)->basis, SL_BASIS_EXACT);
    assert_int_equal(job_edge(j, over, sync)->basis, SL_BASIS_OVERLAPPING);
    job_end(j);
}

static void a_long_launch_of_another_thread_is_looked_behind(void **state)
{
    struct job *j = begin();
    (void)state;
    uint64_t before = job_kernel(j, 13, 10, 15, 60);

    j->thread = 200;
    job_call(j, LAUNCH, 18, 70); /* begins before the wait, ends after it */
    job_ran(j, 13, 65, 90);
    j->thread = 100;
    uint64_t sync = job_stream_sync(j, 13, 20, 64);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 1);
    assert_wait(job_edge(j, before, sync), SL_EDGE_STREAM_SYNC, 40, 4, 1);
    job_end(j);
}

static void gpu_order_decides_between_launches_that_overlap(void **state)
{
    struct job *j = begin();
    (void)state;
    job_call(j, LAUNCH, 10, 20);
    job_ran(j, 13, 40, 80);
    uint64_t last = j->correlation;

    j->thread = 200;
    job_call(j, LAUNCH, 12, 15);
    job_ran(j, 13, 22, 40);
    uint64_t sync = job_stream_sync(j, 13, 30, 85);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 1);
    assert_wait(job_edge(j, last, sync), SL_EDGE_STREAM_SYNC, 50, 5, 1);
    job_end(j);
}

static void online_an_end_is_told_to_a_thread_once(void **state)
{
    struct job *j = job_begin((struct sl_edges_options){.online = 1});
    (void)state;
    uint64_t kernel = job_kernel(j, 13, 10, 15, 60);
    uint64_t first = job_device_sync(j, 20, 66);

    job_device_sync(j, 70, 72);
    job_stream_sync(j, 13, 73, 74);
    j->thread = 200;
    uint64_t other = job_stream_sync(j, 13, 80, 82);

    job_stream_sync(j, 13, 83, 84);
    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 2);
    assert_wait(job_edge(j, kernel, first), SL_EDGE_DEVICE_SYNC, 40, 6, 1);
    assert_wait(job_edge(j, kernel, other), SL_EDGE_STREAM_SYNC, 0, 2, 0);
    job_end(j);
}

/* A stream may wait for an event of another context. */
static void a_contexts_wait_covers_other_contexts_work_too(void **state)
{
    struct job *j = job_begin((struct sl_edges_options){.online = 1});
    struct sl_event ev = {.kind = SL_EV_KERNEL, .context = 2, .stream = 13};
    (void)state;

    ev.correlation = job_call(j, LAUNCH, 10, 12);
    ev.start_ns = 15 * US;
    ev.end_ns = 60 * US;
    job_tell(j, &ev);
    struct sl_event record = {.kind = SL_EV_CUDA_EVENT, .context = 2, .stream = 13};

    record.correlation = job_call(j, EVENT_RECORD, 13, 14);
    record.u.sync.event_sync_id = 1;
    job_tell(j, &record);
    job_wait_event(j, 13, 5, 1, 15);
    uint64_t whole = job_device_sync(j, 20, 66); /* of context 1 */

    job_call(j, EVENT_SYNC, 70, 72);
    job_synced(j, SL_SYNC_EVENT, SL_STREAM_NONE, 5, 1, 70, 72);
    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 1);
    assert_wait(job_edge(j, ev.correlation, whole), SL_EDGE_DEVICE_SYNC, 40, 6, 1);
    job_end(j);
}

/* However many threads wait at once, what another launched meanwhile is looked for. */
static void many_threads_wait_at_once(void **state)
{
    enum {
        THREADS = 1000
    };
    struct job *j = begin();
    (void)state;
    job_kernel(j, 13, 10, 12, 100);
    uint64_t first = j->correlation + 1;

    for (uint32_t i = 0; i < THREADS; i++) {
        j->thread = 1000 + i;
        job_stream_sync(j, 13, 20, 205);
    }
    j->thread = 200;
    uint64_t launched = job_kernel(j, 13, 50, 110, 200);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, THREADS);
    for (uint64_t sync = first; sync < first + THREADS; sync++) {
        const struct sl_edge *edge = job_edge(j, launched, sync);

        assert_non_null(edge);
        assert_int_equal(edge->basis, SL_BASIS_OVERLAPPING);
    }
    assert_int_equal(job_lost(j), 0);
    job_end(j);
}

/* A stream is made to wait for a kernel, then for an older one of the same stream; another thread's
 * wait for something else goes on meanwhile, and has nothing to do with it. */
static void an_older_operation_hides_no_later_one(void **state)
{
    struct job *j = begin();
    (void)state;
    uint64_t other = job_kernel(j, 30, 1, 3, 40);
    job_kernel(j, 13, 4, 6, 20);
    job_record(j, 13, 5, 1, 7);
    uint64_t later = job_kernel(j, 13, 10, 20, 500);

    job_record(j, 13, 6, 2, 13);
    uint64_t third = job_kernel(j, 14, 15, 17, 25);

    job_record(j, 14, 7, 3, 18);
    job_wait_event(j, 20, 6, 2, 20);
    j->thread = 200;
    uint64_t aside = job_stream_sync(j, 30, 22, 44);

    j->thread = 100;
    job_wait_event(j, 20, 5, 1, 30);
    job_wait_event(j, 20, 7, 3, 60);
    uint64_t sync = job_stream_sync(j, 20, 70, 505);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 3);
    assert_wait(job_edge(j, other, aside), SL_EDGE_STREAM_SYNC, 18, 4, 1);
    assert_wait(job_edge(j, later, sync), SL_EDGE_STREAM_SYNC, 430, 5, 1);
    assert_wait(job_edge(j, third, sync), SL_EDGE_STREAM_SYNC, 0, 435, 0);
    assert_int_equal(job_lost(j), 0);
    job_end(j);
}

/* What a stream is made to wait for while another thread waits for it: the last that is over then
 * stands for the others, and one that is not over hides none. */
static void ties_during_a_wait_hide_none_that_it_was_for(void **state)
{
    struct job *j = begin();
    (void)state;
    job_kernel(j, 13, 5, 10, 60);
    job_record(j, 13, 5, 1, 8);
    job_wait_event(j, 20, 5, 1, 10);
    j->thread = 200;
    uint64_t sync = job_stream_sync(j, 20, 20, 205);

    j->thread = 100;
    uint64_t second = job_kernel(j, 13, 30, 60, 200);

    job_record(j, 13, 6, 2, 34);
    job_wait_event(j, 20, 6, 2, 36);
    job_kernel(j, 13, 40, 200, 400);
    job_record(j, 13, 7, 3, 44);
    job_wait_event(j, 20, 7, 3, 46);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 1);
    assert_non_null(job_edge(j, second, sync));
    assert_int_equal(job_edge(j, second, sync)->basis, SL_BASIS_OVERLAPPING);
    assert_int_equal(job_edge(j, second, sync)->wait_ns, 180 * US);
    job_end(j);
}

/* Another thread's launch overlaps the call that makes its stream wait for a later kernel, and the
 * GPU ran it before that one was over: it came before, behind an older kernel, which is forgotten.
 */
static void what_an_overlapping_tie_took_the_place_of_is_counted(void **state)
{
    (void)state;
    for (int is_wait = 0; is_wait < 2; is_wait++) {
        struct job *j = begin();

        job_kernel(j, 13, 1, 3, 20);
        job_record(j, 13, 5, 1, 3);
        job_wait_event(j, 20, 5, 1, 5);
        job_kernel(j, 13, 7, 20, 100);
        job_record(j, 13, 6, 2, 10);
        job_call(j, STREAM_WAIT, 12, 40);
        job_synced(j, SL_SYNC_STREAM_WAIT, 20, 6, 2, 12, 40);
        j->thread = 200;
        if (is_wait) {
            job_stream_sync(j, 20, 14, 25);
        } else {
            job_call(j, LAUNCH, 14, 18);
            job_ran(j, 20, 25, 28);
        }
        sl_edges_flush(j->edges);
        assert_int_equal(j->count, 0);
        assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_AMBIGUOUS), 1);
        assert_int_equal(job_lost(j), 1);
        job_end(j);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stream_sync_waits_for_its_tail_alone),
        cmocka_unit_test(device_sync_is_released_by_what_ends_last),
        cmocka_unit_test(a_wait_names_the_record_it_was_for),
        cmocka_unit_test(without_sync_ids_the_last_record_before_counts),
        cmocka_unit_test(behind_an_operation_without_a_time_nothing_is_said),
        cmocka_unit_test(beside_an_operation_without_a_time_nothing_is_said),
        cmocka_unit_test(another_threads_launch_during_the_wait),
        cmocka_unit_test(what_truly_overlaps_is_marked),
        cmocka_unit_test(what_overlaps_by_an_event_is_marked),
        cmocka_unit_test(a_long_launch_of_another_thread_is_looked_behind),
        cmocka_unit_test(gpu_order_decides_between_launches_that_overlap),
        cmocka_unit_test(online_an_end_is_told_to_a_thread_once),
        cmocka_unit_test(a_contexts_wait_covers_other_contexts_work_too),
        cmocka_unit_test(many_threads_wait_at_once),
        cmocka_unit_test(an_older_operation_hides_no_later_one),
        cmocka_unit_test(what_an_overlapping_tie_took_the_place_of_is_counted),
        cmocka_unit_test(ties_during_a_wait_hide_none_that_it_was_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
