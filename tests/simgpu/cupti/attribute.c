/*
 * attribute.c - cuptiActivityGetAttribute and cuptiActivitySetAttribute. One table holds all
 * attributes; the size of each value is checked.
 *
 * Any thread. Values are atomic, and each client has its own. An attribute that this CUPTI version
 * lacks gives the same error as in NVIDIA's library.
 */
#include "cupti/simcupti.h"

static struct attribute {
    int id;
    uint32_t since; /* cuptiGetVersion() of the first version that has the attribute */
    uint32_t until; /* cuptiGetVersion() of the first version without the attribute; 0 if all later
                       versions have it */
    size_t width;
    uint64_t first; /* initial value */
} attributes[] = {
    {CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, 0, 0, sizeof(size_t), 3276800},
    {CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE_CDP, 0, 0, sizeof(size_t), 8388608},
    {CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT, 0, 0, sizeof(size_t), 250},
    {CUPTI_ACTIVITY_ATTR_PROFILING_SEMAPHORE_POOL_SIZE, 0, 21, sizeof(size_t), 25000},
    {CUPTI_ACTIVITY_ATTR_PROFILING_SEMAPHORE_POOL_LIMIT, 0, 21, sizeof(size_t), 250},
    {CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, 0, 0, sizeof(uint8_t), 0},
    {CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE, 0, 0, sizeof(size_t), 3},
    {CUPTI_ACTIVITY_ATTR_PROFILING_SEMAPHORE_PRE_ALLOCATE_VALUE, 0, 21, sizeof(size_t), 3},
    {CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED, 0, 0, sizeof(uint8_t), 1},
    {CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, 21, 0, sizeof(uint8_t), 2},
    {CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE_DEVICE_GRAPHS, 21, 0, sizeof(size_t), 16777216},
};
#define COUNT (sizeof attributes / sizeof *attributes)

enum {
    DEFAULT_OF_VERSION = 2
}; /* per-thread buffers: off until 12.9, on from 13.0 */

/* The values that each client has set. */
static _Atomic uint64_t values[SIM_CLIENTS][COUNT];
static atomic_bool is_set[SIM_CLIENTS][COUNT];

void sim_attributes_clear(void)
{
    for (size_t i = 0; i < COUNT; i++) {
        atomic_store_explicit(&is_set[sim_client][i], false, memory_order_relaxed);
    }
}

static struct attribute *attribute_of(int id)
{
    uint32_t version = sim_version()->number;

    for (size_t i = 0; i < COUNT; i++) {
        struct attribute *a = &attributes[i];

        if (a->id == id && version >= a->since && (!a->until || version < a->until)) {
            return a;
        }
    }
    return NULL;
}

static uint64_t value_of(struct attribute *a)
{
    size_t i = (size_t)(a - attributes);
    uint64_t value = atomic_load_explicit(&is_set[sim_client][i], memory_order_acquire)
                         ? atomic_load_explicit(&values[sim_client][i], memory_order_relaxed)
                         : a->first;

    if (a->id != CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER) {
        return value;
    }
    if (sim_trouble.per_thread >= 0) {
        return (uint64_t)sim_trouble.per_thread;
    }
    return value == DEFAULT_OF_VERSION ? sim_version()->number >= 130000 : value;
}

bool sim_attribute_on(int id)
{
    struct attribute *a = attribute_of(id);

    return a && value_of(a) != 0;
}

static CUptiResult check(struct attribute *a, const size_t *size, const void *value)
{
    if (!size || !value || !a) {
        return CUPTI_ERROR_INVALID_PARAMETER;
    }
    return *size < a->width ? CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT : CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetAttribute(CUpti_ActivityAttribute attr, size_t *valueSize, void *value)
{
    SIM_ENTRY();
    struct attribute *a = attribute_of(attr);
    CUptiResult result = check(a, valueSize, value);

    if (result == CUPTI_SUCCESS) {
        *valueSize = a->width;
        if (a->width == sizeof(uint8_t)) {
            *(uint8_t *)value = (uint8_t)value_of(a);
        } else {
            *(size_t *)value = value_of(a);
        }
    }
    return sim_error(result);
}

CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute attr, size_t *valueSize, void *value)
{
    SIM_ENTRY();
    struct attribute *a = attribute_of(attr);
    CUptiResult result = check(a, valueSize, value);

    if (result == CUPTI_SUCCESS) {
        uint64_t v = a->width == sizeof(uint8_t) ? *(uint8_t *)value != 0 : *(size_t *)value;

        atomic_store_explicit(&values[sim_client][a - attributes], v, memory_order_relaxed);
        atomic_store_explicit(&is_set[sim_client][a - attributes], true, memory_order_release);
    }
    return sim_error(result);
}
