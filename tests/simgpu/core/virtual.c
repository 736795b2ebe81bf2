/*
 * virtual.c - virtual memory management: ranges of addresses without pages, and the mappings of
 * memory (physical.c) in them.
 *
 * Any thread. The lock guards the reservations and mappings, and is acquired before the locks of
 * physical.c and memory.c.
 */
#include "core/virtual.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/fork.h"
#include "core/memory.h"

struct range {
    char *base;
    size_t bytes, mappings;
    struct range *next;
};

SIM_MUTEX(lock);
static struct range *ranges;

static bool misaligned(size_t value)
{
    return value % SIM_GRANULARITY != 0;
}

/* ---- ranges ---- */

/* Reserves addresses without pages. The system does not count these pages as memory. */
static char *take_addresses(void *hint, size_t bytes)
{
    void *base = mmap(hint, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return base == MAP_FAILED ? NULL : base;
}

static char *take_aligned(size_t bytes, size_t alignment, uintptr_t hint)
{
    char *base = take_addresses((void *)hint, bytes);

    if (!base || (uintptr_t)base % alignment == 0) {
        return base;
    }
    munmap(base, bytes);
    base = take_addresses(NULL, bytes + alignment);
    if (!base) {
        return NULL;
    }
    size_t before = (alignment - (uintptr_t)base % alignment) % alignment;

    if (before) {
        munmap(base, before);
    }
    munmap(base + before + bytes, alignment - before);
    return base + before;
}

int sim_virtual_reserve(size_t bytes, size_t alignment, uintptr_t hint, void **out)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    if (!bytes || bytes % page || hint % page || (alignment & (alignment - 1))) {
        return SIM_E_VALUE;
    }
    if (alignment < SIM_GRANULARITY) {
        alignment = SIM_GRANULARITY;
    }
    struct range *range = malloc(sizeof *range);

    if (!range) {
        return SIM_E_MEMORY;
    }
    range->bytes = bytes;
    range->mappings = 0;
    range->base = bytes + alignment > bytes ? take_aligned(bytes, alignment, hint) : NULL;
    if (!range->base) {
        free(range);
        return SIM_E_MEMORY;
    }
    pthread_mutex_lock(&lock);
    range->next = ranges;
    ranges = range;
    pthread_mutex_unlock(&lock);
    *out = range->base;
    return SIM_OK;
}

int sim_virtual_free(void *base, size_t bytes)
{
    int error = SIM_E_VALUE;

    pthread_mutex_lock(&lock);
    for (struct range **at = &ranges; *at; at = &(*at)->next) {
        struct range *range = *at;

        if (range->base == base && range->bytes == bytes && !range->mappings) {
            *at = range->next;
            munmap(base, bytes);
            free(range);
            error = SIM_OK;
            break;
        }
    }
    pthread_mutex_unlock(&lock);
    return error;
}

/* The caller holds the lock. */
static struct range *range_of(const char *base)
{
    struct range *range = ranges;

    while (range && (base < range->base || base >= range->base + range->bytes)) {
        range = range->next;
    }
    return range;
}

bool sim_virtual_reserved(const void *pointer)
{
    pthread_mutex_lock(&lock);
    bool found = range_of(pointer);

    pthread_mutex_unlock(&lock);
    return found;
}

/* ---- mappings ---- */

static int map(char *base, size_t bytes, uint64_t handle, struct sim_context *context)
{
    struct range *range = range_of(base);
    CUmemAllocationProp properties;
    int error = sim_physical_properties(handle, &properties);

    if (error || !range || bytes > (size_t)(range->base + range->bytes - base)) {
        return SIM_E_VALUE;
    }
    uint32_t device = (uint32_t)properties.location.id;

    error = sim_memory_map(&(struct sim_allocation){
        .base = base,
        .bytes = bytes,
        .kind = SIM_DEVICE,
        .device = device,
        .context = context && context->device == device ? context : NULL,
        .physical = handle,
    });
    if (error) {
        return error;
    }
    error = sim_physical_map(handle, base, bytes);
    if (error) {
        sim_memory_unmap(base);
        return error;
    }
    range->mappings++;
    return SIM_OK;
}

