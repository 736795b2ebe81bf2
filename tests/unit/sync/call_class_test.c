/* call_class_test.c - checks the class of each callback id against the call's name in NVIDIA's
 * headers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <cupti.h>

#include "sync/call_class.h"

#define RUNTIME(name) CUPTI_RUNTIME_TRACE_CBID_##name
#define DRIVER(name)  CUPTI_DRIVER_TRACE_CBID_##name

struct want {
    uint32_t cbid;
    enum sl_call_class class;
};

static void assert_all(enum sl_event_kind domain, const struct want *want, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_int_equal(sl_call_class_of(domain, want[i].cbid), want[i].class);
}

static void runtime_calls_are_known_by_name(void **state)
{
    static const struct want want[] = {
        {RUNTIME(cudaDeviceSynchronize_v3020), SL_CALL_DEVICE_SYNC},
        {RUNTIME(cudaThreadSynchronize_v3020), SL_CALL_DEVICE_SYNC},
        {RUNTIME(cudaStreamSynchronize_v3020), SL_CALL_STREAM_SYNC},
        {RUNTIME(cudaStreamSynchronize_ptsz_v7000), SL_CALL_STREAM_SYNC},
        {RUNTIME(cudaStreamQuery_v3020), SL_CALL_STREAM_QUERY},
        {RUNTIME(cudaStreamQuery_ptsz_v7000), SL_CALL_STREAM_QUERY},
        {RUNTIME(cudaEventSynchronize_v3020), SL_CALL_EVENT_SYNC},
        {RUNTIME(cudaEventQuery_v3020), SL_CALL_EVENT_QUERY},
        {RUNTIME(cudaStreamWaitEvent_v3020), SL_CALL_STREAM_WAIT},
        {RUNTIME(cudaStreamWaitEvent_ptsz_v7000), SL_CALL_STREAM_WAIT},
        {RUNTIME(cudaGraphLaunch_v10000), SL_CALL_GRAPH_LAUNCH},
        {RUNTIME(cudaGraphLaunch_ptsz_v10000), SL_CALL_GRAPH_LAUNCH},
        {RUNTIME(cudaLaunch_v3020), SL_CALL_KERNEL_LAUNCH},
        {RUNTIME(cudaLaunch_ptsz_v7000), SL_CALL_KERNEL_LAUNCH},
        {RUNTIME(cudaLaunchKernel_v7000), SL_CALL_KERNEL_LAUNCH},
        {RUNTIME(cudaLaunchKernel_ptsz_v7000), SL_CALL_KERNEL_LAUNCH},
        {RUNTIME(cudaLaunchKernelExC_v11060), SL_CALL_KERNEL_LAUNCH},
        {RUNTIME(cudaLaunchKernelExC_ptsz_v11060), SL_CALL_KERNEL_LAUNCH},
        {RUNTIME(cudaLaunchCooperativeKernel_v9000), SL_CALL_KERNEL_LAUNCH},
        {RUNTIME(cudaLaunchCooperativeKernel_ptsz_v9000), SL_CALL_KERNEL_LAUNCH},
        {RUNTIME(cudaLaunchCooperativeKernelMultiDevice_v9000), SL_CALL_KERNEL_LAUNCH},
        {RUNTIME(cudaStreamBeginCapture_v10000), SL_CALL_CAPTURE_BEGIN},
        {RUNTIME(cudaStreamBeginCapture_ptsz_v10000), SL_CALL_CAPTURE_BEGIN},
        {RUNTIME(cudaStreamBeginCaptureToGraph_v12030), SL_CALL_CAPTURE_BEGIN},
        {RUNTIME(cudaStreamBeginCaptureToGraph_ptsz_v12030), SL_CALL_CAPTURE_BEGIN},
        {RUNTIME(cudaStreamEndCapture_v10000), SL_CALL_CAPTURE_END},
        {RUNTIME(cudaStreamEndCapture_ptsz_v10000), SL_CALL_CAPTURE_END},
        {RUNTIME(cudaStreamIsCapturing_v10000), SL_CALL_OTHER},
        {562, SL_CALL_CAPTURE_BEGIN}, /* cudaStreamBeginRecaptureToGraph, of later headers */
        {RUNTIME(cudaFree_v3020), SL_CALL_FREE},
        {RUNTIME(cudaFreeHost_v3020), SL_CALL_FREE},
        {RUNTIME(cudaFreeArray_v3020), SL_CALL_FREE},
        {RUNTIME(cudaFreeMipmappedArray_v5000), SL_CALL_FREE},
        {RUNTIME(cudaDeviceReset_v3020), SL_CALL_UNLOAD},
        {RUNTIME(cudaThreadExit_v3020), SL_CALL_UNLOAD},
        {RUNTIME(cudaLibraryUnload_v12060), SL_CALL_UNLOAD},
        {RUNTIME(cudaMemcpy_v3020), SL_CALL_BLOCKING_COPY},
        {RUNTIME(cudaMemcpy_ptds_v7000), SL_CALL_BLOCKING_COPY},
        {RUNTIME(cudaMemcpyPeer_v4000), SL_CALL_BLOCKING_COPY},
        {RUNTIME(cudaMemset_v3020), SL_CALL_BLOCKING_COPY},
        {RUNTIME(cudaMemcpyAsync_v3020), SL_CALL_ASYNC_COPY},
        {RUNTIME(cudaMemcpyAsync_ptsz_v7000), SL_CALL_ASYNC_COPY},
        /* calls that are only ordered on a stream and do not block the thread */
        {RUNTIME(cudaFreeAsync_v11020), SL_CALL_OTHER},
        {RUNTIME(cudaMallocAsync_v11020), SL_CALL_OTHER},
        {RUNTIME(cudaMemsetAsync_v3020), SL_CALL_OTHER},
        {RUNTIME(cudaEventRecord_v3020), SL_CALL_OTHER},
        {0, SL_CALL_OTHER},
        {UINT32_MAX, SL_CALL_OTHER},
    };

    (void)state;
    assert_all(SL_EV_RUNTIME, want, sizeof want / sizeof *want);
}

