/*
 * memory.c - libcuda: allocation, pointer attributes, copies and memsets.
 *
 * Application threads. Addresses are unified, so the pointers determine the direction of every
 * copy.
 */
#include <string.h>

#include "core/memory.h"
#include "driver/api.h"

static int allocate(void *out, enum sim_memory kind, size_t bytes, unsigned flags)
{
    struct sim_context *context;

    REQUIRE(out, SIM_E_VALUE);
    CHECK(sim_context_current(&context));
    CHECK(sim_capture_guard(NULL));
    return sim_memory_alloc(context, kind, bytes, flags, out);
}

DRIVER_API(cuMemAlloc_v2, (CUdeviceptr * out, size_t bytes), (out, bytes))
{
    return allocate(out, SIM_DEVICE, bytes, 0);
}

DRIVER_API(cuMemAllocPitch_v2,
           (CUdeviceptr * out, size_t *pitch, size_t width, size_t height, unsigned int element),
           (out, pitch, width, height, element))
{
    REQUIRE(pitch, SIM_E_VALUE);
    *pitch = (width + 511) / 512 * 512;
    return allocate(out, SIM_DEVICE, *pitch * height, 0);
}

DRIVER_API(cuMemAllocManaged, (CUdeviceptr * out, size_t bytes, unsigned int flags),
           (out, bytes, flags))
{
    return allocate(out, SIM_MANAGED, bytes, flags);
}

DRIVER_API(cuMemAllocHost_v2, (void **out, size_t bytes), (out, bytes))
{
    return allocate(out, SIM_PINNED, bytes, 0);
}

DRIVER_API(cuMemHostAlloc, (void **out, size_t bytes, unsigned int flags), (out, bytes, flags))
{
    return allocate(out, SIM_PINNED, bytes, flags);
}

DRIVER_API(cuMemFree_v2, (CUdeviceptr pointer), (pointer))
{
    return sim_memory_free_waiting((void *)pointer, SIM_DEVICE);
}

DRIVER_API(cuMemFreeHost, (void *pointer), (pointer))
{
    return sim_memory_free_waiting(pointer, SIM_PINNED);
}

DRIVER_API(cuMemHostRegister_v2, (void *pointer, size_t bytes, unsigned int flags),
           (pointer, bytes, flags))
{
    struct sim_context *context;

    CHECK(sim_context_current(&context));
    return sim_memory_register(context, pointer, bytes, flags);
}

DRIVER_API(cuMemHostUnregister, (void *pointer), (pointer))
{
    return sim_memory_unregister(pointer);
}

DRIVER_API(cuMemHostGetDevicePointer_v2, (CUdeviceptr * out, void *pointer, unsigned int flags),
           (out, pointer, flags))
{
    struct sim_allocation found;

    REQUIRE(out && flags == 0 && sim_memory_find(pointer, &found), SIM_E_VALUE);
    *out = (CUdeviceptr)pointer;
    return SIM_OK;
}

DRIVER_API(cuMemHostGetFlags, (unsigned int *flags, void *pointer), (flags, pointer))
{
    struct sim_allocation found;

    REQUIRE(flags && sim_memory_find(pointer, &found), SIM_E_VALUE);
    *flags = found.flags;
    return SIM_OK;
}

DRIVER_API(cuMemGetInfo_v2, (size_t * free_bytes, size_t *total), (free_bytes, total))
{
    struct sim_context *context;

    CHECK(sim_context_current(&context));
    sim_memory_info(context->device, free_bytes, total);
    return SIM_OK;
}

DRIVER_API(cuMemGetAddressRange_v2, (CUdeviceptr * base, size_t *bytes, CUdeviceptr pointer),
           (base, bytes, pointer))
{
    struct sim_allocation found;

    REQUIRE(sim_memory_find((void *)pointer, &found), SIM_E_NOT_FOUND);
    if (base) {
        *base = (CUdeviceptr)found.base;
    }
    if (bytes) {
        *bytes = found.bytes;
    }
    return SIM_OK;
}

static int pointer_fact(void *out, CUpointer_attribute attribute,
                        const struct sim_allocation *found, CUdeviceptr pointer)
{
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT: /* mapped memory belongs to the device and to no context */
        *(struct sim_context **)out = found->physical ? NULL : found->context;
        return SIM_OK;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *(unsigned *)out = !found->kind                ? 0
                           : found->kind == SIM_PINNED ? CU_MEMORYTYPE_HOST
                                                       : CU_MEMORYTYPE_DEVICE;
        return SIM_OK;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        *(CUdeviceptr *)out = pointer;
        return SIM_OK;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        *(unsigned long long *)out = found->id;
        return SIM_OK;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        *(unsigned *)out = found->kind == SIM_MANAGED;
        return SIM_OK;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *(int *)out = (int)found->device;
        return SIM_OK;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        *(char **)out = found->base;
        return SIM_OK;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        *(size_t *)out = found->bytes;
        return SIM_OK;
    case CU_POINTER_ATTRIBUTE_MAPPED:
        *(int *)out = found->bytes != 0;
        return SIM_OK;
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
        *(char **)out = found->base;
        return SIM_OK;
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
        *(size_t *)out = found->bytes;
        return SIM_OK;
    default:
        return SIM_E_VALUE;
    }
}

