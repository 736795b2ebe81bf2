/* range_gpu_test.c - the GPU time of a range. It begins with the first and ends with the last
 * operation that was launched in the range. */
#include "event/range_rig.h"

static void the_gpu_is_shown_once_all_of_it_is_in(void **state)
{
    const struct sl_event *gpu;

    push(0, 10, 1);
    push(0, 20, 2);
    launch(THREAD, 25, 5, 100, 200);
    launch(THREAD, 26, 6, 110, 120);
    pop(0, 30);
    pop(0, 40);
    sl_ranges_complete(ranges, 150);
    assert_null(row(SL_EV_NVTX_RANGE_GPU, 1)); /* an operation ends after the range */
    sl_ranges_complete(ranges, 250);
    assert_int_equal(outs, 2 + 4); /* two CPU rows, and for both ranges a GPU row on two streams */
    gpu = &out[outs - 1];
    assert_int_equal(gpu->kind, SL_EV_NVTX_RANGE_GPU);
    assert_int_equal(gpu->start_ns, gpu->stream == 5 ? 100 : 110);
    assert_int_equal(gpu->end_ns, gpu->stream == 5 ? 200 : 120);
}

static void a_worker_works_for_the_one_that_has_a_range(void **state)
{
    const struct sl_range_look look = {.name = 9};

    push(0, 10, 1);
    launch(50, 20, 5, 100, 200); /* this thread is not known to be a worker yet */
    sl_ranges_worker(ranges, 50);
    launch(50, 30, 5, 300, 400);
    assert_int_equal(around(50, 30), 1);
    sl_ranges_push(ranges, THREAD + 1, 0, 35, &look); /* now two threads have ranges */
    assert_int_equal(around(50, 36), 0);
    pop(0, 40);
    sl_ranges_close(ranges, 500);
    assert_int_equal(row(SL_EV_NVTX_RANGE_GPU, 1)->start_ns, 300);
    assert_null(row(SL_EV_NVTX_RANGE_GPU, 9));
}

/* The launches of a worker thread are counted for the ranges of the thread that it works for,
 * however many threads have ranges. If that thread has no range, the launches are counted for no
 * range. */
static void a_worker_works_for_the_one_that_is_known(void **state)
{
    const struct sl_range_look look = {.name = 9};

    sl_ranges_worker(ranges, 50);
    push(0, 10, 1);
    sl_ranges_push(ranges, THREAD + 1, 0, 12, &look);
    launch_for(50, 20, 100, 200, THREAD);
    launch_for(50, 30, 300, 400, THREAD + 2);
    launch_for(50, 31, 500, 600, 0);
    launch_for(51, 32, 700, 800, THREAD); /* not a worker */
    pop(0, 40);
    sl_ranges_complete(ranges, 900);
    assert_int_equal(row(SL_EV_NVTX_RANGE_GPU, 1)->start_ns, 100);
    assert_int_equal(row(SL_EV_NVTX_RANGE_GPU, 1)->end_ns, 200);
    sl_ranges_close(ranges, 900);
    assert_null(row(SL_EV_NVTX_RANGE_GPU, 9));
}

/* A worker works for another worker. Its launches are not counted for the other worker's range, but
 * for the range of the thread that is not a worker. */
static void a_worker_works_for_no_worker(void **state)
{
    sl_ranges_worker(ranges, 50);
    sl_ranges_worker(ranges, 51);
    push(0, 10, 1);
    launch_for(50, 20, 100, 200, 51);
    pop(0, 40);
    sl_ranges_complete(ranges, 900);
    assert_int_equal(row(SL_EV_NVTX_RANGE_GPU, 1)->end_ns, 200);
}

static void what_the_gpu_does_outside_the_window_is_not_shown(void **state)
{
    const struct sl_event *gpu;

    sl_ranges_window(ranges, 100, 200);
    push(0, 10, 1);
    launch(THREAD, 20, 5, 50, 90);
    launch(THREAD, 30, 5, 110, 130);
    launch(THREAD, 40, 5, 150, 260); /* begins inside the range */
    launch(THREAD, 45, 5, 270, 280);
    launch(THREAD, 46, 6, 290, 300);
    pop(0, 50);
    sl_ranges_complete(ranges, 400);
    gpu = row(SL_EV_NVTX_RANGE_GPU, 1); /* one row, because nothing runs on stream 6 */
    assert_non_null(gpu);
    assert_int_equal(gpu->start_ns, 110);
    assert_int_equal(gpu->end_ns, 260);
    assert_int_equal(gpu->stream, 5);
}

