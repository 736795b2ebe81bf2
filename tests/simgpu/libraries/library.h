/*
 * library.h - what the stand-ins for NVIDIA's libraries share: launching a kernel by name, and
 * what kernels cost.
 *
 * NVIDIA's headers for these libraries are not at hand where this is built: the entries are
 * written from their documentation, with handles and descriptors as pointers to our own structs.
 * Whatever a program calls of a library and no file here defines is a stub made by generate.py.
 */
#ifndef SIM_LIBRARY_H
#define SIM_LIBRARY_H

#include <stddef.h>
#include <stdint.h>

#include "core/sim.h"

/* An entry point: visible, and without a prototype of NVIDIA's. */
#define LIBRARY(type, name, params)                                                                \
    type name params;                                                                              \
    type name params

/* Signatures are NVIDIA's; the simulation has no use for some of the parameters. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

struct sim_library_kernel {
    const char
        *name; /* as the metal names it: mangled, or plain for what is written in assembler */
    uint32_t grid[3], block[3], shared;
    uint64_t cost_ns;
    struct sim_remote *remote; /* of a kernel that waits for other processes, else NULL */
    bool driver; /* launched with cuLaunchKernelEx, as newer libraries do, else cudaLaunchKernel */
};

/* Launches on CUDA's stream handle, on the thread's current device. 0, or CUDA's error. */
int sim_library_launch(void *stream, const struct sim_library_kernel *kernel);

/* ns for moving so many bytes of device memory and doing so many operations at a rate of
 * `gflops` (a device's peak), whichever takes longer, and for starting. */
uint64_t sim_library_cost(double bytes, double flops, double gflops);

/* A stub was called: says so once, and gives an error that every library here knows. */
int sim_library_absent(const char *name);

/* ---- what types of data mean (cudaDataType, CUDNN_DATA_*) ---- */

enum sim_precision {
    SIM_FP32,
    SIM_TF32,
    SIM_FP16,
    SIM_BF16,
    SIM_FP64,
    SIM_INT8,
    SIM_FP8,
    SIM_PRECISIONS
};

struct sim_precision_facts {
    const char *cutlass, *nvjet; /* as kernels' names spell it; NULL: there are none of that kind */
    uint32_t bytes;
    double gflops; /* an H100's dense peak */
};
extern const struct sim_precision_facts sim_precision[SIM_PRECISIONS];

#endif
