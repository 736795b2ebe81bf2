/*
 * peer_copy.c - a copy from one GPU to another, and concurrent work on both.
 *
 * With a single device the sample prints a message and ends with success. If the hardware supports
 * peer access, the copy goes directly from GPU to GPU. Otherwise the driver copies through host
 * memory. The sample makes the same calls in both cases. The sample has one thread, and a stream on
 * each device.
 */
#include "cuda_load.h"

#include <string.h>

#include "spin_kernel.h"

#define BYTES       (8u << 20)
#define MILLISECOND 1000000ull

static const char ptx[] = SPIN_MODULE SPIN_KERNEL("stage_spin_ns");

struct stage {
    CUcontext context;
    CUmodule module;
    CUfunction kernel;
    CUstream stream;
    CUdeviceptr memory;
};

static void stage_open(struct stage *stage, int device)
{
    stage->context = cuda_use_device(device);
    CHECK(cu.ModuleLoadData(&stage->module, ptx));
    CHECK(cu.ModuleGetFunction(&stage->kernel, stage->module, "stage_spin_ns"));
    CHECK(cu.StreamCreate(&stage->stream, CU_STREAM_NON_BLOCKING));
    CHECK(cu.MemAlloc(&stage->memory, BYTES));
}

static void stage_close(struct stage *stage)
{
    CHECK(cu.CtxSetCurrent(stage->context));
    CHECK(cu.MemFree(stage->memory));
    CHECK(cu.StreamDestroy(stage->stream));
    CHECK(cu.ModuleUnload(stage->module));
}

int main(void)
{
    struct stage first, second;
    CUevent copied;
    unsigned char *result;
    int devices = 0, direct = 0;

    cuda_open();
    CHECK(cu.DeviceGetCount(&devices));
    if (devices < 2) {
        printf("peer_copy: %d device here, two are needed: nothing to do\n", devices);
        return 0;
    }
    stage_open(&first, 0);
    stage_open(&second, 1);
    CHECK(cu.DeviceCanAccessPeer(&direct, 1, 0));
    if (direct) /* enables access from the second device, whose context is current */
        CHECK(cu.CtxEnablePeerAccess(first.context, 0));

    /* The loop is a pipeline of two stages: the first device computes, a copy moves the result, the
     * second device computes. The copy runs on the first device's stream; the second stream waits
     * for the copy by an event. */
    CHECK(cu.CtxSetCurrent(first.context));
    CHECK(cu.EventCreate(&copied, CU_EVENT_DISABLE_TIMING));
    CHECK(cu.MemsetD8Async(first.memory, 42, BYTES, first.stream));
    spin_launch(first.kernel, first.stream, 16, 128, 1 * MILLISECOND);
    CHECK(cu.MemcpyPeerAsync(second.memory, second.context, first.memory, first.context, BYTES,
                             first.stream));
    CHECK(cu.EventRecord(copied, first.stream));

    CHECK(cu.CtxSetCurrent(second.context));
    CHECK(cu.StreamWaitEvent(second.stream, copied, 0));
    spin_launch(second.kernel, second.stream, 16, 128, 1 * MILLISECOND);
    CHECK(cu.MemAllocHost((void **)&result, BYTES));
    memset(result, 0, BYTES);
    CHECK(cu.MemcpyDtoHAsync(result, second.memory, BYTES, second.stream));
    CHECK(cu.StreamSynchronize(second.stream));
    printf("peer_copy: %u bytes, first %d, last %d\n", BYTES, result[0], result[BYTES - 1]);

    CHECK(cu.MemFreeHost(result));
    CHECK(cu.EventDestroy(copied));
    stage_close(&first);
    stage_close(&second);
    return 0;
}
