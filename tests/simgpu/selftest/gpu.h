/*
 * gpu.h - shared by the self-tests: a context, streams, and kernels that run for a given time.
 *
 * Kernels a to d last as long as their first parameter says, in ns. The kernel `broken` fails by
 * --kernel-error.
 */
#ifndef SIM_SELFTEST_GPU_H
#define SIM_SELFTEST_GPU_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <cuda.h>

#include "core/probe.h"

#define OK(call) assert_int_equal((call), CUDA_SUCCESS)
#define MS       1000000ull

enum {
    KERNELS = 5
};

static CUcontext gpu_context;
static CUfunction gpu_kernel[KERNELS];

static inline int gpu_setup(void **state)
{
    static const char ptx[] = ".version 8.0\n.target sm_70\n.address_size 64\n"
                              "// kernels by name\n"
                              ".visible .entry a(.param .u64 spin_ns) { ret; }\n"
                              ".visible .entry b(.param .u64 spin_ns) { ret; }\n"
                              ".visible .entry c(.param .u64 spin_ns) { ret; }\n"
                              ".visible .entry d(.param .u32 spin_ns, .param .u64 x) { ret; }\n"
                              ".visible .entry broken() { ret; }\n";
    static const char *const names[KERNELS] = {"a", "b", "c", "d", "broken"};
    CUmodule module;
    CUdevice device;

    OK(cuInit(0));
    OK(cuDeviceGet(&device, 0));
    OK(cuDevicePrimaryCtxRetain(&gpu_context, device));
    OK(cuCtxSetCurrent(gpu_context));
    OK(cuModuleLoadData(&module, ptx));
    for (int i = 0; i < KERNELS; i++) {
        OK(cuModuleGetFunction(&gpu_kernel[i], module, names[i]));
    }
    return 0;
}

/* Launches kernel 'a' to 'c' for `ns` on the stream. */
static inline void gpu_spin(char name, uint64_t ns, CUstream stream)
{
    void *params[] = {&ns};

    OK(cuLaunchKernel(gpu_kernel[name - 'a'], 1, 1, 1, 32, 1, 1, 0, stream, params, NULL));
}

static inline CUstream gpu_stream(unsigned flags)
{
    CUstream stream;

    OK(cuStreamCreate(&stream, flags));
    return stream;
}

static inline CUevent gpu_event(void)
{
    CUevent event;

    OK(cuEventCreate(&event, 0));
    return event;
}

static inline CUevent gpu_mark(CUstream stream)
{
    CUevent event = gpu_event();

    OK(cuEventRecord(event, stream));
    return event;
}

#endif
