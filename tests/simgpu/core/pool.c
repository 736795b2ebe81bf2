/*
 * pool.c - pools of stream-ordered memory: their attributes, and counters of the used and reserved
 * bytes. A pool does not keep freed memory; its reserved bytes are only a counter.
 *
 * Threads: any. While a thread holds the lock of this file, it takes no other lock.
 */
#include <cuda.h>
#include <pthread.h>

#include "core/fork.h"
#include "core/memory.h"

enum {
    MAGIC = 0x706f6f6c,
    MAX_DEVICES = 16,
    BLOCK = 512,     /* sizes of allocations are rounded up to a multiple of this size */
    CHUNK = 32 << 20 /* a pool grows by a multiple of this size */
};

struct level {
    uint64_t current, high;
};

struct sim_pool {
    uint32_t magic;
    uint64_t setting[CU_MEMPOOL_ATTR_RELEASE_THRESHOLD + 1];
    struct level used, reserved;
};

SIM_MUTEX(lock);
static struct sim_pool *defaults[MAX_DEVICES], *chosen[MAX_DEVICES];

static struct sim_pool *make(void)
{
    struct sim_pool *pool = sim_keep(sizeof *pool);

    if (pool) {
        pool->magic = MAGIC;
        pool->setting[CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES] = 1;
        pool->setting[CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC] = 1;
        pool->setting[CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES] = 1;
    }
    return pool;
}

bool sim_pool_valid(const struct sim_pool *pool)
{
    return pool && pool->magic == MAGIC;
}

int sim_pool_create(uint32_t device, struct sim_pool **out)
{
    if (!sim_device_info(device)) {
        return SIM_E_DEVICE;
    }
    *out = make();
    return *out ? SIM_OK : SIM_E_MEMORY;
}

int sim_pool_destroy(struct sim_pool *pool)
{
    int error = sim_pool_valid(pool) ? SIM_OK : SIM_E_VALUE;

    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < MAX_DEVICES && !error; i++) {
        if (pool == defaults[i]) {
            error = SIM_E_VALUE;
        } else if (pool == chosen[i]) {
            chosen[i] = NULL;
        }
    }
    if (!error) {
        pool->magic = 0;
    }
    pthread_mutex_unlock(&lock);
    return error;
}

int sim_pool_default(uint32_t device, struct sim_pool **out)
{
    if (!sim_device_info(device)) {
        return SIM_E_DEVICE;
    }
    pthread_mutex_lock(&lock);
    if (!defaults[device]) {
        defaults[device] = make();
    }
    *out = defaults[device];
    pthread_mutex_unlock(&lock);
    return *out ? SIM_OK : SIM_E_MEMORY;
}

int sim_pool_current(uint32_t device, struct sim_pool **out)
{
    if (!sim_device_info(device)) {
        return SIM_E_DEVICE;
    }
    pthread_mutex_lock(&lock);
    *out = chosen[device];
    pthread_mutex_unlock(&lock);
    return *out ? SIM_OK : sim_pool_default(device, out);
}

int sim_pool_choose(uint32_t device, struct sim_pool *pool)
{
    if (!sim_device_info(device)) {
        return SIM_E_DEVICE;
    }
    if (!sim_pool_valid(pool)) {
        return SIM_E_VALUE;
    }
    pthread_mutex_lock(&lock);
    chosen[device] = pool;
    pthread_mutex_unlock(&lock);
    return SIM_OK;
}

/* ---- used and reserved bytes ---- */

static uint64_t round_up(uint64_t bytes, uint64_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

static void rise(struct level *level, uint64_t to)
{
    level->current = to;
    if (level->high < to) {
        level->high = to;
    }
}

/* Reduces the reserved bytes to `keep`, but not below the used bytes. The caller holds the lock. */
static void shrink(struct sim_pool *pool, uint64_t keep)
{
    uint64_t needed = round_up(pool->used.current, CHUNK);

    if (pool->reserved.current > keep) {
        pool->reserved.current = keep > needed ? keep : needed;
    }
}

void sim_pool_took(struct sim_pool *pool, size_t bytes)
{
    pthread_mutex_lock(&lock);
    rise(&pool->used, pool->used.current + round_up(bytes, BLOCK));
    if (pool->used.current > pool->reserved.current) {
        rise(&pool->reserved, round_up(pool->used.current, CHUNK));
    }
    pthread_mutex_unlock(&lock);
}

/* On a real GPU a pool releases the bytes above its threshold at the next synchronization. */
void sim_pool_gave(struct sim_pool *pool, size_t bytes)
{
    pthread_mutex_lock(&lock);
    pool->used.current -= round_up(bytes, BLOCK);
    shrink(pool, pool->setting[CU_MEMPOOL_ATTR_RELEASE_THRESHOLD]);
    pthread_mutex_unlock(&lock);
}

int sim_pool_trim(struct sim_pool *pool, size_t keep)
{
    if (!sim_pool_valid(pool)) {
        return SIM_E_VALUE;
    }
    pthread_mutex_lock(&lock);
    shrink(pool, keep);
    pthread_mutex_unlock(&lock);
    return SIM_OK;
}

/* ---- attributes: reuse switches have type int, all others have 64 bits ---- */

static uint64_t *attribute(struct sim_pool *pool, int which)
{
    switch (which) {
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
        return &pool->reserved.current;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
        return &pool->reserved.high;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
        return &pool->used.current;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        return &pool->used.high;
    default:
        return which > 0 && which <= CU_MEMPOOL_ATTR_RELEASE_THRESHOLD ? &pool->setting[which]
                                                                       : NULL;
    }
}

int sim_pool_get(struct sim_pool *pool, int which, void *value)
{
    const uint64_t *from = sim_pool_valid(pool) ? attribute(pool, which) : NULL;

    if (!from || !value) {
        return SIM_E_VALUE;
    }
    pthread_mutex_lock(&lock);
    if (which < CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) {
        *(int *)value = (int)*from;
    } else {
        *(uint64_t *)value = *from;
    }
    pthread_mutex_unlock(&lock);
    return SIM_OK;
}

/* A high watermark can be set only to 0. The high watermark then becomes the current value. */
static int reset_high(struct level *level, uint64_t value)
{
    if (value) {
        return SIM_E_VALUE;
    }
    level->high = level->current;
    return SIM_OK;
}

int sim_pool_set(struct sim_pool *pool, int which, const void *value)
{
    uint64_t *to = sim_pool_valid(pool) ? attribute(pool, which) : NULL;
    int error = SIM_OK;

    if (!to || !value) {
        return SIM_E_VALUE;
    }
    pthread_mutex_lock(&lock);
    switch (which) {
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        *to = *(const uint64_t *)value;
        break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
        error = reset_high(&pool->reserved, *(const uint64_t *)value);
        break;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        error = reset_high(&pool->used, *(const uint64_t *)value);
        break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
        error = SIM_E_VALUE;
        break;
    default:
        *to = (uint64_t) * (const int *)value;
    }
    pthread_mutex_unlock(&lock);
    return error;
}