/* A failed launch enqueues no operation, so the range's row is not delayed by the failed launch. A
 * successful launch delays the row until its operation has arrived. */
static void a_launch_that_failed_has_no_operation(void **state)
{
    struct sl_event call = {
        .kind = SL_EV_RUNTIME, .flags = SL_EVF_LAUNCH, .start_ns = 15, .thread = THREAD};

    push(0, 10, 1);
    launch(THREAD, 12, 5, 20, 30);
    call.u.call.result = 2;
    sl_ranges_call(ranges, &call, 0);
    pop(0, 40);
    sl_ranges_complete(ranges, 50);
    assert_non_null(row(SL_EV_NVTX_RANGE_GPU, 1));

    push(0, 60, 2);
    launch(THREAD, 62, 5, 64, 66);
    call.start_ns = 65;
    call.u.call.result = 0;
    sl_ranges_call(ranges, &call, 0);
    pop(0, 70);
    sl_ranges_complete(ranges, 80);
    assert_null(row(SL_EV_NVTX_RANGE_GPU, 2));
}

/* Begins a range whose name is a pattern with a number. The event has other members, too. */
static void push_numbered(uint64_t ns, uint32_t name)
{
    const struct sl_range_look look = {
        .name = name, .numbers = 2ull << 32 | 1, .more = name + 1000};

    sl_ranges_push(ranges, THREAD, 0, ns, &look);
}

static struct sl_event call(uint64_t ns, uint16_t flags)
{
    struct sl_event ev = {.kind = SL_EV_RUNTIME, .flags = flags, .start_ns = ns, .thread = THREAD};

    sl_ranges_call(ranges, &ev, 0);
    return ev;
}

/* Delivers an operation of the launch that began at `launched_ns`. `flags` says whether this is the
 * launch's first operation. */
static void operation(uint64_t launched_ns, uint8_t device, uint32_t stream, uint64_t from,
                      uint64_t to, uint16_t flags)
{
    struct sl_event flow = {.kind = SL_EV_FLOW,
                            .flags = flags,
                            .start_ns = launched_ns,
                            .thread = THREAD,
                            .device = device,
                            .stream = stream};

    flow.u.flow.head_ns = from;
    flow.u.flow.op_end_ns = to;
    sl_ranges_flow(ranges, &flow);
}

static void launch_on(uint64_t ns, uint8_t device, uint32_t stream, uint64_t from, uint64_t to)
{
    call(ns, SL_EVF_LAUNCH);
    operation(ns, device, stream, from, to, SL_EVF_FLOW_FIRST);
}

static size_t gpu_rows(void)
{
    size_t rows = 0;

    for (size_t i = 0; i < outs; i++)
        rows += out[i].kind == SL_EV_NVTX_RANGE_GPU;
    return rows;
}

static void assert_row(uint32_t name, uint8_t device, uint32_t stream, uint64_t from, uint64_t to)
{
    unsigned found = 0;

    for (size_t i = 0; i < outs; i++) {
        if (out[i].kind != SL_EV_NVTX_RANGE_GPU || out[i].name != name || out[i].device != device ||
            out[i].stream != stream)
            continue;
        assert_int_equal(out[i].start_ns, from);
        assert_int_equal(out[i].end_ns, to);
        assert_int_equal(out[i].thread, THREAD);
        assert_int_equal(out[i].name_numbers, 2ull << 32 | 1);
        assert_int_equal(out[i].more, name + 1000);
        found++;
    }
    assert_int_equal(found, 1);
}

