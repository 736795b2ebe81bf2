/*
 * memory.c - allocations. Simulated device memory is host memory. The table of allocations gives
 * the kind and the owner of the memory at any address.
 *
 * Any thread. The table is sorted by address and has its own lock. A thread that holds this lock
 * acquires no other lock.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/fork.h"
#include "core/memory.h"
#include "core/sim.h"

enum {
    ALIGN = 512,
    MAP_FROM = 1 << 20,
    MAX_DEVICES = 16
};

SIM_MUTEX(lock);
static struct sim_allocation *table;
static size_t count, capacity;
static uint64_t used[MAX_DEVICES], last_id;

/* Returns the index of the first allocation that begins after `pointer`. */
static size_t upper(const void *pointer)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t mid = (low + high) / 2;

        if ((const char *)pointer < table[mid].base) {
            high = mid;
        } else {
            low = mid + 1;
        }
    }
    return low;
}

static struct sim_allocation *covering(const void *pointer)
{
    size_t at = upper(pointer);

    if (at == 0 || (const char *)pointer >= table[at - 1].base + table[at - 1].bytes) {
        return NULL;
    }
    return &table[at - 1];
}

static bool insert(const struct sim_allocation *allocation)
{
    if (count == capacity) {
        size_t more = capacity ? capacity * 2 : 256;
        struct sim_allocation *bigger = realloc(table, more * sizeof *table);

        if (!bigger) {
            return false;
        }
        table = bigger;
        capacity = more;
    }
    size_t at = upper(allocation->base);

    memmove(&table[at + 1], &table[at], (count - at) * sizeof *table);
    table[at] = *allocation;
    table[at].id = ++last_id;
    count++;
    return true;
}

static void take_out(struct sim_allocation *allocation)
{
    size_t at = (size_t)(allocation - table);

    count--;
    memmove(&table[at], &table[at + 1], (count - at) * sizeof *table);
}

static void *get_pages(size_t bytes, bool *mapped)
{
    void *base = NULL;

    *mapped = bytes >= MAP_FROM;
    if (*mapped) {
        base = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        return base == MAP_FAILED ? NULL : base;
    }
    if (posix_memalign(&base, ALIGN, bytes)) {
        return NULL;
    }
    /* A new allocation contains zeros, like fresh pages, so that a run does not depend on old
     * content. */
    return memset(base, 0, bytes);
}

static void put_pages(const struct sim_allocation *allocation)
{
    if (allocation->mapped) {
        munmap(allocation->base, allocation->bytes);
    } else {
        free(allocation->base);
    }
}

int sim_memory_take(uint32_t device, size_t bytes)
{
    uint64_t total = sim_device_info(device)->memory_bytes;

    pthread_mutex_lock(&lock);
    bool fits = bytes <= total - used[device];

    if (fits) {
        used[device] += bytes;
    }
    pthread_mutex_unlock(&lock);
    return fits ? SIM_OK : SIM_E_MEMORY;
}

void sim_memory_give(uint32_t device, size_t bytes)
{
    pthread_mutex_lock(&lock);
    used[device] -= bytes;
    pthread_mutex_unlock(&lock);
}

static int allocate(struct sim_allocation allocation, void **out)
{
    bool of_device = allocation.kind != SIM_PINNED;

    if (!allocation.bytes) {
        return SIM_E_VALUE;
    }
    if (of_device && sim_memory_take(allocation.device, allocation.bytes)) {
        return SIM_E_MEMORY;
    }
    allocation.base = get_pages(allocation.bytes, &allocation.mapped);
    if (!allocation.base) {
        goto fail_take;
    }
    pthread_mutex_lock(&lock);
    bool kept = insert(&allocation);

    pthread_mutex_unlock(&lock);
    if (!kept) {
        goto fail_pages;
    }
    if (allocation.pool) {
        sim_pool_took(allocation.pool, allocation.bytes);
    }
    *out = allocation.base;
    return SIM_OK;
fail_pages:
    put_pages(&allocation);
fail_take:
    if (of_device) {
        sim_memory_give(allocation.device, allocation.bytes);
    }
    return SIM_E_MEMORY;
}

int sim_memory_alloc(struct sim_context *context, enum sim_memory kind, size_t bytes,
                     uint32_t flags, void **out)
{
    return allocate((struct sim_allocation){.bytes = bytes,
                                            .kind = kind,
                                            .device = context->device,
                                            .context = context,
                                            .flags = flags},
                    out);
}

int sim_memory_free(void *pointer, enum sim_memory kind)
{
    pthread_mutex_lock(&lock);
    struct sim_allocation *found = covering(pointer);

    if (!found || found->base != pointer || found->registered || found->physical ||
        (found->kind == SIM_PINNED) != (kind == SIM_PINNED)) {
        pthread_mutex_unlock(&lock);
        return SIM_E_VALUE;
    }
    struct sim_allocation gone = *found;

    if (gone.kind != SIM_PINNED) {
        used[gone.device] -= gone.bytes;
    }
    take_out(found);
    pthread_mutex_unlock(&lock);
    if (gone.pool) {
        sim_pool_gave(gone.pool, gone.bytes);
    }
    put_pages(&gone);
    return SIM_OK;
}

