/*
 * apply_wait_test.c - whether a call waited: copies and memsets by their memory, frees by what
 * ended meanwhile, calls without a record by a guess, those that failed never.
 *
 * Every test says the whole list of edges: a false one fails it as much as a missing one.
 */
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

#define SHAPE_PTOP                                                                                 \
    {                                                                                              \
        .kind = SL_EV_MEMCPY, .copy_kind = 10, .src_memory = 3, .dst_memory = 3                    \
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

/* Another thread's kernel came behind the copy on its stream, and ended before the call did. */
static void a_copy_did_not_wait_for_what_ran_behind_it(void **state)
{
    struct job *j = begin();
    (void)state;
    uint64_t kernel = job_kernel(j, 7, 10, 15, 60);

    copy(j, MEMCPY, (struct sl_shape)SHAPE_HTOD_PAGEABLE, 30, 120, 65, 110);
    uint64_t to_device = j->correlation;

    j->thread = 200;
    job_kernel(j, 7, 70, 111, 118);
    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 1);
    assert_wait(job_edge(j, kernel, to_device), SL_EDGE_COPY, 30, 60, 1);
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

static void a_reset_is_inferred_in_the_same_way(void **state)
{
    struct job *j = begin();
    (void)state;
    uint64_t kernel = job_kernel(j, 13, 10, 15, 60);
    uint64_t reset = job_call(j, DEVICE_RESET, 20, 70);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 1);
    assert_non_null(job_edge(j, kernel, reset));
    assert_int_equal(job_edge(j, kernel, reset)->kind, SL_EDGE_IMPLICIT);
    assert_int_equal(job_edge(j, kernel, reset)->basis, SL_BASIS_INFERRED);
    job_end(j);
}

/* Of what the host can see; of the device's memory it returns at once, of what is not known it may.
 */
static void a_memset_waits_for_itself(void **state)
{
    static const struct {
        uint32_t memory; /* CUpti_ActivityMemoryKind */
        int waits;
    } of[] = {{0, 0}, {1, 1}, {2, 1}, {3, 0}, {4, 0}, {5, 1}, {6, 0}, {7, 1}};

    (void)state;
    for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
        struct job *j = begin();
        struct sl_shape shape = {
            .kind = SL_EV_MEMSET, .stream = 13, .context = 1, .dst_memory = of[i].memory};
        struct sl_event ev = {.kind = SL_EV_MEMSET, .context = 1, .stream = 13};

        ev.shape = sl_shape_put(j->shapes, &shape);
        ev.correlation = job_call(j, MEMSET, 20, of[i].waits ? 70 : 23);
        ev.start_ns = 25 * US;
        ev.end_ns = 60 * US;
        job_tell(j, &ev);
        sl_edges_flush(j->edges);
        assert_int_equal(j->count, of[i].waits);
        if (of[i].waits)
            assert_wait(job_edge(j, ev.correlation, ev.correlation), SL_EDGE_MEMSET, 40, 10, 1);
        assert_int_equal(job_lost(j), 0);
        job_end(j);
    }
}

static uint64_t kernel_elsewhere(struct job *j, unsigned at, unsigned from, unsigned to)
{
    struct sl_event ev = {.kind = SL_EV_KERNEL, .device = 1, .context = 2, .stream = 13};

    ev.correlation = job_call(j, LAUNCH, at, at + 2);
    ev.start_ns = from * US;
    ev.end_ns = to * US;
    job_tell(j, &ev);
    return ev.correlation;
}

/* The thread's own is the one that it launched into: streams of any may be waited for. */
static void a_free_is_in_the_context_that_its_thread_launched_into(void **state)
{
    struct job *j = begin();
    (void)state;
    job_kernel(j, 14, 1, 3, 5);
    uint64_t kernel = kernel_elsewhere(j, 10, 15, 60);

    job_stream_sync(j, 14, 13, 15);
    uint64_t free_call = job_call(j, FREE, 20, 70);

    sl_edges_flush(j->edges);
    const struct sl_edge *edge = job_edge(j, kernel, free_call);
    assert_non_null(edge);
    assert_int_equal(edge->kind, SL_EDGE_FREE);
    assert_int_equal(job_lost(j), 0);
    job_end(j);
}

/* Where it may have been in another context too, or its thread has used none, nothing is said. */
static void a_free_that_fits_another_context_is_counted(void **state)
{
    struct job *j = begin();
    (void)state;
    kernel_elsewhere(j, 10, 15, 60);
    job_kernel(j, 14, 13, 15, 18);
    job_call(j, FREE, 20, 70);
    kernel_elsewhere(j, 80, 85, 90);
    j->thread++;
    job_call(j, FREE, 84, 95);
    job_call(j, FREE, 96, 99);
    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 0);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_AMBIGUOUS), 2);
    assert_int_equal(job_lost(j), 2);
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

