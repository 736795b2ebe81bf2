/*
 * occupancy.c - how much of a multiprocessor a kernel can fill.
 *
 * The rules are those of NVIDIA's occupancy calculator (CUDA's cuda_occupancy.h), with the limits
 * that CUPTI's device record gives. One difference from libkineto, on purpose: it tests shared
 * memory against the limit of a kernel that did not opt in to more (48 KiB) and so shows 0 for
 * every kernel that did; a kernel that ran was allowed to.
 *
 * Threads: any; pure functions.
 */
#include "write/occupancy.h"

#define REGISTER_GRANULARITY 256u /* per warp, on every architecture since 3.x */

/* Limits and shapes are what a driver said and a record holds: any 32 bits. So what is made of them
 * has 64. */
static uint64_t round_up(uint64_t v, uint32_t to)
{
    return (v + to - 1) / to * to;
}

static uint64_t minimum(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* 0 or more than 32 bits: no launch has such a block. */
static uint64_t block_threads(const struct sl_shape *kernel)
{
    uint64_t threads = (uint64_t)kernel->block[0] * kernel->block[1];

    return threads <= UINT32_MAX ? threads * kernel->block[2] : threads;
}

static uint64_t limit_by_registers(const struct sl_device *device, const struct sl_shape *kernel,
                                   uint64_t warps)
{
    /* Each partition of a multiprocessor has its own registers: 4, but 2 on 6.0. */
    uint32_t partitions = device->compute_major == 6 && device->compute_minor == 0 ? 2 : 4;
    uint64_t per_warp =
        round_up((uint64_t)kernel->registers * device->warp_size, REGISTER_GRANULARITY);

    if (per_warp == 0 || device->max_registers_per_sm == 0)
        return UINT32_MAX;
    return device->max_registers_per_sm / partitions / per_warp * partitions / warps;
}

static uint64_t limit_by_shared_memory(const struct sl_device *device,
                                       const struct sl_shape *kernel)
{
    int ampere = device->compute_major >= 8;
    uint32_t reserved = ampere ? 1024 : 0; /* the driver's own, in every block */
    uint64_t bytes = round_up((uint64_t)kernel->static_shared + kernel->dynamic_shared + reserved,
                              ampere ? 128 : 256);

    if (bytes == 0 || device->max_shared_per_sm == 0)
        return UINT32_MAX;
    return device->max_shared_per_sm / bytes;
}

uint32_t sl_occupancy_blocks(const struct sl_device *device, const struct sl_shape *kernel)
{
    uint64_t threads = block_threads(kernel), warps, blocks;

    if (!device->known || !device->warp_size || threads == 0 ||
        threads > device->max_threads_per_sm)
        return 0;
    warps = (threads + device->warp_size - 1) / device->warp_size;
    blocks = device->max_threads_per_sm / device->warp_size / warps;
    if (device->max_blocks_per_sm)
        blocks = minimum(blocks, device->max_blocks_per_sm);
    blocks = minimum(blocks, limit_by_registers(device, kernel, warps));
    return (uint32_t)minimum(blocks, limit_by_shared_memory(device, kernel));
}

double sl_occupancy_blocks_per_sm(const struct sl_device *device, const struct sl_shape *kernel)
{
    double blocks = (double)kernel->grid[0] * kernel->grid[1] * kernel->grid[2];

    return device->multiprocessors ? blocks / device->multiprocessors : 0;
}

uint32_t sl_occupancy_percent(const struct sl_device *device, const struct sl_shape *kernel)
{
    double resident = sl_occupancy_blocks(device, kernel);
    double there = sl_occupancy_blocks_per_sm(device, kernel);

    if (!device->max_threads_per_sm)
        return 0;
    if (there < resident)
        resident = there;
    return (uint32_t)(0.5 +
                      100 * resident * (double)block_threads(kernel) / device->max_threads_per_sm);
}
