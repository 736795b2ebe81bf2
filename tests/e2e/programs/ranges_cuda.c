/* ranges_cuda.c - the GPU work of `ranges`: one context, and one stream per thread. */
#include "ranges.h"

#include <cuda.h>
#include <nvtx3/nvToolsExtCuda.h>
#include <nvtx3/nvToolsExtCudaRt.h>

#include "cuda_load.h"
#include "spin_kernel.h"

#define KERNEL_NS 50000

static const char ptx[] = SPIN_MODULE SPIN_KERNEL("plain_spin_ns");

static struct {
    CUcontext context;
    CUmodule module;
    CUfunction kernel;
} s;

static _Thread_local CUstream stream;

void ranges_context(void)
{
    cuda_open();
    s.context = cuda_use_device(0);
    CHECK(cu.ModuleLoadData(&s.module, ptx));
    CHECK(cu.ModuleGetFunction(&s.kernel, s.module, "plain_spin_ns"));
}

void ranges_kernels(long n)
{
    if (!stream) {
        CHECK(cu.CtxSetCurrent(s.context));
        CHECK(cu.StreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    }
    for (long i = 0; i < n; i++)
        spin_launch(s.kernel, stream, 1, 32, KERNEL_NS);
}

void ranges_sync(void)
{
    CHECK(cu.StreamSynchronize(stream));
}

void ranges_name_stream(const char *name)
{
    nvtxNameCuStreamA(stream, name);
}

void ranges_name_stream_rt(const char *name)
{
    nvtxNameCudaStreamA(stream, name);
}
