/*
 * call.h - the code around the body of every exported function of the libcudart stand-in: assigns
 * the correlation id, calls the probe, and handles errors (core/call.c).
 *
 * Some signatures differ between CUDA 12 and 13. So each exported function has another name in C,
 * and gets the name of the CUDA function by `__asm__`. Of CUDA's headers only driver_types.h is
 * included. The same sources build both libraries (SIM_CUDART is 12 or 13).
 *
 *   RUNTIME(cudaFree, v3020, (void *pointer), sim_memory_free_waiting(pointer, SIM_DEVICE))
 *   RUNTIME_STREAM(cudaLaunchHostFunc, v10000, ptsz, v10000, (cudaStream_t s, ...), body(s, ...))
 *
 * The expression is the call's result. If there is an injected or sticky error, the expression is
 * not evaluated. RUNTIME_STREAM also defines NAME_ptsz (or _ptds), where handle 0 means the
 * per-thread default stream.
 */
#ifndef SIM_RUNTIME_CALL_H
#define SIM_RUNTIME_CALL_H

#include <cupti_runtime_cbid.h>
#include <driver_types.h>

#include "core/sim.h"

int sim_runtime_begin(struct sim_call *call, uint32_t cbid, const char *name, bool per_thread);
int sim_runtime_end(struct sim_call *call, int result);

/* Finds the kernel for the address of a host stub, or for a cudaKernel_t. Returns
 * cudaErrorInvalidDeviceFunction if there is no such kernel. */
int sim_runtime_kernel(const void *host, struct sim_kernel **out);

/* CUDA defines the signatures; the simulation ignores some parameters. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

#define ENTRY(name, cbid, text, per_thread, params, expression)                                    \
    int sim_rt_##name params __asm__(#name);                                                       \
    int sim_rt_##name params                                                                       \
    {                                                                                              \
        struct sim_call frame;                                                                     \
        int result = sim_runtime_begin(&frame, cbid, text, per_thread);                            \
                                                                                                   \
        if (!result) {                                                                             \
            result = (expression);                                                                 \
        }                                                                                          \
        return sim_runtime_end(&frame, result);                                                    \
    }

#define RUNTIME(name, version, params, expression)                                                 \
    ENTRY(name, CUPTI_RUNTIME_TRACE_CBID_##name##_##version, #name, false, params, expression)

/* Defines a function whose symbol (such as cudaGetDeviceProperties_v2) differs from the name that
 * CUPTI reports. */
#define RUNTIME_AS(symbol, name, version, params, expression)                                      \
    ENTRY(symbol, CUPTI_RUNTIME_TRACE_CBID_##name##_##version, #name, false, params, expression)

#define RUNTIME_STREAM(name, version, suffix, suffix_version, params, expression)                  \
    RUNTIME(name, version, params, expression)                                                     \
    ENTRY(name##_##suffix, CUPTI_RUNTIME_TRACE_CBID_##name##_##suffix##_##suffix_version,          \
          #name "_" #suffix, true, params, expression)

#define RUNTIME_STREAM_AS(symbol, name, version, suffix_version, params, expression)               \
    RUNTIME_AS(symbol, name, version, params, expression)                                          \
    ENTRY(symbol##_ptsz, CUPTI_RUNTIME_TRACE_CBID_##name##_ptsz_##suffix_version, #name "_ptsz",   \
          true, params, expression)

/* Defines an exported function that CUPTI does not report. */
#define PLAIN(type, name, params)                                                                  \
    type sim_rt_##name params __asm__(#name);                                                      \
    type sim_rt_##name params

#endif
