/*
 * physical.c - physical memory: pages of a device that live as long as a handle or a mapping
 * (virtual.c). All mappings of a handle share the handle's pages, so all mappings show the same
 * bytes.
 *
 * Any thread. Locks are acquired in this order: virtual.c, this file, memory.c.
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "core/fork.h"
#include "core/memory.h"
#include "core/virtual.h"

struct physical {
    char *home; /* first address of the pages that all mappings share; used only by this file */
    size_t bytes;
    uint32_t held, mapped;
    CUmemAllocationProp properties;
};

SIM_MUTEX(lock);
static struct physical **physicals; /* indexed by handle - 1; NULL if the memory is freed */
static size_t count, capacity;

int sim_physical_check(const CUmemAllocationProp *properties)
{
    if (properties->type != CU_MEM_ALLOCATION_TYPE_PINNED ||
        properties->location.type <= CU_MEM_LOCATION_TYPE_INVALID ||
        properties->location.type > CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT) {
        return SIM_E_VALUE;
    }
    /* A request for file descriptors is accepted. PyTorch always makes this request, but exports a
     * descriptor only to share memory with another process. */
    if (properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
        properties->requestedHandleTypes & ~CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
        return SIM_E_NOT_SUPPORTED;
    }
    return sim_device_info((uint32_t)properties->location.id) ? SIM_OK : SIM_E_DEVICE;
}

static bool insert(struct physical *physical, uint64_t *handle)
{
    if (count == capacity) {
        size_t more = capacity ? capacity * 2 : 64;
        struct physical **bigger = realloc(physicals, more * sizeof *physicals);

        if (!bigger) {
            return false;
        }
        physicals = bigger;
        capacity = more;
    }
    physicals[count++] = physical;
    *handle = count;
    return true;
}

static struct physical *find(uint64_t handle)
{
    return handle && handle <= count ? physicals[handle - 1] : NULL;
}

int sim_physical_create(size_t bytes, const CUmemAllocationProp *properties, uint64_t *out)
{
    uint32_t device = (uint32_t)properties->location.id;
    int error = sim_physical_check(properties);

    if (!error && (!bytes || bytes % SIM_GRANULARITY)) {
        error = SIM_E_VALUE;
    }
    if (!error) {
        error = sim_memory_take(device, bytes);
    }
    if (error) {
        return error;
    }
    struct physical *physical = malloc(sizeof *physical);

    if (!physical) {
        goto fail_take;
    }
    *physical = (struct physical){.bytes = bytes, .held = 1, .properties = *properties};
    physical->home =
        mmap(NULL, bytes, PROT_NONE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (physical->home == MAP_FAILED) {
        goto fail_physical;
    }
    pthread_mutex_lock(&lock);
    bool kept = insert(physical, out);

    pthread_mutex_unlock(&lock);
    if (kept) {
        return SIM_OK;
    }
    munmap(physical->home, bytes);
fail_physical:
    free(physical);
fail_take:
    sim_memory_give(device, bytes);
    return SIM_E_MEMORY;
}

/* The caller holds the lock. */
static void drop_unused(uint64_t handle)
{
    struct physical *physical = physicals[handle - 1];

    if (!physical->held && !physical->mapped) {
        munmap(physical->home, physical->bytes);
        sim_memory_give((uint32_t)physical->properties.location.id, physical->bytes);
        free(physical);
        physicals[handle - 1] = NULL;
    }
}

int sim_physical_release(uint64_t handle)
{
    pthread_mutex_lock(&lock);
    struct physical *physical = find(handle);
    bool ours = physical && physical->held;

    if (ours) {
        physical->held--;
        drop_unused(handle);
    }
    pthread_mutex_unlock(&lock);
    return ours ? SIM_OK : SIM_E_VALUE;
}

int sim_physical_hold(uint64_t handle)
{
    pthread_mutex_lock(&lock);
    struct physical *physical = find(handle);

    if (physical) {
        physical->held++;
    }
    pthread_mutex_unlock(&lock);
    return physical ? SIM_OK : SIM_E_VALUE;
}

int sim_physical_properties(uint64_t handle, CUmemAllocationProp *out)
{
    pthread_mutex_lock(&lock);
    const struct physical *physical = find(handle);
    bool ours = physical && physical->held;

    if (ours) {
        *out = physical->properties;
    }
    pthread_mutex_unlock(&lock);
    return ours ? SIM_OK : SIM_E_VALUE;
}

int sim_physical_map(uint64_t handle, void *base, size_t bytes)
{
    int error = SIM_E_VALUE;

    pthread_mutex_lock(&lock);
    struct physical *physical = find(handle);

    if (physical && physical->held && bytes <= physical->bytes) {
        /* With a length of 0, mremap() creates a second mapping of shared pages and replaces the
         * old content. */
        void *there = mremap(physical->home, 0, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, base);
        bool mapped = there != MAP_FAILED && mprotect(base, bytes, PROT_READ | PROT_WRITE) == 0;

        physical->mapped += mapped;
        error = mapped ? SIM_OK : SIM_E_MEMORY;
    }
    pthread_mutex_unlock(&lock);
    return error;
}

void sim_physical_unmap(uint64_t handle)
{
    pthread_mutex_lock(&lock);
    find(handle)->mapped--;
    drop_unused(handle);
    pthread_mutex_unlock(&lock);
}
