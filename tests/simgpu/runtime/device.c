/*
 * device.c - the device functions of the runtime: selection, properties, attributes, limits, peer
 * access, reset.
 *
 * Application threads.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "runtime/call.h"

static int set_device(int device)
{
    struct sim_context *context;

    if (device < 0 || (uint32_t)device >= sim_device_count()) {
        return SIM_E_DEVICE;
    }
    sim_thread_self()->device = device;
#if SIM_CUDART >= 12
    /* From CUDA 12 on, cudaSetDevice() creates the primary context. */
    int error = sim_context_primary((uint32_t)device, &context);

    if (error) {
        return error;
    }
    sim_context_set(context);
#endif
    return SIM_OK;
}

static int current_device(void)
{
    return sim_thread_self()->device;
}

static int get_device(int *device)
{
    if (!device) {
        return SIM_E_VALUE;
    }
    *device = current_device();
    return SIM_OK;
}

static int get_count(int *count)
{
    if (!count) {
        return SIM_E_VALUE;
    }
    *count = (int)sim_device_count();
    return SIM_OK;
}

/* Offsets of the known fields of cudaDeviceProp in CUDA 12 and 13. Offsets are needed because CUDA
 * 13 removed fields, and only one toolkit's headers are installed. */
#define AT(offset12, offset13) (SIM_CUDART == 12 ? offset12 : offset13)
enum {
    PROPERTIES_BYTES = AT(1032, 1008)
};

static void put(char *properties, size_t offset, uint64_t value, size_t bytes)
{
    memcpy(properties + offset, &value, bytes); /* little endian */
}

static int get_properties(char *out, int device)
{
    if (!out) {
        return SIM_E_VALUE;
    }
    if (device < 0 || (uint32_t)device >= sim_device_count()) {
        return SIM_E_DEVICE;
    }
    const struct sim_device_info *info = sim_device_info((uint32_t)device);
    const struct {
        size_t offset;
        uint64_t value;
        size_t bytes;
    } field[] = {
        {288, info->memory_bytes, 8},            /* totalGlobalMem */
        {296, info->max_shared_per_block, 8},    /* sharedMemPerBlock */
        {304, info->max_registers_per_block, 4}, /* regsPerBlock */
        {308, info->warp_size, 4},               /* warpSize */
        {312, 0x7fffffff, 8},                    /* memPitch */
        {320, info->max_threads_per_block, 4},   /* maxThreadsPerBlock */
        {324, info->max_threads_per_block, 4},   /* maxThreadsDim */
        {328, info->max_threads_per_block, 4},
        {332, 64, 4},
        {336, 0x7fffffff, 4}, /* maxGridSize */
        {340, 65535, 4},
        {344, 65535, 4},
        {352, 65536, 8}, /* totalConstMem */
        {360, info->major, 4},
        {364, info->minor, 4},
        {368, 512, 8}, /* textureAlignment */
        {AT(388, 384), info->multiprocessors, 4},
        {AT(400, 392), 1, 4},                    /* canMapHostMemory */
        {AT(576, 560), 1, 4},                    /* concurrentKernels */
        {AT(584, 568), (uint64_t)device + 1, 4}, /* pciBusID */
        {AT(600, 584), 3, 4},                    /* asyncEngineCount */
        {AT(604, 588), 1, 4},                    /* unifiedAddressing */
        {AT(612, 592), info->bus_width, 4},      /* memoryBusWidth */
        {AT(616, 596), info->l2_bytes, 4},       /* l2CacheSize */
        {AT(624, 604), info->max_threads_per_sm, 4},
        {AT(628, 608), 1, 4}, /* streamPrioritiesSupported */
        {AT(640, 624), info->max_shared_per_sm, 8},
        {AT(648, 632), info->max_registers_per_sm, 4},
        {AT(652, 636), 1, 4},                              /* managedMemory */
        {AT(676, 656), 1, 4},                              /* concurrentManagedAccess */
        {AT(688, 668), 1, 4},                              /* cooperativeLaunch */
        {AT(696, 672), info->max_shared_per_sm - 1024, 8}, /* sharedMemPerBlockOptin */
        {AT(712, 688), info->max_blocks_per_sm, 4},
        {AT(720, 696), 1024, 8}, /* reservedSharedMemPerBlock */
        {AT(744, 720), 1, 4},    /* memoryPoolsSupported */
    };

    memset(out, 0, PROPERTIES_BYTES);
    snprintf(out, sizeof info->name, "%s", info->name);
    memcpy(out + 256, info->uuid, sizeof info->uuid);
    for (size_t i = 0; i < sizeof field / sizeof *field; i++) {
        put(out, field[i].offset, field[i].value, field[i].bytes);
    }
    if (SIM_CUDART == 12) {
        put(out, 348, info->core_clock_khz, 4);
        put(out, 608, info->memory_clock_khz, 4);
    }
    return SIM_OK;
}

#if SIM_CUDART == 13
_Static_assert(sizeof(struct cudaDeviceProp) == PROPERTIES_BYTES, "CUDA 13");
_Static_assert(offsetof(struct cudaDeviceProp, multiProcessorCount) == 384, "CUDA 13");
_Static_assert(offsetof(struct cudaDeviceProp, memoryPoolsSupported) == 720, "CUDA 13");
#endif

