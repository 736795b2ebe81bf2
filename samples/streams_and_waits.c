/*
 * streams_and_waits.c - every way in which a CPU thread or a stream can wait for the GPU.
 *
 * Each step enqueues work, waits for it in one way, and checks that the work has ended. In the
 * trace each step has a CPU call that lasts until the awaited work has ended. Comments mark the
 * exceptions, which are calls that do not wait. The sample has one thread, and frees all its
 * memory.
 */
#include "cuda_load.h"

#include <string.h>

#include "spin_kernel.h"

#define MILLISECOND 1000000ull
#define BYTES       (4u << 20)

static const char ptx[] = SPIN_MODULE SPIN_KERNEL("producer_spin_ns")
    SPIN_KERNEL("consumer_spin_ns") SPIN_KERNEL("background_spin_ns");

static CUfunction producer, consumer, background;

/* Checks that the work of a step has ended. `state` is the result of a query for this work. */
static void done(const char *how, CUresult state)
{
    if (state != CUDA_SUCCESS) {
        printf("%-44s returned too early\n", how);
        exit(1);
    }
    printf("%-44s ok\n", how);
}

static void wait_for_streams_and_events(CUstream a, CUstream b)
{
    CUevent event;
    unsigned polls = 0;

    spin_launch(producer, a, 8, 128, 2 * MILLISECOND);
    CHECK(cu.StreamSynchronize(a));
    done("cuStreamSynchronize", cu.StreamQuery(a));

    CHECK(cu.EventCreate(&event, CU_EVENT_DISABLE_TIMING));
    spin_launch(producer, a, 8, 128, 2 * MILLISECOND);
    CHECK(cu.EventRecord(event, a));
    CHECK(cu.EventSynchronize(event));
    done("cuEventSynchronize", cu.StreamQuery(a));

    /* Work runs on two streams. The call returns when both streams have finished; here `b` takes
     * longer. */
    spin_launch(producer, a, 8, 128, 1 * MILLISECOND);
    spin_launch(background, b, 4, 64, 3 * MILLISECOND);
    CHECK(cu.CtxSynchronize());
    done("cuCtxSynchronize", cu.StreamQuery(b));

    /* Stream b waits for a's event without a wait on the CPU; then the CPU waits for b. */
    spin_launch(producer, a, 8, 128, 2 * MILLISECOND);
    CHECK(cu.EventRecord(event, a));
    CHECK(cu.StreamWaitEvent(b, event, 0));
    spin_launch(consumer, b, 16, 256, 1 * MILLISECOND);
    CHECK(cu.StreamSynchronize(b));
    done("cuStreamWaitEvent, then cuStreamSynchronize", cu.StreamQuery(a));

    /* The loop polls until the work has ended. Until then each query returns "not ready". */
    spin_launch(producer, a, 8, 128, 1 * MILLISECOND);
    CHECK(cu.EventRecord(event, a));
    while (cu.EventQuery(event) == CUDA_ERROR_NOT_READY)
        polls++;
    done("cuEventQuery until ready", cu.StreamQuery(a));
    spin_launch(producer, a, 8, 128, 1 * MILLISECOND);
    while (cu.StreamQuery(a) == CUDA_ERROR_NOT_READY)
        polls++;
    done("cuStreamQuery until ready", cu.StreamQuery(a));
    fprintf(stderr, "polled %u times\n", polls);
    CHECK(cu.EventDestroy(event));
}

/* The legacy default stream (NULL) and blocking streams wait for each other. The legacy default
 * stream and non-blocking streams do not wait for each other. */
static void wait_by_the_default_stream(CUstream blocking, CUstream free_running)
{
    spin_launch(background, free_running, 4, 64, 6 * MILLISECOND);
    spin_launch(producer, blocking, 8, 128, 2 * MILLISECOND);
    spin_launch(consumer, NULL, 16, 256, 1 * MILLISECOND);
    CHECK(cu.StreamSynchronize(NULL));
    done("legacy default stream behind a blocking one", cu.StreamQuery(blocking));
    CHECK(cu.StreamSynchronize(free_running));
    done("non-blocking stream on its own", cu.StreamQuery(free_running));
}

