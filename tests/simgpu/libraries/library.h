/*
 * library.h - shared by the stand-ins for NVIDIA libraries: kernel launches by name, and kernel
 * costs.
 *
 * NVIDIA's headers for these libraries are not available at build time. The functions are written
 * from NVIDIA's documentation. Handles and descriptors are pointers to structs of the stand-ins.
 * generate.py makes stubs for all other functions of a library that a program calls.
 */
#ifndef SIM_LIBRARY_H
#define SIM_LIBRARY_H

#include <stddef.h>
#include <stdint.h>

#include "core/sim.h"

/* Defines an exported function, with a prototype because no NVIDIA header declares it. */
#define LIBRARY(type, name, params)                                                                \
    type name params;                                                                              \
    type name params

/* NVIDIA defines the signatures; the simulation ignores some parameters. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

struct sim_library_kernel {
    const char *name; /* as on a real GPU: mangled, or unmangled for assembler kernels */
    uint32_t grid[3], block[3], shared;
    uint64_t cost_ns;
    struct sim_remote *remote; /* set for a kernel that waits for other processes; else NULL */
    bool driver; /* true to launch with cuLaunchKernelEx, as newer libraries do; false for
                    cudaLaunchKernel */
};

/* Launches the kernel on the stream handle, for the thread's current device. Returns 0 or a CUDA
 * error. */
int sim_library_launch(void *stream, const struct sim_library_kernel *kernel);

/* Returns the modelled time in ns: the start-up time plus the longer of two times. One time is for
 * moving `bytes` of device memory. The other time is for `flops` operations at a peak rate of
 * `gflops`. */
uint64_t sim_library_cost(double bytes, double flops, double gflops);

/* Called by every stub. Reports the first call of the stub, and returns a status that means an
 * error in every library of this folder. */
int sim_library_absent(const char *name);

/* ---- data types (cudaDataType, CUDNN_DATA_*) ---- */

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
    const char *cutlass, *nvjet; /* the precision's name in the names of CUTLASS and nvjet kernels;
                                    NULL if there are no such kernels */
    uint32_t bytes;
    double gflops; /* peak rate of an H100 without sparsity */
};
extern const struct sim_precision_facts sim_precision[SIM_PRECISIONS];

#endif
