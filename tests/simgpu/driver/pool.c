/*
 * pool.c - libcuda: stream-ordered allocation and its pools.
 *
 * Application threads.
 */
#include "core/memory.h"
#include "driver/api.h"

DRIVER_API_STREAM(cuMemAllocAsync, cuMemAllocAsync_ptsz,
                  (CUdeviceptr * out, size_t bytes, CUstream handle), (out, bytes, handle))
{
    struct sim_stream *stream;

    REQUIRE(out, SIM_E_VALUE);
    CHECK(sim_stream_resolve(handle, &stream));
    return sim_memory_alloc_async(stream, NULL, bytes, (void **)out);
}

DRIVER_API_STREAM(cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync_ptsz,
                  (CUdeviceptr * out, size_t bytes, CUmemoryPool pool, CUstream handle),
                  (out, bytes, pool, handle))
{
    struct sim_stream *stream;

    REQUIRE(out && pool, SIM_E_VALUE);
    CHECK(sim_stream_resolve(handle, &stream));
    return sim_memory_alloc_async(stream, (struct sim_pool *)pool, bytes, (void **)out);
}

DRIVER_API_STREAM(cuMemFreeAsync, cuMemFreeAsync_ptsz, (CUdeviceptr pointer, CUstream handle),
                  (pointer, handle))
{
    struct sim_stream *stream;

    CHECK(sim_stream_resolve(handle, &stream));
    return sim_memory_free_async(stream, (void *)pointer);
}

DRIVER_API(cuMemPoolCreate, (CUmemoryPool * pool, const CUmemPoolProps *props), (pool, props))
{
    REQUIRE(pool && props, SIM_E_VALUE);
    return sim_pool_create((uint32_t)props->location.id, (struct sim_pool **)pool);
}

DRIVER_API(cuMemPoolDestroy, (CUmemoryPool pool), (pool))
{
    return sim_pool_destroy((struct sim_pool *)pool);
}

DRIVER_API(cuDeviceGetDefaultMemPool, (CUmemoryPool * pool, CUdevice device), (pool, device))
{
    REQUIRE(pool, SIM_E_VALUE);
    return sim_pool_default((uint32_t)device, (struct sim_pool **)pool);
}

DRIVER_API(cuDeviceGetMemPool, (CUmemoryPool * pool, CUdevice device), (pool, device))
{
    REQUIRE(pool, SIM_E_VALUE);
    return sim_pool_current((uint32_t)device, (struct sim_pool **)pool);
}

DRIVER_API(cuDeviceSetMemPool, (CUdevice device, CUmemoryPool pool), (device, pool))
{
    return sim_pool_choose((uint32_t)device, (struct sim_pool *)pool);
}

DRIVER_API(cuMemPoolGetAttribute, (CUmemoryPool pool, CUmemPool_attribute attribute, void *value),
           (pool, attribute, value))
{
    return sim_pool_get((struct sim_pool *)pool, (int)attribute, value);
}

DRIVER_API(cuMemPoolSetAttribute, (CUmemoryPool pool, CUmemPool_attribute attribute, void *value),
           (pool, attribute, value))
{
    return sim_pool_set((struct sim_pool *)pool, (int)attribute, value);
}

DRIVER_API(cuMemPoolTrimTo, (CUmemoryPool pool, size_t keep), (pool, keep))
{
    return sim_pool_trim((struct sim_pool *)pool, keep);
}
