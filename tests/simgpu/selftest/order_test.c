/*
 * order_test.c - tests the order of work: streams, the legacy default stream, events, waits. All
 * tests use one thread, except the test of many threads.
 *
 * Lower bounds of waiting times can be checked on any machine, because no wait may end early. Upper
 * bounds are checked with event times, which are simulated and do not depend on the machine's load.
 */
#include <pthread.h>

#include "gpu.h"

static void a_wait_waits(void **state)
{
    CUstream s = gpu_stream(CU_STREAM_NON_BLOCKING);
    uint64_t begin = sim_now_ns();

    gpu_spin('a', 30 * MS, s);
    assert_int_equal(cuStreamQuery(s), CUDA_ERROR_NOT_READY);
    OK(cuStreamSynchronize(s));
    assert_true(sim_now_ns() - begin >= 30 * MS);
    OK(cuStreamQuery(s));
    OK(cuStreamDestroy(s));
}

static void a_stream_runs_in_order_and_streams_at_once(void **state)
{
    CUstream s = gpu_stream(CU_STREAM_NON_BLOCKING), t = gpu_stream(CU_STREAM_NON_BLOCKING);
    CUevent begin = gpu_mark(s);
    float in_order, at_once;

    gpu_spin('a', 200 * MS, s);
    gpu_spin('b', 200 * MS, t);
    CUevent other = gpu_mark(t);

    gpu_spin('a', 200 * MS, s);
    CUevent end = gpu_mark(s);

    OK(cuCtxSynchronize());
    OK(cuEventElapsedTime(&in_order, begin, end));
    OK(cuEventElapsedTime(&at_once, begin, other));
    assert_true(in_order >= 400);
    assert_true(at_once < 400);
}

/* Enqueues one kernel on each of two streams, `first` before the other. Checks whether the second
 * kernel waits for the first. */
static void second_waits(CUstream first, CUstream second, int expected)
{
    CUevent begin = gpu_mark(first);
    float ms;

    gpu_spin('a', 100 * MS, first);
    gpu_spin('b', 100 * MS, second);
    CUevent end = gpu_mark(second);

    OK(cuCtxSynchronize());
    OK(cuEventElapsedTime(&ms, begin, end));
    assert_int_equal(ms >= 200, expected);
}

static void the_legacy_stream_orders_blocking_ones(void **state)
{
    CUstream blocking = gpu_stream(0), other = gpu_stream(CU_STREAM_NON_BLOCKING);

    second_waits(blocking, CU_STREAM_LEGACY, 1);
    second_waits(CU_STREAM_LEGACY, blocking, 1);
    second_waits(NULL, CU_STREAM_PER_THREAD, 1);
    second_waits(other, CU_STREAM_LEGACY, 0);
    second_waits(CU_STREAM_LEGACY, other, 0);
    second_waits(blocking, other, 0);
}

static void synchronizing_the_legacy_stream_waits_for_blocking_ones(void **state)
{
    CUstream blocking = gpu_stream(0), other = gpu_stream(CU_STREAM_NON_BLOCKING);

    gpu_spin('a', 20 * MS, blocking);
    gpu_spin('b', 500 * MS, other);
    OK(cuStreamSynchronize(NULL));
    OK(cuStreamQuery(blocking));
    assert_int_equal(cuStreamQuery(other), CUDA_ERROR_NOT_READY);
    OK(cuCtxSynchronize());
    OK(cuStreamQuery(other));
}

static void an_event_means_its_last_record_before_the_call(void **state)
{
    CUstream s = gpu_stream(CU_STREAM_NON_BLOCKING), t = gpu_stream(CU_STREAM_NON_BLOCKING);
    CUevent e = gpu_event();

    OK(cuEventQuery(e)); /* the event was never recorded, so there is nothing to wait for */
    gpu_spin('a', 10 * MS, s);
    OK(cuEventRecord(e, s));
    OK(cuStreamWaitEvent(t, e, 0));
    gpu_spin('b', 500 * MS, s);
    OK(cuEventRecord(e, s)); /* the wait above still refers to the first record */
    gpu_spin('c', 1 * MS, t);
    OK(cuStreamSynchronize(t));
    assert_int_equal(cuEventQuery(e), CUDA_ERROR_NOT_READY);
    OK(cuEventSynchronize(e));
    OK(cuStreamQuery(s));
}

