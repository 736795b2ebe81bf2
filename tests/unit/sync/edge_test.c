/*
 * edge_test.c - jobs told by hand, and the edges that must come of them.
 *
 * Every test says the whole list of edges: a false one fails it as much as a missing one.
 */
#include <string.h>

#include "sync/job.h"

#define SHAPE_HTOD_PAGEABLE                                                                        \
    {                                                                                              \
        .kind = SL_EV_MEMCPY, .copy_kind = 1, .src_memory = 1, .dst_memory = 3                     \
    }
#define SHAPE_DTOH_PINNED                                                                          \
    {                                                                                              \
        .kind = SL_EV_MEMCPY, .copy_kind = 2, .src_memory = 3, .dst_memory = 2                     \
    }
#define SHAPE_DTOH_PAGEABLE                                                                        \
    {                                                                                              \
        .kind = SL_EV_MEMCPY, .copy_kind = 2, .src_memory = 3, .dst_memory = 1                     \
    }
#define SHAPE_DTOD                                                                                 \
    {                                                                                              \
        .kind = SL_EV_MEMCPY, .copy_kind = 8, .src_memory = 3, .dst_memory = 3                     \
    }

static struct job *begin(void)
{
    return job_begin((struct sl_edges_options){0});
}

static void assert_wait(const struct sl_edge *edge, enum sl_edge_kind kind, unsigned wait_us,
                        unsigned wake_us, int released)
{
    assert_non_null(edge);
    assert_string_equal(sl_edge_kind_name(edge->kind), sl_edge_kind_name(kind));
    assert_int_equal(edge->basis, SL_BASIS_EXACT);
    assert_int_equal(edge->wait_ns, wait_us * US);
    assert_int_equal(edge->wake_ns, wake_us * US);
    assert_int_equal(edge->released, released);
}

static void copy(struct job *j, uint32_t cbid, struct sl_shape shape, unsigned from, unsigned to,
                 unsigned gpu_from, unsigned gpu_to)
{
    struct sl_event ev = {.kind = SL_EV_MEMCPY, .context = 1, .stream = 7};

    ev.correlation = job_call(j, cbid, from, to);
    ev.start_ns = gpu_from * US;
    ev.end_ns = gpu_to * US;
    ev.shape = sl_shape_put(j->shapes, &shape);
    assert_true(ev.shape != 0);
    job_tell(j, &ev);
}

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

static void legacy_order_binds_blocking_streams_only(void **state)
{
    struct job *j = begin();
    (void)state;
    job_stream(j, 7, 3);
    job_stream(j, 13, 1);
    job_stream(j, 14, 2);
    uint64_t blocking = job_kernel(j, 13, 10, 15, 60);

    job_kernel(j, 14, 13, 15, 200);
    uint64_t legacy = job_kernel(j, 7, 16, 61, 80);
    uint64_t after = job_kernel(j, 13, 19, 82, 90);
    uint64_t sync = job_stream_sync(j, 7, 22, 96);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 4);
    assert_wait(job_edge(j, blocking, legacy), SL_EDGE_LEGACY_DEFAULT, 42, 1, 1);
    assert_wait(job_edge(j, legacy, after), SL_EDGE_LEGACY_DEFAULT, 20, 2, 1);
    assert_wait(job_edge(j, legacy, sync), SL_EDGE_STREAM_SYNC, 58, 16, 0);
    assert_wait(job_edge(j, after, sync), SL_EDGE_STREAM_SYNC, 68, 6, 1);
    job_end(j);
}

