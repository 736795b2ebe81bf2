/*
 * selftest.c - the CUPTI stand-in, driven by a core that does what the test says.
 *
 *     simcupti_selftest LIBRARY VERSION-NUMBER SCENARIO
 *
 * A client in C, as an injected profiler is one: it loads LIBRARY (which must say it is
 * VERSION-NUMBER), gives buffers, and looks at the records with NVIDIA's struct types. Each
 * scenario is a process of its own, because options are read when the library is loaded.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cupti.h>

#include "cupti/layout_table.h"
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

/* The client's view: CUPTI's functions by name, NULL where this version lacks one. */
static void *library;
static uint32_t version;

static void *symbol(const char *name)
{
    void *found = dlsym(library, name);

    CHECK(found);
    return found;
}

/* The type of a function comes from NVIDIA's header. */
#define F(name) ((__typeof__(name) *)symbol(#name))

/* ---- the client: gives buffers, keeps what comes back ---- */

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
static uint8_t *last_record[64]; /* per kind, a copy */
static pthread_t completed_on, requested_on;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void request(uint8_t **buffer, size_t *size, size_t *records)
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

static void note(CUpti_Activity *record, size_t size)
{
    struct seen s = {.kind = (uint32_t)record->kind};
    /* Later structs only add at the end: the oldest type reads all of them. */
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

static void complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
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

static void enable(CUpti_ActivityKind kind)
{
    CHECK(F(cuptiActivityEnable)(kind) == CUPTI_SUCCESS);
}

static void flush(uint32_t flag)
{
    CHECK(F(cuptiActivityFlushAll)(flag) == CUPTI_SUCCESS);
}

static void attach(void)
{
    CHECK(F(cuptiActivityFlushAll)(0) == CUPTI_ERROR_INVALID_OPERATION);
    CHECK(F(cuptiActivityRegisterCallbacks)(NULL, complete) == CUPTI_ERROR_INVALID_PARAMETER);
    CHECK(F(cuptiGetLastError)() == CUPTI_ERROR_INVALID_PARAMETER);
    CHECK(F(cuptiGetLastError)() == CUPTI_SUCCESS);
    CHECK(F(cuptiActivityRegisterCallbacks)(request, complete) == CUPTI_SUCCESS);
}

static size_t count_of(uint32_t kind)
{
    size_t count = 0;

    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < seen_count; i++) {
        count += seen[i].kind == kind;
    }
    pthread_mutex_unlock(&lock);
    return count;
}

/* A launch as the core shows it: the operation inside its call. */
static struct sim_op *launch(const char *name)
{
    struct sim_op *op = fake_kernel(name);

    fake_call(SIM_RUNTIME, CBID_LAUNCH, op->correlation, 0);
    return op;
}

/* ---- scenarios ---- */

