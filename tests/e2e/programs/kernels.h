/*
 * kernels.h - what the programs that are clients of CUPTI's do on the GPU: a context, kernels of
 * 20 us, pauses. One thread; state is static. Include from a program's one file.
 */
#ifndef SL_E2E_KERNELS_H
#define SL_E2E_KERNELS_H

#include <cuda.h>
#include <time.h>

#include "cuda_load.h"
#include "spin_kernel.h"

#define KERNEL_NS 20000

static struct {
    CUcontext context;
    CUmodule module;
    CUfunction kernel;
} s;

static void do_context(void)
{
    static const char ptx[] = SPIN_MODULE SPIN_KERNEL("plain_spin_ns");

    cuda_open();
    s.context = cuda_use_device(0);
    CHECK(cu.ModuleLoadData(&s.module, ptx));
    CHECK(cu.ModuleGetFunction(&s.kernel, s.module, "plain_spin_ns"));
}

static void do_kernels(long n)
{
    for (long i = 0; i < n; i++)
        spin_launch(s.kernel, NULL, 1, 32, KERNEL_NS);
    CHECK(cu.CtxSynchronize());
}

static void do_sleep(long ms)
{
    struct timespec left = {ms / 1000, ms % 1000 * 1000000};

    while (nanosleep(&left, &left))
        ;
}

#endif