static void a_row_for_each_stream_of_each_device(void **state)
{
    push_numbered(100, 1);
    launch_on(110, 0, 7, 500, 600);
    launch_on(120, 0, 8, 520, 530);
    launch_on(130, 1, 7, 540, 550);
    launch_on(140, 0, 7, 400, 450); /* records of operations arrive in any order */
    launch_on(150, 0, 7, 700, 800);
    pop(0, 200);
    sl_ranges_complete(ranges, 10000);
    assert_int_equal(gpu_rows(), 3);
    assert_row(1, 0, 7, 400, 800);
    assert_row(1, 0, 8, 520, 530);
    assert_row(1, 1, 7, 540, 550);
}

static void a_call_has_the_innermost_range_and_its_numbers(void **state)
{
    struct sl_event ev;

    push_numbered(100, 1);
    push_numbered(120, 2);
    ev = call(130, 0);
    assert_int_equal(ev.u.call.range, 2);
    assert_int_equal(ev.range_numbers, 2ull << 32 | 1);
    assert_int_equal(call(110, 0).u.call.range, 1);
    assert_int_equal(call(90, 0).u.call.range, 0);
}

/* A range's row is written once, after the operation of its last launch has arrived. */
static void a_launch_is_waited_for(void **state)
{
    push_numbered(100, 1);
    launch_on(110, 0, 7, 500, 510);
    call(120, SL_EVF_LAUNCH);
    pop(0, 200);
    sl_ranges_complete(ranges, 10000);
    assert_int_equal(gpu_rows(), 0);
    operation(120, 0, 7, 9000, 9100, SL_EVF_FLOW_FIRST);
    sl_ranges_complete(ranges, 9100);
    assert_int_equal(gpu_rows(), 0);
    sl_ranges_complete(ranges, 10001);
    assert_row(1, 0, 7, 500, 9100);
}

/* The number of operations of a graph launch is unknown. So the range's row is written some time
 * after the last operation that has arrived. */
static void a_graph_may_have_more(void **state)
{
    push_numbered(100, 1);
    launch_on(110, 0, 7, 500, 510);
    operation(110, 0, 7, 520, 530, 0);
    pop(0, 200);
    sl_ranges_complete(ranges, 1000000000u);
    assert_int_equal(gpu_rows(), 0);
    operation(110, 0, 7, 900, 910, 0);
    sl_ranges_complete(ranges, 1000000000u + 911);
    assert_row(1, 0, 7, 500, 910);
}

/* A range with operations on too many streams does not get a row for every stream. The rows of
 * other ranges are not affected. */
static void more_streams_than_there_is_room_for(void **state)
{
    struct sl_ranges_counts counts;
    uint32_t stream = 0;

    push_numbered(100, 1);
    do {
        launch_on(110, 0, ++stream, 500, 600);
        sl_ranges_get_counts(ranges, &counts);
    } while (!counts.lost && stream < 1000000);
    assert_in_range(stream, 1000, 999999);
    launch_on(120, 0, 1, 700, 800); /* this stream is already known to the range */
    sl_ranges_get_counts(ranges, &counts);
    assert_int_equal(counts.lost, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_gpu_is_shown_once_all_of_it_is_in, create, destroy),
        cmocka_unit_test_setup_teardown(a_worker_works_for_the_one_that_has_a_range, create,
                                        destroy),
        cmocka_unit_test_setup_teardown(a_worker_works_for_the_one_that_is_known, create, destroy),
        cmocka_unit_test_setup_teardown(a_worker_works_for_no_worker, create, destroy),
        cmocka_unit_test_setup_teardown(what_the_gpu_does_outside_the_window_is_not_shown, create,
                                        destroy),
        cmocka_unit_test_setup_teardown(a_launch_that_failed_has_no_operation, create, destroy),
        cmocka_unit_test_setup_teardown(a_row_for_each_stream_of_each_device, create, destroy),
        cmocka_unit_test_setup_teardown(a_call_has_the_innermost_range_and_its_numbers, create,
                                        destroy),
        cmocka_unit_test_setup_teardown(a_launch_is_waited_for, create, destroy),
        cmocka_unit_test_setup_teardown(a_graph_may_have_more, create, destroy),
        cmocka_unit_test_setup_teardown(more_streams_than_there_is_room_for, create, destroy),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