/* The table against NVIDIA's own types, as the headers at hand have them (CUDA 13.0). */
#define SAME(row, record, type, member)                                                            \
    CHECK((row)->layout[record]->field[F_##member].offset == offsetof(type, member) &&             \
          (row)->layout[record]->field[F_##member].width == sizeof(((type *)0)->member))

static const struct sim_version *table_row(const char *name)
{
    for (size_t i = 0; i < sizeof sim_versions / sizeof *sim_versions; i++) {
        if (strcmp(sim_versions[i].name, name) == 0) {
            return &sim_versions[i];
        }
    }
    return NULL;
}

static void layout(void)
{
    const struct sim_version *v = table_row("13.0"), *old = table_row("12.0");

    CHECK(v->number == CUPTI_API_VERSION);
    CHECK(v->layout[R_KERNEL]->size == sizeof(CUpti_ActivityKernel10));
    SAME(v, R_KERNEL, CUpti_ActivityKernel10, start);
    SAME(v, R_KERNEL, CUpti_ActivityKernel10, end);
    SAME(v, R_KERNEL, CUpti_ActivityKernel10, completed);
    SAME(v, R_KERNEL, CUpti_ActivityKernel10, deviceId);
    SAME(v, R_KERNEL, CUpti_ActivityKernel10, contextId);
    SAME(v, R_KERNEL, CUpti_ActivityKernel10, streamId);
    SAME(v, R_KERNEL, CUpti_ActivityKernel10, gridX);
    SAME(v, R_KERNEL, CUpti_ActivityKernel10, blockZ);
    SAME(v, R_KERNEL, CUpti_ActivityKernel10, dynamicSharedMemory);
    SAME(v, R_KERNEL, CUpti_ActivityKernel10, correlationId);
    SAME(v, R_KERNEL, CUpti_ActivityKernel10, name);
    SAME(v, R_KERNEL, CUpti_ActivityKernel10, graphNodeId);
    SAME(v, R_KERNEL, CUpti_ActivityKernel10, graphId);
    SAME(v, R_KERNEL, CUpti_ActivityKernel10, channelType);
    CHECK(v->layout[R_KERNEL]->field[F_priority].width == 0);
    CHECK(old->layout[R_KERNEL]->size == sizeof(CUpti_ActivityKernel9));
    CHECK(v->layout[R_MEMCPY]->size == sizeof(CUpti_ActivityMemcpy6));
    SAME(v, R_MEMCPY, CUpti_ActivityMemcpy6, bytes);
    SAME(v, R_MEMCPY, CUpti_ActivityMemcpy6, correlationId);
    SAME(v, R_MEMCPY, CUpti_ActivityMemcpy6, copyCount);
    CHECK(old->layout[R_MEMCPY]->size == sizeof(CUpti_ActivityMemcpy5));
    CHECK(v->layout[R_MEMCPY2]->size == sizeof(CUpti_ActivityMemcpyPtoP4));
    SAME(v, R_MEMCPY2, CUpti_ActivityMemcpyPtoP4, dstContextId);
    CHECK(v->layout[R_MEMSET]->size == sizeof(CUpti_ActivityMemset4));
    SAME(v, R_MEMSET, CUpti_ActivityMemset4, value);
    SAME(v, R_MEMSET, CUpti_ActivityMemset4, memoryKind);
    CHECK(v->layout[R_API]->size == sizeof(CUpti_ActivityAPI));
    SAME(v, R_API, CUpti_ActivityAPI, threadId);
    CHECK(v->layout[R_SYNC]->size == sizeof(CUpti_ActivitySynchronization2));
    SAME(v, R_SYNC, CUpti_ActivitySynchronization2, cudaEventSyncId);
    SAME(v, R_SYNC, CUpti_ActivitySynchronization2, returnValue);
    CHECK(old->layout[R_SYNC]->size == sizeof(CUpti_ActivitySynchronization));
    CHECK(v->layout[R_CUDA_EVENT]->size == sizeof(CUpti_ActivityCudaEvent2));
    SAME(v, R_CUDA_EVENT, CUpti_ActivityCudaEvent2, deviceTimestamp);
    CHECK(v->layout[R_OVERHEAD]->size == sizeof(CUpti_ActivityOverhead3));
    SAME(v, R_OVERHEAD, CUpti_ActivityOverhead3, correlationId);
    CHECK(v->layout[R_DEVICE]->size == sizeof(CUpti_ActivityDevice5));
    SAME(v, R_DEVICE, CUpti_ActivityDevice5, name);
    SAME(v, R_DEVICE, CUpti_ActivityDevice5, uuid);
    CHECK(v->layout[R_STREAM]->size == sizeof(CUpti_ActivityStream));
    SAME(v, R_STREAM, CUpti_ActivityStream, flag);
    CHECK(v->layout[R_EXTERNAL]->size == sizeof(CUpti_ActivityExternalCorrelation));
    SAME(v, R_EXTERNAL, CUpti_ActivityExternalCorrelation, correlationId);
}

/* One record of each kind, field by field through NVIDIA's types. */
static void records(void)
{
    static const CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                               CUPTI_ACTIVITY_KIND_MEMCPY,
                                               CUPTI_ACTIVITY_KIND_MEMCPY2,
                                               CUPTI_ACTIVITY_KIND_MEMSET,
                                               CUPTI_ACTIVITY_KIND_RUNTIME,
                                               CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
                                               CUPTI_ACTIVITY_KIND_CUDA_EVENT,
                                               CUPTI_ACTIVITY_KIND_STREAM,
                                               CUPTI_ACTIVITY_KIND_CONTEXT,
                                               CUPTI_ACTIVITY_KIND_OVERHEAD,
                                               CUPTI_ACTIVITY_KIND_DEVICE};
    struct sim_object stream = {
        .kind = SIM_OBJ_STREAM, .created = 1, .context = 1, .stream = 13, .priority = -1};
    struct sim_object context = {
        .kind = SIM_OBJ_CONTEXT, .created = 1, .context = 1, .null_stream = 7};

    attach();
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        enable(kinds[i]);
    }
    uint32_t first = (uint32_t)fake_new_correlation() + 1;
    struct sim_op *ops[] = {launch("_Z6kernelPf"), fake_copy(0), fake_copy(1), fake_memset()};

    CHECK(pthread_equal(requested_on, pthread_self())); /* on the application's thread */
    for (size_t i = 0; i < 4; i++) {
        fake_finish(ops[i]);
    }
    fake_probe->synchronized(&(struct sim_sync){.type = 4,
                                                .correlation = 77,
                                                .context = 1,
                                                .stream = UINT32_MAX,
                                                .event_id = 9,
                                                .event_sync_id = 1ull << 40,
                                                .result = 600,
                                                .start_ns = 1000,
                                                .end_ns = 2000});
    fake_probe->event_recorded(&(struct sim_event_record){
        .correlation = 78, .context = 1, .stream = 13, .event_id = 9, .event_sync_id = 1ull << 40});
    fake_probe->object(&context);
    fake_probe->object(&stream);
    CHECK(F(cuptiActivityEnableAndDump)(CUPTI_ACTIVITY_KIND_DEVICE) == CUPTI_SUCCESS);
    CHECK(F(cuptiActivityEnableAndDump)(CUPTI_ACTIVITY_KIND_STREAM) == CUPTI_SUCCESS);
    fake_probe->overhead(CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING, 5000, 6000);
    flush(0);
    CHECK(!pthread_equal(completed_on, pthread_self())); /* on CUPTI's own thread */

    CUpti_ActivityKernel9 *k = (void *)last_record[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL];
    CHECK(k->correlationId == first && k->end == k->start + 1500 && k->completed == k->end);
    CHECK(k->gridX == 10 && k->blockX == 256 && k->registersPerThread == 40);
    CHECK(k->dynamicSharedMemory == 1024 && k->graphId == 5 && k->graphNodeId == 0x500000003);
    CHECK(k->streamId == 7 && k->contextId == 1 && k->queued == 0);
    CUpti_ActivityMemcpy5 *m = (void *)last_record[CUPTI_ACTIVITY_KIND_MEMCPY];
    CHECK(m->bytes == 1ull << 33 && m->copyKind == 1 && m->flags == 1 && m->srcKind == 2);
    CUpti_ActivityMemcpyPtoP4 *p = (void *)last_record[CUPTI_ACTIVITY_KIND_MEMCPY2];
    CHECK(p->dstDeviceId == 1 && p->dstContextId == 2 && p->copyKind == 10);
    CUpti_ActivityMemset4 *t = (void *)last_record[CUPTI_ACTIVITY_KIND_MEMSET];
    CHECK(t->value == 0xab && t->bytes == 4096 && t->memoryKind == 3);
    CUpti_ActivityAPI *a = (void *)last_record[CUPTI_ACTIVITY_KIND_RUNTIME];
    CHECK(a->cbid == CBID_LAUNCH && a->correlationId == first);
    CHECK(a->processId == (uint32_t)getpid());
    CHECK(a->threadId == (uint32_t)(uintptr_t)pthread_self()); /* the documented default */
    CUpti_ActivitySynchronization *y = (void *)last_record[CUPTI_ACTIVITY_KIND_SYNCHRONIZATION];
    CHECK(y->type == 4 && y->streamId == UINT32_MAX && y->cudaEventId == 9 && y->end == 2000);
    CUpti_ActivityCudaEvent *e = (void *)last_record[CUPTI_ACTIVITY_KIND_CUDA_EVENT];
    CHECK(e->eventId == 9 && e->streamId == 13 && e->correlationId == 78);
    CUpti_ActivityStream *s = (void *)last_record[CUPTI_ACTIVITY_KIND_STREAM];
    CHECK(s->streamId == 13 && (int32_t)s->priority == -1);
    CHECK(count_of(CUPTI_ACTIVITY_KIND_STREAM) == 2); /* made, and dumped */
    CUpti_ActivityContext *c = (void *)last_record[CUPTI_ACTIVITY_KIND_CONTEXT];
    CHECK(c->contextId == 1 && c->nullStreamId == 7);
    CUpti_ActivityDevice4 *d = (void *)last_record[CUPTI_ACTIVITY_KIND_DEVICE];
    CHECK(d->numMultiprocessors == 132 && d->uuid.bytes[2] == 3);
    CHECK(count_of(CUPTI_ACTIVITY_KIND_DEVICE) == 1);
    CHECK(count_of(CUPTI_ACTIVITY_KIND_OVERHEAD) >= 2); /* lazy loading, buffer request */
    CHECK(fake_log_count("\"overhead\"") >= 2);
    if (version >= 26) {
        CUpti_ActivitySynchronization2 *y2 = (void *)y;
        CHECK(y2->cudaEventSyncId == 1ull << 40 && y2->returnValue == 600);
    }
}

static void hold_back(void)
{
    attach();
    enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    struct sim_op *first = launch("a"), *second = launch("b");

    fake_finish(second);
    flush(0);
    CHECK(buffers_back == 0); /* one unfinished record holds the whole buffer */
    fake_finish(first);
    flush(0);
    CHECK(buffers_back == 1 && count_of(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) == 2);

    struct sim_op *third = launch("c");
    flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    CHECK(buffers_back == 2 && seen_count == 3);
    CHECK(seen[2].start == 0 && seen[2].end == 0);
    CHECK(fake_log_count("\"unfinished\"") == 1);
    fake_finish(third);
    flush(0);
    flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    CHECK(seen_count == 3); /* never again */
    CHECK(fake_ops_alive() == 0);
}

static void filters(void)
{
    attach();
    if (version >= 23) {
        CHECK(F(cuptiActivityEnableRuntimeApi)(CBID_LAUNCH, 1) == CUPTI_SUCCESS);
        CHECK(F(cuptiActivityEnableRuntimeApi)(60000, 1) == CUPTI_ERROR_INVALID_PARAMETER);
        fake_call(SIM_RUNTIME, CBID_LAUNCH, 1, 0);
        fake_call(SIM_RUNTIME, CBID_GET_DEVICE, 2, 0);
        fake_call(SIM_DRIVER, CBID_CU_LAUNCH, 3, 0);
        flush(0);
        CHECK(seen_count == 1 && seen[0].cbid == CBID_LAUNCH);
        enable(CUPTI_ACTIVITY_KIND_RUNTIME); /* the whole kind undoes the filter */
        fake_call(SIM_RUNTIME, CBID_GET_DEVICE, 4, 0);
        flush(0);
        CHECK(seen_count == 2 && seen[1].cbid == CBID_GET_DEVICE);
        CHECK(F(cuptiActivityEnableRuntimeApi)(CBID_GET_DEVICE, 0) == CUPTI_SUCCESS);
        fake_call(SIM_RUNTIME, CBID_GET_DEVICE, 5, 0);
        flush(0);
        CHECK(seen_count == 2);
    } else {
        CHECK(!dlsym(library, "cuptiActivityEnableRuntimeApi"));
        CHECK(!dlsym(library, "cuptiActivityEnableDriverApi"));
    }
    CHECK(F(cuptiActivityDisable)(CUPTI_ACTIVITY_KIND_RUNTIME) == CUPTI_SUCCESS);
    fake_call(SIM_RUNTIME, CBID_LAUNCH, 6, 0);
    size_t before = seen_count;
    flush(0);
    CHECK(seen_count == before);

    /* Per context: supersedes the global setting. */
    CHECK(F(cuptiActivityEnableContext)((CUcontext)(uintptr_t)1, CUPTI_ACTIVITY_KIND_MEMSET) ==
          CUPTI_SUCCESS);
    CHECK(F(cuptiActivityEnableContext)(NULL, CUPTI_ACTIVITY_KIND_MEMSET) ==
          CUPTI_ERROR_INVALID_CONTEXT);
    fake_finish(fake_memset());
    flush(0);
    CHECK(seen_count == before + 1);

    CHECK(F(cuptiActivityEnable)(CUPTI_ACTIVITY_KIND_INVALID) == CUPTI_ERROR_INVALID_KIND);
    CHECK(F(cuptiActivityEnable)((CUpti_ActivityKind)200) == CUPTI_ERROR_INVALID_KIND);
    enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    CHECK(F(cuptiActivityEnable)(CUPTI_ACTIVITY_KIND_KERNEL) == CUPTI_ERROR_NOT_COMPATIBLE);
    fake_fail("cuptiActivityEnable", CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
    CHECK(F(cuptiActivityEnable)(CUPTI_ACTIVITY_KIND_MEMCPY) ==
          CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
    fake_fail(NULL, 0);
}

static void sync_kinds(void)
{
    struct sim_event_record event = {.correlation = 5, .context = 1, .stream = 7, .event_id = 1};
    struct sim_sync query = {.type = 1, .correlation = 6, .context = 1, .result = 600};

    attach();
    enable(CUPTI_ACTIVITY_KIND_CUDA_EVENT);
    fake_probe->event_recorded(&event);
    flush(0);
    CHECK(seen_count == 0); /* needs SYNCHRONIZATION */
    enable(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
    fake_probe->event_recorded(&event);
    fake_probe->synchronized(&query);
    flush(0);
    CHECK(seen_count == 2);
    if (version >= 26) {
        CHECK(F(cuptiActivityEnableAllSyncRecords)(0) == CUPTI_SUCCESS);
        fake_probe->synchronized(&query);
        query.result = 0;
        fake_probe->synchronized(&query);
        flush(0);
        CHECK(seen_count == 3); /* the not-ready query left no record */
    } else {
        CHECK(!dlsym(library, "cuptiActivityEnableAllSyncRecords"));
    }
}

static void drops(void)
{
    size_t dropped = 9;

    attach();
    enable(CUPTI_ACTIVITY_KIND_RUNTIME);
    give_null = true;
    fake_call(SIM_RUNTIME, CBID_LAUNCH, 1, 0);
    fake_call(SIM_RUNTIME, CBID_LAUNCH, 2, 0);
    CHECK(F(cuptiActivityGetNumDroppedRecords)(NULL, 0, &dropped) == CUPTI_SUCCESS && dropped == 2);
    CHECK(F(cuptiActivityGetNumDroppedRecords)(NULL, 0, &dropped) == CUPTI_SUCCESS && dropped == 0);
    CHECK(fake_log_count("\"dropped\",\"kind\":\"runtime\"") == 2);
    give_null = false;
    buffer_bytes = 16; /* smaller than any record */
    fake_call(SIM_RUNTIME, CBID_LAUNCH, 3, 0);
    flush(0);
    CHECK(F(cuptiActivityGetNumDroppedRecords)(NULL, 0, &dropped) == CUPTI_SUCCESS && dropped == 1);
    CHECK(buffers_back == buffers_out && seen_count == 0);
    buffer_bytes = 65536;
    max_records = 3;
    for (uint32_t i = 10; i < 20; i++) {
        fake_call(SIM_RUNTIME, CBID_LAUNCH, i, 0);
    }
    flush(0);
    CHECK(seen_count == 10 && buffers_out == 1 + 4); /* the small one, then 3 + 3 + 3 + 1 */
    for (uint32_t i = 0; i < 10; i++) {
        CHECK(seen[i].correlation == 10 + i); /* nothing asked for disorder */
    }
}

static void drop_some(void)
{
    size_t dropped;

    attach();
    enable(CUPTI_ACTIVITY_KIND_RUNTIME);
    for (uint32_t i = 0; i < 1000; i++) {
        fake_call(SIM_RUNTIME, CBID_LAUNCH, i, 0);
    }
    flush(0);
    CHECK(F(cuptiActivityGetNumDroppedRecords)(NULL, 0, &dropped) == CUPTI_SUCCESS);
    CHECK(dropped > 50 && dropped < 500 && seen_count == 1000 - dropped);
    CHECK((size_t)fake_log_count("\"dropped\"") == dropped);
}

static void steal(void)
{
    attach();
    enable(CUPTI_ACTIVITY_KIND_RUNTIME);
    for (uint32_t i = 1; i <= 20; i++) {
        fake_call(SIM_RUNTIME, CBID_LAUNCH, i, 0);
    }
    flush(0);
    CHECK(seen_count == 0 && fake_log_count("\"given\"") == 20); /* our buffer went to the other */
    CHECK(fake_log_count("\"steal\"") == 1);
    fake_call(SIM_RUNTIME, CBID_LAUNCH, 21, 0); /* into a buffer of the other's */
    CHECK(F(cuptiActivityRegisterCallbacks)(request, complete) == CUPTI_SUCCESS);
    /* A foreign buffer comes to us: freed here by a client that ought not to; so only count. */
    CHECK(buffers_out == 1 && buffers_back == 0);
    free(latest); /* nobody else will */
}

static void shuffle(void)
{
    size_t out_of_order = 0;

    attach();
    enable(CUPTI_ACTIVITY_KIND_RUNTIME);
    for (uint32_t i = 0; i < 5000; i++) {
        fake_call(SIM_RUNTIME, CBID_LAUNCH, i, 0);
    }
    flush(0);
    CHECK(seen_count == 5000);
    bool *got = calloc(5000, 1);
    for (size_t i = 0; i < 5000; i++) {
        CHECK(seen[i].correlation < 5000 && !got[seen[i].correlation]); /* each once */
        got[seen[i].correlation] = true;
        out_of_order += seen[i].correlation != i;
    }
    free(got);
    CHECK(out_of_order > 4000);
}

static void twice(void)
{
    attach();
    enable(CUPTI_ACTIVITY_KIND_RUNTIME);
    for (uint32_t i = 0; i < 100; i++) {
        fake_call(SIM_RUNTIME, CBID_LAUNCH, i, 0);
    }
    flush(0);
    CHECK(seen_count > 110 && (int)seen_count == 100 + fake_log_count("\"twice\""));
}

static void no_time(void)
{
    size_t without = 0;

    attach();
    enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    for (int i = 0; i < 100; i++) {
        fake_finish(launch("k"));
    }
    flush(0);
    for (size_t i = 0; i < seen_count; i++) {
        without += seen[i].start == 0 && seen[i].end == 0;
    }
    CHECK(seen_count == 100 && without > 10 && without < 90);
    CHECK((size_t)fake_log_count("\"no-time\"") == without);
}

static void late(void)
{
    attach();
    enable(CUPTI_ACTIVITY_KIND_RUNTIME);
    fake_call(SIM_RUNTIME, CBID_LAUNCH, 1, 0);
    flush(0);
    CHECK(count_of(CUPTI_ACTIVITY_KIND_RUNTIME) == 0); /* flush returned before the delivery */
    while (count_of(CUPTI_ACTIVITY_KIND_RUNTIME) == 0) {
        usleep(1000);
    }
}

static void held(void)
{
    attach();
    enable(CUPTI_ACTIVITY_KIND_RUNTIME);
    fake_call(SIM_RUNTIME, CBID_LAUNCH, 1, 0);
    flush(0);
    CHECK(count_of(CUPTI_ACTIVITY_KIND_RUNTIME) == 0);
    flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    CHECK(count_of(CUPTI_ACTIVITY_KIND_RUNTIME) == 1);
}

static void names(void)
{
    attach();
    keep_names = recycle = true;
    enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    fake_finish(launch("_Z5firstv"));
    flush(0);
    CHECK(strcmp(seen[0].name, "_Z5firstv") == 0);
    CHECK(strcmp(kept_names[0], "_Z5firstv") == 0); /* good until the buffer is given back */
    fake_finish(launch("_Z6secondv"));
    CHECK(strcmp(kept_names[0], "!!!!!!!!!") == 0);
    flush(0);
    CHECK(strcmp(seen[1].name, "_Z6secondv") == 0);
}

static void names_over(void)
{
    attach();
    keep_names = true;
    enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    fake_finish(launch("_Z5firstv"));
    flush(0);
#ifndef __SANITIZE_THREAD__ /* a client that does this races with CUPTI, and TSan would say so */
    while (*(const volatile char *)kept_names[0] == '_') {
        usleep(1000);
    }
    CHECK(kept_names[0][0] == '!');
#endif
}

static uint64_t ticks(void)
{
    return sim_now_ns() / 2 - 1000000000; /* half the rate, another start */
}

static void client_clock(void)
{
    uint64_t now;

    attach();
    enable(CUPTI_ACTIVITY_KIND_RUNTIME);
    enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    struct sim_op *before = launch("before");
    CHECK(F(cuptiActivityRegisterTimestampCallback)(NULL) == CUPTI_ERROR_INVALID_PARAMETER);
    CHECK(F(cuptiActivityRegisterTimestampCallback)(ticks) == CUPTI_SUCCESS);
    struct sim_op *after = launch("after");
    CHECK(F(cuptiGetTimestamp)(&now) == CUPTI_SUCCESS && now <= ticks() && now > ticks() / 2);
    fake_finish(before);
    fake_finish(after);
    flush(0);
    CHECK(seen_count == 4);
    for (size_t i = 0; i < 4; i++) {
        bool new_clock = seen[i].correlation == 2;
        uint64_t reference = new_clock ? ticks() : sim_now_ns();

        CHECK(seen[i].start <= reference + 1000 && reference - seen[i].start < 1000000000);
    }
}

static void attributes(void)
{
    size_t value = 4096, size = sizeof value, small = 4;
    uint8_t flag = 1;
    size_t flag_size = 1;

    CHECK(F(cuptiActivitySetAttribute)(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, &size, &value) ==
          CUPTI_SUCCESS);
    value = 0;
    CHECK(F(cuptiActivityGetAttribute)(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, &size, &value) ==
              CUPTI_SUCCESS &&
          value == 4096);
    CHECK(F(cuptiActivitySetAttribute)(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, &small, &value) ==
          CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT);
    CHECK(F(cuptiActivitySetAttribute)(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, NULL, &value) ==
          CUPTI_ERROR_INVALID_PARAMETER);
    CHECK(F(cuptiActivitySetAttribute)((CUpti_ActivityAttribute)77, &size, &value) ==
          CUPTI_ERROR_INVALID_PARAMETER);
    CUptiResult per_thread = F(cuptiActivityGetAttribute)(
        CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, &flag_size, &flag);
    CHECK(version < 21 ? per_thread == CUPTI_ERROR_INVALID_PARAMETER
                       : per_thread == CUPTI_SUCCESS && flag == (version >= 130000));

    /* A buffer that is not zero although the client said it would be. */
    flag = 1;
    CHECK(F(cuptiActivitySetAttribute)(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &flag_size,
                                       &flag) == CUPTI_SUCCESS);
    attach();
    enable(CUPTI_ACTIVITY_KIND_RUNTIME);
    fake_call(SIM_RUNTIME, CBID_LAUNCH, 1, 0);
    flush(0);
    CHECK(fake_log_count("misuse") == 0);
}

static void external(void)
{
    uint64_t id = 0;

    attach();
    enable(CUPTI_ACTIVITY_KIND_RUNTIME);
    enable(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
    CHECK(F(cuptiActivityPopExternalCorrelationId)(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &id) ==
          CUPTI_ERROR_QUEUE_EMPTY);
    CHECK(F(cuptiActivityPushExternalCorrelationId)(CUPTI_EXTERNAL_CORRELATION_KIND_INVALID, 1) ==
          CUPTI_ERROR_INVALID_PARAMETER);
    F(cuptiActivityPushExternalCorrelationId)(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, 100);
    F(cuptiActivityPushExternalCorrelationId)(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, 200);
    F(cuptiActivityPushExternalCorrelationId)(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM1, 300);
    fake_call(SIM_RUNTIME, CBID_LAUNCH, 41, 0);
    CHECK(F(cuptiActivityPopExternalCorrelationId)(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &id) ==
              CUPTI_SUCCESS &&
          id == 200);
    F(cuptiActivityPopExternalCorrelationId)(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM1, NULL);
    fake_call(SIM_RUNTIME, CBID_LAUNCH, 42, 0);
    flush(0);
    CHECK(count_of(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION) == 3);
    CHECK(seen[0].kind == CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION); /* precedes its API record */
    CHECK(seen[2].kind == CUPTI_ACTIVITY_KIND_RUNTIME && seen[2].correlation == 41);
    CUpti_ActivityExternalCorrelation *last =
        (void *)last_record[CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION];
    CHECK(last->externalId == 100 && last->correlationId == 42);
    CHECK(last->externalKind == CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0);
}

static int calls_seen;

static void on_call(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
                    const void *data)
{
    const CUpti_CallbackData *d = data;

    CHECK(userdata == &calls_seen && domain == CUPTI_CB_DOMAIN_RUNTIME_API && cbid == CBID_LAUNCH);
    CHECK(d->correlationId == 5 && strcmp(d->functionName, "cudaLaunchKernel_v7000") == 0);
    calls_seen += d->callbackSite == CUPTI_API_EXIT ? 10 : 1;
}

static void subscribe(void)
{
    CUpti_SubscriberHandle handle, second;
    const char *text;

    CHECK(F(cuptiSubscribe)(&handle, (CUpti_CallbackFunc)on_call, &calls_seen) == CUPTI_SUCCESS);
    CHECK(F(cuptiSubscribe)(&second, (CUpti_CallbackFunc)on_call, NULL) ==
          CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    CHECK(F(cuptiEnableCallback)(1, handle, CUPTI_CB_DOMAIN_RUNTIME_API, CBID_LAUNCH) ==
          CUPTI_SUCCESS);
    fake_call(SIM_RUNTIME, CBID_LAUNCH, 5, 0);
    fake_call(SIM_RUNTIME, CBID_GET_DEVICE, 6, 0);
    CHECK(calls_seen == 11);
    CHECK(F(cuptiUnsubscribe)(handle) == CUPTI_SUCCESS);
    fake_call(SIM_RUNTIME, CBID_LAUNCH, 5, 0);
    CHECK(calls_seen == 11);
    CHECK(F(cuptiGetCallbackName)(CUPTI_CB_DOMAIN_DRIVER_API, CBID_CU_LAUNCH, &text) ==
              CUPTI_SUCCESS &&
          strcmp(text, "cuLaunchKernel") == 0);
    CHECK(F(cuptiGetCallbackName)(CUPTI_CB_DOMAIN_DRIVER_API, 60000, &text) ==
          CUPTI_ERROR_INVALID_PARAMETER);
    CHECK(F(cuptiGetResultString)(CUPTI_ERROR_INVALID_KIND, &text) == CUPTI_SUCCESS &&
          strcmp(text, "CUPTI_ERROR_INVALID_KIND") == 0);
}

static void call_without_buffer(void)
{
    fake_call(SIM_RUNTIME, CBID_LAUNCH, 1, 0);
    flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    _exit(0);
}

/* The exit status of a child that runs `body`; -1 if a signal ended it. */
static int status_of_child(void (*body)(void))
{
    pid_t child = fork();
    int status;

    if (child == 0) {
        body();
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void attach_and_call(void)
{
    attach();
    enable(CUPTI_ACTIVITY_KIND_RUNTIME);
    call_without_buffer();
}

static void null_crash(void)
{
    give_null = true;
    int status = status_of_child(attach_and_call);
    CHECK(version < 27 ? status != 0 : status == 0);

    /* A child of an attached process has no worker: it makes no record and does not even ask. */
    attach();
    enable(CUPTI_ACTIVITY_KIND_RUNTIME);
    CHECK(status_of_child(call_without_buffer) == 0);
}

static void undelivered(void)
{
    attach();
    enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    struct sim_op *op = launch("never");

    fake_probe->at_exit();
    CHECK(fake_log_count("\"undelivered\",\"kind\":\"kernel\"") == 1);
    flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    CHECK(seen_count == 0); /* what the log says stays true */
    fake_finish(op);
}

enum {
    THREADS = 4,
    PER_THREAD = 20000
};
static atomic_bool stop;

static void *launcher(void *unused)
{
    for (int i = 0; i < PER_THREAD; i++) {
        struct sim_op *op = launch(i % 2 ? "_Z3oddv" : "_Z4evenv");

        fake_finish(op);
    }
    return unused;
}

static void *flusher(void *unused)
{
    while (!stop) {
        flush(0);
        usleep(500);
    }
    return unused;
}

static void threads(void)
{
    pthread_t thread[THREADS], flushing;

    attach();
    enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    enable(CUPTI_ACTIVITY_KIND_RUNTIME);
    pthread_create(&flushing, NULL, flusher, NULL);
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&thread[i], NULL, launcher, NULL);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
    }
    stop = true;
    pthread_join(flushing, NULL);
    flush(0);
    flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED); /* empty buffers come back with this one alone */
    CHECK(count_of(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) == THREADS * PER_THREAD);
    CHECK(count_of(CUPTI_ACTIVITY_KIND_RUNTIME) == THREADS * PER_THREAD);
    CHECK(buffers_out == buffers_back && fake_ops_alive() == 0);
}

/* A recording's threads: each has a buffer of its own, and its records say whose they are; what
 * CUPTI itself does in this process is told to nobody. */
static void guises(void)
{
    fake_replaying = true;
    attach();
    enable(CUPTI_ACTIVITY_KIND_RUNTIME);
    enable(CUPTI_ACTIVITY_KIND_OVERHEAD);
    for (uint32_t i = 0; i < 30; i++) {
        fake_probe->guise(&(struct sim_guise){.process = 4000, .thread = 100 + i % 3});
        fake_call(SIM_RUNTIME, CBID_LAUNCH, i + 1, 0);
    }
    fake_probe->guise(&(struct sim_guise){0, 0});
    /* 12.0 has one for all threads, and no attribute for it */
    CHECK(buffers_out == (version == 18 ? 1 : 3) && fake_probe->flushes() == 0);
    flush(0);
    CHECK(fake_probe->flushes() == 1);
    CHECK(buffers_back == buffers_out && count_of(CUPTI_ACTIVITY_KIND_RUNTIME) == 30);
    CHECK(count_of(CUPTI_ACTIVITY_KIND_OVERHEAD) == 0);
    CUpti_ActivityAPI *a = (void *)last_record[CUPTI_ACTIVITY_KIND_RUNTIME];
    CHECK(a->processId == 4000 && a->threadId >= 100 && a->threadId < 103);
}

static void play_raw(uint32_t kind, const void *bytes, uint32_t size, const char *text)
{
    fake_probe->raw(&(struct sim_raw_record){
        .bytes = bytes,
        .kind = kind,
        .size = size,
        .has_text = text,
        .text = text,
        .text_offset = (uint32_t)offsetof(CUpti_ActivityName, name),
    });
}

/* Recorded bytes: what the client asked for, of kinds too that this stand-in never makes itself;
 * in the buffer that they came in, with texts in place. */
static void raw(void)
{
    CUpti_ActivityAPI call = {.kind = CUPTI_ACTIVITY_KIND_RUNTIME, .cbid = CBID_LAUNCH};
    CUpti_ActivityName name = {.kind = CUPTI_ACTIVITY_KIND_NAME, .name = (const char *)1};
    char text[] = "a thread";
    size_t dropped = 0;

    fake_replaying = true;
    attach();
    enable(CUPTI_ACTIVITY_KIND_NAME);
    if (version >= 23) {
        CHECK(F(cuptiActivityEnableRuntimeApi)(CBID_LAUNCH, 1) == CUPTI_SUCCESS);
    } else {
        enable(CUPTI_ACTIVITY_KIND_RUNTIME);
    }
    for (int i = 0; i < 2; i++) {
        play_raw(CUPTI_ACTIVITY_KIND_RUNTIME, &call, sizeof call, NULL);
        play_raw(CUPTI_ACTIVITY_KIND_NAME, &name, sizeof name, text);
        call.kind = CUPTI_ACTIVITY_KIND_DRIVER; /* not asked for */
        play_raw(CUPTI_ACTIVITY_KIND_DRIVER, &call, sizeof call, NULL);
        call.kind = CUPTI_ACTIVITY_KIND_RUNTIME;
        fake_probe->hand_over(3);
    }
    call.cbid = CBID_GET_DEVICE;
    if (version >= 23) { /* older ones have no filter for single calls */
        play_raw(CUPTI_ACTIVITY_KIND_RUNTIME, &call, sizeof call, NULL);
    }
    memset(text, '!', sizeof text - 1); /* a copy was taken */
    flush(0);
    CHECK(count_of(CUPTI_ACTIVITY_KIND_DRIVER) == 0 && count_of(CUPTI_ACTIVITY_KIND_NAME) == 2);
    CHECK(count_of(CUPTI_ACTIVITY_KIND_RUNTIME) == 2 && buffers_back == 2);
    CUpti_ActivityName *n = (void *)last_record[CUPTI_ACTIVITY_KIND_NAME];
    CHECK(strcmp(n->name, "a thread") == 0);
    CHECK(F(cuptiActivityGetNumDroppedRecords)(NULL, 0, &dropped) == CUPTI_SUCCESS && dropped == 6);
}

/* Once the first buffer is full the client has small ones, then none, then its usual ones again. */
static void scant_request(uint8_t **buffer, size_t *size, size_t *records)
{
    static int asked;

    asked++;
    buffer_bytes = asked > 1 && asked < 4 ? 512 : 65536;
    give_null = asked == 4;
    request(buffer, size, records);
}

/* A recording waits for a client that is out of buffers, and loses nothing. */
static void patience(void)
{
    size_t dropped = 1;

    fake_replaying = true;
    CHECK(F(cuptiActivityRegisterCallbacks)(scant_request, complete) == CUPTI_SUCCESS);
    enable(CUPTI_ACTIVITY_KIND_RUNTIME);
    for (uint32_t i = 0; i < 3000; i++) {
        fake_call(SIM_RUNTIME, CBID_LAUNCH, i + 1, 0);
    }
    flush(0);
    CHECK(count_of(CUPTI_ACTIVITY_KIND_RUNTIME) == 3000);
    CHECK(F(cuptiActivityGetNumDroppedRecords)(NULL, 0, &dropped) == CUPTI_SUCCESS && dropped == 0);
    CHECK(buffers_out == buffers_back && bytes_back == 3000 * sizeof(CUpti_ActivityAPI));
}

/* Prints what a record costs; asserts only that all arrive. */
static void speed(void)
{
    enum {
        N = 150000
    };

    buffer_bytes = 1 << 20;
    recycle = true; /* as a client with a pool does */
    attach();
    enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    enable(CUPTI_ACTIVITY_KIND_RUNTIME);
    uint64_t start = sim_now_ns();
    for (int i = 0; i < N; i++) {
        fake_finish(launch("_Z6kernelPf"));
    }
    double seconds = (double)(sim_now_ns() - start) * 1e-9;
    flush(0);
    CHECK(seen_count == 2 * N);
    printf("%.0f records a second, the fake core's own work included\n", 2 * N / seconds);
}

static const struct scenario {
    const char *name, *option, *value;
    void (*run)(void);
} scenarios[] = {
    {"layout", NULL, NULL, layout},
    {"records", NULL, NULL, records},
    {"hold_back", NULL, NULL, hold_back},
    {"filters", NULL, NULL, filters},
    {"sync_kinds", NULL, NULL, sync_kinds},
    {"drops", "SIMGPU_CUPTI_PER_THREAD_BUFFERS", "0", drops},
    {"drop_some", "SIMGPU_CUPTI_DROP", "0.2", drop_some},
    {"steal", "SIMGPU_CUPTI_STEAL", "10", steal},
    {"shuffle", "SIMGPU_CUPTI_SHUFFLE", "1", shuffle},
    {"twice", "SIMGPU_CUPTI_TWICE", "0.5", twice},
    {"no_time", "SIMGPU_CUPTI_NO_TIME", "0.5", no_time},
    {"late", "SIMGPU_CUPTI_LATE", "0.3", late},
    {"held", "SIMGPU_CUPTI_HOLD", "1000", held},
    {"names", NULL, NULL, names},
    {"names_over", "SIMGPU_CUPTI_NAME_LIFE", "0.05", names_over},
    {"client_clock", NULL, NULL, client_clock},
    {"attributes", NULL, NULL, attributes},
    {"external", NULL, NULL, external},
    {"subscribe", NULL, NULL, subscribe},
    {"null_crash", "SIMGPU_CUPTI_NULL_CRASH", "1", null_crash},
    {"undelivered", NULL, NULL, undelivered},
    {"threads", NULL, NULL, threads},
    {"threads_one_buffer", "SIMGPU_CUPTI_PER_THREAD_BUFFERS", "0", threads},
    {"threads_own_buffers", "SIMGPU_CUPTI_PER_THREAD_BUFFERS", "1", threads},
    {"guises", "SIMGPU_CUPTI_PER_THREAD_BUFFERS", "1", guises},
    {"raw", NULL, NULL, raw},
    {"patience", NULL, NULL, patience},
    {"speed", NULL, NULL, speed},
};

int main(int argc, char **argv)
{
    CHECK(argc == 4);
    seen = calloc(MAX_SEEN, sizeof *seen);
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
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
