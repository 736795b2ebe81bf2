/*
 * virtual.h - virtual memory management: physical memory (physical.c), and the address ranges to
 * which it is mapped (virtual.c).
 *
 * sim.h describes the locks and the results. Mapped memory is an ordinary allocation of memory.h.
 */
#ifndef SIM_VIRTUAL_H
#define SIM_VIRTUAL_H

#include <cuda.h>

#include "core/sim.h"

enum {
    SIM_GRANULARITY = 2 << 20 /* unit of creation and mapping, in bytes */
};

/* Checks `properties`. Returns SIM_OK, or an error if the properties are not supported. */
int sim_physical_check(const CUmemAllocationProp *properties);
/* Handles are numbers and never reused. The memory of a handle is freed when the handle is released
 * and no mapping uses the memory. */
int sim_physical_create(size_t bytes, const CUmemAllocationProp *properties, uint64_t *out);
int sim_physical_hold(uint64_t handle);
int sim_physical_release(uint64_t handle);
int sim_physical_properties(uint64_t handle, CUmemAllocationProp *out);
/* Used by virtual.c: sim_physical_map() replaces the pages at `base` by the handle's pages.
 * sim_physical_unmap() is called after virtual.c has unmapped the pages. */
int sim_physical_map(uint64_t handle, void *base, size_t bytes);
void sim_physical_unmap(uint64_t handle);

int sim_virtual_reserve(size_t bytes, size_t alignment, uintptr_t hint, void **out);
int sim_virtual_free(void *base, size_t bytes);
bool sim_virtual_reserved(const void *pointer);
/* A device may use a mapping only after it was given access. */
int sim_virtual_map(void *base, size_t bytes, size_t offset, uint64_t handle);
int sim_virtual_unmap(void *base, size_t bytes);
int sim_virtual_set_access(void *base, size_t bytes, const CUmemAccessDesc *access, size_t count);
int sim_virtual_access(const void *pointer, uint32_t device, unsigned long long *flags);
int sim_virtual_retain(const void *pointer, uint64_t *out); /* retains the memory that is mapped at
                                                             * the pointer */

#endif
