/*
 * apply_event_test.c - what a wait for an event is for: which of its records, if that is known.
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
    job_wait_event(j, 13, 5, 1, 15);
    uint64_t next = job_kernel(j, 13, 17, 92, 95);
    uint64_t sync = job_stream_sync(j, 13, 20, 99);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 2);
    assert_wait(job_edge(j, side, next), SL_EDGE_STREAM_WAIT, 71, 2, 1);
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

/* The same of one that had to make room for others'. */
static void a_wait_whose_record_made_room_is_counted(void **state)
{
    struct job *j = job_begin((struct sl_edges_options){.cap_bytes = 1 << 20});
    (void)state;
    job_kernel(j, 13, 2, 4, 20000);
    for (uint32_t event = 1; event <= 2000; event++)
        job_record(j, 13, event, 0, 5 + 2 * event);
    job_event_sync(j, 1, 0, 5000, 20004);
    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 0);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_NO_RECORD), 1);
    assert_int_equal(job_lost(j), 1);
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

/* A record of an event, by a call that takes its time. */
static uint64_t slow_record(struct job *j, uint32_t thread, uint32_t stream, uint64_t sync_id,
                            unsigned from, unsigned to)
{
    struct sl_event ev = {.kind = SL_EV_CUDA_EVENT, .context = 1, .stream = stream};

    j->thread = thread;
    ev.correlation = job_call(j, EVENT_RECORD, from, to);
    ev.u.sync.event_id = 5;
    ev.u.sync.event_sync_id = sync_id;
    job_tell(j, &ev);
    return ev.correlation;
}

static enum sl_edge_basis basis_of(const struct job *j, uint64_t source, uint64_t destination)
{
    const struct sl_edge *edge = job_edge(j, source, destination);

    assert_non_null(edge);
    return (enum sl_edge_basis)edge->basis;
}

/* Of a wait and of an operation behind one, on that basis, and no more. */
static void end_with_two(struct job *j, uint64_t source, uint64_t sync, uint64_t behind,
                         enum sl_edge_basis basis)
{
    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 2);
    assert_int_equal(basis_of(j, source, behind), basis);
    assert_int_equal(basis_of(j, source, sync), basis);
    assert_int_equal(job_lost(j), 0);
    job_end(j);
}

/* Whether the record or the wait came first, nobody knows, unless the wait names its record. */
static void an_event_recorded_during_the_wait_is_marked(void **state)
{
    (void)state;
    for (uint64_t sync_id = 0; sync_id <= 77; sync_id += 77) {
        struct job *j = begin();
        uint64_t source = job_kernel(j, 13, 10, 15, 60);

        slow_record(j, 100, 13, sync_id, 20, 30);
        j->thread = 200;
        job_wait_event(j, 14, 5, sync_id, 22);
        uint64_t sync = job_event_sync(j, 5, sync_id, 25, 66);
        uint64_t behind = job_kernel(j, 14, 70, 75, 80);
        end_with_two(j, source, sync, behind, sync_id ? SL_BASIS_EXACT : SL_BASIS_OVERLAPPING);
    }
}

/* A wait that entered first may have found what was recorded after that. */
static void an_event_recorded_anew_during_the_wait_is_marked(void **state)
{
    (void)state;
    for (uint64_t sync_id = 0; sync_id <= 77; sync_id += 77) {
        struct job *j = begin();
        uint64_t source = job_kernel(j, 13, 10, 15, 60);

        slow_record(j, 100, 13, sync_id, 13, 14);
        j->thread = 200;
        job_call(j, STREAM_WAIT, 20, 30);
        job_synced(j, SL_SYNC_STREAM_WAIT, 14, 5, sync_id, 20, 30);
        j->thread = 300;
        uint64_t sync = job_event_sync(j, 5, sync_id, 22, 66);
        slow_record(j, 100, 20, sync_id ? sync_id + 1 : 0, 25, 26);
        uint64_t behind = job_kernel(j, 14, 70, 75, 80);
        end_with_two(j, source, sync, behind, sync_id ? SL_BASIS_EXACT : SL_BASIS_OVERLAPPING);
    }
}

