/*
 * graph.c - a CUDA graph: captured from two streams, launched four times.
 *
 * The graph is a copy in, a fork into two branches of kernels, a join, and a copy back. In the
 * trace each launch is one cuGraphLaunch call with one GPU operation for every node. The operations
 * share the call's correlation id, and each has its own graph node id. The sample has one thread.
 */
#include "cuda_load.h"

#include <string.h>

#include "spin_kernel.h"

#define MICROSECOND 1000ull
#define BYTES       (1u << 20)
#define LAUNCHES    4

static const char ptx[] = SPIN_MODULE SPIN_KERNEL("attention_spin_ns") SPIN_KERNEL("mlp_spin_ns")
    SPIN_KERNEL("join_spin_ns");

/* Enqueues work on capturing streams. The work does not run, but becomes nodes of the graph. */
static void enqueue(CUmodule module, CUstream main_stream, CUstream side, CUdeviceptr memory,
                    unsigned char *pinned)
{
    CUfunction attention, mlp, join;
    CUevent fork_event, join_event;

    CHECK(cu.ModuleGetFunction(&attention, module, "attention_spin_ns"));
    CHECK(cu.ModuleGetFunction(&mlp, module, "mlp_spin_ns"));
    CHECK(cu.ModuleGetFunction(&join, module, "join_spin_ns"));
    CHECK(cu.EventCreate(&fork_event, CU_EVENT_DISABLE_TIMING));
    CHECK(cu.EventCreate(&join_event, CU_EVENT_DISABLE_TIMING));

    CHECK(cu.MemcpyHtoDAsync(memory, pinned, BYTES, main_stream));
    CHECK(cu.EventRecord(fork_event, main_stream));
    CHECK(cu.StreamWaitEvent(side, fork_event, 0)); /* this wait adds the side stream to the
                                                       capture */

    spin_launch(attention, main_stream, 32, 128, 400 * MICROSECOND);
    spin_launch(mlp, side, 16, 256, 300 * MICROSECOND);
    CHECK(cu.MemsetD8Async(memory, 7, BYTES / 2, side));

    CHECK(cu.EventRecord(join_event, side));
    CHECK(cu.StreamWaitEvent(main_stream, join_event, 0));
    spin_launch(join, main_stream, 8, 64, 100 * MICROSECOND);
    CHECK(cu.MemcpyDtoHAsync(pinned, memory, BYTES, main_stream));

    CHECK(cu.EventDestroy(fork_event));
    CHECK(cu.EventDestroy(join_event));
}

int main(void)
{
    CUmodule module;
    CUstream main_stream, side;
    CUdeviceptr memory;
    CUgraph graph;
    CUgraphExec executable;
    size_t nodes = 0;
    unsigned char *pinned;

    cuda_open();
    cuda_use_device(0);
    CHECK(cu.ModuleLoadData(&module, ptx));
    CHECK(cu.StreamCreate(&main_stream, CU_STREAM_NON_BLOCKING));
    CHECK(cu.StreamCreate(&side, CU_STREAM_NON_BLOCKING));
    CHECK(cu.MemAlloc(&memory, BYTES));
    CHECK(cu.MemAllocHost((void **)&pinned, BYTES));
    memset(pinned, 1, BYTES);

    CHECK(cu.StreamBeginCapture(main_stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    enqueue(module, main_stream, side, memory, pinned);
    CHECK(cu.StreamEndCapture(main_stream, &graph));
    CHECK(cu.GraphGetNodes(graph, NULL, &nodes));
    printf("captured %zu nodes; nothing has run: %d\n", nodes, pinned[0]);

    CHECK(cu.GraphInstantiate(&executable, graph, 0));
    CHECK(cu.GraphDestroy(graph)); /* the executable graph is a copy, so the graph is not needed any
                                      more */

    CHECK(cu.GraphLaunch(executable, main_stream));
    CHECK(cu.StreamSynchronize(main_stream));
    printf("launched once: %d and %d\n", pinned[0], pinned[BYTES - 1]);

    /* Each launch is made before the previous launch has ended. CUDA runs the launches one after
     * the other. */
    for (int i = 1; i < LAUNCHES; i++)
        CHECK(cu.GraphLaunch(executable, main_stream));
    CHECK(cu.StreamSynchronize(main_stream));
    printf("launched %d times\n", LAUNCHES);

    CHECK(cu.GraphExecDestroy(executable));
    CHECK(cu.MemFreeHost(pinned));
    CHECK(cu.MemFree(memory));
    CHECK(cu.StreamDestroy(side));
    CHECK(cu.StreamDestroy(main_stream));
    CHECK(cu.ModuleUnload(module));
    return 0;
}
