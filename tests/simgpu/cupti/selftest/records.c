/* records.c - tests the content and timing of records: fields of each kind, incomplete records,
 * names, clocks, external ids. */
#include <unistd.h>

#include "client.h"
#include "cupti/layout_table.h"

/* Compares the table with NVIDIA's own types in the installed headers (CUDA 13.0). */
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

/* Reads one record of each kind, field by field through NVIDIA's types. */
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

    CHECK(pthread_equal(requested_on, pthread_self())); /* requested on the application's thread */
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
    CHECK(!pthread_equal(completed_on, pthread_self())); /* completed on CUPTI's own thread */

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
    CHECK(count_of(CUPTI_ACTIVITY_KIND_STREAM) == 2); /* one when created, one by EnableAndDump */
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
    CHECK(buffers_back == 0); /* one incomplete record delays the whole buffer */
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
    CHECK(seen_count == 3); /* not delivered again */
    CHECK(fake_ops_alive() == 0);
}

static void sync_kinds(void)
{
    struct sim_event_record event = {.correlation = 5, .context = 1, .stream = 7, .event_id = 1};
    struct sim_sync query = {.type = 1, .correlation = 6, .context = 1, .result = 600};

    attach();
    enable(CUPTI_ACTIVITY_KIND_CUDA_EVENT);
    fake_probe->event_recorded(&event);
    flush(0);
    CHECK(seen_count == 0); /* CUDA_EVENT records need SYNCHRONIZATION */
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
        CHECK(seen_count == 3); /* the query of unfinished work made no record */
    } else {
        CHECK(!dlsym(library, "cuptiActivityEnableAllSyncRecords"));
    }
}

static void names(void)
{
    attach();
    keep_names = recycle = true;
    enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    fake_finish(launch("_Z5firstv"));
    flush(0);
    CHECK(strcmp(seen[0].name, "_Z5firstv") == 0);
    CHECK(strcmp(kept_names[0], "_Z5firstv") == 0); /* valid until the buffer is returned */
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
#ifndef __SANITIZE_THREAD__ /* TSan would report that reading here races with CUPTI */
    while (*(const volatile char *)kept_names[0] == '_') {
        usleep(1000);
    }
    CHECK(kept_names[0][0] == '!');
#endif
}

static uint64_t ticks(void)
{
    return sim_now_ns() / 2 - 1000000000; /* a clock with half the rate and another origin */
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

static const struct scenario scenarios[] = {
    {"layout", NULL, NULL, layout},
    {"records", NULL, NULL, records},
    {"hold_back", NULL, NULL, hold_back},
    {"sync_kinds", NULL, NULL, sync_kinds},
    {"names", NULL, NULL, names},
    {"names_over", "SIMGPU_CUPTI_NAME_LIFE", "0.05", names_over},
    {"client_clock", NULL, NULL, client_clock},
    {"external", NULL, NULL, external},
};

int main(int argc, char **argv)
{
    return run_scenario(argc, argv, scenarios, sizeof scenarios / sizeof *scenarios);
}