static void driver_calls_are_known_by_name(void **state)
{
    static const struct want want[] = {
        {DRIVER(cuCtxSynchronize), SL_CALL_CONTEXT_SYNC},
        {DRIVER(cuStreamSynchronize), SL_CALL_STREAM_SYNC},
        {DRIVER(cuStreamSynchronize_ptsz), SL_CALL_STREAM_SYNC},
        {DRIVER(cuStreamQuery), SL_CALL_STREAM_QUERY},
        {DRIVER(cuEventSynchronize), SL_CALL_EVENT_SYNC},
        {DRIVER(cuEventQuery), SL_CALL_EVENT_QUERY},
        {DRIVER(cuStreamWaitEvent), SL_CALL_STREAM_WAIT},
        {DRIVER(cuStreamWaitEvent_ptsz), SL_CALL_STREAM_WAIT},
        {DRIVER(cuGreenCtxRecordEvent), SL_CALL_CONTEXT_RECORD},
        {DRIVER(cuCtxRecordEvent), SL_CALL_CONTEXT_RECORD},
        {DRIVER(cuGreenCtxWaitEvent), SL_CALL_CONTEXT_WAIT},
        {DRIVER(cuCtxWaitEvent), SL_CALL_CONTEXT_WAIT},
        {DRIVER(cuMemFree_v2), SL_CALL_FREE},
        {DRIVER(cuMemFreeHost), SL_CALL_FREE},
        {DRIVER(cuArrayDestroy), SL_CALL_FREE},
        {DRIVER(cuMipmappedArrayDestroy), SL_CALL_FREE},
        {DRIVER(cuModuleUnload), SL_CALL_UNLOAD},
        {DRIVER(cuCtxDestroy), SL_CALL_UNLOAD},
        {DRIVER(cuCtxDestroy_v2), SL_CALL_UNLOAD},
        {DRIVER(cuDevicePrimaryCtxReset), SL_CALL_UNLOAD},
        {DRIVER(cuDevicePrimaryCtxReset_v2), SL_CALL_UNLOAD},
        {DRIVER(cuLibraryUnload), SL_CALL_UNLOAD},
        {DRIVER(cuGraphLaunch), SL_CALL_GRAPH_LAUNCH},
        {DRIVER(cuGraphLaunch_ptsz), SL_CALL_GRAPH_LAUNCH},
        {819, SL_CALL_GRAPH_LAUNCH}, /* cuGraphLaunchWithArguments, of later headers */
        {DRIVER(cuLaunch), SL_CALL_KERNEL_LAUNCH},
        {DRIVER(cuLaunchGrid), SL_CALL_KERNEL_LAUNCH},
        {DRIVER(cuLaunchGridAsync), SL_CALL_KERNEL_LAUNCH},
        {DRIVER(cuLaunchKernel), SL_CALL_KERNEL_LAUNCH},
        {DRIVER(cuLaunchKernel_ptsz), SL_CALL_KERNEL_LAUNCH},
        {DRIVER(cuLaunchKernelEx), SL_CALL_KERNEL_LAUNCH},
        {DRIVER(cuLaunchKernelEx_ptsz), SL_CALL_KERNEL_LAUNCH},
        {DRIVER(cuLaunchCooperativeKernel), SL_CALL_KERNEL_LAUNCH},
        {DRIVER(cuLaunchCooperativeKernel_ptsz), SL_CALL_KERNEL_LAUNCH},
        {DRIVER(cuLaunchCooperativeKernelMultiDevice), SL_CALL_KERNEL_LAUNCH},
        {828, SL_CALL_KERNEL_LAUNCH}, /* cuSubgridScheduleLaunch, of later headers */
        {DRIVER(cuStreamBeginCapture), SL_CALL_CAPTURE_BEGIN},
        {DRIVER(cuStreamBeginCapture_ptsz), SL_CALL_CAPTURE_BEGIN},
        {DRIVER(cuStreamBeginCapture_v2), SL_CALL_CAPTURE_BEGIN},
        {DRIVER(cuStreamBeginCapture_v2_ptsz), SL_CALL_CAPTURE_BEGIN},
        {DRIVER(cuStreamBeginCaptureToGraph), SL_CALL_CAPTURE_BEGIN},
        {DRIVER(cuStreamBeginCaptureToGraph_ptsz), SL_CALL_CAPTURE_BEGIN},
        {DRIVER(cuStreamEndCapture), SL_CALL_CAPTURE_END},
        {DRIVER(cuStreamEndCapture_ptsz), SL_CALL_CAPTURE_END},
        {846, SL_CALL_CAPTURE_BEGIN}, /* cuStreamBeginRecaptureToGraph, of later headers */
        {DRIVER(cuMemcpyDtoH_v2), SL_CALL_BLOCKING_COPY},
        {DRIVER(cuMemcpyHtoD_v2_ptds), SL_CALL_BLOCKING_COPY},
        {DRIVER(cuMemcpy), SL_CALL_BLOCKING_COPY},
        {DRIVER(cuMemsetD8_v2), SL_CALL_BLOCKING_COPY},
        {DRIVER(cuMemsetD2D32_v2_ptds), SL_CALL_BLOCKING_COPY},
        {DRIVER(cuMemcpyDtoHAsync_v2), SL_CALL_ASYNC_COPY},
        {DRIVER(cuMemcpyAsync), SL_CALL_ASYNC_COPY},
        {DRIVER(cuMemFreeAsync), SL_CALL_OTHER},
        {DRIVER(cuMemsetD8Async), SL_CALL_OTHER},
        {DRIVER(cuEventRecord), SL_CALL_OTHER},
        {0, SL_CALL_OTHER},
        {UINT32_MAX, SL_CALL_OTHER},
    };

    (void)state;
    assert_all(SL_EV_DRIVER, want, sizeof want / sizeof *want);
}

