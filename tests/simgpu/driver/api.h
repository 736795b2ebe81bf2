/*
 * api.h - macros that define the exported functions of the libcuda stand-in. DRIVER_API(name,
 * (parameters), (arguments)) precedes the body, which returns a CUDA error number. The macro
 * exports the function and adds the code around the body (core/call.c). DRIVER_API_STREAM also
 * exports the _ptsz (or _ptds) variant, where handle 0 is the per-thread default stream.
 */
#ifndef SIM_DRIVER_API_H
#define SIM_DRIVER_API_H

#include <cuda.h>
#include <cupti_driver_cbid.h>

#include "core/sim.h"

#define SIM_EXPORT __attribute__((visibility("default")))

static inline int driver_enter(struct sim_call *call, uint32_t cbid, const char *name,
                               bool per_thread)
{
    int error = sim_call_enter(call, SIM_DRIVER, cbid, name, per_thread);

    if (!error && !sim_ready() && cbid != CUPTI_DRIVER_TRACE_CBID_cuInit &&
        cbid != CUPTI_DRIVER_TRACE_CBID_cuDriverGetVersion &&
        cbid != CUPTI_DRIVER_TRACE_CBID_cuGetProcAddress &&
        cbid != CUPTI_DRIVER_TRACE_CBID_cuGetProcAddress_v2) {
        return SIM_E_NOT_INITIALIZED;
    }
    return error;
}

#define DRIVER_ENTRY(name, body, per_thread, params, args)                                         \
    SIM_EXPORT CUresult name params;                                                               \
    CUresult name params                                                                           \
    {                                                                                              \
        struct sim_call call;                                                                      \
        int error = driver_enter(&call, CUPTI_DRIVER_TRACE_CBID_##name, #name, per_thread);        \
        return (CUresult)sim_call_exit(&call, error ? error : body args);                          \
    }

#define DRIVER_API(name, params, args)                                                             \
    static int name##_body params;                                                                 \
    DRIVER_ENTRY(name, name##_body, false, params, args)                                           \
    static int name##_body params

#define DRIVER_API_STREAM(name, twin, params, args)                                                \
    static int name##_body params;                                                                 \
    DRIVER_ENTRY(name, name##_body, false, params, args)                                           \
    DRIVER_ENTRY(twin, name##_body, true, params, args)                                            \
    static int name##_body params

/* Returns from the body if the expression gives an error. Most bodies begin with this macro. */
#define CHECK(expression)                                                                          \
    do {                                                                                           \
        int check_error = (expression);                                                            \
        if (check_error) {                                                                         \
            return check_error;                                                                    \
        }                                                                                          \
    } while (0)

#define REQUIRE(condition, error)                                                                  \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            return (error);                                                                        \
        }                                                                                          \
    } while (0)

#endif
