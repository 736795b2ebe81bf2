/*
 * device.h - the properties of each GPU, from which occupancy and the trace's deviceProperties are
 * made.
 *
 * The recorder thread fills the table. The writer thread reads an entry only after it has received
 * the SL_EV_META_DEVICE event with the entry's index.
 */
#ifndef SL_DEVICE_H
#define SL_DEVICE_H

#include <stdint.h>

#define SL_DEVICE_MAX 64

struct sl_device {
    uint32_t id;
    uint32_t compute_major, compute_minor;
    uint32_t multiprocessors;
    uint32_t max_threads_per_block, max_threads_per_sm;
    uint32_t max_blocks_per_sm, max_warps_per_sm;
    uint32_t max_registers_per_block, max_registers_per_sm;
    /* shared memory in bytes; a block may use max_shared_opted_in if its kernel opts in */
    uint32_t max_shared_per_block, max_shared_opted_in, max_shared_per_sm;
    uint32_t warp_size;
    uint32_t core_clock_khz;
    uint64_t memory_bytes;
    uint64_t memory_bandwidth_kbps; /* memory bandwidth in kB/s */
    uint8_t uuid[16];
    char name[256];
    uint8_t known; /* 1: the properties of this device are known */
};

/* Indexed by device id. Devices with ids beyond the table are left out and counted. */
struct sl_device_table {
    struct sl_device device[SL_DEVICE_MAX];
};

#endif
