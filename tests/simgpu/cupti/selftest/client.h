/*
 * client.h - a client of the CUPTI stand-in, like an injected profiler, and a program that runs its
 * scenarios.
 *
 *     simcupti_selftest_PART LIBRARY VERSION-NUMBER SCENARIO
 *
 * The program loads LIBRARY (which must report VERSION-NUMBER), provides buffers, and reads the
 * records with NVIDIA's struct types. The scenario controls the core. Each scenario is a separate
 * process, because the library reads its options when it is loaded.
 */
#ifndef SELFTEST_CLIENT_H
#define SELFTEST_CLIENT_H

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cupti.h>

#include "fake_core.h"

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);                \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

enum {
    CBID_LAUNCH = 211,
    CBID_GET_DEVICE = 17,
    CBID_CU_LAUNCH = 307
};

/* The library under test. symbol() returns NULL if this CUPTI version lacks the function. */
static void *library;
static uint32_t version;

static inline void *symbol(const char *name)
{
    void *found = dlsym(library, name);

    CHECK(found);
    return found;
}

/* The function's type comes from NVIDIA's header. */
#define F(name) ((__typeof__(name) *)symbol(#name))

/* ---- the client, which provides buffers and stores the records ---- */

#define MAX_SEEN 400000

struct seen {
    uint32_t kind, correlation, cbid;
    uint64_t start, end;
    char name[16];
};
static struct seen *seen;
static size_t seen_count, buffers_out, buffers_back, bytes_back;
static size_t buffer_bytes = 65536, max_records;
static bool give_null, keep_names, recycle;
static uint8_t *recycled, *latest;
static const char *kept_names[64];
static size_t kept_count;
static uint8_t *last_record[64]; /* copy of the last record of each kind */
static pthread_t completed_on, requested_on;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static inline void request(uint8_t **buffer, size_t *size, size_t *records)
{
    pthread_mutex_lock(&lock);
    requested_on = pthread_self();
    *buffer = give_null ? NULL : recycled ? recycled : calloc(1, buffer_bytes);
    recycled = NULL;
    latest = *buffer;
    *size = buffer_bytes;
    *records = max_records;
    buffers_out += *buffer != NULL;
    pthread_mutex_unlock(&lock);
}

static inline void note(CUpti_Activity *record, size_t size)
{
    struct seen s = {.kind = (uint32_t)record->kind};
    /* Newer structs only append members, so the oldest type can read the records of all
     * versions. */
    CUpti_ActivityKernel9 *k = (void *)record;
    CUpti_ActivityMemcpy5 *m = (void *)record;
    CUpti_ActivityMemset4 *t = (void *)record;
    CUpti_ActivityAPI *a = (void *)record;
    CUpti_ActivitySynchronization *y = (void *)record;

    switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        s.correlation = k->correlationId;
        s.start = k->start;
        s.end = k->end;
        snprintf(s.name, sizeof s.name, "%s", k->name);
        if (keep_names && kept_count < 64) {
            kept_names[kept_count++] = k->name;
        }
        break;
    case CUPTI_ACTIVITY_KIND_MEMCPY:
        s.correlation = m->correlationId;
        s.end = m->end;
        break;
    case CUPTI_ACTIVITY_KIND_MEMSET:
        s.correlation = t->correlationId;
        s.end = t->end;
        break;
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER:
        s.correlation = a->correlationId;
        s.cbid = a->cbid;
        s.start = a->start;
        s.end = a->end;
        break;
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
        s.correlation = y->correlationId;
        s.end = y->end;
        break;
    default:
        break;
    }
    CHECK(seen_count < MAX_SEEN);
    seen[seen_count++] = s;
    free(last_record[s.kind]);
    last_record[s.kind] = memcpy(malloc(size), record, size);
}

static inline void complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
                            size_t valid)
{
    CUpti_Activity *record = NULL, *before = NULL;
    CUptiResult result;

    CHECK(context == NULL && stream == 0 && valid <= size);
    pthread_mutex_lock(&lock);
    completed_on = pthread_self();
    while ((result = F(cuptiActivityGetNextRecord)(buffer, valid, &record)) == CUPTI_SUCCESS) {
        if (before) {
            note(before, (size_t)((uint8_t *)record - (uint8_t *)before));
        }
        before = record;
    }
    CHECK(result == CUPTI_ERROR_MAX_LIMIT_REACHED);
    if (before) {
        note(before, valid - (size_t)((uint8_t *)before - buffer));
    }
    buffers_back++;
    bytes_back += valid;
    if (recycle) {
        recycled = buffer;
    } else {
        free(buffer);
    }
    pthread_mutex_unlock(&lock);
}

static inline void enable(CUpti_ActivityKind kind)
{
    CHECK(F(cuptiActivityEnable)(kind) == CUPTI_SUCCESS);
}

static inline void flush(uint32_t flag)
{
    CHECK(F(cuptiActivityFlushAll)(flag) == CUPTI_SUCCESS);
}

static inline void attach(void)
{
    CHECK(F(cuptiActivityFlushAll)(0) == CUPTI_ERROR_INVALID_OPERATION);
    CHECK(F(cuptiActivityRegisterCallbacks)(NULL, complete) == CUPTI_ERROR_INVALID_PARAMETER);
    CHECK(F(cuptiGetLastError)() == CUPTI_ERROR_INVALID_PARAMETER);
    CHECK(F(cuptiGetLastError)() == CUPTI_SUCCESS);
    CHECK(F(cuptiActivityRegisterCallbacks)(request, complete) == CUPTI_SUCCESS);
}

static inline size_t count_of(uint32_t kind)
{
    size_t count = 0;

    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < seen_count; i++) {
        count += seen[i].kind == kind;
    }
    pthread_mutex_unlock(&lock);
    return count;
}

/* Reports a launch as the core does: the operation is enqueued between the start and the end of the
 * call. */
static inline struct sim_op *launch(const char *name)
{
    struct sim_op *op = fake_kernel(name);

    fake_call(SIM_RUNTIME, CBID_LAUNCH, op->correlation, 0);
    return op;
}

/* ---- scenarios ---- */

struct scenario {
    const char *name, *option, *value; /* a simulator option, or NULL */
    void (*run)(void);
};

/* The program; the arguments of main() are LIBRARY VERSION-NUMBER SCENARIO. */
static inline int run_scenario(int argc, char **argv, const struct scenario *scenarios,
                               size_t count)
{
    CHECK(argc == 4);
    seen = calloc(MAX_SEEN, sizeof *seen);
    for (size_t i = 0; i < count; i++) {
        const struct scenario *s = &scenarios[i];

        if (strcmp(s->name, argv[3]) == 0) {
            if (s->option) {
                setenv(s->option, s->value, 1);
            }
            library = dlopen(argv[1], RTLD_NOW);
            if (!library) {
                fprintf(stderr, "%s\n", dlerror());
                return 1;
            }
            CHECK(F(cuptiGetVersion)(&version) == CUPTI_SUCCESS);
            CHECK(version == (uint32_t)atoi(argv[2]));
            s->run();
            return 0;
        }
    }
    fprintf(stderr, "no scenario %s\n", argv[3]);
    return 1;
}

#endif
