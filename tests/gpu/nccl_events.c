/*
 * nccl_events.c - a profiler plugin for NCCL that writes each call that NCCL makes of it.
 *
 * Shows what a real NCCL does, beside what syncline's plugin expects of it. NCCL loads it if
 * NCCL_PROFILER_PLUGIN is its path. It writes a line of JSON for each call to
 * $NCCL_EVENTS-RANK.jsonl, where RANK is the variable of that name. NCCL_EVENTS_MASK is the mask of
 * the events that are asked for, 0xf07 by default.
 *
 * `at` is CLOCK_REALTIME in ns; `id` is the handle, a number from 1; `timer` is the GPU's clock.
 * Called on any thread. A lock orders the lines.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collect/nccl/abi.h"

enum {
    DEFAULT_MASK = 0xf07,
    KERNEL_CH = 1 << 6,
    KERNEL_CH_STOP = 22,
    PTIMER_AT = 32 /* of the GPU's time in the descriptor of a KernelCh */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static FILE *file;
static _Atomic uintptr_t handles; /* the last handle */

static FILE *open_file(void)
{
    const char *prefix = getenv("NCCL_EVENTS"), *rank = getenv("RANK");
    char path[4096];

    if (!file && prefix) {
        (void)snprintf(path, sizeof(path), "%s-%s.jsonl", prefix, rank ? rank : "0");
        file = fopen(path, "w");
    }
    return file;
}

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Writes a line. `more` is JSON that begins with a comma, or empty. */
static void put(const char *what, uintptr_t id, const char *more)
{
    pthread_mutex_lock(&lock);
    if (open_file()) {
        (void)fprintf(file, "{\"do\":\"%s\",\"at\":%" PRIu64 ",\"tid\":%ld,\"id\":%ju%s}\n", what,
                      now_ns(), syscall(SYS_gettid), (uintmax_t)id, more);
        (void)fflush(file);
    }
    pthread_mutex_unlock(&lock);
}

static int init(void **context, int *mask, uint64_t hash, int ranks, int rank)
{
    const char *asked = getenv("NCCL_EVENTS_MASK");
    char more[128];

    (void)snprintf(more, sizeof(more), ",\"comm\":\"0x%016" PRIx64 "\",\"ranks\":%d,\"rank\":%d",
                   hash, ranks, rank);
    *context = (void *)++handles;
    put("init", (uintptr_t)*context, more);
    __atomic_store_n(mask, asked ? (int)strtol(asked, NULL, 0) : DEFAULT_MASK, __ATOMIC_RELAXED);
    return 0;
}

static int init_v4(void **context, int *mask, const char *name, uint64_t hash, int nodes, int ranks,
                   int rank, void *log)
{
    (void)name;
    (void)nodes;
    (void)log;
    return init(context, mask, hash, ranks, rank);
}

static int init_v5(void **context, uint64_t hash, int *mask, const char *name, int nodes, int ranks,
                   int rank, void *log)
{
    (void)name;
    (void)nodes;
    (void)log;
    return init(context, mask, hash, ranks, rank);
}

static int start(void *context, void **handle, const struct sl_nccl_descriptor *d, uint64_t type)
{
    const char *func = "";
    uint64_t timer = 0;
    char more[256];

    if (type == SL_NCCL_COLL_API || type == SL_NCCL_P2P_API)
        func = d->coll_api.func;
    else if (type == SL_NCCL_COLL)
        func = d->coll.func;
    else if (type == SL_NCCL_P2P)
        func = d->p2p.func;
    else if (type == KERNEL_CH)
        timer = *(const uint64_t *)((const char *)d + PTIMER_AT);
    (void)snprintf(more, sizeof(more),
                   ",\"type\":%" PRIu64 ",\"parent\":%ju,\"comm\":%ju,\"rank\":%d,\"func\":\"%s\""
                   ",\"timer\":%" PRIu64,
                   type, (uintmax_t)(uintptr_t)d->parent, (uintmax_t)(uintptr_t)context, d->rank,
                   func ? func : "", timer);
    *handle = (void *)++handles;
    put("start", (uintptr_t)*handle, more);
    return 0;
}

static int start_v4(void *context, void **handle, const struct sl_nccl_descriptor *d)
{
    return start(context, handle, d, d->type_v4);
}

static int start_v5(void *context, void **handle, const struct sl_nccl_descriptor *d)
{
    return start(context, handle, d, d->type);
}

static int stop(void *handle)
{
    put("stop", (uintptr_t)handle, "");
    return 0;
}

static int state(void *handle, int what, void *args)
{
    char more[96];

    (void)snprintf(more, sizeof(more), ",\"state\":%d,\"timer\":%" PRIu64, what,
                   what == KERNEL_CH_STOP && args ? *(const uint64_t *)args : 0);
    put("state", (uintptr_t)handle, more);
    return 0;
}

static int finalize(void *context)
{
    put("finalize", (uintptr_t)context, "");
    return 0;
}

#define TABLE(version, member, first, begin)                                                       \
    extern const struct sl_nccl_plugin ncclProfiler_##version;                                     \
    __attribute__((visibility("default")))                                                         \
    const struct sl_nccl_plugin ncclProfiler_##version = {.name = "events",                        \
                                                          .member = (first),                       \
                                                          .start = (begin),                        \
                                                          .stop = stop,                            \
                                                          .record_state = state,                   \
                                                          .finalize = finalize}
TABLE(v4, init_v4, init_v4, start_v4);
TABLE(v5, init_v5, init_v5, start_v5);
TABLE(v6, init_v5, init_v5, start_v5);
TABLE(v7, init_v5, init_v5, start_v5);
