/*
 * unknown_deps_test.c - streams that come behind nobody knows what: for whom that counts, for how
 * long, and that nothing else is left out for it.
 */
#include "sync/job.h"

static uint64_t no_record(const struct job *j)
{
    return sl_edges_lost(j->edges, SL_EDGE_LOST_NO_RECORD);
}

/* It names the event and the context in its arguments alone: any stream may have come behind
 * anything. One that a wait has covered since is known again. */
static void what_a_context_waited_for_is_counted(void **state)
{
    struct job *j = begin();
    (void)state;
    job_stream(j, 14, 2);
    job_kernel(j, 13, 10, 15, 60);
    uint64_t other = job_kernel(j, 14, 13, 15, 200);

    job_record(j, 14, 5, 1, 16);
    job_call(j, CONTEXT_WAIT, 18, 19);
    job_stream_sync(j, 13, 20, 206);
    uint64_t next = job_kernel(j, 13, 210, 212, 230);
    uint64_t sync = job_stream_sync(j, 13, 213, 236);

    job_wait_event(j, 14, 5, 1, 240);
    job_kernel(j, 14, 242, 245, 250);
    uint64_t event = job_event_sync(j, 5, 1, 252, 253);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 2);
    assert_wait(job_edge(j, next, sync), SL_EDGE_STREAM_SYNC, 17, 6, 1);
    assert_wait(job_edge(j, other, event), SL_EDGE_EVENT_SYNC, 0, 1, 0);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_NO_RECORD), 3);
    assert_int_equal(job_lost(j), 3);
    job_end(j);
}

/* A ends late, and all streams wait for it. B, which a new stream waits for too, did not release
 * C. */
static void a_stream_first_used_later_waits_too(void **state)
{
    struct job *j = begin();
    (void)state;
    job_kernel(j, 13, 10, 15, 900); /* A */
    job_kernel(j, 14, 13, 15, 300); /* B */
    job_record(j, 14, 5, 1, 16);
    job_call(j, CONTEXT_WAIT, 18, 19);
    job_wait_event(j, 20, 5, 1, 20);
    job_kernel(j, 20, 22, 901, 920); /* C */
    uint64_t next = job_kernel(j, 20, 24, 920, 930);
    uint64_t sync = job_stream_sync(j, 20, 30, 936);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 1);
    assert_wait(job_edge(j, next, sync), SL_EDGE_STREAM_SYNC, 900, 6, 1);
    assert_int_equal(no_record(j), 2);
    assert_int_equal(job_lost(j), 2);
    job_end(j);
}

static void an_event_recorded_on_a_stream_not_used_yet_is_not_known(void **state)
{
    struct job *j = begin();
    (void)state;
    job_kernel(j, 13, 10, 15, 900);
    job_call(j, CONTEXT_WAIT, 18, 19);
    job_record(j, 20, 5, 1, 20);
    job_event_sync(j, 5, 1, 22, 906);
    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 0);
    assert_int_equal(no_record(j), 2);
    job_end(j);
}

/* The threads' calls overlap: both orders fit. */
static void a_wait_that_had_begun_keeps_its_edge(void **state)
{
    struct job *j = begin();
    (void)state;
    uint64_t before = job_kernel(j, 13, 10, 15, 490);
    uint64_t sync = job_stream_sync(j, 13, 20, 496);

    j->thread = 200;
    job_call(j, CONTEXT_WAIT, 200, 202);
    j->thread = 100;
    job_kernel(j, 13, 600, 602, 620);
    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 1);
    assert_non_null(job_edge(j, before, sync));
    assert_int_equal(job_edge(j, before, sync)->wait_ns, 470 * US);
    assert_int_equal(job_edge(j, before, sync)->basis, SL_BASIS_OVERLAPPING);
    assert_int_equal(no_record(j), 2); /* the call, and the kernel after it */
    job_end(j);
}

/* The same for one stream alone, with something launched behind it or without. */
static void a_stream_that_is_made_to_wait_meanwhile_is_known_before(void **state)
{
    (void)state;
    for (int launched = 0; launched < 2; launched++) {
        struct job *j = begin();
        uint64_t before = job_kernel(j, 13, 10, 15, 490);
        uint64_t sync = job_stream_sync(j, 13, 20, 496);

        j->thread = 200;
        job_wait_event(j, 13, 9, 777, 200);
        if (launched)
            job_kernel(j, 13, 210, 500, 520);
        uint64_t late = job_stream_sync(j, 13, 600, 602);

        sl_edges_flush(j->edges);
        assert_non_null(job_edge(j, before, sync));
        assert_int_equal(job_edge(j, before, sync)->basis, SL_BASIS_OVERLAPPING);
        assert_null(job_edge(j, before, late));
        assert_int_equal(no_record(j), 1);
        job_end(j);
    }
}