static void copies_wait_as_their_memory_says(void **state)
{
    struct job *j = begin();
    (void)state;
    uint64_t kernel = job_kernel(j, 7, 10, 15, 60);

    copy(j, MEMCPY, (struct sl_shape)SHAPE_HTOD_PAGEABLE, 20, 80, 70, 90);
    uint64_t to_device = j->correlation;

    copy(j, MEMCPY, (struct sl_shape)SHAPE_DTOD, 81, 83, 90, 100);
    copy(j, MEMCPY_ASYNC, (struct sl_shape)SHAPE_DTOH_PINNED, 84, 86, 100, 110);
    copy(j, MEMCPY_ASYNC, (struct sl_shape)SHAPE_DTOH_PAGEABLE, 87, 125, 110, 120);
    uint64_t to_pageable = j->correlation;

    copy(j, MEMCPY, (struct sl_shape)SHAPE_DTOH_PINNED, 126, 145, 130, 140);
    uint64_t to_pinned = j->correlation;

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 3);
    assert_wait(job_edge(j, kernel, to_device), SL_EDGE_COPY, 40, 20, 1);
    assert_wait(job_edge(j, to_pageable, to_pageable), SL_EDGE_COPY, 33, 5, 1);
    assert_wait(job_edge(j, to_pinned, to_pinned), SL_EDGE_COPY, 14, 5, 1);
    job_end(j);
}

static void a_free_is_inferred_from_what_ended_meanwhile(void **state)
{
    struct job *j = begin();
    (void)state;
    uint64_t kernel = job_kernel(j, 13, 10, 15, 60);

    job_kernel(j, 14, 13, 15, 18);
    uint64_t free_call = job_call(j, FREE, 20, 70);

    job_call(j, FREE, 71, 90);
    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 1);
    const struct sl_edge *edge = job_edge(j, kernel, free_call);
    assert_non_null(edge);
    assert_int_equal(edge->kind, SL_EDGE_FREE);
    assert_int_equal(edge->basis, SL_BASIS_INFERRED);
    assert_int_equal(edge->released, 1);
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

static void a_graph_is_waited_for_whole(void **state)
{
    struct job *j = begin();
    struct sl_event ev = {.kind = SL_EV_KERNEL, .context = 1, .stream = 13, .graph = 4};
    (void)state;
    job_stream(j, 13, 1);
    uint64_t before = job_kernel(j, 13, 10, 15, 60);
    uint64_t graph = job_call(j, GRAPH_LAUNCH, 13, 16);

    ev.correlation = graph;
    ev.start_ns = 60 * US;
    ev.end_ns = 70 * US;
    ev.u.op.graph_node = 1;
    job_tell(j, &ev);
    ev.stream = 90; /* a branch */
    ev.start_ns = 61 * US;
    ev.end_ns = 95 * US;
    ev.u.op.graph_node = 2;
    job_tell(j, &ev);
    uint64_t after = job_kernel(j, 13, 18, 96, 99);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 2);
    assert_wait(job_edge(j, before, graph), SL_EDGE_GRAPH, 44, 1, 1);
    assert_wait(job_edge(j, graph, after), SL_EDGE_GRAPH, 25, 1, 1);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_GRAPH_INSIDE), 1);
    job_end(j);
}

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

static void at_the_cap_edges_are_missing_and_counted(void **state)
{
    struct job *j = job_begin((struct sl_edges_options){.cap_bytes = 1 << 20});
    unsigned at = 10;
    (void)state;
    for (unsigned i = 0; i < 100000; i++, at += 10)
        job_kernel(j, 13, at, at + 3, at + 8);
    assert_true(sl_edges_lost(j->edges, SL_EDGE_LOST_MEMORY) > 0);
    sl_edges_delivered(j->edges, (uint64_t)at * US);
    uint64_t last = job_kernel(j, 13, at, at + 3, at + 80);
    uint64_t sync = job_stream_sync(j, 13, at + 5, at + 85);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 1);
    assert_wait(job_edge(j, last, sync), SL_EDGE_STREAM_SYNC, 75, 5, 1);
    job_end(j);
}

static void before_the_window_nothing_is_claimed(void **state)
{
    struct job *j = job_begin((struct sl_edges_options){.recording_since_ns = 5 * US});
    (void)state;
    job_stream_sync(j, 13, 10, 20);
    uint64_t known = job_kernel(j, 14, 22, 25, 40);
    uint64_t sync = job_stream_sync(j, 14, 26, 44);

    job_device_sync(j, 46, 60);
    uint64_t last = job_kernel(j, 15, 62, 65, 80);
    uint64_t whole = job_device_sync(j, 70, 85);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 3);
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
    assert_wait(job_edge(j, kernel, sync), SL_EDGE_DEVICE_SYNC, 40, 6, 1);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_BEFORE_WINDOW), 1);
    job_end(j);
}