static int adopt(const struct sim_allocation *allocation)
{
    if (!allocation->base || !allocation->bytes) {
        return SIM_E_VALUE;
    }
    pthread_mutex_lock(&lock);
    int error = covering(allocation->base) ? SIM_E_HOST_REGISTERED
                : insert(allocation)       ? SIM_OK
                                           : SIM_E_MEMORY;

    pthread_mutex_unlock(&lock);
    return error;
}

int sim_memory_register(struct sim_context *context, void *pointer, size_t bytes, uint32_t flags)
{
    return adopt(&(struct sim_allocation){.base = pointer,
                                          .bytes = bytes,
                                          .kind = SIM_PINNED,
                                          .device = context->device,
                                          .context = context,
                                          .registered = true,
                                          .flags = flags});
}

int sim_memory_declare(void *pointer, size_t bytes, enum sim_memory kind)
{
    return adopt(&(struct sim_allocation){
        .base = pointer, .bytes = bytes, .kind = kind, .registered = true});
}

int sim_memory_unregister(void *pointer)
{
    pthread_mutex_lock(&lock);
    struct sim_allocation *found = covering(pointer);
    bool ours = found && found->base == pointer && found->registered;

    if (ours) {
        take_out(found);
    }
    pthread_mutex_unlock(&lock);
    return ours ? SIM_OK : SIM_E_HOST_NOT_REGISTERED;
}

int sim_memory_map(const struct sim_allocation *mapping)
{
    pthread_mutex_lock(&lock);
    size_t behind = upper(mapping->base);
    bool taken = covering(mapping->base) ||
                 (behind < count && table[behind].base < mapping->base + mapping->bytes);
    int error = taken ? SIM_E_VALUE : insert(mapping) ? SIM_OK : SIM_E_MEMORY;

    pthread_mutex_unlock(&lock);
    return error;
}

void sim_memory_unmap(const void *base)
{
    pthread_mutex_lock(&lock);
    take_out(covering(base));
    pthread_mutex_unlock(&lock);
}

void sim_memory_access(const void *base, uint32_t device, uint32_t flags)
{
    pthread_mutex_lock(&lock);
    struct sim_allocation *found = covering(base);

    found->access = (found->access & ~(3u << 2 * device)) | flags << 2 * device;
    pthread_mutex_unlock(&lock);
}

static bool usable(const struct sim_allocation *allocation)
{
    return !allocation->physical || allocation->access;
}

size_t sim_memory_room(const void *pointer)
{
    const char *end = pointer;

    pthread_mutex_lock(&lock);
    struct sim_allocation *found = covering(pointer);

    while (found && usable(found)) {
        end = found->base + found->bytes;
        bool more = found->physical && found + 1 < table + count && found[1].physical &&
                    found[1].base == end;

        found = more ? found + 1 : NULL;
    }
    pthread_mutex_unlock(&lock);
    return (size_t)(end - (const char *)pointer);
}

bool sim_memory_find(const void *pointer, struct sim_allocation *out)
{
    pthread_mutex_lock(&lock);
    struct sim_allocation *found = covering(pointer);

    if (found) {
        *out = *found;
    }
    pthread_mutex_unlock(&lock);
    return found != NULL;
}

enum sim_memory sim_memory_kind(const void *pointer, uint32_t *device)
{
    struct sim_allocation found;

    if (!sim_memory_find(pointer, &found)) {
        return SIM_PAGEABLE;
    }
    *device = found.device;
    return found.kind;
}

void sim_memory_info(uint32_t device, size_t *free_bytes, size_t *total)
{
    pthread_mutex_lock(&lock);
    *total = sim_device_info(device)->memory_bytes;
    *free_bytes = *total - used[device];
    pthread_mutex_unlock(&lock);
}

int sim_memory_free_waiting(void *pointer, enum sim_memory kind)
{
    struct sim_context *context;
    int error = sim_context_current(&context);

    if (error) {
        return error;
    }
    if (!pointer) {
        return SIM_OK;
    }
    error = sim_capture_guard(NULL);
    if (!error) {
        error = sim_context_wait_all(context, "free");
    }
    int freed = sim_memory_free(pointer, kind);

    return error ? error : freed;
}

int sim_memory_alloc_async(struct sim_stream *stream, struct sim_pool *pool, size_t bytes,
                           void **out)
{
    uint32_t device = stream->context->device;
    int error = pool ? SIM_OK : sim_pool_current(device, &pool);

    if (!error && !sim_pool_valid(pool)) {
        error = SIM_E_VALUE;
    }
    return error ? error
                 : allocate((struct sim_allocation){.bytes = bytes,
                                                    .kind = SIM_DEVICE,
                                                    .device = device,
                                                    .context = stream->context,
                                                    .pool = pool},
                            out);
}

/* A stream-ordered free has no CUPTI record and does not wait. Data moves at enqueue, so the memory
 * can be freed immediately, unless an earlier operation depends on a host callback. */
int sim_memory_free_async(struct sim_stream *stream, void *pointer)
{
    struct sim_work work = {.kind = SIM_WORK_FREE, .free = pointer};
    struct sim_set set = {0};

    if (!pointer) {
        return SIM_OK;
    }
    sim_lock();
    if (stream->capture) {
        sim_unlock();
        return SIM_E_CAPTURE_UNSUPPORTED;
    }
    sim_stream_collect(stream, &set);
    bool later = !sim_schedule_ended(&set, UINT64_MAX);

    sim_unlock();
    sim_set_clear(&set);
    return later ? sim_submit(stream, &work, NULL) : sim_memory_free(pointer, SIM_DEVICE);
}