static void one_that_began_after_it_is_left_out(void **state)
{
    struct job *j = begin();
    (void)state;
    job_kernel(j, 13, 10, 15, 490);
    j->thread = 200;
    job_call(j, CONTEXT_WAIT, 18, 25);
    j->thread = 100;
    job_stream_sync(j, 13, 20, 496);
    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 0);
    assert_int_equal(no_record(j), 2);
    job_end(j);
}

/* More of them than are kept: those before that are kept stand for the others. */
static void many_during_one_wait_leave_it_out(void **state)
{
    struct job *j = begin();
    (void)state;
    uint64_t known = job_kernel(j, 14, 8, 9, 12);
    job_kernel(j, 13, 10, 15, 490);
    job_call(j, CONTEXT_WAIT, 18, 19);
    job_stream_sync(j, 13, 20, 496);
    j->thread = 200;
    for (unsigned i = 0; i < 40; i++)
        job_call(j, CONTEXT_WAIT, 200 + 2 * i, 201 + 2 * i);
    j->thread = 100;
    uint64_t end = job_device_sync(j, 500, 502);
    job_wait_event(j, 20, 5, 0, 503);
    uint64_t last = job_kernel(j, 20, 504, 505, 510);
    uint64_t sync = job_stream_sync(j, 20, 506, 516);

    sl_edges_flush(j->edges);
    assert_null(job_edge(j, known, end));
    assert_int_equal(j->count, 1);
    assert_wait(job_edge(j, last, sync), SL_EDGE_STREAM_SYNC, 4, 6, 1);
    assert_int_equal(no_record(j), 41 + 2);
    job_end(j);
}

/* It covers streams that are first used later, too. */
static void a_wait_for_the_context_ends_it(void **state)
{
    struct job *j = begin();
    (void)state;
    job_kernel(j, 13, 10, 15, 60);
    job_call(j, CONTEXT_WAIT, 18, 19);
    job_device_sync(j, 20, 66);
    uint64_t side = job_kernel(j, 14, 70, 72, 200);

    job_record(j, 14, 5, 1, 74);
    job_wait_event(j, 20, 5, 1, 76);
    uint64_t behind = job_kernel(j, 20, 78, 202, 210);
    uint64_t old = job_stream_sync(j, 13, 80, 82);

    sl_edges_flush(j->edges);
    assert_wait(job_edge(j, side, behind), SL_EDGE_STREAM_WAIT, 120, 2, 1);
    assert_int_equal(job_edge(j, 1, old)->wait_ns, 0);
    assert_int_equal(j->count, 2);
    assert_int_equal(no_record(j), 2); /* the call, and the wait that covered it */
    job_end(j);
}

/* It had begun before, so it may have looked before. */
static void a_wait_that_had_begun_ends_nothing(void **state)
{
    struct job *j = begin();
    (void)state;
    job_kernel(j, 13, 10, 15, 60);
    job_device_sync(j, 20, 66);
    j->thread = 200;
    job_call(j, CONTEXT_WAIT, 30, 31);
    job_stream_sync(j, 13, 70, 90);
    sl_edges_flush(j->edges);
    assert_int_equal(no_record(j), 2);
    job_end(j);
}

/* Online a thread looks only at streams used since it last waited for all: others wait too. */
static void streams_that_are_idle_wait_too(void **state)
{
    struct job *j = job_begin((struct sl_edges_options){.online = 1});
    (void)state;
    uint64_t first = job_kernel(j, 13, 10, 15, 60);
    uint64_t all = job_device_sync(j, 20, 66);

    job_call(j, CONTEXT_WAIT, 70, 71);
    job_kernel(j, 14, 72, 74, 100);
    job_device_sync(j, 76, 300);
    uint64_t next = job_kernel(j, 14, 310, 312, 330);
    uint64_t after = job_device_sync(j, 314, 336);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 2);
    assert_wait(job_edge(j, first, all), SL_EDGE_DEVICE_SYNC, 40, 6, 1);
    assert_wait(job_edge(j, next, after), SL_EDGE_DEVICE_SYNC, 16, 6, 1);
    assert_int_equal(no_record(j), 3); /* the call, the kernel on 14, and the wait */
    job_end(j);
}

/* All that legacy order puts before the last operation of the legacy stream, that came behind. */
static void what_the_legacy_stream_came_behind_counts_once(void **state)
{
    struct job *j = begin();
    (void)state;
    job_stream(j, 13, 1);
    job_stream(j, 7, 3);
    job_kernel(j, 13, 10, 15, 60);
    job_call(j, CONTEXT_WAIT, 18, 19);
    job_kernel(j, 7, 20, 100, 110);
    uint64_t side = job_kernel(j, 14, 22, 24, 150);

    job_record(j, 14, 5, 1, 26);
    job_wait_event(j, 13, 5, 1, 28);
    uint64_t behind = job_kernel(j, 7, 30, 152, 160);

    sl_edges_flush(j->edges);
    assert_wait(job_edge(j, side, behind), SL_EDGE_LEGACY_DEFAULT, 40, 2, 1);
    job_end(j);
}

