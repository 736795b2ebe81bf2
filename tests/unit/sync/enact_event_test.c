/*
 * enact_event_test.c - what a wait for an event is for: which of its records, if that is known.
 *
 * Every test says the whole list of edges: a false one fails it as much as a missing one.
 */
#include "sync/job.h"

static void an_event_never_recorded_orders_nothing(void **state)
{
    struct job *j = begin();
    (void)state;
    job_kernel(j, 13, 10, 15, 60);
    job_event_sync(j, 3, 0, 20, 22);
    job_wait_event(j, 13, 3, 0, 23);
    job_kernel(j, 13, 25, 60, 70);
    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 0);
    assert_int_equal(job_lost(j), 0);
    job_event_sync(j, 3, 77, 80, 82);
    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 0);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_NO_RECORD), 1);
    job_end(j);
}

/* Before CUPTI 12.8 a wait names the event alone. */
static void an_event_of_another_context_is_counted(void **state)
{
    struct job *j = begin();
    (void)state;
    job_kernel(j, 13, 10, 15, 60);
    struct sl_event record = {.kind = SL_EV_CUDA_EVENT, .context = 2, .stream = 13};

    record.correlation = job_call(j, EVENT_RECORD, 13, 14);
    record.u.sync.event_id = 3;
    job_tell(j, &record);
    job_wait_event(j, 13, 3, 0, 15);
    job_kernel(j, 13, 17, 60, 70);
    job_event_sync(j, 3, 0, 20, 22);
    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 0);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_NO_RECORD), 2);
    job_end(j);
}

/* As the tool has it of torch.profiler's files where several contexts have such a stream. */
static void an_event_recorded_nobody_knows_where_is_counted(void **state)
{
    struct job *j =
        job_begin((struct sl_edges_options){.foreign = 1, .recording_since_ns = 5 * US});
    (void)state;
    job_kernel(j, 13, 10, 15, 60);
    struct sl_event record = {.kind = SL_EV_CUDA_EVENT, .context = 1, .stream = SL_STREAM_NONE};

    record.correlation = record.u.sync.event_sync_id = job_call(j, EVENT_RECORD, 13, 14);
    job_tell(j, &record);
    job_wait_event(j, 14, 3, record.correlation, 15);
    job_kernel(j, 14, 17, 60, 70);
    job_event_sync(j, 3, record.correlation, 20, 65);
    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 0);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_AMBIGUOUS), 2);
    assert_int_equal(job_lost(j), 2);
    job_end(j);
}

/* The file has no record that no wait names: what the event was recorded behind last is unknown. */
static void a_file_of_others_may_not_say_which_record_is_meant(void **state)
{
    struct job *j =
        job_begin((struct sl_edges_options){.foreign = 1, .recording_since_ns = 5 * US});
    (void)state;
    job_kernel(j, 13, 10, 15, 60);
    job_record(j, 13, 3, 7, 13);
    job_wait_event(j, 14, 3, 7, 15);
    job_kernel(j, 13, 17, 60, 70);
    job_event_sync(j, 3, 0, 20, 75);
    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 0);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_NO_RECORD), 1);
    assert_int_equal(job_lost(j), 1);
    job_end(j);
}

/* What work.wait() and a synchronize do: nothing is launched on the waiting stream in between. */
static void an_event_waited_for_counts_with_nothing_launched_after(void **state)
{
    struct job *j = begin();
    (void)state;
    uint64_t current = job_kernel(j, 7, 10, 15, 30);
    uint64_t side = job_kernel(j, 20, 13, 20, 90);

    job_record(j, 20, 5, 1, 16);
    job_wait_event(j, 7, 5, 1, 18);
    uint64_t sync = job_stream_sync(j, 7, 20, 97);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 2);
    assert_wait(job_edge(j, current, sync), SL_EDGE_STREAM_SYNC, 10, 67, 0);
    assert_wait(job_edge(j, side, sync), SL_EDGE_STREAM_SYNC, 70, 7, 1);
    job_end(j);
}

