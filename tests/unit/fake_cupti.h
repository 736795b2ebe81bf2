/*
 * fake_cupti.h - a small fake CUPTI 13.0 for tests of the library's life cycle.
 *
 * This CUPTI holds one buffer at a time, as in a process with one CUDA thread. A launch writes a
 * runtime record and a kernel record into the buffer, if these kinds are enabled. A plain flush
 * returns the buffer unless a kernel in the buffer is unfinished. A forced flush always returns the
 * buffer. Each function can be made to fail or to hang.
 *
 * Threads: any; one mutex guards the state. The layouts of the records are those of bench/mix.h.
 */
#ifndef FAKE_CUPTI_H
#define FAKE_CUPTI_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../../bench/mix.h"
#include "collect/cupti/api.h"

#define FAKE_KINDS      64
#define FAKE_ATTRIBUTES 32

static struct {
    pthread_mutex_t lock;
    sl_cupti_request_fn request;
    sl_cupti_complete_fn complete;
    uint8_t *buffer;
    size_t size, used;
    struct mix_kernel *unfinished; /* the unfinished kernel in the buffer, or NULL */
    uint32_t correlation;
    _Atomic int on[FAKE_KINDS];
    _Atomic int enables, disables, forced_flushes;
    _Atomic long enabling_thread; /* id of the thread that last called ActivityEnable */
    _Atomic uint8_t attribute[FAKE_ATTRIBUTES];
    _Atomic int thread_id_type;

    /* injected failures */
    int register_result, enable_result;
    _Atomic int hang;       /* if set, FlushAll does not return */
    _Atomic int64_t set_ns; /* ns by which the wall clock was changed */
    size_t drops;           /* number that the next GetNumDroppedRecords returns */
} fake = {.lock = PTHREAD_MUTEX_INITIALIZER, .correlation = 100};

static uint64_t fake_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec + (uint64_t)fake.set_ns;
}

static int fake_GetVersion(uint32_t *version)
{
    *version = MIX_CUPTI_VERSION;
    return 0;
}

static int fake_RegisterCallbacks(sl_cupti_request_fn request, sl_cupti_complete_fn complete)
{
    fake.request = request;
    fake.complete = complete;
    return fake.register_result;
}

static int fake_Enable(int kind)
{
    fake.enables++;
    fake.enabling_thread = syscall(SYS_gettid);
    if (!fake.enable_result)
        fake.on[kind] = 1;
    return fake.enable_result;
}

static int fake_Disable(int kind)
{
    fake.disables++;
    fake.on[kind] = 0;
    return 0;
}

static void fake_give_back(void)
{
    uint8_t *buffer = fake.buffer;

    if (!buffer)
        return;
    fake.buffer = NULL;
    fake.unfinished = NULL;
    fake.complete(NULL, 0, buffer, fake.size, fake.used);
}

static int fake_FlushAll(uint32_t flag)
{
    while (fake.hang)
        pause();
    pthread_mutex_lock(&fake.lock);
    fake.forced_flushes += (int)flag;
    if (flag || !fake.unfinished)
        fake_give_back();
    pthread_mutex_unlock(&fake.lock);
    return 0;
}

static int fake_GetNextRecord(uint8_t *buffer, size_t valid, void **record)
{
    const size_t size[FAKE_KINDS] = {[5] = sizeof(struct mix_api),
                                     [4] = sizeof(struct mix_api),
                                     [10] = sizeof(struct mix_kernel)};
    size_t at = 0;

    if (*record)
        at = (size_t)((uint8_t *)*record - buffer) + size[*(uint32_t *)*record];
    if (at >= valid)
        return 12; /* MAX_LIMIT_REACHED */
    *record = buffer + at;
    return 0;
}

static int fake_GetNumDroppedRecords(void *context, uint32_t stream, size_t *dropped)
{
    (void)context;
    (void)stream;
    *dropped = fake.drops;
    fake.drops = 0;
    return 0;
}

static int fake_SetAttribute(int attribute, size_t *size, void *value)
{
    (void)size;
    fake.attribute[attribute] = *(uint8_t *)value;
    return 0;
}

static int fake_SetThreadIdType(int type)
{
    fake.thread_id_type = type;
    return 0;
}

static int fake_GetTimestamp(uint64_t *ns)
{
    *ns = fake_now();
    return 0;
}

static int fake_GetResultString(int result, const char **text)
{
    *text = result == 39 ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED" : "CUPTI_ERROR_FAKE";
    return 0;
}

static const struct sl_cupti_functions fake_functions = {
    .GetVersion = fake_GetVersion,
    .ActivityRegisterCallbacks = fake_RegisterCallbacks,
    .ActivityEnable = fake_Enable,
    .ActivityDisable = fake_Disable,
    .ActivityFlushAll = fake_FlushAll,
    .ActivityGetNextRecord = fake_GetNextRecord,
    .ActivityGetNumDroppedRecords = fake_GetNumDroppedRecords,
    .ActivitySetAttribute = fake_SetAttribute,
    .SetThreadIdType = fake_SetThreadIdType,
    .GetTimestamp = fake_GetTimestamp,
    .GetResultString = fake_GetResultString,
};

static void *fake_record(size_t size)
{
    size_t max_records;
    void *at;

    if (fake.buffer && fake.used + size > fake.size)
        fake_give_back();
    if (!fake.buffer) {
        fake.request(&fake.buffer, &fake.size, &max_records);
        fake.used = 0;
    }
    at = fake.buffer + fake.used;
    memset(at, 0, size);
    fake.used += size;
    return at;
}

/* Requests a buffer, as CUPTI does before a thread's first record, and writes nothing to it. */
static inline void fake_empty_buffer(void)
{
    size_t max_records;

    pthread_mutex_lock(&fake.lock);
    if (!fake.buffer) {
        fake.request(&fake.buffer, &fake.size, &max_records);
        fake.used = 0;
    }
    pthread_mutex_unlock(&fake.lock);
}

/* Makes the records of a launch of this kernel. If `finished` is 0, the kernel is still running. */
static void fake_launch(const char *name, int finished)
{
    uint64_t now = fake_now();
    struct mix_api *call;
    struct mix_kernel *kernel;

    pthread_mutex_lock(&fake.lock);
    fake.correlation++;
    if (fake.on[5]) {
        call = fake_record(sizeof(*call));
        *call = (struct mix_api){.kind = 5, .cbid = 211, .start = now - 1000, .end = now};
        call->pid = (uint32_t)getpid();
        call->thread = fake.thread_id_type == SL_CUPTI_THREAD_ID_TYPE_SYSTEM
                           ? (uint32_t)syscall(SYS_gettid)
                           : (uint32_t)(uintptr_t)pthread_self();
        call->correlation = fake.correlation;
    }
    if (fake.on[10]) {
        kernel = fake_record(sizeof(*kernel));
        kernel->kind = 10;
        kernel->start = now;
        kernel->end = kernel->completed = finished ? now + 500 : 0;
        kernel->context = MIX_CONTEXT;
        kernel->stream = MIX_STREAM_COMPUTE;
        for (int i = 0; i < 3; i++)
            kernel->grid[i] = kernel->block[i] = 1;
        kernel->correlation = fake.correlation;
        kernel->name = name;
        if (!finished)
            fake.unfinished = kernel;
    }
    pthread_mutex_unlock(&fake.lock);
}

#endif