/* A callback id means one call in the runtime domain and another call in the driver domain. */
static void domains_are_apart(void **state)
{
    (void)state;
    assert_int_equal(sl_call_class_of(SL_EV_RUNTIME, DRIVER(cuCtxSynchronize)), SL_CALL_OTHER);
    assert_int_equal(sl_call_class_of(SL_EV_DRIVER, RUNTIME(cudaDeviceSynchronize_v3020)),
                     SL_CALL_OTHER);
}

static void calls_that_only_wait_enqueue_nothing(void **state)
{
    (void)state;
    assert_false(sl_call_may_enqueue(SL_CALL_STREAM_SYNC));
    assert_false(sl_call_may_enqueue(SL_CALL_EVENT_QUERY));
    assert_false(sl_call_may_enqueue(SL_CALL_FREE));
    assert_true(sl_call_may_enqueue(SL_CALL_BLOCKING_COPY));
    assert_false(sl_call_may_enqueue(SL_CALL_CAPTURE_BEGIN));
    assert_true(sl_call_may_enqueue(SL_CALL_KERNEL_LAUNCH));
    assert_true(sl_call_may_enqueue(SL_CALL_GRAPH_LAUNCH));
    assert_true(sl_call_may_enqueue(SL_CALL_OTHER)); /* class of memsets and of unknown calls */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runtime_calls_are_known_by_name),
        cmocka_unit_test(driver_calls_are_known_by_name),
        cmocka_unit_test(domains_are_apart),
        cmocka_unit_test(calls_that_only_wait_enqueue_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