static void job_told(struct job *j, uint64_t correlation, uint32_t thread)
{
    j->correlation = correlation - 1;
    j->thread = thread;
}

/* The one that entered last counts, in whatever order they are told. */
static void a_call_that_comes_late_was_not_the_last(void **state)
{
    struct job *j = begin();
    (void)state;
    job_told(j, 15, 100);
    job_kernel(j, 13, 15, 18, 900);
    job_told(j, 20, 300);
    job_call(j, CONTEXT_WAIT, 20, 25);
    sl_edges_delivered(j->edges, 950 * US);
    job_told(j, 10, 200);
    job_call(j, CONTEXT_WAIT, 10, 1000);
    sl_edges_delivered(j->edges, 1050 * US);
    job_told(j, 30, 100);
    job_stream_sync(j, 13, 1100, 1102);
    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 0);
    assert_int_equal(no_record(j), 3);
    job_end(j);
}

/* Of two things that a stream was made to wait for, the kernel that comes late came behind one. */
static void a_kernel_that_comes_late_does_not_make_it_known(void **state)
{
    struct job *j = begin();
    (void)state;
    job_told(j, 10, 100);
    job_wait_event(j, 13, 9, 777, 10);
    job_told(j, 30, 100);
    job_wait_event(j, 13, 9, 778, 30);
    sl_edges_delivered(j->edges, 50 * US);
    job_told(j, 20, 100);
    job_kernel(j, 13, 20, 22, 60);
    job_told(j, 40, 100);
    job_stream_sync(j, 13, 40, 99);
    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 0);
    assert_int_equal(no_record(j), 2); /* the kernel, and the wait */
    job_end(j);
}

/* Nothing was ever enqueued in the context that waits. */
static void a_context_without_work_waits_too(void **state)
{
    struct sl_event ran = {
        .kind = SL_EV_KERNEL, .start_ns = 12 * US, .end_ns = 100 * US, .context = 2, .stream = 20};
    struct job *j = begin();
    (void)state;
    ran.correlation = job_call(j, LAUNCH, 10, 11);
    job_tell(j, &ran);
    job_call(j, CONTEXT_WAIT, 14, 15);
    job_device_sync(j, 20, 103);
    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 0);
    assert_int_equal(no_record(j), 2);
    job_end(j);
}

/* The launch overlaps the wait, but the graph went on after it. */
static void a_graph_that_outlasts_a_wait_was_not_waited_for(void **state)
{
    (void)state;
    for (unsigned first = 0; first < 2; first++) { /* which of the two calls entered first */
        struct job *j = begin();

        job_stream(j, 13, 2);
        uint64_t before = job_kernel(j, 13, 10, 15, 90), sync = 0;

        if (first)
            sync = job_stream_sync(j, 13, 20, 120);
        j->thread = 200;
        job_call(j, GRAPH_LAUNCH, 19 + 3 * first, 25);
        job_node(j, 90, 90, 30, 118);
        job_node(j, 91, 91, 30, 125);
        j->thread = 100;
        if (!first)
            sync = job_stream_sync(j, 13, 20, 120);
        uint64_t later = job_stream_sync(j, 13, 121, 130); /* perhaps this one */

        sl_edges_flush(j->edges);
        assert_int_equal(j->count, 1);
        assert_wait(job_edge(j, before, sync), SL_EDGE_STREAM_SYNC, 70, 30, 1);
        assert_null(job_edge(j, before, later));
        /* and what its nodes came behind */
        assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_NO_RECORD), 3);
        job_end(j);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_context_waited_for_is_counted),
        cmocka_unit_test(a_stream_first_used_later_waits_too),
        cmocka_unit_test(an_event_recorded_on_a_stream_not_used_yet_is_not_known),
        cmocka_unit_test(a_wait_that_had_begun_keeps_its_edge),
        cmocka_unit_test(a_stream_that_is_made_to_wait_meanwhile_is_known_before),
        cmocka_unit_test(one_that_began_after_it_is_left_out),
        cmocka_unit_test(many_during_one_wait_leave_it_out),
        cmocka_unit_test(a_wait_for_the_context_ends_it),
        cmocka_unit_test(a_wait_that_had_begun_ends_nothing),
        cmocka_unit_test(streams_that_are_idle_wait_too),
        cmocka_unit_test(what_the_legacy_stream_came_behind_counts_once),
        cmocka_unit_test(a_call_that_comes_late_was_not_the_last),
        cmocka_unit_test(a_kernel_that_comes_late_does_not_make_it_known),
        cmocka_unit_test(a_context_without_work_waits_too),
        cmocka_unit_test(a_graph_that_outlasts_a_wait_was_not_waited_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
