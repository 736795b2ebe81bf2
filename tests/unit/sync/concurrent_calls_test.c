/*
 * concurrent_calls_test.c - calls of two threads that touch one stream at the same time.
 *
 * Which came first no record says. What a record of an event stood for, and what a launch came
 * behind, is told as one of the orders has it, and marked; what neither order has is not told.
 */
#include "sync/job.h"
#include "sync/stream_state.h"

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

/* The record of the event that it waits for is as young: what it stands for is not known. */
static void a_wait_for_an_event_of_that_time_is_counted(void **state)
{
    struct job *j = begin();
    (void)state;
    uint64_t source = launch(j, 200, 13, 20, 22, 23, 60);
    uint64_t during = launch(j, 100, 14, 30, 50, 61, 100);

    record(j, 200, 13, 31, 32);
    job_wait_event(j, 14, EVENT, 0, 33);
    sl_edges_flush(j->edges);
    assert_null(job_edge(j, source, during));
    assert_int_equal(j->count, 0);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_AMBIGUOUS), 1);
    assert_int_equal(job_lost(j), 1);
    job_end(j);
}

/* What the event stood for before is no source then. */
static void nor_is_it_for_what_the_event_stood_for_before(void **state)
{
    struct job *j = begin();
    (void)state;
    launch(j, 200, 13, 20, 22, 23, 40);
    record(j, 200, 13, 23, 24);
    launch(j, 200, 15, 25, 27, 28, 60);
    launch(j, 100, 14, 30, 50, 61, 100);
    record(j, 200, 15, 31, 32);
    job_wait_event(j, 14, EVENT, 0, 33);
    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 0);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_AMBIGUOUS), 1);
    job_end(j);
}

/* A launch into a full stream takes as long as what is before it. */
static void a_wait_behind_many_launches_of_that_time_is_found(void **state)
{
    struct job *j = begin();
    (void)state;
    uint64_t source = launch(j, 200, 13, 20, 22, 23, 8000);

    record(j, 200, 13, 23, 24);
    uint64_t during = launch(j, 100, 14, 30, 7000, 8001, 8100);

    for (unsigned i = 0; i < 700; i++)
        launch(j, 200, 15, 40 + 5 * i, 42 + 5 * i, 43 + 5 * i, 45 + 5 * i);
    job_wait_event(j, 14, EVENT, 0, 5000);
    sl_edges_flush(j->edges);
    assert_marked(job_edge(j, source, during));
    assert_int_equal(j->count, 1);
    assert_int_equal(job_lost(j), 0);
    job_end(j);
}

/* Nobody looks behind that many. */
static void behind_too_many_it_is_counted(void **state)
{
    struct job *j = begin();
    (void)state;
    launch(j, 200, 13, 20, 22, 23, 90000);
    record(j, 200, 13, 23, 24);
    launch(j, 100, 14, 30, 70000, 90001, 90100);
    for (unsigned i = 0; i < 5000; i++)
        launch(j, 200, 15, 40 + 5 * i, 42 + 5 * i, 43 + 5 * i, 45 + 5 * i);
    job_wait_event(j, 14, EVENT, 0, 50000);
    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 0);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_AMBIGUOUS), 1);
    assert_int_equal(job_lost(j), 1);
    job_end(j);
}

/* A blocking stream's operations come behind what the legacy default stream was made to wait for.
 */
static void a_wait_of_the_legacy_stream_is_the_launchs_too(void **state)
{
    struct job *j = begin();
    (void)state;
    job_stream(j, SL_STREAM_LEGACY, SL_STREAM_FLAG_LEGACY);
    job_stream(j, 14, 1);
    job_stream(j, 15, SL_STREAM_FLAG_NON_BLOCKING);
    job_stream(j, 13, SL_STREAM_FLAG_NON_BLOCKING);
    uint64_t source = launch(j, 200, 13, 20, 22, 23, 60);

    record(j, 200, 13, 23, 24);
    uint64_t during = launch(j, 100, 14, 30, 50, 61, 100);

    j->thread = 200;
    job_wait_event(j, SL_STREAM_LEGACY, EVENT, 0, 31);
    uint64_t apart = launch(j, 200, 15, 33, 52, 61, 100);

    sl_edges_flush(j->edges);
    assert_marked(job_edge(j, source, during));
    assert_int_equal(job_edge(j, source, during)->kind, SL_EDGE_LEGACY_DEFAULT);
    assert_null(job_edge(j, source, apart));
    assert_int_equal(j->count, 1);
    assert_int_equal(job_lost(j), 0);
    job_end(j);
}