int sim_virtual_map(void *base, size_t bytes, size_t offset, uint64_t handle)
{
    struct sim_context *context;

    /* CUDA's documentation says that the offset "currently must be zero". */
    if (!bytes || misaligned((uintptr_t)base) || misaligned(bytes) || offset) {
        return SIM_E_VALUE;
    }
    if (sim_context_current(&context)) {
        context = NULL;
    }
    pthread_mutex_lock(&lock);
    int error = map(base, bytes, handle, context);

    pthread_mutex_unlock(&lock);
    return error;
}

/* Returns the mapping at `at` if it begins there and ends before `end`. The caller holds the
 * lock. */
static bool whole_mapping(const char *at, const char *end, struct sim_allocation *out)
{
    return sim_memory_find(at, out) && out->physical && out->base == at &&
           out->bytes <= (size_t)(end - at);
}

/* Says whether complete mappings cover the whole range. The caller holds the lock. */
static bool mapped_throughout(const char *base, size_t bytes)
{
    const char *end = base + bytes;
    struct sim_allocation mapping;

    while (base < end && whole_mapping(base, end, &mapping)) {
        base += mapping.bytes;
    }
    return bytes && base == end;
}

/* As on a real GPU, unmapping does not wait for pending work. This work must not crash the process
 * when it accesses the range later. So ordinary pages, which belong to no allocation, replace the
 * mapping. */
static void unmap(const struct sim_allocation *mapping)
{
    sim_memory_unmap(mapping->base);
    (void)mmap(mapping->base, mapping->bytes, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    range_of(mapping->base)->mappings--;
    sim_physical_unmap(mapping->physical);
}

int sim_virtual_unmap(void *base, size_t bytes)
{
    char *at = base, *end = at + bytes;
    struct sim_allocation mapping;

    pthread_mutex_lock(&lock);
    bool whole = mapped_throughout(base, bytes);

    while (whole && at < end && whole_mapping(at, end, &mapping)) {
        at += mapping.bytes;
        unmap(&mapping);
    }
    pthread_mutex_unlock(&lock);
    return whole ? SIM_OK : SIM_E_VALUE;
}

static int check_access(const CUmemAccessDesc *access)
{
    if (access->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
        (access->flags != CU_MEM_ACCESS_FLAGS_PROT_NONE &&
         access->flags != CU_MEM_ACCESS_FLAGS_PROT_READ &&
         access->flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)) {
        return SIM_E_VALUE;
    }
    return sim_device_info((uint32_t)access->location.id) ? SIM_OK : SIM_E_DEVICE;
}

int sim_virtual_set_access(void *base, size_t bytes, const CUmemAccessDesc *access, size_t n)
{
    char *end = (char *)base + bytes;
    struct sim_allocation mapping;

    for (size_t i = 0; i < n; i++) {
        int error = check_access(&access[i]);

        if (error) {
            return error;
        }
    }
    pthread_mutex_lock(&lock);
    bool whole = n && mapped_throughout(base, bytes);

    for (char *at = base; whole && at < end && whole_mapping(at, end, &mapping);
         at += mapping.bytes) {
        for (size_t i = 0; i < n; i++) {
            sim_memory_access(at, (uint32_t)access[i].location.id, access[i].flags);
        }
    }
    pthread_mutex_unlock(&lock);
    return whole ? SIM_OK : SIM_E_VALUE;
}

int sim_virtual_access(const void *pointer, uint32_t device, unsigned long long *flags)
{
    struct sim_allocation found;

    if (!sim_memory_find(pointer, &found) || !found.physical) {
        return SIM_E_VALUE;
    }
    if (!sim_device_info(device)) {
        return SIM_E_DEVICE;
    }
    *flags = found.access >> 2 * device & 3;
    return SIM_OK;
}

int sim_virtual_retain(const void *pointer, uint64_t *out)
{
    struct sim_allocation found;
    int error = sim_memory_find(pointer, &found) && found.physical
                    ? sim_physical_hold(found.physical)
                    : SIM_E_VALUE;

    if (!error) {
        *out = found.physical;
    }
    return error;
}
