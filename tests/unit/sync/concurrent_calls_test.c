/*
 * concurrent_calls_test.c - calls of two threads that touch one stream at the same time.
 *
 * No record says which came first: the call that entered first is taken as the first, and the edges
 * that another order would change are marked.
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

/* Thread 100 launches on stream 14, which waits for `source`. What thread 200 does on 14 or on the
 * legacy default stream meanwhile may have come first. */
static const struct sl_edge *launch_beside(struct job *j, unsigned others, uint32_t waits)
{
    uint64_t source = launch(j, 200, 13, 20, 22, 23, 60), during;

    record(j, 200, 13, 23, 24);
    job_wait_event(j, 14, EVENT, 0, 25);
    launch(j, 200, 16, 27, 28, 29, 40);
    record(j, 200, 16, 28, 29);
    during = launch(j, 100, 14, 30, 70000, 70001, 70100);
    for (unsigned i = 0; i < others; i++)
        launch(j, 200, 15, 40 + 5 * i, 42 + 5 * i, 43 + 5 * i, 45 + 5 * i);
    j->thread = 200;
    if (waits != SL_STREAM_NONE)
        job_wait_event(j, waits, EVENT, 0, 60000);
    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 1);
    assert_int_equal(job_lost(j), 0);
    assert_non_null(job_edge(j, source, during));
    return job_edge(j, source, during);
}

static void a_launch_during_which_its_stream_is_made_to_wait_is_marked(void **state)
{
    static const struct {
        unsigned others;
        uint32_t waits;
        enum sl_edge_basis basis;
    } cases[] = {{0, 14, SL_BASIS_OVERLAPPING},
                 {0, 17, SL_BASIS_EXACT},
                 {0, SL_STREAM_LEGACY, SL_BASIS_OVERLAPPING},
                 {3000, 14, SL_BASIS_OVERLAPPING},
                 {3000, SL_STREAM_NONE, SL_BASIS_EXACT},
                 {5000, SL_STREAM_NONE, SL_BASIS_OVERLAPPING}}; /* nobody looks that far */
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct job *j = begin();

        job_stream(j, SL_STREAM_LEGACY, SL_STREAM_FLAG_LEGACY);
        job_stream(j, 14, 1);
        for (uint32_t stream = 13; stream < 18; stream++)
            if (stream != 14)
                job_stream(j, stream, SL_STREAM_FLAG_NON_BLOCKING);
        assert_int_equal(launch_beside(j, cases[i].others, cases[i].waits)->basis, cases[i].basis);
        job_end(j);
    }
}

/* The wait entered later, so it is taken as enqueued later: what came behind the launch has its
 * edge. */
static void a_wait_that_entered_later_is_not_the_launchs(void **state)
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
    assert_int_equal(j->count, 2);
    assert_wait(job_edge(j, source, sync), SL_EDGE_STREAM_SYNC, 0, 46, 0);
    assert_wait(job_edge(j, during, sync), SL_EDGE_STREAM_SYNC, 40, 6, 1);
    assert_int_equal(job_lost(j), 0);
    job_end(j);
}

/* Another thread's launch, which the GPU ran first, got onto the stream before this one. */
static void a_launch_that_was_overtaken_is_marked(void **state)
{
    for (int is_first = 0; is_first < 2; is_first++) {
        struct job *j = begin();
        (void)state;
        uint64_t source = launch(j, 200, 13, 10, 11, 12, 100), late;

        record(j, 200, 13, 15, 16);
        job_wait_event(j, 14, EVENT, 0, 17);
        late = launch(j, 100, 14, 20, 60, 150, 160);
        launch(j, 200, 14, 40, 45, is_first ? 101 : 161, is_first ? 120 : 170);
        sl_edges_flush(j->edges);
        assert_non_null(job_edge(j, source, late));
        assert_int_equal(job_edge(j, source, late)->basis,
                         is_first ? SL_BASIS_OVERLAPPING : SL_BASIS_EXACT);
        assert_int_equal(job_edge(j, source, late)->wait_ns, 40 * US);
        assert_int_equal(job_lost(j), 0);
        job_end(j);
    }
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
        cmocka_unit_test(a_wait_that_entered_later_is_not_the_launchs),
        cmocka_unit_test(a_launch_that_was_overtaken_is_marked),
        cmocka_unit_test(what_a_synchronize_waits_for_stays_known),
        cmocka_unit_test(a_wait_that_took_effect_later_is_the_next_launchs),
        cmocka_unit_test(without_rows_of_calls_nothing_overlaps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