static void a_wait_with_nothing_behind_it_counts_for_the_next_waiter(void **state)
{
    CUstream s = gpu_stream(CU_STREAM_NON_BLOCKING), t = gpu_stream(CU_STREAM_NON_BLOCKING);

    gpu_spin('a', 30 * MS, s);
    OK(cuStreamWaitEvent(t, gpu_mark(s), 0));
    OK(cuStreamSynchronize(t));
    OK(cuStreamQuery(s));
}

static void events_without_timing_have_no_time(void **state)
{
    CUevent timed = gpu_mark(NULL), plain;
    float ms;

    OK(cuEventCreate(&plain, CU_EVENT_DISABLE_TIMING));
    OK(cuEventRecord(plain, NULL));
    assert_int_equal(cuEventElapsedTime(&ms, timed, plain), CUDA_ERROR_INVALID_HANDLE);
    assert_int_equal(cuEventElapsedTime(&ms, timed, gpu_event()), CUDA_ERROR_INVALID_HANDLE);
    OK(cuEventDestroy(plain));
    assert_int_equal(cuEventRecord(plain, NULL), CUDA_ERROR_INVALID_HANDLE);
}

struct note {
    _Atomic int calls;
    CUresult inside;
};

static void CUDA_CB write_note(void *data)
{
    struct note *note = data;

    note->inside = cuCtxSynchronize();
    note->calls++;
}

static void a_host_callback_runs_in_its_place(void **state)
{
    CUstream s = gpu_stream(CU_STREAM_NON_BLOCKING);
    struct note note = {0};
    uint64_t begin = sim_now_ns();

    gpu_spin('a', 20 * MS, s);
    OK(cuLaunchHostFunc(s, write_note, &note));
    gpu_spin('b', 10 * MS, s);
    OK(cuStreamSynchronize(s));
    assert_int_equal(note.calls, 1);
    assert_int_equal(note.inside, CUDA_ERROR_NOT_PERMITTED);
    assert_true(sim_now_ns() - begin >= 30 * MS);
}

static void *launch_many(void *unused)
{
    CUstream s;

    if (cuCtxSetCurrent(gpu_context) || cuStreamCreate(&s, 0)) {
        return "setup";
    }
    for (int i = 0; i < 2000; i++) {
        uint64_t ns = 100;
        void *params[] = {&ns};

        if (cuLaunchKernel(gpu_kernel[0], 1, 1, 1, 32, 1, 1, 0, i % 7 ? s : NULL, params, NULL)) {
            return "launch";
        }
        if (i % 100 == 0 && cuStreamSynchronize(s)) {
            return "synchronize";
        }
    }
    return cuStreamSynchronize(s) || cuStreamDestroy(s) ? "end" : NULL;
}

static void threads_launch_at_once(void **state)
{
    pthread_t thread[4];
    void *fault;

    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&thread[i], NULL, launch_many, NULL), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(thread[i], &fault);
        assert_null(fault);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_waits),
        cmocka_unit_test(a_stream_runs_in_order_and_streams_at_once),
        cmocka_unit_test(the_legacy_stream_orders_blocking_ones),
        cmocka_unit_test(synchronizing_the_legacy_stream_waits_for_blocking_ones),
        cmocka_unit_test(an_event_means_its_last_record_before_the_call),
        cmocka_unit_test(a_wait_with_nothing_behind_it_counts_for_the_next_waiter),
        cmocka_unit_test(events_without_timing_have_no_time),
        cmocka_unit_test(a_host_callback_runs_in_its_place),
        cmocka_unit_test(threads_launch_at_once),
    };

    return cmocka_run_group_tests(tests, gpu_setup, NULL);
}
