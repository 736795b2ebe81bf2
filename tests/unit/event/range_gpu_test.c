/* range_gpu_test.c - what the GPU did for a range. */
#include "event/range_rig.h"

static void the_gpu_is_shown_once_all_of_it_is_in(void **state)
{
    const struct sl_event *gpu;

    (void)state;
    push(0, 10, 1);
    push(0, 20, 2);
    launch(THREAD, 25, 5, 100, 200);
    launch(THREAD, 26, 6, 110, 120);
    pop(0, 30);
    pop(0, 40);
    sl_ranges_complete(ranges, 150);
    assert_null(row(SL_EV_NOTE_GPU, 1)); /* an operation ends after that */
    sl_ranges_complete(ranges, 250);
    assert_int_equal(outs, 2 + 4); /* both ranges, each on two streams */
    gpu = &out[outs - 1];
    assert_int_equal(gpu->kind, SL_EV_NOTE_GPU);
    assert_int_equal(gpu->start_ns, gpu->stream == 5 ? 100 : 110);
    assert_int_equal(gpu->end_ns, gpu->stream == 5 ? 200 : 120);
}

static void a_worker_works_for_the_one_that_has_a_range(void **state)
{
    const struct sl_range_look look = {.name = 9};

    (void)state;
    push(0, 10, 1);
    launch(50, 20, 5, 100, 200); /* not known as a worker yet */
    sl_ranges_worker(ranges, 50);
    launch(50, 30, 5, 300, 400);
    assert_int_equal(around(50, 30), 1);
    sl_ranges_push(ranges, THREAD + 1, 0, 35, &look); /* now there are two */
    assert_int_equal(around(50, 36), 0);
    pop(0, 40);
    sl_ranges_close(ranges, 500);
    assert_int_equal(row(SL_EV_NOTE_GPU, 1)->start_ns, 300);
    assert_null(row(SL_EV_NOTE_GPU, 9));
}

static void what_the_gpu_does_outside_the_window_is_not_shown(void **state)
{
    const struct sl_event *gpu;

    (void)state;
    sl_ranges_window(ranges, 100, 200);
    push(0, 10, 1);
    launch(THREAD, 20, 5, 50, 90);
    launch(THREAD, 30, 5, 110, 130);
    launch(THREAD, 40, 5, 150, 260); /* begins in it */
    launch(THREAD, 45, 5, 270, 280);
    launch(THREAD, 46, 6, 290, 300);
    pop(0, 50);
    sl_ranges_complete(ranges, 400);
    gpu = row(SL_EV_NOTE_GPU, 1); /* one: nothing on stream 6 */
    assert_non_null(gpu);
    assert_int_equal(gpu->start_ns, 110);
    assert_int_equal(gpu->end_ns, 260);
    assert_int_equal(gpu->stream, 5);
}

/* The range does not wait for it; of one that did not fail it does. */
static void a_launch_that_failed_has_no_operation(void **state)
{
    struct sl_event call = {
        .kind = SL_EV_RUNTIME, .flags = SL_EVF_LAUNCH, .start_ns = 15, .thread = THREAD};

    (void)state;
    push(0, 10, 1);
    launch(THREAD, 12, 5, 20, 30);
    call.u.call.result = 2;
    sl_ranges_call(ranges, &call);
    pop(0, 40);
    sl_ranges_complete(ranges, 50);
    assert_non_null(row(SL_EV_NOTE_GPU, 1));

    push(0, 60, 2);
    launch(THREAD, 62, 5, 64, 66);
    call.start_ns = 65;
    call.u.call.result = 0;
    sl_ranges_call(ranges, &call);
    pop(0, 70);
    sl_ranges_complete(ranges, 80);
    assert_null(row(SL_EV_NOTE_GPU, 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_gpu_is_shown_once_all_of_it_is_in, create, destroy),
        cmocka_unit_test_setup_teardown(a_worker_works_for_the_one_that_has_a_range, create,
                                        destroy),
        cmocka_unit_test_setup_teardown(what_the_gpu_does_outside_the_window_is_not_shown, create,
                                        destroy),
        cmocka_unit_test_setup_teardown(a_launch_that_failed_has_no_operation, create, destroy),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
