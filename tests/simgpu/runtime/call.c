/*
 * call.c - the code before and after the body of every runtime call, and the thread's last error.
 *
 * Application threads. The first runtime call initialises the driver, which loads the injected
 * library, before the call itself begins. The injected library therefore records this first call
 * too, as on a real GPU.
 */
#include "runtime/call.h"

int sim_runtime_begin(struct sim_call *call, uint32_t cbid, const char *name, bool per_thread)
{
    int uninitialized = sim_forked() ? SIM_E_NOT_INITIALIZED : sim_init();
    int error = sim_call_enter(call, SIM_RUNTIME, cbid, name, per_thread);

    return uninitialized ? uninitialized : error;
}

int sim_runtime_end(struct sim_call *call, int result)
{
    /* Each thread has a last error. A call that returns the last error does not set it. */
    bool asks = call->cbid == CUPTI_RUNTIME_TRACE_CBID_cudaGetLastError_v3020 ||
                call->cbid == CUPTI_RUNTIME_TRACE_CBID_cudaPeekAtLastError_v3020;

    if (result && !asks) {
        sim_thread_self()->last_error = result;
    }
    return sim_call_exit(call, result);
}

static int take_last_error(void)
{
    struct sim_thread *self = sim_thread_self();
    int error = self->last_error;

    self->last_error = 0;
    return error;
}

RUNTIME(cudaGetLastError, v3020, (void), take_last_error())
RUNTIME(cudaPeekAtLastError, v3020, (void), sim_thread_self()->last_error)

static const struct {
    int code;
    const char *name, *text;
} errors[] = {
    {0, "cudaSuccess", "no error"},
    {1, "cudaErrorInvalidValue", "invalid argument"},
    {2, "cudaErrorMemoryAllocation", "out of memory"},
    {3, "cudaErrorInitializationError", "initialization error"},
    {9, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {12, "cudaErrorInvalidPitchValue", "invalid pitch argument"},
    {21, "cudaErrorInvalidMemcpyDirection", "invalid copy direction for memcpy"},
    {35, "cudaErrorInsufficientDriver",
     "CUDA driver version is insufficient for CUDA runtime version"},
    {98, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {100, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {101, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {201, "cudaErrorDeviceUninitialized", "invalid device context"},
    {400, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {500, "cudaErrorSymbolNotFound", "named symbol not found"},
    {600, "cudaErrorNotReady", "device not ready"},
    {700, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    {704, "cudaErrorPeerAccessAlreadyEnabled", "peer access is already enabled"},
    {705, "cudaErrorPeerAccessNotEnabled", "peer access has not been enabled"},
    {712, "cudaErrorHostMemoryAlreadyRegistered",
     "part or all of the requested memory range is already mapped"},
    {713, "cudaErrorHostMemoryNotRegistered",
     "pointer does not correspond to a registered memory region"},
    {719, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {800, "cudaErrorNotPermitted", "operation not permitted"},
    {801, "cudaErrorNotSupported", "operation not supported"},
    {900, "cudaErrorStreamCaptureUnsupported", "operation not permitted when stream is capturing"},
    {901, "cudaErrorStreamCaptureInvalidated",
     "operation failed due to a previous error during capture"},
    {903, "cudaErrorStreamCaptureUnmatched", "capture was not initiated in this stream"},
    {904, "cudaErrorStreamCaptureUnjoined", "capturing stream has unjoined work"},
    {905, "cudaErrorStreamCaptureIsolation",
     "dependency created on uncaptured work in another stream"},
    {906, "cudaErrorStreamCaptureImplicit",
     "operation would make the legacy stream depend on a capturing blocking stream"},
    {907, "cudaErrorCapturedEvent",
     "operation not permitted on an event last recorded in a capturing stream"},
    {908, "cudaErrorStreamCaptureWrongThread",
     "attempt to terminate a thread-local capture sequence from another thread"},
    {910, "cudaErrorGraphExecUpdateFailure", "the graph update was not performed"},
};

static size_t find_error(int code)
{
    size_t i = sizeof errors / sizeof *errors;

    while (i-- > 0 && errors[i].code != code) {
    }
    return i;
}

PLAIN(const char *, cudaGetErrorName, (int code))
{
    size_t i = find_error(code);

    return i < sizeof errors / sizeof *errors ? errors[i].name : "unrecognized error code";
}

PLAIN(const char *, cudaGetErrorString, (int code))
{
    size_t i = find_error(code);

    return i < sizeof errors / sizeof *errors ? errors[i].text : "unrecognized error code";
}
