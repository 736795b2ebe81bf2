/*
 * device.c - libcuda: initialisation, versions, devices and their attributes.
 *
 * Application threads.
 */
#include <stdio.h>
#include <string.h>

#include "driver/api.h"

DRIVER_API(cuInit, (unsigned int flags), (flags))
{
    REQUIRE(flags == 0, SIM_E_VALUE);
    return sim_init();
}

DRIVER_API(cuDriverGetVersion, (int *version), (version))
{
    REQUIRE(version, SIM_E_VALUE);
    *version = sim_driver_version();
    return SIM_OK;
}

DRIVER_API(cuDeviceGetCount, (int *count), (count))
{
    REQUIRE(count, SIM_E_VALUE);
    *count = (int)sim_device_count();
    return SIM_OK;
}

DRIVER_API(cuDeviceGet, (CUdevice * device, int ordinal), (device, ordinal))
{
    REQUIRE(device, SIM_E_VALUE);
    REQUIRE(ordinal >= 0 && (uint32_t)ordinal < sim_device_count(), SIM_E_DEVICE);
    *device = ordinal;
    return SIM_OK;
}

DRIVER_API(cuDeviceGetName, (char *name, int length, CUdevice device), (name, length, device))
{
    const struct sim_device_info *info = sim_device_info((uint32_t)device);

    REQUIRE(info, SIM_E_DEVICE);
    REQUIRE(name && length > 0, SIM_E_VALUE);
    snprintf(name, (size_t)length, "%s", info->name);
    return SIM_OK;
}

#undef cuDeviceGetUuid /* cuda.h replaces this name by the _v2 name; libcuda exports both */

static int get_uuid(CUuuid *uuid, CUdevice device)
{
    const struct sim_device_info *info = sim_device_info((uint32_t)device);

    REQUIRE(info, SIM_E_DEVICE);
    REQUIRE(uuid, SIM_E_VALUE);
    memcpy(uuid->bytes, info->uuid, sizeof uuid->bytes);
    return SIM_OK;
}

DRIVER_API(cuDeviceGetUuid, (CUuuid * uuid, CUdevice device), (uuid, device))
{
    return get_uuid(uuid, device);
}

DRIVER_API(cuDeviceGetUuid_v2, (CUuuid * uuid, CUdevice device), (uuid, device))
{
    return get_uuid(uuid, device);
}

DRIVER_API(cuDeviceTotalMem_v2, (size_t * bytes, CUdevice device), (bytes, device))
{
    const struct sim_device_info *info = sim_device_info((uint32_t)device);

    REQUIRE(info, SIM_E_DEVICE);
    REQUIRE(bytes, SIM_E_VALUE);
    *bytes = info->memory_bytes;
    return SIM_OK;
}

DRIVER_API(cuDeviceGetAttribute, (int *value, CUdevice_attribute attribute, CUdevice device),
           (value, attribute, device))
{
    REQUIRE(value, SIM_E_VALUE);
    return sim_device_attribute((uint32_t)device, (int)attribute, value);
}

DRIVER_API(cuDeviceComputeCapability, (int *major, int *minor, CUdevice device),
           (major, minor, device))
{
    const struct sim_device_info *info = sim_device_info((uint32_t)device);

    REQUIRE(info, SIM_E_DEVICE);
    *major = (int)info->major;
    *minor = (int)info->minor;
    return SIM_OK;
}

DRIVER_API(cuDeviceGetPCIBusId, (char *text, int length, CUdevice device), (text, length, device))
{
    REQUIRE(sim_device_info((uint32_t)device), SIM_E_DEVICE);
    REQUIRE(text && length >= 13, SIM_E_VALUE);
    snprintf(text, (size_t)length, "0000:%02x:00.0", (unsigned)device + 1);
    return SIM_OK;
}

DRIVER_API(cuDeviceCanAccessPeer, (int *can, CUdevice device, CUdevice peer), (can, device, peer))
{
    REQUIRE(sim_device_info((uint32_t)device) && sim_device_info((uint32_t)peer), SIM_E_DEVICE);
    *can = device != peer;
    return SIM_OK;
}

DRIVER_API(cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device), (context, device))
{
    REQUIRE(context, SIM_E_VALUE);
    return sim_context_primary((uint32_t)device, (struct sim_context **)context);
}

DRIVER_API(cuDevicePrimaryCtxRelease_v2, (CUdevice device), (device))
{
    return sim_context_primary_release((uint32_t)device, false);
}

DRIVER_API(cuDevicePrimaryCtxReset_v2, (CUdevice device), (device))
{
    return sim_context_primary_release((uint32_t)device, true);
}

DRIVER_API(cuDevicePrimaryCtxSetFlags_v2, (CUdevice device, unsigned int flags), (device, flags))
{
    REQUIRE(sim_device_info((uint32_t)device), SIM_E_DEVICE);
    sim_context_primary_flags((uint32_t)device, flags);
    return SIM_OK;
}

DRIVER_API(cuDevicePrimaryCtxGetState, (CUdevice device, unsigned int *flags, int *active),
           (device, flags, active))
{
    REQUIRE(sim_device_info((uint32_t)device), SIM_E_DEVICE);
    *active = sim_context_primary_active((uint32_t)device, flags);
    return SIM_OK;
}