DRIVER_API(cuPointerGetAttribute, (void *out, CUpointer_attribute attribute, CUdeviceptr pointer),
           (out, attribute, pointer))
{
    struct sim_allocation found;

    REQUIRE(out && sim_memory_find((void *)pointer, &found), SIM_E_VALUE);
    return pointer_fact(out, attribute, &found, pointer);
}

/* An unknown pointer attribute gets the value 0 and causes no error. */
DRIVER_API(cuPointerGetAttributes,
           (unsigned count, CUpointer_attribute *attributes, void **out, CUdeviceptr pointer),
           (count, attributes, out, pointer))
{
    struct sim_allocation found = {.device = (uint32_t)CU_DEVICE_INVALID};

    REQUIRE(count && attributes && out, SIM_E_VALUE);
    if (!sim_memory_find((void *)pointer, &found)) {
        pointer = 0;
    }
    for (unsigned i = 0; i < count; i++) {
        REQUIRE(out[i], SIM_E_VALUE);
        CHECK(pointer_fact(out[i], attributes[i], &found, pointer));
    }
    return SIM_OK;
}

/* ---- copies ---- */

static int copy(void *dst, const void *src, size_t bytes, enum sim_direction direction,
                CUstream handle, bool async)
{
    struct sim_copy c = {.dst = dst,
                         .src = src,
                         .width = bytes,
                         .height = 1,
                         .direction = direction,
                         .async = async};
    struct sim_stream *stream;

    CHECK(sim_stream_resolve(handle, &stream));
    return sim_copy_run(stream, &c);
}

#define COPY(name, twin, dst_type, src_type, direction)                                            \
    DRIVER_API_STREAM(name, twin, (dst_type dst, src_type src, size_t bytes), (dst, src, bytes))   \
    {                                                                                              \
        return copy((void *)dst, (const void *)src, bytes, direction, NULL, false);                \
    }
#define COPY_ASYNC(name, twin, dst_type, src_type, direction)                                      \
    DRIVER_API_STREAM(name, twin, (dst_type dst, src_type src, size_t bytes, CUstream stream),     \
                      (dst, src, bytes, stream))                                                   \
    {                                                                                              \
        return copy((void *)dst, (const void *)src, bytes, direction, stream, true);               \
    }

COPY(cuMemcpy, cuMemcpy_ptds, CUdeviceptr, CUdeviceptr, SIM_DIRECTION_DEFAULT)
COPY(cuMemcpyHtoD_v2, cuMemcpyHtoD_v2_ptds, CUdeviceptr, const void *, SIM_HOST_TO_DEVICE)
COPY(cuMemcpyDtoH_v2, cuMemcpyDtoH_v2_ptds, void *, CUdeviceptr, SIM_DEVICE_TO_HOST)
COPY(cuMemcpyDtoD_v2, cuMemcpyDtoD_v2_ptds, CUdeviceptr, CUdeviceptr, SIM_DEVICE_TO_DEVICE)
COPY_ASYNC(cuMemcpyAsync, cuMemcpyAsync_ptsz, CUdeviceptr, CUdeviceptr, SIM_DIRECTION_DEFAULT)
COPY_ASYNC(cuMemcpyHtoDAsync_v2, cuMemcpyHtoDAsync_v2_ptsz, CUdeviceptr, const void *,
           SIM_HOST_TO_DEVICE)
COPY_ASYNC(cuMemcpyDtoHAsync_v2, cuMemcpyDtoHAsync_v2_ptsz, void *, CUdeviceptr, SIM_DEVICE_TO_HOST)
COPY_ASYNC(cuMemcpyDtoDAsync_v2, cuMemcpyDtoDAsync_v2_ptsz, CUdeviceptr, CUdeviceptr,
           SIM_DEVICE_TO_DEVICE)

DRIVER_API_STREAM(cuMemcpyPeer, cuMemcpyPeer_ptds,
                  (CUdeviceptr dst, CUcontext to, CUdeviceptr src, CUcontext from, size_t bytes),
                  (dst, to, src, from, bytes))
{
    REQUIRE(sim_context_valid((struct sim_context *)to) &&
                sim_context_valid((struct sim_context *)from),
            SIM_E_CONTEXT);
    struct sim_copy c = {.dst = (void *)dst,
                         .src = (const void *)src,
                         .width = bytes,
                         .height = 1,
                         .direction = SIM_DEVICE_TO_DEVICE,
                         .peer = true};
    struct sim_stream *stream;

    CHECK(sim_stream_resolve(NULL, &stream));
    return sim_copy_run(stream, &c);
}

