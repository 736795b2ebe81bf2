/*
 * trouble.c - injects the failures that options request, and logs them.
 *
 * Options are read once, when the library is loaded (names and help: tests/simgpu/options.txt).
 * Every record that a client cannot get is logged with its kind and correlation id. So a test can
 * require that the client's records equal the truth minus the log.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "core/fork.h"
#include "cupti/simcupti.h"

#define THIEF_BUFFER_BYTES 65536
#define NS_PER_S           1e9

struct sim_trouble sim_trouble;

static _Atomic uint64_t records;

/* The second client's buffers. The buffers that were delivered to the first client stay in this
 * list until the process ends. */
static struct loot {
    uint8_t *memory;
    struct loot *next;
} * loot;
SIM_MUTEX(lock);

static double number(const char *name, double fallback)
{
    const char *text = sim_option(name);

    return text ? strtod(text, NULL) : fallback;
}

void sim_trouble_read(void)
{
    sim_trouble = (struct sim_trouble){
        .shuffle = number("cupti-shuffle", 0) != 0,
        .null_crash = number("cupti-null-crash", 0) != 0,
        .overhead = number("cupti-overhead", 0) != 0,
        .hang = number("cupti-hang", 0) != 0,
        .per_thread = (int)number("cupti-per-thread-buffers", -1),
        .drop = number("cupti-drop", 0),
        .twice = number("cupti-twice", 0),
        .no_time = number("cupti-no-time", 0),
        .late_ns = (uint64_t)(number("cupti-late", 0) * NS_PER_S),
        .hold_ns = (uint64_t)(number("cupti-hold", 0) * NS_PER_S),
        .stall_ns = (uint64_t)(number("cupti-enable-stall", 0) * NS_PER_S),
        .name_life_ns = (uint64_t)(number("cupti-name-life", 30) * NS_PER_S),
        .steal_at = (uint64_t)number("cupti-steal", 0),
        .clock_at = (uint64_t)number("cupti-clock", 0),
        .force_each = (uint64_t)number("cupti-force", 0),
        .buffer_records = (uint64_t)number("cupti-buffer-records", 0),
    };
}

static void thief_request(uint8_t **buffer, size_t *size, size_t *max_records)
{
    struct loot *l = calloc(1, sizeof *l);

    *max_records = 0;
    *size = THIEF_BUFFER_BYTES;
    *buffer = l ? calloc(1, THIEF_BUFFER_BYTES) : NULL;
    if (!*buffer) {
        free(l);
        return;
    }
    l->memory = *buffer;
    pthread_mutex_lock(&lock);
    l->next = loot;
    loot = l;
    pthread_mutex_unlock(&lock);
}

/* Frees the second client's own buffers. Buffers of the first client that arrive here are not
 * freed, and the first client never gets them back. */
static void thief_complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
                           size_t valid_size)
{
    struct loot *found = NULL;

    pthread_mutex_lock(&lock);
    for (struct loot **at = &loot; *at; at = &(*at)->next) {
        if ((*at)->memory == buffer) {
            found = *at;
            *at = found->next;
            break;
        }
    }
    pthread_mutex_unlock(&lock);
    if (found) {
        free(found->memory);
        free(found);
    }
}

/* The CPU's tick counter, which torch.profiler registers as its clock. */
static uint64_t counter(void)
{
#if defined(__x86_64__)
    return __rdtsc();
#else
    uint64_t ticks;

    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#endif
}

void sim_trouble_count_record(void)
{
    static const struct sim_callbacks thief = {
        .request = thief_request, .complete = thief_complete, .owner = SIM_THIEF};

    if (!sim_trouble.steal_at && !sim_trouble.clock_at && !sim_trouble.force_each) {
        return;
    }
    uint64_t count = atomic_fetch_add_explicit(&records, 1, memory_order_relaxed) + 1;

    if (sim_trouble.force_each && count % sim_trouble.force_each == 0) {
        sim_lane_flush(true); /* like a flush by another library; does not wait for the delivery */
    }
    /* If subscribers exist, CUPTI refuses the older functions. */
    if (count == sim_trouble.clock_at && !sim_v2_on()) {
        sim_log("{\"what\":\"clock\",\"record\":%llu}", (unsigned long long)count);
        sim_clock_register(counter);
    }
    if (count == sim_trouble.steal_at) {
        sim_log("{\"what\":\"steal\",\"record\":%llu}", (unsigned long long)sim_trouble.steal_at);
        sim_callbacks_set(&thief);
    }
}

