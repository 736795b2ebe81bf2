/*
 * host_gpu.c - the GPU work of the program `host`.
 *
 * Any thread after host_gpu_setup(), which only the main thread calls.
 */
#include "cuda_load.h"

#include "host.h"
#include "spin_kernel.h"

#define KERNEL_NS 50000
#define SHORT_NS  1000

static const char ptx[] = SPIN_MODULE SPIN_KERNEL("work_spin_ns");

static CUcontext context;
static CUfunction kernel;
static CUstream stream;

void host_gpu_open(void)
{
    if (!cu.Init)
        cuda_open();
}

void host_gpu_setup(void)
{
    CUmodule module;

    host_gpu_open();
    context = cuda_use_device(0);
    CHECK(cu.ModuleLoadData(&module, ptx));
    CHECK(cu.ModuleGetFunction(&kernel, module, "work_spin_ns"));
    CHECK(cu.StreamCreate(&stream, 0));
}

void host_gpu_launch(uint64_t ns)
{
    spin_launch(kernel, stream, 1, 32, ns);
}

void host_gpu_wait(void)
{
    CHECK(cu.StreamSynchronize(stream));
}

void host_gpu_work(int waits)
{
    for (int i = 0; i < waits; i++) {
        host_gpu_launch(KERNEL_NS);
        host_gpu_wait();
    }
}

void host_gpu_work_ms(int ms)
{
    int64_t end_ms = host_now_ms() + ms;

    while (host_now_ms() < end_ms)
        host_gpu_work(10);
}

void host_gpu_thread(int count)
{
    CUstream own;

    CHECK(cu.CtxSetCurrent(context));
    CHECK(cu.StreamCreate(&own, 0));
    for (int i = 0; i < count; i++)
        spin_launch(kernel, own, 1, 32, SHORT_NS);
    CHECK(cu.StreamSynchronize(own));
    CHECK(cu.StreamDestroy(own));
}

void host_gpu_after_fork(void)
{
    cu.StreamSynchronize(stream);
}