static int get_attribute(int *value, int attribute, int device)
{
    if (!value) {
        return SIM_E_VALUE;
    }
    if (device < 0 || (uint32_t)device >= sim_device_count()) {
        return SIM_E_DEVICE;
    }
    return sim_device_attribute((uint32_t)device, attribute, value);
}

static int synchronize(void)
{
    struct sim_context *context;
    int error = sim_context_current(&context);

    return error ? error : sim_context_synchronize(context);
}

static int reset(void)
{
    return sim_context_primary_release((uint32_t)current_device(), true);
}

static int set_flags(unsigned flags)
{
    sim_context_primary_flags((uint32_t)current_device(), flags);
    return SIM_OK;
}

static int get_flags(unsigned *flags)
{
    if (!flags) {
        return SIM_E_VALUE;
    }
    (void)sim_context_primary_active((uint32_t)current_device(), flags);
    return SIM_OK;
}

static int limit(size_t *value, int which)
{
    static const size_t defaults[] = {1024, 1 << 20, 8 << 20, 2, 2048, 128};

    if (!value || which < 0 || (size_t)which >= sizeof defaults / sizeof *defaults) {
        return SIM_E_VALUE;
    }
    *value = defaults[which];
    return SIM_OK;
}

static int can_access_peer(int *can, int device, int peer)
{
    int count = (int)sim_device_count();

    if (!can || device < 0 || peer < 0 || device >= count || peer >= count) {
        return can ? SIM_E_DEVICE : SIM_E_VALUE;
    }
    *can = device != peer;
    return SIM_OK;
}

static int peer_access(int peer, bool enable)
{
    struct sim_context *context;
    int error = sim_context_current(&context);

    if (error) {
        return error;
    }
    if (peer < 0 || (uint32_t)peer >= sim_device_count() || (uint32_t)peer == context->device) {
        return SIM_E_DEVICE;
    }
    return sim_context_peer(context, (uint32_t)peer, enable);
}

static int pci_bus_id(char *out, int length, int device)
{
    if (!out || length < 13 || device < 0 || (uint32_t)device >= sim_device_count()) {
        return SIM_E_VALUE;
    }
    snprintf(out, (size_t)length, "0000:%02x:00.0", device + 1);
    return SIM_OK;
}

static int priority_range(int *least, int *greatest)
{
    if (least) {
        *least = 0;
    }
    if (greatest) {
        *greatest = -5;
    }
    return SIM_OK;
}

static int version(int *out, int value)
{
    if (!out) {
        return SIM_E_VALUE;
    }
    *out = value;
    return SIM_OK;
}

RUNTIME(cudaSetDevice, v3020, (int device), set_device(device))
RUNTIME(cudaGetDevice, v3020, (int *device), get_device(device))
RUNTIME(cudaInitDevice, v12000, (int device, unsigned device_flags, unsigned flags),
        set_device(device))
RUNTIME(cudaGetDeviceCount, v3020, (int *count), get_count(count))
#if SIM_CUDART == 12
RUNTIME_AS(cudaGetDeviceProperties_v2, cudaGetDeviceProperties, v12000, (char *out, int device),
           get_properties(out, device))
#else
RUNTIME(cudaGetDeviceProperties, v12000, (char *out, int device), get_properties(out, device))
#endif
RUNTIME(cudaDeviceGetAttribute, v5000, (int *value, int attribute, int device),
        get_attribute(value, attribute, device))
RUNTIME(cudaDeviceSynchronize, v3020, (void), synchronize())
RUNTIME(cudaDeviceReset, v3020, (void), reset())
RUNTIME(cudaSetDeviceFlags, v3020, (unsigned flags), set_flags(flags))
RUNTIME(cudaGetDeviceFlags, v7000, (unsigned *flags), get_flags(flags))
RUNTIME(cudaDeviceGetLimit, v3020, (size_t * value, int which), limit(value, which))
RUNTIME(cudaDeviceSetLimit, v3020, (int which, size_t value),
        value &&which >= 0 ? SIM_OK : SIM_E_VALUE)
RUNTIME(cudaDeviceGetStreamPriorityRange, v5050, (int *least, int *greatest),
        priority_range(least, greatest))
RUNTIME(cudaDeviceCanAccessPeer, v4000, (int *can, int device, int peer),
        can_access_peer(can, device, peer))
RUNTIME(cudaDeviceEnablePeerAccess, v4000, (int peer, unsigned flags),
        flags ? SIM_E_VALUE : peer_access(peer, true))
RUNTIME(cudaDeviceDisablePeerAccess, v4000, (int peer), peer_access(peer, false))
RUNTIME(cudaDeviceGetPCIBusId, v4010, (char *out, int length, int device),
        pci_bus_id(out, length, device))
RUNTIME(cudaDriverGetVersion, v3020, (int *out), version(out, sim_driver_version()))
RUNTIME(cudaRuntimeGetVersion, v3020, (int *out), version(out, SIM_CUDART == 12 ? 12080 : 13000))
RUNTIME(cudaProfilerStart, v4000, (void), SIM_OK)
RUNTIME(cudaProfilerStop, v4000, (void), SIM_OK)