/* Below CUPTI 12.8 the record of the wait does not tell that it failed: the call's does. */
static void a_wait_that_failed_gives_nothing(void **state)
{
    struct job *j = begin();
    struct sl_event call = {.kind = SL_EV_RUNTIME, .thread = 100};
    (void)state;
    job_kernel(j, 13, 10, 15, 60);
    call.correlation = ++j->correlation;
    call.start_ns = 20 * US;
    call.end_ns = 70 * US;
    call.u.call.cbid = STREAM_SYNC;
    call.u.call.result = 700;
    job_tell(j, &call);
    job_synced(j, SL_SYNC_STREAM, 13, 0, 0, 20, 70);
    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 0);
    job_end(j);
}

/* The context broke while it waited: it returned for that. */
/* Its thread had no processor for longer than the engine waits for a call. */
static void a_copy_whose_call_comes_too_late_is_counted_if_it_waited(void **state)
{
    const struct {
        struct sl_shape shape;
        uint32_t cbid;
        uint64_t lost;
    } copies[] = {{SHAPE_DTOH_PINNED, MEMCPY, 1},
                  {SHAPE_DTOH_PINNED, MEMCPY_ASYNC, 0},
                  {SHAPE_DTOH_PAGEABLE, MEMCPY_ASYNC, 1},
                  {SHAPE_HTOD_PAGEABLE, MEMCPY, 1},
                  {SHAPE_DTOD, MEMCPY, 0}};
    const unsigned late = 2 * 1000 * 1000;
    (void)state;
    for (size_t i = 0; i < sizeof copies / sizeof *copies; i++) {
        struct job *j = job_begin((struct sl_edges_options){.online = 1});

        job_kernel(j, 13, 10, 15, 60); /* so that calls are known to have records */
        j->keep = 1;
        copy(j, copies[i].cbid, copies[i].shape, 70, late, 80, 90);
        j->keep = 0;
        job_tell(j, &j->kept[1]);
        sl_edges_delivered(j->edges, (late - 1) * US);
        assert_true(sl_edges_undecided(j->edges) == UINT64_MAX);
        job_tell(j, &j->kept[0]);
        sl_edges_flush(j->edges);
        assert_int_equal(j->count, 0);
        assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_GAVE_UP), copies[i].lost);
        job_end(j);
    }
}

static void a_copy_that_failed_gives_nothing(void **state)
{
    struct job *j = begin();
    struct sl_shape pinned = SHAPE_DTOH_PINNED;
    struct sl_event call = {.kind = SL_EV_RUNTIME, .correlation = 1, .thread = 100};
    struct sl_event op = {.kind = SL_EV_MEMCPY, .correlation = 1, .context = 1, .stream = 7};
    (void)state;
    call.start_ns = 10 * US;
    call.end_ns = 90 * US;
    call.u.call.cbid = MEMCPY;
    call.u.call.result = 700;
    op.start_ns = 15 * US;
    op.end_ns = 60 * US;
    op.shape = sl_shape_put(j->shapes, &pinned);
    job_tell(j, &call);
    job_tell(j, &op);
    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 0);
    job_end(j);
}

/* Records may be lost that what waits stands behind: it is counted, and what does not wait is not.
 */
static void copies_that_are_given_up_are_counted_if_they_wait(void **state)
{
    const struct sl_shape host = {
        .kind = SL_EV_MEMCPY, .copy_kind = 9, .src_memory = 2, .dst_memory = 2};
    struct job *j = begin();
    (void)state;
    copy(j, MEMCPY_ASYNC, host, 10, 50, 20, 40);
    copy(j, MEMCPY_ASYNC, (struct sl_shape)SHAPE_DTOH_PAGEABLE, 60, 90, 70, 80);
    copy(j, MEMCPY, (struct sl_shape)SHAPE_DTOH_PINNED, 100, 140, 110, 130);
    copy(j, MEMCPY_ASYNC, (struct sl_shape)SHAPE_DTOH_PINNED, 150, 155, 160, 180);
    copy(j, MEMCPY_ASYNC, (struct sl_shape)SHAPE_DTOD, 160, 165, 180, 190);
    sl_edges_forget(j->edges, SL_EDGE_LOST_GAVE_UP);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_GAVE_UP), 3);
    assert_int_equal(j->count, 0);
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

