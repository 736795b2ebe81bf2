/*
 * probe.c - makes CUPTI records from the reports of the core (core/probe.h).
 *
 * Threads: application threads, see probe.h. A flush writes the records of live objects on the
 * thread that called the flush. The only state is the list of live objects, which has its own lock.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/fork.h"
#include "cupti/simcupti.h"

SIM_MUTEX(lock);
static struct sim_object *objects; /* existing contexts and streams */
static size_t object_count, object_cap;

static void api_enter_for_one(enum sim_domain domain, uint32_t cbid, uint32_t correlation,
                              uint64_t now_ns)
{
    /* The external id must precede the record of the operation that the call enqueues, because
     * Kineto reads records in order, and uses the id to find the operation's owner. */
    if (sim_api_on(domain, cbid) && sim_kind_on(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, 0)) {
        sim_external_records(correlation);
    }
    sim_subscriber_call(domain, cbid, correlation, true, 0);
}

static void api_exit_for_one(enum sim_domain domain, uint32_t cbid, uint32_t correlation,
                             uint64_t start_ns, uint64_t end_ns, int result)
{
    uint32_t kind =
        domain == SIM_RUNTIME ? CUPTI_ACTIVITY_KIND_RUNTIME : CUPTI_ACTIVITY_KIND_DRIVER;
    struct sim_place place;

    if (sim_api_on(domain, cbid)) {
        if (sim_place_open(&place, R_API, kind, correlation, NULL)) {
            sim_clock_convert(sim_clock_now(), &start_ns, &end_ns);
            sim_put(&place, F_cbid, cbid);
            sim_put(&place, F_start, start_ns);
            sim_put(&place, F_end, end_ns);
            sim_put(&place, F_processId, sim_process());
            sim_put(&place, F_threadId, sim_thread_id());
            sim_put(&place, F_correlationId, correlation);
            sim_put(&place, F_returnValue, (uint32_t)result);
            sim_place_close(&place);
        }
    }
    sim_subscriber_call(domain, cbid, correlation, false, result);
}

static bool kernel_kind(uint32_t context, uint32_t *kind)
{
    *kind = sim_kind_on(CUPTI_ACTIVITY_KIND_KERNEL, context)
                ? CUPTI_ACTIVITY_KIND_KERNEL
                : CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    return sim_kind_on(*kind, context);
}

static void op_enqueued_for_one(struct sim_op *op)
{
    enum sim_record type;
    uint32_t kind;
    struct sim_place place;

    if (op->kind == SIM_OP_KERNEL) {
        type = R_KERNEL;
        if (!kernel_kind(op->context, &kind)) {
            return;
        }
    } else if (op->kind == SIM_OP_MEMCPY || op->kind == SIM_OP_MEMSET) {
        type = op->kind == SIM_OP_MEMSET ? R_MEMSET : op->is_peer ? R_MEMCPY2 : R_MEMCPY;
        kind = op->kind == SIM_OP_MEMSET ? CUPTI_ACTIVITY_KIND_MEMSET
               : op->is_peer             ? CUPTI_ACTIVITY_KIND_MEMCPY2
                                         : CUPTI_ACTIVITY_KIND_MEMCPY;
        if (!sim_kind_on(kind, op->context)) {
            return;
        }
    } else {
        return;
    }
    if (sim_place_open(&place, type, kind, op->correlation, op)) {
        sim_record_op(&place, type, kind, op);
        sim_place_close(&place);
    }
    if (sim_trouble.overhead && op->kind == SIM_OP_KERNEL) {
        uint64_t now = sim_now_ns();

        sim_overhead(CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING, now, now + 1000);
    }
}

static void op_done(struct sim_op *op)
{
    (void)op; /* the worker checks op->done before it delivers a buffer */
}

