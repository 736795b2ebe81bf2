/*
 * random_runtime.h - loads the CUDA functions that random_waits.c needs and that cuda_load.h lacks,
 * such as functions of the CUDA runtime. Each function that takes a stream has two variants: [0]
 * for the legacy default stream, and [1] for per-thread default streams.
 *
 * One thread must call random_open() first. random_open() exits with status 3 if there is no driver
 * or runtime.
 */
#ifndef RANDOM_RUNTIME_H
#define RANDOM_RUNTIME_H

#include <cuda.h>
#include <stdlib.h>

#include "cuda_load.h"

static struct {
    CUresult (*CtxCreate)(CUcontext *, unsigned, CUdevice);
    CUresult (*CtxDestroy)(CUcontext);
    CUresult (*DevicePrimaryCtxReset)(CUdevice);
    CUresult (*Memcpy)(CUdeviceptr, CUdeviceptr, size_t);
    CUresult (*MemcpyAsync)(CUdeviceptr, CUdeviceptr, size_t, CUstream);
    CUresult (*MemsetD8)(CUdeviceptr, unsigned char, size_t);
    CUresult (*LibraryLoadData)(void **, const void *, void *, void *, unsigned, void *, void *,
                                unsigned);
    CUresult (*LibraryUnload)(void *);
} more;

#define API_PLAIN(X)                                                                               \
    X(cudaDeviceSynchronize, (void))                                                               \
    X(cudaDeviceReset, (void))                                                                     \
    X(cudaEventSynchronize, (void *))                                                              \
    X(cudaEventQuery, (void *))                                                                    \
    X(cudaMalloc, (void **, size_t))                                                               \
    X(cudaMallocHost, (void **, size_t))                                                           \
    X(cudaFree, (void *))                                                                          \
    X(cudaFreeHost, (void *))                                                                      \
    X(cudaLibraryLoadData,                                                                         \
      (void **, const void *, void *, void *, unsigned, void *, void *, unsigned))                 \
    X(cudaLibraryUnload, (void *))
#define API_STREAM(X)                                                                              \
    X(cudaStreamSynchronize, _ptsz, (void *))                                                      \
    X(cudaStreamQuery, _ptsz, (void *))                                                            \
    X(cudaStreamWaitEvent, _ptsz, (void *, void *, unsigned))                                      \
    X(cudaEventRecord, _ptsz, (void *, void *))                                                    \
    X(cudaMemcpy, _ptds, (void *, const void *, size_t, int))                                      \
    X(cudaMemcpyAsync, _ptsz, (void *, const void *, size_t, int, void *))                         \
    X(cudaMemset, _ptds, (void *, int, size_t))                                                    \
    X(cudaMemsetAsync, _ptsz, (void *, int, size_t, void *))                                       \
    X(cudaGraphLaunch, _ptsz, (void *, void *))

#define PLAIN_MEMBER(name, parameters)          int(*name) parameters;
#define STREAM_MEMBER(name, suffix, parameters) int(*name[2]) parameters;
static struct {
    API_PLAIN(PLAIN_MEMBER)
    API_STREAM(STREAM_MEMBER)
} rt;

static void random_open(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW), *runtime = dlopen("libcudart.so.13", RTLD_NOW);

    runtime = runtime ? runtime : dlopen("libcudart.so.12", RTLD_NOW);
    if (!runtime || !driver)
        exit(3);
    more.CtxCreate = (__typeof__(more.CtxCreate))cuda_symbol(driver, "cuCtxCreate_v2");
    more.CtxDestroy = (__typeof__(more.CtxDestroy))cuda_symbol(driver, "cuCtxDestroy_v2");
    more.DevicePrimaryCtxReset =
        (__typeof__(more.DevicePrimaryCtxReset))cuda_symbol(driver, "cuDevicePrimaryCtxReset_v2");
    more.Memcpy = (__typeof__(more.Memcpy))cuda_symbol(driver, "cuMemcpy");
    more.MemcpyAsync = (__typeof__(more.MemcpyAsync))cuda_symbol(driver, "cuMemcpyAsync");
    more.MemsetD8 = (__typeof__(more.MemsetD8))cuda_symbol(driver, "cuMemsetD8_v2");
    more.LibraryLoadData =
        (__typeof__(more.LibraryLoadData))cuda_symbol(driver, "cuLibraryLoadData");
    more.LibraryUnload = (__typeof__(more.LibraryUnload))cuda_symbol(driver, "cuLibraryUnload");
#define PLAIN_LOAD(name, parameters) rt.name = (__typeof__(rt.name))cuda_symbol(runtime, #name);
#define STREAM_LOAD(name, suffix, parameters)                                                      \
    rt.name[0] = (__typeof__(rt.name[0]))cuda_symbol(runtime, #name);                              \
    rt.name[1] = (__typeof__(rt.name[1]))cuda_symbol(runtime, #name #suffix);
    API_PLAIN(PLAIN_LOAD)
    API_STREAM(STREAM_LOAD)
}

#endif
