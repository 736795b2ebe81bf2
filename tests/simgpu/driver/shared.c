/*
 * shared.c - libcuda: memory shared with other processes or devices, and values that a stream
 * writes for them. The simulation supports neither; the first call of each function reports this on
 * stderr. PyTorch resolves these functions together with those for virtual memory management.
 *
 * Application threads.
 */
#include <stdatomic.h>
#include <stdio.h>

#include "driver/api.h"

/* CUDA defines the signatures; the simulation ignores some parameters. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

static int refuse(const char *name)
{
    static atomic_flag said = ATOMIC_FLAG_INIT;

    if (!atomic_flag_test_and_set(&said)) {
        fprintf(stderr, "simgpu: %s is not simulated: a GPU's memory belongs to one process\n",
                name);
    }
    return SIM_E_NOT_SUPPORTED;
}

#define REFUSED(name, params, args)                                                                \
    DRIVER_API(name, params, args)                                                                 \
    {                                                                                              \
        return refuse(#name);                                                                      \
    }

REFUSED(cuMemExportToShareableHandle,
        (void *out, CUmemGenericAllocationHandle handle, CUmemAllocationHandleType type,
         unsigned long long flags),
        (out, handle, type, flags))
REFUSED(cuMemImportFromShareableHandle,
        (CUmemGenericAllocationHandle * out, void *handle, CUmemAllocationHandleType type),
        (out, handle, type))
REFUSED(cuMulticastCreate,
        (CUmemGenericAllocationHandle * out, const CUmulticastObjectProp *properties),
        (out, properties))
REFUSED(cuMulticastAddDevice, (CUmemGenericAllocationHandle handle, CUdevice device),
        (handle, device))
REFUSED(cuMulticastBindMem,
        (CUmemGenericAllocationHandle handle, size_t offset, CUmemGenericAllocationHandle memory,
         size_t memory_offset, size_t bytes, unsigned long long flags),
        (handle, offset, memory, memory_offset, bytes, flags))
REFUSED(cuMulticastUnbind,
        (CUmemGenericAllocationHandle handle, CUdevice device, size_t offset, size_t bytes),
        (handle, device, offset, bytes))

DRIVER_API_STREAM(cuStreamWriteValue32_v2, cuStreamWriteValue32_v2_ptsz,
                  (CUstream stream, CUdeviceptr pointer, cuuint32_t value, unsigned flags),
                  (stream, pointer, value, flags))
{
    return refuse("cuStreamWriteValue32_v2");
}