static void without_synchronization_records_a_wait_is_guessed_or_counted(void **state)
{
    struct job *j =
        job_begin((struct sl_edges_options){.foreign = 1, .recording_since_ns = 5 * US});
    (void)state;
    uint64_t kernel = job_kernel(j, 13, 10, 15, 60);
    uint64_t sync = job_call(j, EVENT_SYNC, 20, 66);

    job_call(j, STREAM_SYNC, 70, 72); /* nothing ended just before */
    job_call(j, STREAM_QUERY, 73, 74);
    job_call(j, STREAM_WAIT, 75, 76);
    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 1);
    assert_int_equal(job_edge(j, kernel, sync)->basis, SL_BASIS_INFERRED);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_NO_RECORD), 3);
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

static void failed_calls_give_nothing(void **state)
{
    struct job *j = begin();
    struct sl_event ev = {.kind = SL_EV_SYNC, .context = 1, .stream = 13};
    (void)state;
    job_kernel(j, 13, 10, 15, 60);
    ev.correlation = job_call(j, STREAM_QUERY, 20, 22);
    ev.start_ns = 20 * US;
    ev.end_ns = 22 * US;
    ev.u.sync.type = SL_SYNC_STREAM;
    ev.u.sync.result = 600;
    job_tell(j, &ev);
    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 0);
    assert_int_equal(job_lost(j), 0);
    job_end(j);
}

static void past_the_cap_it_counts_and_goes_on(void **state)
{
    struct job *j = job_begin((struct sl_edges_options){.cap_bytes = 1 << 20});
    (void)state;
    for (unsigned i = 0; i < 60000; i++)
        job_kernel(j, 13, 10 + 4 * i, 15 + 4 * i, 18 + 4 * i);
    uint64_t last = j->correlation;
    uint64_t sync = job_stream_sync(j, 13, 400000, 400005);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 1);
    assert_non_null(job_edge(j, last, sync));
    assert_true(sl_edges_lost(j->edges, SL_EDGE_LOST_MEMORY) > 0);
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
        cmocka_unit_test(stream_sync_waits_for_its_tail_alone),
        cmocka_unit_test(device_sync_is_released_by_what_ends_last),
        cmocka_unit_test(a_wait_names_the_record_it_was_for),
        cmocka_unit_test(without_sync_ids_the_last_record_before_counts),
        cmocka_unit_test(an_event_waited_for_counts_with_nothing_launched_after),
        cmocka_unit_test(an_operation_waits_for_the_event_and_hides_it_after),
        cmocka_unit_test(an_event_never_recorded_orders_nothing),
        cmocka_unit_test(legacy_order_binds_blocking_streams_only),
        cmocka_unit_test(copies_wait_as_their_memory_says),
        cmocka_unit_test(a_free_is_inferred_from_what_ended_meanwhile),
        cmocka_unit_test(another_threads_launch_during_the_wait),
        cmocka_unit_test(what_truly_overlaps_is_marked),
        cmocka_unit_test(a_long_launch_of_another_thread_is_looked_behind),
        cmocka_unit_test(gpu_order_decides_between_launches_that_overlap),
        cmocka_unit_test(a_graph_is_waited_for_whole),
        cmocka_unit_test(order_of_delivery_does_not_matter),
        cmocka_unit_test(decided_when_all_that_ended_before_is_in),
        cmocka_unit_test(a_window_ends_while_work_goes_on),
        cmocka_unit_test(nothing_is_claimed_after_a_loss),
        cmocka_unit_test(what_comes_late_of_forgotten_calls_is_no_tail),
        cmocka_unit_test(at_the_cap_edges_are_missing_and_counted),
        cmocka_unit_test(before_the_window_nothing_is_claimed),
        cmocka_unit_test(a_foreign_file_has_no_lead_in),
        cmocka_unit_test(without_synchronization_records_a_wait_is_guessed_or_counted),
        cmocka_unit_test(online_an_end_is_told_to_a_thread_once),
        cmocka_unit_test(failed_calls_give_nothing),
        cmocka_unit_test(past_the_cap_it_counts_and_goes_on),
        cmocka_unit_test(every_kind_and_reason_has_a_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