/* A fast pseudo-random generator (xorshift). Its seed comes from sim_random(). */
static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

void sim_trouble_shuffle(struct sim_buffer *b)
{
    if (b->slots < 2) {
        return;
    }
    uint8_t *copy = malloc(b->used);
    uint64_t state = 1 + (uint64_t)(sim_random("cupti-shuffle", b->slot->key) * 0x1p53);
    size_t at = 0;

    if (!copy) {
        return;
    }
    memcpy(copy, b->memory, b->used);
    for (size_t i = b->slots - 1; i > 0; i--) {
        size_t j = next_random(&state) % (i + 1);
        struct sim_slot swap = b->slot[i];

        b->slot[i] = b->slot[j];
        b->slot[j] = swap;
    }
    for (size_t i = 0; i < b->slots; i++) {
        memcpy(b->memory + at, copy + b->slot[i].offset, b->slot[i].size);
        b->slot[i].offset = (uint32_t)at;
        at += b->slot[i].size;
    }
    free(copy);
}

/* Repeats records at the end of the buffer while there is room. */
void sim_trouble_twice(struct sim_buffer *b)
{
    size_t count = b->slots;

    for (size_t i = 0; i < count; i++) {
        const struct sim_slot *slot = &b->slot[i];

        if (b->size - b->used >= slot->size && (!b->max_records || count < b->max_records) &&
            sim_random("cupti-twice", slot->key) < sim_trouble.twice) {
            memcpy(b->memory + b->used, b->memory + slot->offset, slot->size);
            b->used += slot->size;
            sim_log_record("twice", slot);
        }
    }
}

const char *sim_caller_name(void)
{
    Dl_info object;

    if (!dladdr(sim_caller, &object)) {
        return "";
    }
    const char *slash = strrchr(object.dli_fname, '/');

    return slash ? slash + 1 : object.dli_fname;
}

const char *sim_kind_name(uint32_t kind)
{
    static const char *const names[] = {
        [CUPTI_ACTIVITY_KIND_MEMCPY] = "memcpy",
        [CUPTI_ACTIVITY_KIND_MEMSET] = "memset",
        [CUPTI_ACTIVITY_KIND_KERNEL] = "serial_kernel",
        [CUPTI_ACTIVITY_KIND_DRIVER] = "driver",
        [CUPTI_ACTIVITY_KIND_RUNTIME] = "runtime",
        [CUPTI_ACTIVITY_KIND_DEVICE] = "device",
        [CUPTI_ACTIVITY_KIND_CONTEXT] = "context",
        [CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL] = "kernel",
        [CUPTI_ACTIVITY_KIND_NAME] = "name",
        [CUPTI_ACTIVITY_KIND_OVERHEAD] = "overhead",
        [CUPTI_ACTIVITY_KIND_MEMCPY2] = "memcpy",
        [CUPTI_ACTIVITY_KIND_CUDA_EVENT] = "cuda_event",
        [CUPTI_ACTIVITY_KIND_STREAM] = "stream",
        [CUPTI_ACTIVITY_KIND_SYNCHRONIZATION] = "sync",
        [CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION] = "external",
    };

    if (kind < sizeof names / sizeof *names && names[kind]) {
        return names[kind];
    }
    return "other";
}

void sim_log_record(const char *what, const struct sim_slot *slot)
{
    sim_log("{\"what\":\"%s\",\"kind\":\"%s\",\"correlation\":%u,\"op\":%llu,\"client\":%u}", what,
            sim_kind_name(slot->kind), slot->correlation, (unsigned long long)slot->op_id,
            sim_client);
}

void sim_log_buffer(const char *what, const struct sim_buffer *b)
{
    unsigned before = sim_client;

    sim_client = b->client; /* the buffer's client */
    for (size_t i = 0; i < b->slots; i++) {
        sim_log_record(what, &b->slot[i]);
    }
    sim_client = before;
}