static void synchronized_for_one(const struct sim_sync *s)
{
    uint32_t kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
    struct sim_place place;
    enum {
        NOT_READY = 600
    };

    if (!sim_kind_on(kind, s->context) ||
        (s->result == NOT_READY && !sim_switches()->all_sync_records) ||
        !sim_place_open(&place, R_SYNC, kind, s->correlation, NULL)) {
        return;
    }
    uint64_t start = s->start_ns, end = s->end_ns;

    sim_clock_convert(sim_clock_now(), &start, &end);
    sim_put(&place, F_type, s->type);
    sim_put(&place, F_start, start);
    sim_put(&place, F_end, end);
    sim_put(&place, F_correlationId, s->correlation);
    sim_put(&place, F_contextId, s->context);
    sim_put(&place, F_streamId, s->stream);
    sim_put(&place, F_cudaEventId, s->event_id);
    sim_put(&place, F_cudaEventSyncId, s->event_sync_id);
    sim_put(&place, F_returnValue, s->result);
    sim_place_close(&place);
}

static void event_recorded_for_one(const struct sim_event_record *e)
{
    uint32_t kind = CUPTI_ACTIVITY_KIND_CUDA_EVENT;
    struct sim_place place;

    if (!sim_kind_on(kind, e->context) ||
        !sim_kind_on(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, e->context) ||
        !sim_place_open(&place, R_CUDA_EVENT, kind, e->correlation, NULL)) {
        return;
    }
    sim_put(&place, F_correlationId, e->correlation);
    sim_put(&place, F_contextId, e->context);
    sim_put(&place, F_streamId, e->stream);
    sim_put(&place, F_eventId, e->event_id);
    sim_put(&place, F_cudaEventSyncId, e->event_sync_id);
    if (sim_switches()->event_timestamps) {
        sim_put(&place, F_deviceTimestamp, e->device_ns);
    }
    sim_place_close(&place);
}

static void device_record(uint32_t device)
{
    const struct sim_device_info *d = sim_device_info(device);
    struct sim_place place;
    enum sim_record k = R_DEVICE;

    if (!d || !sim_place_open(&place, k, CUPTI_ACTIVITY_KIND_DEVICE, 0, NULL)) {
        return;
    }
    sim_put(&place, F_flags, CUPTI_ACTIVITY_FLAG_DEVICE_CONCURRENT_KERNELS);
    sim_put(&place, F_id, device);
    sim_put(&place, F_globalMemoryBandwidth, d->memory_bandwidth_kbps);
    sim_put(&place, F_globalMemorySize, d->memory_bytes);
    sim_put(&place, F_constantMemorySize, 65536);
    sim_put(&place, F_l2CacheSize, d->l2_bytes);
    sim_put(&place, F_numThreadsPerWarp, d->warp_size);
    sim_put(&place, F_coreClockRate, d->core_clock_khz);
    sim_put(&place, F_numMemcpyEngines, 3);
    sim_put(&place, F_numMultiprocessors, d->multiprocessors);
    sim_put(&place, F_maxIPC, 4);
    sim_put(&place, F_maxWarpsPerMultiprocessor, d->max_warps_per_sm);
    sim_put(&place, F_maxBlocksPerMultiprocessor, d->max_blocks_per_sm);
    sim_put(&place, F_maxSharedMemoryPerMultiprocessor, d->max_shared_per_sm);
    sim_put(&place, F_maxRegistersPerMultiprocessor, d->max_registers_per_sm);
    sim_put(&place, F_maxRegistersPerBlock, d->max_registers_per_block);
    sim_put(&place, F_maxSharedMemoryPerBlock, d->max_shared_per_block);
    sim_put(&place, F_maxThreadsPerBlock, d->max_threads_per_block);
    sim_put(&place, F_maxBlockDimX, 1024);
    sim_put(&place, F_maxBlockDimY, 1024);
    sim_put(&place, F_maxBlockDimZ, 64);
    sim_put(&place, F_maxGridDimX, 0x7fffffff);
    sim_put(&place, F_maxGridDimY, 65535);
    sim_put(&place, F_maxGridDimZ, 65535);
    sim_put(&place, F_computeCapabilityMajor, d->major);
    sim_put(&place, F_computeCapabilityMinor, d->minor);
    sim_put(&place, F_isCudaVisible, 1);
    sim_put(&place, F_name, (uintptr_t)sim_name_copy(&place.buffer->names, d->name));
    if (place.layout->field[F_uuid].width) {
        memcpy(place.record + place.layout->field[F_uuid].offset, d->uuid, sizeof d->uuid);
    }
    sim_place_close(&place);
}

