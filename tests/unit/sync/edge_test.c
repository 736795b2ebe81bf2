/*
 * edge_test.c - the engine as a whole: records in any order, windows, calls that do not return,
 * losses.
 *
 * Every test says the whole list of edges: a false one fails it as much as a missing one.
 */
#include "sync/job.h"

static void order_of_delivery_does_not_matter(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed < 50; seed++) {
        struct job *j = begin();

        srand(seed);
        j->keep = 1;
        uint64_t side = job_kernel(j, 20, 10, 20, 90);

        job_record(j, 20, 5, 1, 13);
        job_wait_event(j, 13, 5, 1, 15);
        uint64_t next = job_kernel(j, 13, 17, 92, 95);
        uint64_t sync = job_stream_sync(j, 13, 20, 99);

        for (size_t left = j->kept_count; left; left--) {
            size_t i = (size_t)rand() % left;

            sl_edges_event(j->edges, &j->kept[i]);
            sl_edges_delivered(j->edges, 10 * US);
            j->kept[i] = j->kept[left - 1];
        }
        sl_edges_flush(j->edges);
        assert_int_equal(j->count, 2);
        assert_wait(job_edge(j, side, next), SL_EDGE_STREAM_WAIT, 71, 2, 1);
        assert_wait(job_edge(j, next, sync), SL_EDGE_STREAM_SYNC, 75, 4, 1);
        job_end(j);
    }
}

/* A wait's record tells the context alone: its device is known when the context's record is in. */
static void a_context_is_known_without_its_device(void **state)
{
    struct job *j = begin();
    struct sl_event ev = {.kind = SL_EV_KERNEL, .device = 1, .context = 1, .stream = 13};
    (void)state;

    ev.correlation = job_call(j, LAUNCH, 10, 12);
    ev.start_ns = 15 * US;
    ev.end_ns = 60 * US;
    uint64_t sync = job_stream_sync(j, 13, 20, 66);

    sl_edges_event(j->edges, &ev);
    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 1);
    assert_wait(job_edge(j, ev.correlation, sync), SL_EDGE_STREAM_SYNC, 40, 6, 1);
    assert_int_equal(j->got[0].source.device, 1);
    job_end(j);
}

static void decided_when_all_that_ended_before_is_in(void **state)
{
    struct job *j = begin();
    (void)state;
    job_kernel(j, 13, 10, 15, 60);
    uint64_t sync = job_stream_sync(j, 13, 20, 66);

    sl_edges_delivered(j->edges, 66 * US);
    assert_int_equal(j->count, 0);
    assert_true(sl_edges_undecided(j->edges) <= sync);
    sl_edges_delivered(j->edges, 66 * US + 1);
    assert_int_equal(j->count, 1);
    assert_true(sl_edges_undecided(j->edges) > sync);
    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 1);
    job_end(j);
}

static void a_window_ends_while_work_goes_on(void **state)
{
    struct job *j = begin();
    (void)state;
    uint64_t inside = job_kernel(j, 13, 10, 15, 60);
    uint64_t sync = job_stream_sync(j, 13, 20, 66);

    uint64_t later = job_kernel(j, 13, 70, 75, 90);
    uint64_t after = job_stream_sync(j, 13, 80, 95);

    sl_edges_close(j->edges, 70 * US);
    assert_int_equal(j->count, 1);
    assert_non_null(job_edge(j, inside, sync));
    assert_int_equal(sl_edges_undecided(j->edges), later);
    sl_edges_delivered(j->edges, 100 * US);
    assert_int_equal(j->count, 2);
    assert_non_null(job_edge(j, later, after));
    job_end(j);
}

static void nothing_is_claimed_after_a_loss(void **state)
{
    struct job *j = begin();
    (void)state;
    job_stream(j, 13, 1);
    job_kernel(j, 13, 10, 15, 60);
    job_record(j, 13, 5, 1, 13);
    job_stream_sync(j, 13, 20, 66);
    sl_edges_forget(j->edges, SL_EDGE_LOST_GAVE_UP);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_GAVE_UP), 1);
    assert_int_equal(sl_edges_undecided(j->edges), UINT64_MAX);

    job_stream_sync(j, 13, 70, 80);
    job_event_sync(j, 5, 1, 82, 90);
    sl_edges_delivered(j->edges, 95 * US);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_BEFORE_WINDOW), 2);

    /* known again with the first operation that comes */
    uint64_t known = job_kernel(j, 13, 100, 105, 120);
    uint64_t sync = job_stream_sync(j, 13, 110, 125);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 1);
    assert_wait(job_edge(j, known, sync), SL_EDGE_STREAM_SYNC, 10, 5, 1);
    job_end(j);
}

/* A kernel of the recording before, whose record came late, and one behind it that has none. */
static void calls_from_before_the_recording_are_ignored(void **state)
{
    struct job *j = begin();
    (void)state;
    sl_edges_forget(j->edges, SL_EDGE_LOST_BEFORE_WINDOW);
    sl_edges_begin(j->edges, 18 * US);
    job_kernel(j, 13, 10, 15, 60);
    job_stream_sync(j, 13, 20, 66);
    uint64_t seen = job_kernel(j, 13, 70, 75, 90);
    uint64_t sync = job_stream_sync(j, 13, 80, 96);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 1);
    assert_wait(job_edge(j, seen, sync), SL_EDGE_STREAM_SYNC, 10, 6, 1);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_BEFORE_WINDOW), 1);
    job_end(j);
}

