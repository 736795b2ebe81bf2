/*
 * memory.c - the runtime's allocations, pools, copies and memsets.
 *
 * Application threads. The core (copy.c) decides which copies block and how long they take.
 */
#include "core/memory.h"
#include "runtime/call.h"

/* ---- allocation ---- */

static int allocate(void **out, size_t bytes, enum sim_memory kind, unsigned flags)
{
    struct sim_context *context;

    if (!out) {
        return SIM_E_VALUE;
    }
    int error = sim_context_current(&context);

    if (!error) {
        error = sim_capture_guard(NULL);
    }
    if (error) {
        return error;
    }
    if (!bytes) {
        *out = NULL;
        return SIM_OK;
    }
    return sim_memory_alloc(context, kind, bytes, flags, out);
}

static int allocate_pitch(void **out, size_t *pitch, size_t width, size_t height)
{
    if (!pitch) {
        return SIM_E_VALUE;
    }
    *pitch = (width + 511) / 512 * 512;
    return allocate(out, *pitch * height, SIM_DEVICE, 0);
}

static int allocate_async(void **out, size_t bytes, struct sim_pool *pool, void *handle)
{
    struct sim_stream *stream;
    int error = out ? sim_stream_resolve(handle, &stream) : SIM_E_VALUE;

    return error ? error : sim_memory_alloc_async(stream, pool, bytes, out);
}

static int free_async(void *pointer, void *handle)
{
    struct sim_stream *stream;
    int error = sim_stream_resolve(handle, &stream);

    return error ? error : sim_memory_free_async(stream, pointer);
}

static int register_host(void *pointer, size_t bytes, unsigned flags)
{
    struct sim_context *context;
    int error = sim_context_current(&context);

    return error ? error : sim_memory_register(context, pointer, bytes, flags);
}

static int info(size_t *free_bytes, size_t *total)
{
    struct sim_context *context;

    if (!free_bytes || !total) {
        return SIM_E_VALUE;
    }
    int error = sim_context_current(&context);

    if (!error) {
        sim_memory_info(context->device, free_bytes, total);
    }
    return error;
}

/* CUDA 13 added members at the end, for which a program of CUDA 12 has reserved no memory. */
struct pointer_attributes {
    int type, device;
    void *devicePointer, *hostPointer;
#if SIM_CUDART == 13
    long reserved[8];
#endif
};

static int pointer_attributes(struct pointer_attributes *out, const void *pointer)
{
    uint32_t device = 0;

    if (!out) {
        return SIM_E_VALUE;
    }
    struct sim_allocation found;
    bool known = sim_memory_find(pointer, &found);
    enum sim_memory kind = sim_memory_kind(pointer, &device);

    *out = (struct pointer_attributes){.type = cudaMemoryTypeUnregistered, .device = -2};
    if (!known) {
        return SIM_OK;
    }
    out->device = (int)found.device;
    out->hostPointer = kind == SIM_DEVICE ? NULL : (void *)(uintptr_t)pointer;
    out->devicePointer = (void *)(uintptr_t)pointer;
    out->type = kind == SIM_DEVICE    ? cudaMemoryTypeDevice
                : kind == SIM_MANAGED ? cudaMemoryTypeManaged
                                      : cudaMemoryTypeHost;
    return SIM_OK;
}

static int same_address(void **device, void *host)
{
    struct sim_allocation found;

    if (!device || !sim_memory_find(host, &found)) {
        return SIM_E_VALUE;
    }
    *device = host;
    return SIM_OK;
}

static int host_flags(unsigned *flags, void *host)
{
    struct sim_allocation found;

    if (!flags || !sim_memory_find(host, &found)) {
        return SIM_E_VALUE;
    }
    *flags = found.flags;
    return SIM_OK;
}

RUNTIME(cudaMalloc, v3020, (void **out, size_t bytes), allocate(out, bytes, SIM_DEVICE, 0))
RUNTIME(cudaMallocPitch, v3020, (void **out, size_t *pitch, size_t width, size_t height),
        allocate_pitch(out, pitch, width, height))
RUNTIME(cudaMallocManaged, v6000, (void **out, size_t bytes, unsigned flags),
        allocate(out, bytes, SIM_MANAGED, flags))
RUNTIME(cudaMallocHost, v3020, (void **out, size_t bytes), allocate(out, bytes, SIM_PINNED, 0))
RUNTIME(cudaHostAlloc, v3020, (void **out, size_t bytes, unsigned flags),
        allocate(out, bytes, SIM_PINNED, flags))
