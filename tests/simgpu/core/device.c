/*
 * device.c - the facts of the simulated devices: identical H100s, or the devices of a recording.
 *
 * Any thread; filled once, then read-only.
 */
#include <cuda.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "core/sim.h"

enum {
    MAX_DEVICES = 16
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct sim_device_info devices[MAX_DEVICES];
static uint32_t count;

static void fill(void)
{
    uint64_t wanted = sim_option_u64("DEVICES", 1);
    uint32_t recorded;
    const struct sim_device_info *from = sim_replay_devices(&recorded);

    if (recorded) {
        count = recorded < MAX_DEVICES ? recorded : MAX_DEVICES;
        memcpy(devices, from, count * sizeof *devices);
        return;
    }
    count = wanted > MAX_DEVICES ? MAX_DEVICES : (uint32_t)wanted;
    for (uint32_t i = 0; i < count; i++) {
        devices[i] = (struct sim_device_info){
            .uuid = {0x51, 0x1e, 0x11, 0xfe, [15] = (uint8_t)i},
            .major = 9,
            .minor = 0,
            .multiprocessors = 132,
            .max_threads_per_block = 1024,
            .max_threads_per_sm = 2048,
            .max_blocks_per_sm = 32,
            .max_warps_per_sm = 64,
            .max_registers_per_block = 65536,
            .max_registers_per_sm = 65536,
            .max_shared_per_block = 48 * 1024,
            .max_shared_per_sm = 228 * 1024,
            .warp_size = 32,
            .core_clock_khz = 1980000,
            .memory_clock_khz = 2619000,
            .bus_width = 5120,
            .l2_bytes = 50 << 20,
            .memory_bytes = 80ull << 30,
            .memory_bandwidth_kbps = 3352320000ull,
        };
        snprintf(devices[i].name, sizeof devices[i].name, "Simulated H100 80GB");
    }
}

uint32_t sim_device_count(void)
{
    pthread_once(&once, fill);
    return count;
}

const struct sim_device_info *sim_device_info(uint32_t device)
{
    return device < sim_device_count() ? &devices[device] : NULL;
}

/* Attributes that have no field in sim_device_info. An attribute that is in neither of the two
 * tables has the value 0. */
static const struct {
    CUdevice_attribute attribute;
    int value;
} fixed[] = {
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 0x7fffffff},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
    {CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 65536},
    {CU_DEVICE_ATTRIBUTE_MAX_PITCH, 0x7fffffff},
    {CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, 512},
    {CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT, 32},
    {CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT, 512},
    {CU_DEVICE_ATTRIBUTE_GPU_OVERLAP, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1},
    {CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 3},
    {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
    {CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 1},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 1},
    {CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1},
    {CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, 1024},
    {CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, 2},
    {CU_DEVICE_ATTRIBUTE_ECC_ENABLED, 1},
};

int sim_device_attribute(uint32_t device, int attribute, int *value)
{
    const struct sim_device_info *d = sim_device_info(device);

    if (!d) {
        return SIM_E_DEVICE;
    }
    if (attribute <= 0 || attribute >= CU_DEVICE_ATTRIBUTE_MAX) {
        return SIM_E_VALUE;
    }
    const struct {
        CUdevice_attribute attribute;
        uint32_t value;
    } own[] = {
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, d->major},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, d->minor},
        {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, d->multiprocessors},
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, d->max_threads_per_block},
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, d->max_threads_per_sm},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, d->max_blocks_per_sm},
        {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, d->max_registers_per_block},
        {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, d->max_registers_per_sm},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, d->max_shared_per_block},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, d->max_shared_per_sm},
        /* the driver reserves 1 KiB in each block */
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
         d->major >= 8 ? d->max_shared_per_sm - 1024 : d->max_shared_per_sm},
        {CU_DEVICE_ATTRIBUTE_WARP_SIZE, d->warp_size},
        {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, d->core_clock_khz},
        {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, d->memory_clock_khz},
        {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, d->bus_width},
        {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, d->l2_bytes},
        {CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, device + 1},
    };

    *value = 0;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        if ((int)own[i].attribute == attribute) {
            *value = (int)own[i].value;
        }
    }
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
        if ((int)fixed[i].attribute == attribute) {
            *value = fixed[i].value;
        }
    }
    return SIM_OK;
}
