/*
 * virtual.h - virtual memory management: memory without an address (physical.c), and ranges of
 * addresses that it is mapped to (virtual.c).
 *
 * Locks, results: see sim.h. Mapped memory is an allocation of memory.h's like any other.
 */
#ifndef SIM_VIRTUAL_H
#define SIM_VIRTUAL_H

#include <cuda.h>

#include "core/sim.h"

enum {
    SIM_GRANULARITY = 2 << 20 /* of what is created and mapped */
};

/* What `properties` ask for: SIM_OK, or why it cannot be had. */
int sim_physical_check(const CUmemAllocationProp *properties);
/* Handles are numbers that are not used again. The memory goes when it is neither held nor mapped.
 */
int sim_physical_create(size_t bytes, const CUmemAllocationProp *properties, uint64_t *out);
int sim_physical_hold(uint64_t handle);
int sim_physical_release(uint64_t handle);
int sim_physical_properties(uint64_t handle, CUmemAllocationProp *out);
/* For virtual.c: puts the pages in the place of what is at `base`; later says that they are gone.
 */
int sim_physical_map(uint64_t handle, void *base, size_t bytes);
void sim_physical_unmap(uint64_t handle);

int sim_virtual_reserve(size_t bytes, size_t alignment, uintptr_t hint, void **out);
int sim_virtual_free(void *base, size_t bytes);
bool sim_virtual_reserved(const void *pointer);
/* No device may use a mapping before it has access. */
int sim_virtual_map(void *base, size_t bytes, size_t offset, uint64_t handle);
int sim_virtual_unmap(void *base, size_t bytes);
int sim_virtual_set_access(void *base, size_t bytes, const CUmemAccessDesc *access, size_t count);
int sim_virtual_access(const void *pointer, uint32_t device, unsigned long long *flags);
int sim_virtual_retain(const void *pointer, uint64_t *out); /* of what is mapped there */

#endif