static void wait_by_copies(CUstream stream, CUdeviceptr memory, unsigned char *pinned)
{
    unsigned char *pageable = malloc(BYTES);
    CUevent event;

    if (!pageable)
        exit(1);
    CHECK(cu.EventCreate(&event, CU_EVENT_DISABLE_TIMING));
    /* Copies between pinned memory and the device on a stream do not block. The synchronize waits
     * for both copies. */
    memset(pinned, 1, BYTES);
    CHECK(cu.MemcpyHtoDAsync(memory, pinned, BYTES, stream));
    CHECK(cu.MemsetD8Async(memory, 2, BYTES / 2, stream));
    CHECK(cu.MemcpyDtoHAsync(pinned, memory, BYTES, stream));
    CHECK(cu.StreamSynchronize(stream));
    done("pinned copies, then cuStreamSynchronize", cu.StreamQuery(stream));
    printf("copied back: %d and %d\n", pinned[0], pinned[BYTES - 1]);

    /* The same copy to pageable memory blocks inside the call, despite "Async" in its name. */
    spin_launch(producer, stream, 8, 128, 2 * MILLISECOND);
    CHECK(cu.MemcpyDtoHAsync(pageable, memory, BYTES, stream));
    done("cuMemcpyDtoHAsync to pageable memory", cu.StreamQuery(stream));

    /* Synchronous copies run on the legacy default stream, after the earlier work of all blocking
     * streams. This copy waits for earlier work, but may return before its own transfer has
     * ended. */
    spin_launch(producer, stream, 8, 128, 2 * MILLISECOND);
    CHECK(cu.EventRecord(event, stream));
    CHECK(cu.MemcpyHtoD(memory, pageable, BYTES));
    done("cuMemcpyHtoD from pageable memory", cu.EventQuery(event));
    spin_launch(producer, stream, 8, 128, 2 * MILLISECOND);
    CHECK(cu.MemcpyDtoH(pageable, memory, BYTES));
    done("cuMemcpyDtoH", cu.StreamQuery(stream));
    CHECK(cu.EventDestroy(event));
    free(pageable);
}

static void CUDA_CB on_host(void *flag)
{
    *(volatile int *)flag = 1;
}

static void wait_by_memory_and_host_functions(CUstream stream)
{
    CUdeviceptr memory;
    int called = 0;

    /* Running work may still use the memory, so cuMemFree waits for all work in the context. */
    CHECK(cu.MemAlloc(&memory, BYTES));
    spin_launch(producer, stream, 8, 128, 2 * MILLISECOND);
    CHECK(cu.MemFree(memory));
    done("cuMemFree", cu.StreamQuery(stream));

    /* Stream-ordered allocation and freeing do not wait on the CPU. */
    CHECK(cu.MemAllocAsync(&memory, BYTES, stream));
    spin_launch(producer, stream, 8, 128, 1 * MILLISECOND);
    CHECK(cu.MemFreeAsync(memory, stream));
    CHECK(cu.StreamSynchronize(stream));
    done("cuMemAllocAsync and cuMemFreeAsync", cu.StreamQuery(stream));

    /* The opposite case: the stream waits for a function on the CPU. */
    CHECK(cu.LaunchHostFunc(stream, on_host, &called));
    spin_launch(consumer, stream, 16, 256, 1 * MILLISECOND);
    CHECK(cu.StreamSynchronize(stream));
    done(called ? "cuLaunchHostFunc" : "cuLaunchHostFunc (never called)", cu.StreamQuery(stream));
}

int main(void)
{
    CUcontext context;
    CUmodule module;
    CUstream blocking, second, free_running;
    CUdeviceptr memory;
    unsigned char *pinned;
    int least, greatest;

    cuda_open();
    context = cuda_use_device(0);
    CHECK(cu.ModuleLoadData(&module, ptx));
    CHECK(cu.ModuleGetFunction(&producer, module, "producer_spin_ns"));
    CHECK(cu.ModuleGetFunction(&consumer, module, "consumer_spin_ns"));
    CHECK(cu.ModuleGetFunction(&background, module, "background_spin_ns"));
    CHECK(cu.CtxGetStreamPriorityRange(&least, &greatest));
    CHECK(cu.StreamCreate(&blocking, CU_STREAM_DEFAULT));
    CHECK(cu.StreamCreate(&second, CU_STREAM_DEFAULT));
    CHECK(cu.StreamCreateWithPriority(&free_running, CU_STREAM_NON_BLOCKING, greatest));
    CHECK(cu.MemAlloc(&memory, BYTES));
    CHECK(cu.MemAllocHost((void **)&pinned, BYTES));

    wait_for_streams_and_events(blocking, second);
    wait_by_the_default_stream(blocking, free_running);
    wait_by_copies(blocking, memory, pinned);
    wait_by_memory_and_host_functions(blocking);

    CHECK(cu.MemFreeHost(pinned));
    CHECK(cu.MemFree(memory));
    CHECK(cu.StreamDestroy(free_running));
    CHECK(cu.StreamDestroy(second));
    CHECK(cu.StreamDestroy(blocking));
    CHECK(cu.ModuleUnload(module));
    (void)context; /* the primary context is released at process exit */
    return 0;
}