static uint64_t lost_before_window(int is_made_to_wait)
{
    struct job *j = job_begin((struct sl_edges_options){.recording_since_ns = 5 * US});
    uint64_t lost;

    launch(j, 100, 14, 10, 12, 13, 14);
    launch(j, 100, 14, 30, 50, 61, 100);
    j->thread = 200;
    if (is_made_to_wait)
        job_wait_event(j, 14, EVENT, 0, 31);
    sl_edges_flush(j->edges);
    lost = sl_edges_lost(j->edges, SL_EDGE_LOST_BEFORE_WINDOW);
    job_end(j);
    return lost;
}

static void a_wait_for_what_was_not_seen_is_counted(void **state)
{
    (void)state;
    assert_int_equal(lost_before_window(0), 0);
    assert_int_equal(lost_before_window(1), 1);
}

/* It ordered nothing. */
static void a_wait_that_failed_is_none(void **state)
{
    struct job *j = begin();
    (void)state;
    launch(j, 200, 13, 20, 22, 23, 60);
    record(j, 200, 13, 23, 24);
    launch(j, 100, 14, 30, 50, 61, 100);
    j->thread = 200;
    struct sl_event call = {.kind = SL_EV_RUNTIME,
                            .correlation = ++j->correlation,
                            .start_ns = 31 * US,
                            .end_ns = 32 * US,
                            .thread = 200,
                            .stream = SL_STREAM_NONE};

    call.u.call.cbid = STREAM_WAIT;
    call.u.call.result = 400;
    job_tell(j, &call);
    job_synced(j, SL_SYNC_STREAM_WAIT, 14, EVENT, 0, 31, 32);
    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 0);
    assert_int_equal(job_lost(j), 0);
    job_end(j);
}

/* Nobody was made to wait: nothing is left out, however many launches there were. */
static void without_waits_of_streams_nothing_is_counted(void **state)
{
    struct job *j = begin();
    (void)state;
    launch(j, 200, 13, 20, 22, 23, 25);
    record(j, 200, 13, 23, 24);
    j->thread = 200;
    job_wait_event(j, 14, EVENT, 0, 25);
    launch(j, 100, 14, 30, 70000, 90001, 90100);
    for (unsigned i = 0; i < 5000; i++)
        launch(j, 200, 15, 40 + 5 * i, 42 + 5 * i, 43 + 5 * i, 45 + 5 * i);
    sl_edges_flush(j->edges);
    assert_int_equal(job_lost(j), 0);
    job_end(j);
}

/* The event stands for something that was not seen. */
static void a_wait_for_a_record_that_is_not_whole_is_counted(void **state)
{
    uint64_t lost[2];
    (void)state;

    for (int is_made_to_wait = 0; is_made_to_wait < 2; is_made_to_wait++) {
        struct job *j = job_begin((struct sl_edges_options){.recording_since_ns = 5 * US});

        record(j, 200, 13, 6, 7); /* on a stream of which nothing was seen */
        launch(j, 100, 14, 10, 12, 13, 14);
        launch(j, 100, 14, 30, 50, 61, 100);
        j->thread = 200;
        if (is_made_to_wait)
            job_wait_event(j, 14, EVENT, 0, 31);
        sl_edges_flush(j->edges);
        lost[is_made_to_wait] = sl_edges_lost(j->edges, SL_EDGE_LOST_BEFORE_WINDOW);
        job_end(j);
    }
    assert_int_equal(lost[1], lost[0] + 1);
}

/* The wait before the synchronize is certain, though the stream is made to wait for more of the
 * same stream's while that goes on. */
static void what_a_synchronize_waits_for_stays_known(void **state)
{
    struct job *j = begin();
    (void)state;
    uint64_t own = launch(j, 100, 13, 5, 6, 6, 8);
    uint64_t first = launch(j, 100, 14, 10, 12, 13, 100);

    record(j, 100, 14, 14, 15);
    job_wait_event(j, 13, EVENT, 0, 16);
    uint64_t sync = job_stream_sync(j, 13, 30, 106);

    launch(j, 200, 14, 40, 42, 101, 200);
    record(j, 200, 14, 43, 44);
    job_wait_event(j, 13, EVENT, 0, 46);
    uint64_t next = launch(j, 200, 13, 48, 50, 201, 210);

    sl_edges_flush(j->edges);
    assert_wait(job_edge(j, first, sync), SL_EDGE_STREAM_SYNC, 70, 6, 1);
    assert_wait(job_edge(j, own, sync), SL_EDGE_STREAM_SYNC, 0, 76, 0);
    assert_null(job_edge(j, first, next)); /* the later one stands for its stream */
    assert_int_equal(j->count, 3);
    assert_int_equal(job_lost(j), 0);
    job_end(j);
}

/* One thread's order is certain: its launch, which the GPU ran first, is behind its wait. What the
 * other launch waited for, and since when, is known by that too. */
