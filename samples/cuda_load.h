/*
 * cuda_load.h - loads the CUDA driver API in a program without linking a CUDA library.
 *
 * The driver is loaded when the program runs. The samples therefore build on a machine without a
 * driver and without nvcc; they need only cuda.h. Include this header in a program that has only
 * one C file. Then write
 *
 *     cuda_open();                       finds libcuda.so.1 and calls cuInit
 *     CHECK(cu.StreamCreate(&s, 0));     every driver function is a member of `cu`
 *
 * Threads: call cuda_open() from the first thread; `cu` is constant afterwards. If a call fails,
 * CHECK prints the call and ends the program, which suits a sample but not a library.
 */
#ifndef SAMPLES_CUDA_LOAD_H
#define SAMPLES_CUDA_LOAD_H

#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

/* Each entry is X(name of the member, name of the function in cuda.h). cuda.h has macros that
 * rename changed functions, such as cuMemAlloc to cuMemAlloc_v2. The renamed symbol is loaded. */
#define CUDA_FUNCTIONS(X)                                                                          \
    X(Init, cuInit)                                                                                \
    X(GetErrorName, cuGetErrorName)                                                                \
    X(GetErrorString, cuGetErrorString)                                                            \
    X(DeviceGet, cuDeviceGet)                                                                      \
    X(DeviceGetCount, cuDeviceGetCount)                                                            \
    X(DeviceGetName, cuDeviceGetName)                                                              \
    X(DeviceCanAccessPeer, cuDeviceCanAccessPeer)                                                  \
    X(DevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain)                                            \
    X(DevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease)                                          \
    X(CtxSetCurrent, cuCtxSetCurrent)                                                              \
    X(CtxSynchronize, cuCtxSynchronize)                                                            \
    X(CtxEnablePeerAccess, cuCtxEnablePeerAccess)                                                  \
    X(CtxGetStreamPriorityRange, cuCtxGetStreamPriorityRange)                                      \
    X(ModuleLoadData, cuModuleLoadData)                                                            \
    X(ModuleGetFunction, cuModuleGetFunction)                                                      \
    X(ModuleUnload, cuModuleUnload)                                                                \
    X(LaunchKernel, cuLaunchKernel)                                                                \
    X(LaunchHostFunc, cuLaunchHostFunc)                                                            \
    X(MemAlloc, cuMemAlloc)                                                                        \
    X(MemAllocAsync, cuMemAllocAsync)                                                              \
    X(MemGetInfo, cuMemGetInfo)                                                                    \
    X(MemAllocHost, cuMemAllocHost)                                                                \
    X(MemFree, cuMemFree)                                                                          \
    X(MemFreeAsync, cuMemFreeAsync)                                                                \
    X(MemFreeHost, cuMemFreeHost)                                                                  \
    X(MemcpyHtoD, cuMemcpyHtoD)                                                                    \
    X(MemcpyHtoDAsync, cuMemcpyHtoDAsync)                                                          \
    X(MemcpyDtoH, cuMemcpyDtoH)                                                                    \
    X(MemcpyDtoHAsync, cuMemcpyDtoHAsync)                                                          \
    X(MemcpyDtoDAsync, cuMemcpyDtoDAsync)                                                          \
    X(MemcpyPeerAsync, cuMemcpyPeerAsync)                                                          \
    X(MemsetD8Async, cuMemsetD8Async)                                                              \
    X(MemsetD32Async, cuMemsetD32Async)                                                            \
    X(StreamCreate, cuStreamCreate)                                                                \
    X(StreamCreateWithPriority, cuStreamCreateWithPriority)                                        \
    X(StreamDestroy, cuStreamDestroy)                                                              \
    X(StreamSynchronize, cuStreamSynchronize)                                                      \
    X(StreamQuery, cuStreamQuery)                                                                  \
    X(StreamWaitEvent, cuStreamWaitEvent)                                                          \
    X(StreamBeginCapture, cuStreamBeginCapture)                                                    \
    X(StreamEndCapture, cuStreamEndCapture)                                                        \
    X(EventCreate, cuEventCreate)                                                                  \
    X(EventDestroy, cuEventDestroy)                                                                \
    X(EventRecord, cuEventRecord)                                                                  \
    X(EventQuery, cuEventQuery)                                                                    \
    X(EventSynchronize, cuEventSynchronize)                                                        \
    X(GraphGetNodes, cuGraphGetNodes)                                                              \
    X(GraphInstantiate, cuGraphInstantiate)                                                        \
    X(GraphLaunch, cuGraphLaunch)                                                                  \
    X(GraphExecDestroy, cuGraphExecDestroy)                                                        \
    X(GraphDestroy, cuGraphDestroy)

#define CUDA_MEMBER(member, function) __typeof__(function) *member;
static struct {
    CUDA_FUNCTIONS(CUDA_MEMBER)
} cu;
#undef CUDA_MEMBER

#define CUDA_TEXT_(x) #x
#define CUDA_TEXT(x)  CUDA_TEXT_(x)

static void cuda_check(CUresult result, const char *call, const char *file, int line)
{
    const char *name = NULL, *text = NULL;

    if (result == CUDA_SUCCESS)
        return;
    cu.GetErrorName(result, &name);
    cu.GetErrorString(result, &text);
    fprintf(stderr, "%s:%d: %s failed: %s (%s)\n", file, line, call, name ? name : "?",
            text ? text : "unknown error");
    exit(1);
}

#define CHECK(call) cuda_check((call), #call, __FILE__, __LINE__)

static void *cuda_symbol(void *library, const char *name)
{
    void *symbol = dlsym(library, name);

    if (!symbol) {
        fprintf(stderr, "libcuda.so.1 has no %s: the driver is too old for this program\n", name);
        exit(1);
    }
    return symbol;
}

static void cuda_open(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

    if (!library) {
        fprintf(stderr,
                "No CUDA driver here (%s). tests/simgpu/run PROGRAM runs it on a simulated GPU.\n",
                dlerror());
        exit(1);
    }
#define CUDA_LOOK_UP(member, function)                                                             \
    cu.member = (__typeof__(cu.member))cuda_symbol(library, CUDA_TEXT(function));
    CUDA_FUNCTIONS(CUDA_LOOK_UP)
#undef CUDA_LOOK_UP
    CHECK(cu.Init(0));
}

/* Makes the primary context of the device current on this thread. The runtime API uses the same
 * context. */
static inline CUcontext cuda_use_device(int ordinal)
{
    CUdevice device;
    CUcontext context;

    CHECK(cu.DeviceGet(&device, ordinal));
    CHECK(cu.DevicePrimaryCtxRetain(&context, device));
    CHECK(cu.CtxSetCurrent(context));
    return context;
}

#endif
