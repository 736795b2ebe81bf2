/*
 * occupancy.c - computes how much of a multiprocessor a kernel can occupy.
 *
 * The computation follows NVIDIA's occupancy calculator (CUDA's cuda_occupancy.h). The limits are
 * the device's attributes (collect/cupti/cuda_facts). One difference from libkineto is intended.
 * libkineto compares a block's shared memory with the limit without opt-in (48 KiB), so it shows 0
 * for every kernel that opted in to more. We compare it with no limit per block, because a kernel
 * that ran was allowed to use its shared memory.
 *
 * Threads: any; pure functions.
 */
#include "write/occupancy.h"

/* registers are allocated in units of this many per warp, on every architecture since 3.x */
#define REGISTER_GRANULARITY 256u

/* Limits and shapes may have any 32-bit value, so results have 64 bits. */
static uint64_t round_up(uint64_t v, uint32_t to)
{
    return (v + to - 1) / to * to;
}

static uint64_t minimum(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Returns the number of threads of a block. No real launch has 0 threads per block, or a number
 * that needs more than 32 bits. */
static uint64_t block_threads(const struct sl_shape *kernel)
{
    uint64_t threads = (uint64_t)kernel->block[0] * kernel->block[1];

    return threads <= UINT32_MAX ? threads * kernel->block[2] : threads;
}

static uint64_t limit_by_registers(const struct sl_device *device, const struct sl_shape *kernel,
                                   uint64_t warps)
{
    /* A multiprocessor is divided into partitions, and each partition has its own registers. There
     * are 4 partitions, but only 2 on compute capability 6.0. */
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
    /* number of bytes of shared memory that the driver uses in every block */
    uint32_t reserved = ampere ? 1024 : 0;
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