static void an_operation_waits_for_the_event_and_hides_it_after(void **state)
{
    struct job *j = begin();
    (void)state;
    uint64_t side = job_kernel(j, 20, 10, 20, 90);

    job_record(j, 20, 5, 1, 13);
    uint64_t wait = job_wait_event(j, 13, 5, 1, 15);
    uint64_t next = job_kernel(j, 13, 17, 92, 95);
    uint64_t sync = job_stream_sync(j, 13, 20, 99);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 2);
    assert_wait(job_edge(j, side, next), SL_EDGE_STREAM_WAIT, 71, 2, 1);
    assert_int_equal(job_edge(j, side, next)->via_correlation, wait);
    assert_int_equal(job_edge(j, side, next)->at_start, 1);
    assert_wait(job_edge(j, next, sync), SL_EDGE_STREAM_SYNC, 75, 4, 1);
    job_end(j);
}

/* Of all streams of a context: which those are, and if it makes no record which event it was,
 * stands nowhere. The record before is not what a wait is for. */
static void what_a_context_recorded_is_counted(void **state)
{
    (void)state;
    for (int named = 0; named < 2; named++) {
        struct job *j = begin();
        struct sl_event ev = {.kind = SL_EV_CUDA_EVENT, .context = 1, .stream = 13};

        ev.u.sync.event_id = 5;
        job_kernel(j, 13, 10, 15, 60);
        job_record(j, 13, 5, 0, 13);
        job_kernel(j, 14, 15, 17, 300);
        ev.correlation = job_call(j, CONTEXT_RECORD, 18, 19);
        if (named)
            job_tell(j, &ev);
        job_event_sync(j, 5, 0, 20, 306);
        job_wait_event(j, 20, 5, 0, 310);
        job_kernel(j, 20, 312, 314, 320);
        uint64_t known = job_kernel(j, 13, 322, 324, 350);

        job_record(j, 13, 5, 0, 325);
        uint64_t sync = job_event_sync(j, 5, 0, 330, 356);

        sl_edges_flush(j->edges);
        assert_int_equal(j->count, 1);
        assert_wait(job_edge(j, known, sync), SL_EDGE_EVENT_SYNC, 20, 6, 1);
        assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_NO_RECORD), 2);
        assert_int_equal(job_lost(j), 2);
        job_end(j);
    }
}

/* Below CUPTI 12.8 the event alone tells, of which two records are kept. */
static void a_wait_whose_record_was_forgotten_is_counted(void **state)
{
    struct job *j = begin();
    (void)state;
    job_kernel(j, 13, 2, 4, 35);
    job_record(j, 13, 5, 0, 5);
    j->correlation++; /* the wait */
    j->thread = 200;
    job_record(j, 13, 5, 0, 20);
    job_record(j, 13, 5, 0, 22);
    sl_edges_delivered(j->edges, 38 * US);
    j->correlation = 2;
    j->thread = 100;
    job_event_sync(j, 5, 0, 10, 40);
    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 0);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_NO_RECORD), 1);
    job_end(j);
}

/* Some event was recorded twice, nobody knows which: before a wait that comes late, and after. */
static void of_events_without_a_name_the_first_counts_too(void **state)
{
    struct job *j = begin();
    (void)state;
    job_kernel(j, 13, 2, 4, 35);
    job_record(j, 13, 5, 1, 5);
    job_call(j, CONTEXT_RECORD, 8, 9);
    j->correlation++; /* the wait */
    j->thread = 200;
    job_call(j, CONTEXT_RECORD, 20, 21);
    sl_edges_delivered(j->edges, 38 * US);
    j->correlation = 3;
    j->thread = 100;
    job_event_sync(j, 5, 1, 10, 40);
    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 0);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_NO_RECORD), 1);
    job_end(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_event_never_recorded_orders_nothing),
        cmocka_unit_test(an_event_of_another_context_is_counted),
        cmocka_unit_test(an_event_recorded_nobody_knows_where_is_counted),
        cmocka_unit_test(a_file_of_others_may_not_say_which_record_is_meant),
        cmocka_unit_test(an_event_waited_for_counts_with_nothing_launched_after),
        cmocka_unit_test(an_operation_waits_for_the_event_and_hides_it_after),
        cmocka_unit_test(what_a_context_recorded_is_counted),
        cmocka_unit_test(a_wait_whose_record_was_forgotten_is_counted),
        cmocka_unit_test(of_events_without_a_name_the_first_counts_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