static void a_launch_behind_the_wait_has_it(void **state)
{
    struct job *j = begin();
    (void)state;
    uint64_t source = launch(j, 200, 13, 10, 11, 12, 100);

    record(j, 200, 13, 15, 16);
    uint64_t late = launch(j, 100, 14, 20, 60, 150, 160);

    j->thread = 200;
    job_wait_event(j, 14, EVENT, 0, 30);
    uint64_t behind = launch(j, 200, 14, 40, 45, 101, 120);

    sl_edges_flush(j->edges);
    assert_non_null(job_edge(j, source, behind));
    assert_int_equal(job_edge(j, source, behind)->wait_ns, 55 * US);
    assert_int_equal(job_edge(j, source, behind)->released, 1);
    assert_marked(job_edge(j, source, late));
    assert_int_equal(job_edge(j, source, late)->wait_ns, 0);
    assert_int_equal(job_edge(j, source, late)->wake_ns, 30 * US);
    assert_int_equal(job_edge(j, source, late)->released, 0);
    assert_int_equal(j->count, 2);
    assert_int_equal(job_lost(j), 0);
    job_end(j);
}

/* The wait entered first, but the other thread's launch did not wait: that got there before it. */
static void a_wait_that_took_effect_later_is_the_next_launchs(void **state)
{
    struct job *j = begin();
    (void)state;
    uint64_t source = launch(j, 100, 13, 10, 11, 12, 100);

    record(j, 100, 13, 15, 16);
    job_call(j, STREAM_WAIT, 20, 60);
    job_synced(j, SL_SYNC_STREAM_WAIT, 14, EVENT, 0, 20, 60);
    launch(j, 200, 14, 30, 35, 36, 50);
    uint64_t next = launch(j, 100, 14, 61, 62, 101, 120);

    sl_edges_flush(j->edges);
    assert_wait(job_edge(j, source, next), SL_EDGE_STREAM_WAIT, 38, 1, 1);
    assert_int_equal(j->count, 1);
    assert_int_equal(job_lost(j), 0);
    job_end(j);
}

/* The event is recorded during the launch, too: which of both came last is not known. */
static void what_may_not_be_whole_is_not_exact(void **state)
{
    struct job *j = begin();
    (void)state;
    uint64_t known = job_kernel(j, 13, 1, 3, 60);

    job_record(j, 13, 5, 1, 4);
    job_wait_event(j, 20, 5, 1, 6);
    job_kernel(j, 14, 8, 10, 200);
    uint64_t op = job_call(j, LAUNCH, 20, 40);
    uint64_t last;

    j->thread = 200;
    job_record(j, 14, 6, 2, 22);
    job_wait_event(j, 20, 6, 2, 24);
    last = j->correlation;
    j->thread = 100;
    j->correlation = op;
    job_ran(j, 20, 205, 210);
    j->correlation = last;

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 1);
    assert_non_null(job_edge(j, known, op));
    assert_int_equal(job_edge(j, known, op)->basis, SL_BASIS_OVERLAPPING);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_AMBIGUOUS), 1);
    assert_int_equal(job_lost(j), 1);
    job_end(j);
}

/* More than are looked at: nothing tells that one overlaps another. */
static void without_rows_of_calls_nothing_overlaps(void **state)
{
    struct job *j = begin();
    (void)state;

    for (unsigned i = 0; i < 20000; i++) {
        struct sl_event ev = {.kind = SL_EV_KERNEL,
                              .context = 1,
                              .stream = 13,
                              .correlation = ++j->correlation,
                              .start_ns = (10 + 10 * i) * US,
                              .end_ns = (15 + 10 * i) * US};

        job_tell(j, &ev);
    }
    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 0);
    assert_int_equal(job_lost(j), 0);
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
        cmocka_unit_test(a_wait_for_an_event_of_that_time_is_counted),
        cmocka_unit_test(nor_is_it_for_what_the_event_stood_for_before),
        cmocka_unit_test(a_wait_behind_many_launches_of_that_time_is_found),
        cmocka_unit_test(behind_too_many_it_is_counted),
        cmocka_unit_test(a_wait_of_the_legacy_stream_is_the_launchs_too),
        cmocka_unit_test(a_wait_for_what_was_not_seen_is_counted),
        cmocka_unit_test(a_wait_that_failed_is_none),
        cmocka_unit_test(a_launch_behind_the_wait_has_it),
        cmocka_unit_test(without_waits_of_streams_nothing_is_counted),
        cmocka_unit_test(a_wait_for_a_record_that_is_not_whole_is_counted),
        cmocka_unit_test(what_a_synchronize_waits_for_stays_known),
        cmocka_unit_test(a_wait_that_took_effect_later_is_the_next_launchs),
        cmocka_unit_test(what_may_not_be_whole_is_not_exact),
        cmocka_unit_test(without_rows_of_calls_nothing_overlaps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