RUNTIME(cudaFree, v3020, (void *pointer), sim_memory_free_waiting(pointer, SIM_DEVICE))
RUNTIME(cudaFreeHost, v3020, (void *pointer), sim_memory_free_waiting(pointer, SIM_PINNED))
RUNTIME(cudaHostRegister, v4000, (void *pointer, size_t bytes, unsigned flags),
        register_host(pointer, bytes, flags))
RUNTIME(cudaHostUnregister, v4000, (void *pointer), sim_memory_unregister(pointer))
RUNTIME(cudaHostGetDevicePointer, v3020, (void **device, void *host, unsigned flags),
        flags ? SIM_E_VALUE : same_address(device, host))
RUNTIME(cudaHostGetFlags, v3020, (unsigned *flags, void *host), host_flags(flags, host))
RUNTIME(cudaMemGetInfo, v3020, (size_t * free_bytes, size_t *total), info(free_bytes, total))
RUNTIME(cudaPointerGetAttributes, v4000, (struct pointer_attributes * out, const void *pointer),
        pointer_attributes(out, pointer))
RUNTIME_STREAM(cudaMallocAsync, v11020, ptsz, v11020, (void **out, size_t bytes, void *stream),
               allocate_async(out, bytes, NULL, stream))
RUNTIME_STREAM(cudaFreeAsync, v11020, ptsz, v11020, (void *pointer, void *stream),
               free_async(pointer, stream))

/* ---- pools ---- */

static int create_pool(struct sim_pool **out, const struct cudaMemPoolProps *properties)
{
    if (!out || !properties) {
        return SIM_E_VALUE;
    }
    return sim_pool_create((uint32_t)properties->location.id, out);
}

RUNTIME(cudaDeviceGetDefaultMemPool, v11020, (struct sim_pool * *out, int device),
        out ? sim_pool_default((uint32_t)device, out) : SIM_E_VALUE)
RUNTIME(cudaDeviceGetMemPool, v11020, (struct sim_pool * *out, int device),
        out ? sim_pool_current((uint32_t)device, out) : SIM_E_VALUE)
RUNTIME(cudaDeviceSetMemPool, v11020, (int device, struct sim_pool *pool),
        sim_pool_choose((uint32_t)device, pool))
RUNTIME(cudaMemPoolCreate, v11020,
        (struct sim_pool * *out, const struct cudaMemPoolProps *properties),
        create_pool(out, properties))
RUNTIME(cudaMemPoolDestroy, v11020, (struct sim_pool * pool), sim_pool_destroy(pool))
RUNTIME(cudaMemPoolSetAttribute, v11020, (struct sim_pool * pool, int which, void *value),
        sim_pool_set(pool, which, value))
RUNTIME(cudaMemPoolGetAttribute, v11020, (struct sim_pool * pool, int which, void *value),
        sim_pool_get(pool, which, value))
RUNTIME(cudaMemPoolTrimTo, v11020, (struct sim_pool * pool, size_t keep), sim_pool_trim(pool, keep))
RUNTIME(cudaMemPoolSetAccess, v11020, (struct sim_pool * pool, const void *access, size_t count),
        pool && (access || !count) ? SIM_OK : SIM_E_VALUE)
RUNTIME_STREAM(cudaMallocFromPoolAsync, v11020, ptsz, v11020,
               (void **out, size_t bytes, struct sim_pool *pool, void *stream),
               pool ? allocate_async(out, bytes, pool, stream) : SIM_E_VALUE)

/* ---- copies ---- */

static int copy2d(void *dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width,
                  size_t height, int direction, void *handle, bool async)
{
    struct sim_stream *stream;
    struct sim_copy copy = {
        dst, src, dst_pitch, src_pitch, width, height, (enum sim_direction)direction, async, false};

    if (direction < cudaMemcpyHostToHost || direction > cudaMemcpyDefault) {
        return cudaErrorInvalidMemcpyDirection;
    }
    if (dst_pitch < width || src_pitch < width) {
        return cudaErrorInvalidPitchValue;
    }
    int error = sim_stream_resolve(handle, &stream);

    return error ? error : sim_copy_run(stream, &copy);
}

static int copy(void *dst, const void *src, size_t bytes, int direction, void *handle, bool async)
{
    return copy2d(dst, bytes, src, bytes, bytes, 1, direction, handle, async);
}

static int copy_peer(void *dst, int dst_device, const void *src, int src_device, size_t bytes,
                     void *handle, bool async)
{
    struct sim_stream *stream;
    struct sim_copy work = {dst, src, bytes, bytes, bytes, 1, SIM_DEVICE_TO_DEVICE, async, true};
    int count = (int)sim_device_count();

    if (dst_device < 0 || src_device < 0 || dst_device >= count || src_device >= count) {
        return SIM_E_DEVICE;
    }
    int error = sim_stream_resolve(handle, &stream);

    return error ? error : sim_copy_run(stream, &work);
}

