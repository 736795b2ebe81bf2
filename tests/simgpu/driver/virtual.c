/*
 * virtual.c - the functions of libcuda for virtual memory management.
 *
 * Threads: application threads. Unlike allocation, these functions need no context, because the
 * memory belongs to a device.
 */
#include "core/virtual.h"
#include "driver/api.h"

DRIVER_API(cuMemAddressReserve,
           (CUdeviceptr * out, size_t bytes, size_t alignment, CUdeviceptr hint,
            unsigned long long flags),
           (out, bytes, alignment, hint, flags))
{
    REQUIRE(out && !flags, SIM_E_VALUE);
    return sim_virtual_reserve(bytes, alignment, (uintptr_t)hint, (void **)out);
}

DRIVER_API(cuMemAddressFree, (CUdeviceptr base, size_t bytes), (base, bytes))
{
    return sim_virtual_free((void *)base, bytes);
}

DRIVER_API(cuMemCreate,
           (CUmemGenericAllocationHandle * out, size_t bytes, const CUmemAllocationProp *properties,
            unsigned long long flags),
           (out, bytes, properties, flags))
{
    uint64_t handle;

    REQUIRE(out && properties && !flags, SIM_E_VALUE);
    CHECK(sim_physical_create(bytes, properties, &handle));
    *out = handle;
    return SIM_OK;
}

DRIVER_API(cuMemRelease, (CUmemGenericAllocationHandle handle), (handle))
{
    return sim_physical_release(handle);
}

DRIVER_API(cuMemRetainAllocationHandle, (CUmemGenericAllocationHandle * out, void *pointer),
           (out, pointer))
{
    uint64_t handle;

    REQUIRE(out, SIM_E_VALUE);
    CHECK(sim_virtual_retain(pointer, &handle));
    *out = handle;
    return SIM_OK;
}

DRIVER_API(cuMemGetAllocationPropertiesFromHandle,
           (CUmemAllocationProp * properties, CUmemGenericAllocationHandle handle),
           (properties, handle))
{
    REQUIRE(properties, SIM_E_VALUE);
    return sim_physical_properties(handle, properties);
}

DRIVER_API(cuMemGetAllocationGranularity,
           (size_t * out, const CUmemAllocationProp *properties,
            CUmemAllocationGranularity_flags option),
           (out, properties, option))
{
    REQUIRE(out && properties, SIM_E_VALUE);
    REQUIRE(option == CU_MEM_ALLOC_GRANULARITY_MINIMUM ||
                option == CU_MEM_ALLOC_GRANULARITY_RECOMMENDED,
            SIM_E_VALUE);
    CHECK(sim_physical_check(properties));
    *out = SIM_GRANULARITY;
    return SIM_OK;
}

DRIVER_API(cuMemMap,
           (CUdeviceptr base, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
            unsigned long long flags),
           (base, bytes, offset, handle, flags))
{
    REQUIRE(!flags, SIM_E_VALUE);
    return sim_virtual_map((void *)base, bytes, offset, handle);
}

DRIVER_API(cuMemUnmap, (CUdeviceptr base, size_t bytes), (base, bytes))
{
    return sim_virtual_unmap((void *)base, bytes);
}

DRIVER_API(cuMemSetAccess,
           (CUdeviceptr base, size_t bytes, const CUmemAccessDesc *access, size_t count),
           (base, bytes, access, count))
{
    REQUIRE(access && count, SIM_E_VALUE);
    return sim_virtual_set_access((void *)base, bytes, access, count);
}

DRIVER_API(cuMemGetAccess,
           (unsigned long long *flags, const CUmemLocation *location, CUdeviceptr pointer),
           (flags, location, pointer))
{
    REQUIRE(flags && location && location->type == CU_MEM_LOCATION_TYPE_DEVICE, SIM_E_VALUE);
    return sim_virtual_access((void *)pointer, (uint32_t)location->id, flags);
}
