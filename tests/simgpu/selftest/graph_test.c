/*
 * graph_test.c - tests capture and graphs: order inside and around a graph, and errors.
 */
#include "gpu.h"

static CUgraph capture_fork(CUstream s, CUstream side)
{
    CUevent joined = gpu_event();
    CUgraph graph;

    OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
    gpu_spin('a', 100 * MS, s);
    OK(cuStreamWaitEvent(side, gpu_mark(s), 0));
    gpu_spin('b', 100 * MS, side);
    gpu_spin('c', 100 * MS, s);
    OK(cuEventRecord(joined, side));
    assert_int_equal(cuEventQuery(joined), CUDA_ERROR_CAPTURED_EVENT);
    OK(cuStreamWaitEvent(s, joined, 0));
    gpu_spin('a', 100 * MS, s);
    OK(cuStreamEndCapture(s, &graph));
    OK(cuEventQuery(joined)); /* outside the capture, the event was never recorded */
    return graph;
}

static void captured_branches_run_at_once(void **state)
{
    CUstream s = gpu_stream(CU_STREAM_NON_BLOCKING), side = gpu_stream(CU_STREAM_NON_BLOCKING);
    CUgraph graph = capture_fork(s, side);
    size_t nodes = 0, roots = 0, edges = 0;
    CUgraphExec exec;
    float ms;

    OK(cuStreamQuery(s)); /* the captured work did not run */
    OK(cuGraphGetNodes(graph, NULL, &nodes));
    OK(cuGraphGetRootNodes(graph, NULL, &roots));
    OK(cuGraphGetEdges(graph, NULL, NULL, NULL, &edges));
    assert_int_equal(nodes, 4);
    assert_int_equal(roots, 1);
    assert_int_equal(edges, 4);
    OK(cuGraphInstantiate(&exec, graph, 0));
    CUevent begin = gpu_mark(s);

    OK(cuGraphLaunch(exec, s));
    CUevent end = gpu_mark(s);

    assert_int_equal(cuStreamQuery(s), CUDA_ERROR_NOT_READY);
    OK(cuStreamSynchronize(s));
    OK(cuEventElapsedTime(&ms, begin, end));
    assert_true(ms >= 300 && ms < 400);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
    assert_int_equal(cuGraphDestroy(graph), CUDA_ERROR_INVALID_VALUE);
}

struct steps {
    int n;
    char *pinned;
};

static void CUDA_CB step(void *data)
{
    struct steps *steps = data;

    steps->pinned[0] = (char)++steps->n;
}

static void nodes_by_hand_run_in_order(void **state)
{
    CUstream s = gpu_stream(CU_STREAM_NON_BLOCKING);
    struct steps steps = {0};
    CUgraphNode host, copy, set, empty;
    CUdeviceptr device;
    CUgraph graph;
    CUgraphExec exec;
    char in[2];

    OK(cuMemAlloc(&device, 64));
    OK(cuMemAllocHost((void **)&steps.pinned, 64));
    OK(cuGraphCreate(&graph, 0));
    CUDA_HOST_NODE_PARAMS call = {step, &steps};
    CUDA_MEMCPY3D up = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                        .srcHost = steps.pinned,
                        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                        .dstDevice = device,
                        .WidthInBytes = 1,
                        .Height = 1,
                        .Depth = 1};
    CUDA_MEMSET_NODE_PARAMS fill = {
        .dst = device + 1, .value = 9, .elementSize = 1, .width = 1, .height = 1};

    OK(cuGraphAddHostNode(&host, graph, NULL, 0, &call));
    OK(cuGraphAddEmptyNode(&empty, graph, &host, 1));
    OK(cuGraphAddMemcpyNode(&copy, graph, &empty, 1, &up, gpu_context));
    OK(cuGraphAddMemsetNode(&set, graph, &copy, 1, &fill, gpu_context));
    OK(cuGraphInstantiate(&exec, graph, 0));
    for (int i = 1; i <= 3; i++) {
        OK(cuGraphLaunch(exec, s));
        OK(cuMemcpyDtoHAsync(in, device, 2, s));
        assert_int_equal(in[0], i);
        assert_int_equal(in[1], 9);
    }
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
    OK(cuMemFreeHost(steps.pinned));
    OK(cuMemFree(device));
}

static void an_update_needs_the_same_shape(void **state)
{
    CUstream s = gpu_stream(CU_STREAM_NON_BLOCKING), side = gpu_stream(CU_STREAM_NON_BLOCKING);
    CUgraph graph = capture_fork(s, side), again = capture_fork(s, side), other;
    CUgraphExecUpdateResultInfo info;
    CUgraphNode child;
    CUgraphExec exec;
    CUgraph outer;

    OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
    gpu_spin('a', 1, s);
    OK(cuStreamEndCapture(s, &other));
    OK(cuGraphInstantiate(&exec, graph, 0));
    OK(cuGraphExecUpdate(exec, again, &info));
    assert_int_equal(cuGraphExecUpdate(exec, other, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphCreate(&outer, 0));
    OK(cuGraphAddChildGraphNode(&child, outer, NULL, 0, other));
    OK(cuGraphInstantiate(&exec, outer, 0));
    OK(cuGraphLaunch(exec, s));
    OK(cuStreamSynchronize(s));
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(outer));
    OK(cuGraphDestroy(other));
    OK(cuGraphDestroy(again));
    OK(cuGraphDestroy(graph));
}

static void a_capture_forbids_what_it_cannot_hold(void **state)
{
    CUstream s = gpu_stream(0), side = gpu_stream(CU_STREAM_NON_BLOCKING);
    CUstreamCaptureStatus status;
    CUdeviceptr device;
    CUgraph graph;

    OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuStreamIsCapturing(s, &status));
    assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    assert_int_equal(cuStreamSynchronize(s), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    assert_int_equal(cuStreamEndCapture(s, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);

    OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
    assert_int_equal(cuMemAlloc(&device, 4), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    assert_int_equal(cuStreamEndCapture(s, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);

    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;

    OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuThreadExchangeStreamCaptureMode(&mode));
    OK(cuMemAlloc(&device, 4));
    OK(cuThreadExchangeStreamCaptureMode(&mode));
    gpu_spin('a', 1, s);
    OK(cuStreamWaitEvent(side, gpu_mark(s), 0));
    gpu_spin('b', 1, side); /* the side stream is never joined to the origin again */
    assert_int_equal(cuStreamEndCapture(s, &graph), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);

    OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
    uint64_t ns = 1;
    void *params[] = {&ns};

    assert_int_equal(cuLaunchKernel(gpu_kernel[0], 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL),
                     CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    assert_int_equal(cuStreamEndCapture(s, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    OK(cuMemFree(device));
    OK(cuStreamSynchronize(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(captured_branches_run_at_once),
        cmocka_unit_test(nodes_by_hand_run_in_order),
        cmocka_unit_test(an_update_needs_the_same_shape),
        cmocka_unit_test(a_capture_forbids_what_it_cannot_hold),
    };

    return cmocka_run_group_tests(tests, gpu_setup, NULL);
}