/* Its record is made when it returns, which is after the window: when it enqueued is not known. */
static void a_call_that_has_not_returned_at_the_close_is_counted(void **state)
{
    struct job *j = job_begin((struct sl_edges_options){.online = 1});
    (void)state;
    job_stream(j, 13, 1);
    job_kernel(j, 13, 10, 15, 60);
    j->correlation++;
    job_ran(j, 7, 60, 70);
    sl_edges_close(j->edges, 100 * US);
    assert_int_equal(j->count, 0);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_NO_RECORD), 1);

    uint64_t known = j->correlation;
    uint64_t sync = job_stream_sync(j, 7, 65, 110);

    sl_edges_delivered(j->edges, 200 * US);
    assert_int_equal(j->count, 1);
    assert_wait(job_edge(j, known, sync), SL_EDGE_STREAM_SYNC, 5, 40, 1);
    job_end(j);
}

/* Between two operations of one call, or before its end, its thread may have to wait for a
 * processor: a second is left to it, as long as there is room for what comes meanwhile. */
static void a_call_may_take_long_to_return(void **state)
{
    struct job *j = job_begin((struct sl_edges_options){.online = 1});
    (void)state;
    job_stream(j, 13, 1);
    uint64_t blocking = job_kernel(j, 13, 10, 15, 60);
    uint64_t legacy = ++j->correlation;

    job_ran(j, 7, 61, 70);
    sl_edges_delivered(j->edges, 900 * 1000 * US);
    assert_int_equal(j->count, 0);
    assert_int_equal(sl_edges_undecided(j->edges), legacy);
    j->correlation--;
    job_call(j, LAUNCH, 20, 800 * 1000);
    sl_edges_delivered(j->edges, 901 * 1000 * US);
    assert_int_equal(j->count, 1);
    assert_wait(job_edge(j, blocking, legacy), SL_EDGE_LEGACY_DEFAULT, 0, 0, 0);
    job_end(j);
}

static void a_call_that_does_not_return_is_not_waited_for_at_any_cost(void **state)
{
    enum {
        KERNELS = 6000
    };
    struct job *j = job_begin((struct sl_edges_options){.cap_bytes = 2 << 20, .online = 1});
    (void)state;
    job_call(j, LAUNCH, 10, 12);
    uint64_t lost = ++j->correlation;

    job_ran(j, 13, 15, 60);
    sl_edges_delivered(j->edges, 200 * 1000 * US);
    assert_int_equal(sl_edges_undecided(j->edges), lost);
    for (unsigned i = 0; i < KERNELS; i++)
        job_kernel(j, 13, 100 + 10 * i, 103 + 10 * i, 108 + 10 * i);
    sl_edges_delivered(j->edges, 201 * 1000 * US);
    assert_true(sl_edges_undecided(j->edges) == UINT64_MAX);
    job_end(j);
}

/* Copies and frees that wait have no record of that, and a stream that is made to wait has. */
static void what_is_given_up_is_counted_once_a_call(void **state)
{
    struct job *j = begin();
    (void)state;
    job_kernel(j, 13, 10, 15, 60);
    job_stream_sync(j, 13, 20, 66);
    job_call(j, FREE, 67, 70);
    job_call(j, MEMCPY, 71, 80);
    job_wait_event(j, 14, 3, 1, 81);
    sl_edges_forget(j->edges, SL_EDGE_LOST_GAVE_UP);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_GAVE_UP), 4);

    /* records of a call that came late */
    job_synced(j, SL_SYNC_STREAM, 13, 0, 0, 81, 82);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_GAVE_UP), 4);
    j->correlation -= 4;
    job_synced(j, SL_SYNC_STREAM, 13, 0, 0, 20, 66);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_GAVE_UP), 5);
    job_end(j);
}

static void what_comes_late_of_forgotten_calls_is_no_tail(void **state)
{
    struct job *j = begin();
    (void)state;
    job_call(j, LAUNCH, 10, 12);
    sl_edges_forget(j->edges, SL_EDGE_LOST_GAVE_UP);
    job_ran(j, 13, 15, 60); /* and another, enqueued behind it, whose record is gone */
    job_stream_sync(j, 13, 20, 90);
    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 0);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_BEFORE_WINDOW), 1);
    job_end(j);
}

static void every_kind_and_reason_has_a_name(void **state)
{
    (void)state;
    for (int i = 0; i < SL_EDGE_KIND_COUNT; i++)
        assert_string_not_equal(sl_edge_kind_name((enum sl_edge_kind)i), "unknown");
    for (int i = 0; i < SL_EDGE_LOST_COUNT; i++)
        assert_string_not_equal(sl_edge_loss_name((enum sl_edge_loss)i), "unknown");
    assert_string_equal(sl_edge_basis_name(SL_BASIS_INFERRED), "inferred");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_of_delivery_does_not_matter),
        cmocka_unit_test(a_context_is_known_without_its_device),
        cmocka_unit_test(decided_when_all_that_ended_before_is_in),
        cmocka_unit_test(a_window_ends_while_work_goes_on),
        cmocka_unit_test(nothing_is_claimed_after_a_loss),
        cmocka_unit_test(calls_from_before_the_recording_are_ignored),
        cmocka_unit_test(a_call_that_has_not_returned_at_the_close_is_counted),
        cmocka_unit_test(a_call_may_take_long_to_return),
        cmocka_unit_test(a_call_that_does_not_return_is_not_waited_for_at_any_cost),
        cmocka_unit_test(what_is_given_up_is_counted_once_a_call),
        cmocka_unit_test(what_comes_late_of_forgotten_calls_is_no_tail),
        cmocka_unit_test(every_kind_and_reason_has_a_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