static void object_record(const struct sim_object *o)
{
    bool stream = o->kind == SIM_OBJ_STREAM;
    enum sim_record k = stream ? R_STREAM : R_CONTEXT;
    uint32_t kind = stream ? CUPTI_ACTIVITY_KIND_STREAM : CUPTI_ACTIVITY_KIND_CONTEXT;
    struct sim_place place;

    if (!sim_place_open(&place, k, kind, o->correlation, NULL)) {
        return;
    }
    sim_put(&place, F_contextId, o->context);
    if (stream) {
        sim_put(&place, F_streamId, o->stream);
        sim_put(&place, F_priority, (uint32_t)o->priority);
        sim_put(&place, F_flag, o->flags);
        sim_put(&place, F_correlationId, o->correlation);
    } else {
        sim_put(&place, F_deviceId, o->device);
        sim_put(&place, F_computeApiKind, CUPTI_ACTIVITY_COMPUTE_API_CUDA);
        sim_put(&place, F_nullStreamId, o->null_stream);
        sim_put(&place, F_processId, sim_process());
    }
    sim_place_close(&place);
}

static void remember(const struct sim_object *o)
{
    pthread_mutex_lock(&lock);
    size_t i = 0;
    while (i < object_count && (objects[i].kind != o->kind || objects[i].context != o->context ||
                                objects[i].stream != o->stream)) {
        i++;
    }
    if (!o->created) {
        if (i < object_count) {
            objects[i] = objects[--object_count];
        }
    } else if (i == object_count) {
        if (object_count == object_cap) {
            size_t cap = object_cap ? object_cap * 2 : 64;
            struct sim_object *more = realloc(objects, cap * sizeof *more);

            if (more) {
                objects = more;
                object_cap = cap;
            }
        }
        if (object_count < object_cap) {
            objects[object_count++] = *o;
        }
    }
    pthread_mutex_unlock(&lock);
}

static void object_for_one(const struct sim_object *o)
{
    if (o->kind == SIM_OBJ_DEVICE) {
        if (sim_kind_on(CUPTI_ACTIVITY_KIND_DEVICE, 0)) {
            device_record(o->device);
        }
        return;
    }
    uint32_t kind =
        o->kind == SIM_OBJ_STREAM ? CUPTI_ACTIVITY_KIND_STREAM : CUPTI_ACTIVITY_KIND_CONTEXT;

    if (sim_kind_on(kind, o->context)) {
        object_record(o);
    }
}

static void object(const struct sim_object *o)
{
    if (o->kind != SIM_OBJ_DEVICE) {
        remember(o);
    }
    if (!o->created) {
        return;
    }
    SIM_EACH_CLIENT
    {
        object_for_one(o);
    }
}

/* For cuptiActivityEnableAndDump: makes records for existing contexts and streams. */
CUptiResult sim_dump_objects(uint32_t kind)
{
    enum sim_object_kind wanted =
        kind == CUPTI_ACTIVITY_KIND_STREAM ? SIM_OBJ_STREAM : SIM_OBJ_CONTEXT;

    if (kind == CUPTI_ACTIVITY_KIND_DEVICE) {
        for (uint32_t i = 0; i < sim_device_count(); i++) {
            device_record(i);
        }
    }
    if (kind != CUPTI_ACTIVITY_KIND_STREAM && kind != CUPTI_ACTIVITY_KIND_CONTEXT) {
        return CUPTI_SUCCESS;
    }
    pthread_mutex_lock(&lock);
    size_t count = object_count;
    struct sim_object *copy = malloc((count + 1) * sizeof *copy);
    if (copy && count) {
        memcpy(copy, objects, count * sizeof *copy);
    }
    pthread_mutex_unlock(&lock);
    for (size_t i = 0; copy && i < count; i++) {
        if (copy[i].kind == wanted) {
            object_record(&copy[i]);
        }
    }
    free(copy);
    return copy ? CUPTI_SUCCESS : CUPTI_ERROR_OUT_OF_MEMORY;
}