static int copy3d(const struct cudaMemcpy3DParms *p, void *handle, bool async)
{
    if (!p || p->srcArray || p->dstArray) {
        return p ? SIM_E_NOT_SUPPORTED : SIM_E_VALUE; /* the simulation has no arrays */
    }
    const char *src = p->srcPtr.ptr;
    char *dst = p->dstPtr.ptr;

    for (size_t z = 0; z < p->extent.depth; z++) {
        size_t from = (p->srcPos.z + z) * p->srcPtr.ysize + p->srcPos.y;
        size_t to = (p->dstPos.z + z) * p->dstPtr.ysize + p->dstPos.y;
        int error = copy2d(dst + to * p->dstPtr.pitch + p->dstPos.x, p->dstPtr.pitch,
                           src + from * p->srcPtr.pitch + p->srcPos.x, p->srcPtr.pitch,
                           p->extent.width, p->extent.height, p->kind, handle, async);

        if (error) {
            return error;
        }
    }
    return SIM_OK;
}

RUNTIME_STREAM(cudaMemcpy, v3020, ptds, v7000,
               (void *dst, const void *src, size_t bytes, int direction),
               copy(dst, src, bytes, direction, NULL, false))
RUNTIME_STREAM(cudaMemcpyAsync, v3020, ptsz, v7000,
               (void *dst, const void *src, size_t bytes, int direction, void *stream),
               copy(dst, src, bytes, direction, stream, true))
RUNTIME_STREAM(cudaMemcpy2D, v3020, ptds, v7000,
               (void *dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width,
                size_t height, int direction),
               copy2d(dst, dst_pitch, src, src_pitch, width, height, direction, NULL, false))
RUNTIME_STREAM(cudaMemcpy2DAsync, v3020, ptsz, v7000,
               (void *dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width,
                size_t height, int direction, void *stream),
               copy2d(dst, dst_pitch, src, src_pitch, width, height, direction, stream, true))
RUNTIME_STREAM(cudaMemcpy3D, v3020, ptds, v7000, (const struct cudaMemcpy3DParms *p),
               copy3d(p, NULL, false))
RUNTIME_STREAM(cudaMemcpy3DAsync, v3020, ptsz, v7000,
               (const struct cudaMemcpy3DParms *p, void *stream), copy3d(p, stream, true))
RUNTIME(cudaMemcpyPeer, v4000,
        (void *dst, int dst_device, const void *src, int src_device, size_t bytes),
        copy_peer(dst, dst_device, src, src_device, bytes, NULL, false))
RUNTIME(cudaMemcpyPeerAsync, v4000,
        (void *dst, int dst_device, const void *src, int src_device, size_t bytes, void *stream),
        copy_peer(dst, dst_device, src, src_device, bytes, stream, true))
RUNTIME_STREAM(cudaMemcpyToSymbol, v3020, ptds, v7000,
               (char *symbol, const void *src, size_t bytes, size_t offset, int direction),
               copy(symbol + offset, src, bytes, direction, NULL, false))
RUNTIME_STREAM(cudaMemcpyFromSymbol, v3020, ptds, v7000,
               (void *dst, const char *symbol, size_t bytes, size_t offset, int direction),
               copy(dst, symbol + offset, bytes, direction, NULL, false))

/* ---- memsets ---- */

static int set2d(void *dst, size_t pitch, int value, size_t width, size_t height, void *handle,
                 bool async)
{
    struct sim_stream *stream;
    int error = sim_stream_resolve(handle, &stream);

    return error ? error
                 : sim_set_run(stream, dst, pitch, (uint32_t)value & 0xff, 1, width, height, async);
}

RUNTIME_STREAM(cudaMemset, v3020, ptds, v7000, (void *dst, int value, size_t bytes),
               set2d(dst, bytes, value, bytes, 1, NULL, false))
RUNTIME_STREAM(cudaMemsetAsync, v3020, ptsz, v7000,
               (void *dst, int value, size_t bytes, void *stream),
               set2d(dst, bytes, value, bytes, 1, stream, true))
RUNTIME_STREAM(cudaMemset2D, v3020, ptds, v7000,
               (void *dst, size_t pitch, int value, size_t width, size_t height),
               set2d(dst, pitch, value, width, height, NULL, false))
RUNTIME_STREAM(cudaMemset2DAsync, v3020, ptsz, v7000,
               (void *dst, size_t pitch, int value, size_t width, size_t height, void *stream),
               set2d(dst, pitch, value, width, height, stream, true))
