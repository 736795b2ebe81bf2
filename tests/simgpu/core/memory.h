/*
 * memory.h - allocations of every kind (memory.c), memory pools (pool.c), and copies and fills
 * (copy.c).
 *
 * sim.h describes the locks and the results. Lookups return copies, which are valid without a lock.
 */
#ifndef SIM_MEMORY_H
#define SIM_MEMORY_H

#include "core/sim.h"

enum sim_memory { /* CUpti_ActivityMemoryKind */
    SIM_PAGEABLE = 1,
    SIM_PINNED = 2,
    SIM_DEVICE = 3,
    SIM_MANAGED = 5
};

struct sim_pool;

struct sim_allocation {
    char *base;
    size_t bytes;
    enum sim_memory kind;
    uint32_t device;
    struct sim_context *context;
    bool mapped, registered;
    uint32_t flags;
    uint64_t id;
    struct sim_pool *pool; /* pool that counts the allocation, or NULL */
    uint64_t physical;     /* handle of mapped memory (virtual.c); else 0 */
    uint32_t access;       /* access to mapped memory: CUmemAccess_flags, 2 bits per device */
};

int sim_memory_alloc(struct sim_context *context, enum sim_memory kind, size_t bytes,
                     uint32_t flags, void **out);
int sim_memory_free(void *pointer, enum sim_memory kind); /* immediately */
int sim_memory_register(struct sim_context *context, void *pointer, size_t bytes, uint32_t flags);
int sim_memory_unregister(void *pointer);
/* Declares a variable of a program image: it exists until the program ends, on device 0. */
int sim_memory_declare(void *pointer, size_t bytes, enum sim_memory kind);
/* Used by virtual.c and physical.c: sim_memory_take() and sim_memory_give() add to and subtract
 * from the used memory of a device. sim_memory_map() adds a mapping to the table of allocations. */
int sim_memory_take(uint32_t device, size_t bytes);
void sim_memory_give(uint32_t device, size_t bytes);
int sim_memory_map(const struct sim_allocation *mapping);
void sim_memory_unmap(const void *base);
void sim_memory_access(const void *base, uint32_t device, uint32_t flags);
bool sim_memory_find(const void *pointer, struct sim_allocation *out);
void sim_memory_info(uint32_t device, size_t *free_bytes, size_t *total);
/* Returns the number of bytes from an address to the end of its allocation, or to the end of the
 * last adjacent mapping. */
size_t sim_memory_room(const void *pointer);
enum sim_memory sim_memory_kind(const void *pointer, uint32_t *device);
/* For cudaFree and similar functions: waits for the context's work, then frees. */
int sim_memory_free_waiting(void *pointer, enum sim_memory kind);
/* Allocates from the device's current pool if `pool` is NULL. */
int sim_memory_alloc_async(struct sim_stream *stream, struct sim_pool *pool, size_t bytes,
                           void **out);
int sim_memory_free_async(struct sim_stream *stream, void *pointer);

/* Handles are pointers: CUmemoryPool and cudaMemPool_t. Attributes are CUmemPool_attribute
 * values. */
bool sim_pool_valid(const struct sim_pool *pool);
int sim_pool_create(uint32_t device, struct sim_pool **out);
int sim_pool_destroy(struct sim_pool *pool);
int sim_pool_default(uint32_t device, struct sim_pool **out);
int sim_pool_current(uint32_t device, struct sim_pool **out);
int sim_pool_choose(uint32_t device, struct sim_pool *pool);
int sim_pool_trim(struct sim_pool *pool, size_t keep);
int sim_pool_get(struct sim_pool *pool, int which, void *value);
int sim_pool_set(struct sim_pool *pool, int which, const void *value);
void sim_pool_took(struct sim_pool *pool, size_t bytes);
void sim_pool_gave(struct sim_pool *pool, size_t bytes);

enum sim_direction { /* cudaMemcpyKind */
    SIM_HOST_TO_HOST = 0,
    SIM_HOST_TO_DEVICE,
    SIM_DEVICE_TO_HOST,
    SIM_DEVICE_TO_DEVICE,
    SIM_DIRECTION_DEFAULT
};

struct sim_copy {
    void *dst;
    const void *src;
    size_t dst_pitch, src_pitch, width, height;
    enum sim_direction direction;
    bool async, peer;
};
int sim_copy_describe(const struct sim_copy *copy, struct sim_work *work);
int sim_copy_run(struct sim_stream *stream, const struct sim_copy *copy);
int sim_set_describe(void *dst, size_t pitch, uint32_t value, uint32_t size, size_t width,
                     size_t height, bool async, struct sim_work *work);
int sim_set_run(struct sim_stream *stream, void *dst, size_t pitch, uint32_t value, uint32_t size,
                size_t width, size_t height, bool async);
bool sim_work_moves(const struct sim_work *work);
void sim_work_move(const struct sim_work *work); /* copies or fills the bytes */

#endif
