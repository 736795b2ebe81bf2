/*
 * launch.c - launches a kernel by name from inside a library, and models kernel costs.
 *
 * Application threads. This file is linked into each stand-in of this folder. The launch is a
 * separate API call, because CUPTI reports the runtime and driver calls of NVIDIA's libraries.
 */
#include <cupti_driver_cbid.h>
#include <cupti_runtime_cbid.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "core/fork.h"
#include "libraries/library.h"

enum {
    FIXED_NS = 2000,        /* the shortest kernels of real traces take about this long */
    BYTES_PER_US = 2600000, /* four fifths of an H100's memory bandwidth */
    NOT_SUPPORTED = 15, /* CUBLAS_STATUS_NOT_SUPPORTED; no library uses the number for success */
    MAX_ABSENT = 256
};

const struct sim_precision_facts sim_precision[SIM_PRECISIONS] = {
    [SIM_FP32] = {"f32f32_f32f32_f32", NULL, 4, 60e3},
    [SIM_TF32] = {"tf32f32_tf32f32_f32", "sss", 4, 400e3},
    [SIM_FP16] = {"f16f16_f16f32_f32", "hsh", 2, 800e3},
    [SIM_BF16] = {"bf16bf16_bf16f32_f32", "tst", 2, 800e3},
    [SIM_FP64] = {"f64f64_f64f64_f64", NULL, 8, 50e3},
    [SIM_INT8] = {"i8i8_i8i32_f32", NULL, 1, 1600e3},
    [SIM_FP8] = {"e4m3e4m3_e4m3f32_f32", "qss", 1, 1600e3},
};

uint64_t sim_library_cost(double bytes, double flops, double gflops)
{
    double memory_ns = bytes * 1000 / BYTES_PER_US, math_ns = flops / (gflops * 0.7);

    return FIXED_NS + (uint64_t)(memory_ns > math_ns ? memory_ns : math_ns);
}

static int submit(void *handle, const struct sim_library_kernel *kernel)
{
    struct sim_work work = {.kind = SIM_WORK_KERNEL};
    struct sim_stream *stream;

    work.launch.kernel = sim_kernel_named(kernel->name);
    work.launch.dynamic_shared = kernel->shared;
    work.launch.cost_ns = kernel->cost_ns;
    work.launch.remote = kernel->remote;
    memcpy(work.launch.grid, kernel->grid, sizeof work.launch.grid);
    memcpy(work.launch.block, kernel->block, sizeof work.launch.block);
    int error = sim_kernel_plan(&work, NULL, NULL);

    if (!error) {
        error = sim_stream_resolve(handle, &stream);
    }
    return error ? error : sim_submit(stream, &work, NULL);
}

int sim_library_launch(void *stream, const struct sim_library_kernel *kernel)
{
    struct sim_call call;
    int error =
        kernel->driver
            ? sim_call_enter(&call, SIM_DRIVER, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
                             "cuLaunchKernelEx", false)
            : sim_call_enter(&call, SIM_RUNTIME, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000,
                             "cudaLaunchKernel", false);

    if (!error) {
        error = submit(stream, kernel);
    }
    return sim_call_exit(&call, error);
}

SIM_MUTEX(lock);

int sim_library_absent(const char *name)
{
    static const char *said[MAX_ABSENT];
    static int count;

    pthread_mutex_lock(&lock);
    int i = 0;

    while (i < count && said[i] != name) {
        i++;
    }
    if (i == count && count < MAX_ABSENT) {
        said[count++] = name;
        fprintf(stderr, "simgpu: %s is not simulated\n", name);
    }
    pthread_mutex_unlock(&lock);
    return NOT_SUPPORTED;
}