static void overhead_for_one(uint32_t kind, uint64_t start_ns, uint64_t end_ns)
{
    struct sim_place place;
    uint32_t correlation = sim_correlation_of_thread();

    if (!sim_kind_on(CUPTI_ACTIVITY_KIND_OVERHEAD, 0) ||
        !sim_place_open(&place, R_OVERHEAD, CUPTI_ACTIVITY_KIND_OVERHEAD, correlation, NULL)) {
        return;
    }
    sim_put(&place, F_overheadKind, kind);
    sim_put(&place, F_objectKind, CUPTI_ACTIVITY_OBJECT_THREAD);
    sim_put(&place, F_processId, sim_process());
    sim_put(&place, F_threadId, sim_thread_id());
    sim_put(&place, F_correlationId, correlation);
    uint64_t start = start_ns, end = end_ns;

    sim_clock_convert(sim_clock_now(), &start, &end);
    sim_put(&place, F_start, start);
    sim_put(&place, F_end, end);
    sim_place_close(&place);
    sim_log("{\"what\":\"overhead\",\"type\":%u,\"correlation\":%u,\"start\":%llu,\"end\":%llu}",
            kind, correlation, (unsigned long long)start_ns, (unsigned long long)end_ns);
}

/* Makes an OVERHEAD record: the time that CUPTI itself needed. Not in a replay, because the
 * recording already contains OVERHEAD records. */
void sim_overhead(uint32_t kind, uint64_t start_ns, uint64_t end_ns)
{
    if (!sim_replaying()) {
        overhead_for_one(kind, start_ns, end_ns);
    }
}

/* ---- functions of the probe, which report to every client ---- */

static void api_enter(enum sim_domain domain, uint32_t cbid, uint32_t correlation, uint64_t now_ns)
{
    SIM_EACH_CLIENT
    {
        api_enter_for_one(domain, cbid, correlation, now_ns);
    }
}

static void op_enqueued(struct sim_op *op)
{
    SIM_EACH_CLIENT
    {
        op_enqueued_for_one(op);
    }
}

static void synchronized(const struct sim_sync *s)
{
    SIM_EACH_CLIENT
    {
        synchronized_for_one(s);
    }
}

static void event_recorded(const struct sim_event_record *e)
{
    SIM_EACH_CLIENT
    {
        event_recorded_for_one(e);
    }
}

static void overhead(uint32_t kind, uint64_t start_ns, uint64_t end_ns)
{
    bool stalls = kind == SIM_OVERHEAD_QUEUE_FULL || kind == SIM_OVERHEAD_MODULE_LOAD;

    if (stalls && sim_version()->number < 21) { /* older records of overhead do not name the call */
        return;
    }
    SIM_EACH_CLIENT
    {
        overhead_for_one(kind, start_ns, end_ns);
    }
}

static void api_exit(enum sim_domain domain, uint32_t cbid, uint32_t correlation, uint64_t start_ns,
                     uint64_t end_ns, int result)
{
    SIM_EACH_CLIENT
    {
        api_exit_for_one(domain, cbid, correlation, start_ns, end_ns, result);
    }
}

static void graph(const struct sim_graph_fact *fact)
{
    SIM_EACH_CLIENT
    {
        sim_subscriber_graph(fact);
    }
}

static void raw(const struct sim_raw_record *record)
{
    SIM_EACH_CLIENT
    {
        sim_replay_raw(record);
    }
}

static void hand_over(uint64_t dropped)
{
    SIM_EACH_CLIENT
    {
        sim_lane_hand_over(dropped);
    }
}

void sim_probe_start(void)
{
    static const struct sim_probe probe = {
        .api_enter = api_enter,
        .api_exit = api_exit,
        .op_enqueued = op_enqueued,
        .op_done = op_done,
        .synchronized = synchronized,
        .event_recorded = event_recorded,
        .object = object,
        .graph = graph,
        .overhead = overhead,
        .at_exit = sim_worker_end,
        .guise = sim_replay_wear,
        .raw = raw,
        .hand_over = hand_over,
        .flushes = sim_replay_flushes,
    };

    sim_probe_set(&probe);
}