/* Nobody waits for what ends while a query runs: it released nothing. */
static void a_query_does_not_wait(void **state)
{
    struct job *j = begin();
    (void)state;
    uint64_t first = job_kernel(j, 13, 10, 15, 22);

    job_record(j, 13, 5, 9, 13);
    uint64_t event = job_call(j, EVENT_QUERY, 20, 26);

    job_synced(j, SL_SYNC_EVENT, SL_STREAM_NONE, 5, 9, 20, 26);
    uint64_t second = job_kernel(j, 13, 30, 35, 42);
    uint64_t stream = job_call(j, STREAM_QUERY, 40, 46);

    job_synced(j, SL_SYNC_STREAM, 13, 0, 0, 40, 46);
    uint64_t late = job_call(j, STREAM_QUERY, 50, 53);

    job_synced(j, SL_SYNC_STREAM, 13, 0, 0, 50, 53);
    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 3);
    assert_wait(job_edge(j, first, event), SL_EDGE_EVENT_QUERY, 0, 4, 0);
    assert_wait(job_edge(j, second, stream), SL_EDGE_STREAM_QUERY, 0, 4, 0);
    assert_wait(job_edge(j, second, late), SL_EDGE_STREAM_QUERY, 0, 3, 0);
    assert_int_equal(job_lost(j), 0);
    job_end(j);
}

/* torch.profiler's files do not say that an operation is a node. */
static void a_launch_of_a_graph_does_not_wait_for_its_copy(void **state)
{
    struct job *j = job_begin((struct sl_edges_options){.foreign = 1});
    (void)state;
    copy(j, GRAPH_LAUNCH, (struct sl_shape)SHAPE_DTOH_PAGEABLE, 10, 60, 20, 50);
    copy(j, GRAPH_LAUNCH, (struct sl_shape)SHAPE_DTOH_PAGEABLE, 70, 75, 80, 90);
    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 0);
    assert_int_equal(job_lost(j), 0);
    job_end(j);
}

/* It comes behind and before all work of both devices, on whatever streams: what it waited for, and
 * what waits for these until their next operation, is left out. */
static void a_blocking_copy_between_devices_is_counted(void **state)
{
    struct job *j = begin();
    (void)state;
    job_stream(j, 13, 2);
    job_stream(j, 14, 1);
    job_kernel(j, 13, 10, 15, 60);
    job_kernel(j, 14, 13, 15, 50);
    copy(j, MEMCPY_PEER, (struct sl_shape)SHAPE_PTOP, 20, 22, 61, 90);
    job_stream_sync(j, 13, 25, 96);
    uint64_t next = job_kernel(j, 13, 100, 105, 120);
    uint64_t sync = job_stream_sync(j, 13, 103, 125);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 1);
    assert_wait(job_edge(j, next, sync), SL_EDGE_STREAM_SYNC, 17, 5, 1);
    assert_int_equal(sl_edges_lost(j->edges, SL_EDGE_LOST_NO_RECORD), 2);
    assert_int_equal(job_lost(j), 2);
    job_end(j);
}

static void an_asynchronous_one_has_the_order_of_its_stream(void **state)
{
    struct job *j = begin();
    (void)state;
    copy(j, MEMCPY_ASYNC, (struct sl_shape)SHAPE_PTOP, 20, 22, 61, 90);
    uint64_t last = j->correlation, sync = job_stream_sync(j, 7, 25, 96);

    sl_edges_flush(j->edges);
    assert_int_equal(j->count, 1);
    assert_wait(job_edge(j, last, sync), SL_EDGE_STREAM_SYNC, 65, 6, 1);
    assert_int_equal(job_lost(j), 0);
    job_end(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_wait_as_their_memory_says),
        cmocka_unit_test(a_copy_did_not_wait_for_what_ran_behind_it),
        cmocka_unit_test(a_free_is_inferred_from_what_ended_meanwhile),
        cmocka_unit_test(a_reset_is_inferred_in_the_same_way),
        cmocka_unit_test(a_memset_waits_for_itself),
        cmocka_unit_test(a_free_is_in_the_context_that_its_thread_launched_into),
        cmocka_unit_test(a_free_that_fits_another_context_is_counted),
        cmocka_unit_test(failed_calls_give_nothing),
        cmocka_unit_test(a_wait_that_failed_gives_nothing),
        cmocka_unit_test(a_copy_whose_call_comes_too_late_is_counted_if_it_waited),
        cmocka_unit_test(a_copy_that_failed_gives_nothing),
        cmocka_unit_test(copies_that_are_given_up_are_counted_if_they_wait),
        cmocka_unit_test(without_synchronization_records_a_wait_is_guessed_or_counted),
        cmocka_unit_test(a_query_does_not_wait),
        cmocka_unit_test(a_launch_of_a_graph_does_not_wait_for_its_copy),
        cmocka_unit_test(a_blocking_copy_between_devices_is_counted),
        cmocka_unit_test(an_asynchronous_one_has_the_order_of_its_stream),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