/* Of what other threads do during a wait only that event's records tell. */
static void what_else_happens_during_the_wait_leaves_it_exact(void **state)
{
    struct job *j = begin();
    (void)state;
    uint64_t source = job_kernel(j, 13, 10, 15, 60);

    job_record(j, 13, 5, 0, 13);
    j->thread = 200;
    uint64_t sync = job_event_sync(j, 5, 0, 20, 66);

    j->thread = 100;
    job_record(j, 20, 6, 0, 22);
    for (unsigned i = 0; i < 3000; i++) {
        job_call(j, LAUNCH, 24, 25);
        job_ran(j, 20, 30 + 10 * i, 40 + 10 * i);
    }
    slow_record(j, 100, 20, 0, 67, 68);
    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 1);
    assert_wait(job_edge(j, source, sync), SL_EDGE_EVENT_SYNC, 40, 6, 1);
    job_end(j);
}

/* More than anybody looks at. */
static void a_wait_during_very_many_calls_is_marked(void **state)
{
    struct job *j = begin();
    (void)state;
    uint64_t source = job_kernel(j, 13, 10, 15, 60);

    job_record(j, 13, 5, 0, 13);
    j->thread = 200;
    uint64_t sync = job_event_sync(j, 5, 0, 20, 66);

    j->thread = 100;
    for (unsigned i = 0; i < 1 << 16; i++)
        job_call(j, STREAM_QUERY, 24, 25);
    slow_record(j, 100, 20, 0, 30, 31);
    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 1);
    assert_int_equal(basis_of(j, source, sync), SL_BASIS_OVERLAPPING);
    job_end(j);
}

/* The last of the three may have been any: the first had not returned when the last did. */
static void an_event_that_two_threads_recorded_at_once_is_marked(void **state)
{
    struct job *j = begin();
    (void)state;
    job_kernel(j, 13, 2, 4, 50);
    uint64_t source = job_kernel(j, 14, 5, 7, 60);

    slow_record(j, 100, 13, 0, 10, 30);
    slow_record(j, 200, 13, 0, 12, 14);
    slow_record(j, 200, 14, 0, 16, 18);
    uint64_t unsure = job_event_sync(j, 5, 0, 40, 66);

    slow_record(j, 200, 14, 0, 70, 71);
    uint64_t known = job_event_sync(j, 5, 0, 72, 74);

    sl_edges_flush(j->edges);
    assert_int_equal(basis_of(j, source, unsure), SL_BASIS_OVERLAPPING);
    assert_int_equal(basis_of(j, source, known), SL_BASIS_EXACT);
    assert_int_equal(j->count, 2);
    job_end(j);
}

/* A wait whose records come late, when a record from during it was told. */
static void a_wait_that_comes_late_is_marked(void **state)
{
    struct job *j = begin();
    (void)state;
    uint64_t source = job_kernel(j, 13, 2, 4, 35);

    job_record(j, 13, 5, 0, 5);
    j->correlation++; /* the wait */
    slow_record(j, 200, 14, 0, 20, 21);
    sl_edges_delivered(j->edges, 38 * US);
    j->correlation = 2;
    j->thread = 100;
    uint64_t sync = job_event_sync(j, 5, 0, 10, 40);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 1);
    assert_int_equal(basis_of(j, source, sync), SL_BASIS_OVERLAPPING);
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
        cmocka_unit_test(a_wait_whose_record_made_room_is_counted),
        cmocka_unit_test(of_events_without_a_name_the_first_counts_too),
        cmocka_unit_test(an_event_recorded_during_the_wait_is_marked),
        cmocka_unit_test(an_event_recorded_anew_during_the_wait_is_marked),
        cmocka_unit_test(what_else_happens_during_the_wait_leaves_it_exact),
        cmocka_unit_test(a_wait_during_very_many_calls_is_marked),
        cmocka_unit_test(an_event_that_two_threads_recorded_at_once_is_marked),
        cmocka_unit_test(a_wait_that_comes_late_is_marked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