DRIVER_API_STREAM(cuMemcpyPeerAsync, cuMemcpyPeerAsync_ptsz,
                  (CUdeviceptr dst, CUcontext to, CUdeviceptr src, CUcontext from, size_t bytes,
                   CUstream stream),
                  (dst, to, src, from, bytes, stream))
{
    REQUIRE(sim_context_valid((struct sim_context *)to) &&
                sim_context_valid((struct sim_context *)from),
            SIM_E_CONTEXT);
    return copy((void *)dst, (const void *)src, bytes, SIM_DEVICE_TO_DEVICE, stream, true);
}

static int copy_2d(const CUDA_MEMCPY2D *p, CUstream handle, bool async)
{
    struct sim_stream *stream;

    REQUIRE(p && p->srcMemoryType != CU_MEMORYTYPE_ARRAY && p->dstMemoryType != CU_MEMORYTYPE_ARRAY,
            SIM_E_VALUE);
    const char *src = p->srcMemoryType == CU_MEMORYTYPE_HOST ? p->srcHost : (char *)p->srcDevice;
    char *dst = p->dstMemoryType == CU_MEMORYTYPE_HOST ? p->dstHost : (char *)p->dstDevice;
    size_t src_pitch = p->srcPitch ? p->srcPitch : p->WidthInBytes;
    size_t dst_pitch = p->dstPitch ? p->dstPitch : p->WidthInBytes;
    struct sim_copy c = {.dst = dst + p->dstY * dst_pitch + p->dstXInBytes,
                         .src = src + p->srcY * src_pitch + p->srcXInBytes,
                         .dst_pitch = dst_pitch,
                         .src_pitch = src_pitch,
                         .width = p->WidthInBytes,
                         .height = p->Height,
                         .direction = SIM_DIRECTION_DEFAULT,
                         .async = async};

    CHECK(sim_stream_resolve(handle, &stream));
    return sim_copy_run(stream, &c);
}

DRIVER_API_STREAM(cuMemcpy2D_v2, cuMemcpy2D_v2_ptds, (const CUDA_MEMCPY2D *params), (params))
{
    return copy_2d(params, NULL, false);
}

DRIVER_API_STREAM(cuMemcpy2DUnaligned_v2, cuMemcpy2DUnaligned_v2_ptds,
                  (const CUDA_MEMCPY2D *params), (params))
{
    return copy_2d(params, NULL, false);
}

DRIVER_API_STREAM(cuMemcpy2DAsync_v2, cuMemcpy2DAsync_v2_ptsz,
                  (const CUDA_MEMCPY2D *params, CUstream stream), (params, stream))
{
    return copy_2d(params, stream, true);
}

/* ---- memsets ---- */

static int set(CUdeviceptr dst, size_t pitch, uint32_t value, uint32_t size, size_t width,
               size_t height, CUstream handle, bool async)
{
    struct sim_stream *stream;

    CHECK(sim_stream_resolve(handle, &stream));
    return sim_set_run(stream, (void *)dst, pitch, value, size, width, height, async);
}

#define SET(bits, type)                                                                            \
    DRIVER_API_STREAM(cuMemsetD##bits##_v2, cuMemsetD##bits##_v2_ptds,                             \
                      (CUdeviceptr dst, type value, size_t count), (dst, value, count))            \
    {                                                                                              \
        return set(dst, 0, value, bits / 8, count, 1, NULL, false);                                \
    }                                                                                              \
    DRIVER_API_STREAM(cuMemsetD##bits##Async, cuMemsetD##bits##Async_ptsz,                         \
                      (CUdeviceptr dst, type value, size_t count, CUstream stream),                \
                      (dst, value, count, stream))                                                 \
    {                                                                                              \
        return set(dst, 0, value, bits / 8, count, 1, stream, true);                               \
    }                                                                                              \
    DRIVER_API_STREAM(cuMemsetD2D##bits##_v2, cuMemsetD2D##bits##_v2_ptds,                         \
                      (CUdeviceptr dst, size_t pitch, type value, size_t width, size_t height),    \
                      (dst, pitch, value, width, height))                                          \
    {                                                                                              \
        return set(dst, pitch, value, bits / 8, width, height, NULL, false);                       \
    }                                                                                              \
    DRIVER_API_STREAM(                                                                             \
        cuMemsetD2D##bits##Async, cuMemsetD2D##bits##Async_ptsz,                                   \
        (CUdeviceptr dst, size_t pitch, type value, size_t width, size_t height, CUstream stream), \
        (dst, pitch, value, width, height, stream))                                                \
    {                                                                                              \
        return set(dst, pitch, value, bits / 8, width, height, stream, true);                      \
    }

SET(8, unsigned char)
SET(16, unsigned short)
SET(32, unsigned int)
