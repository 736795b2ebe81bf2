/*
 * cupti_facts.c - measures behaviour of CUPTI that its documentation does not state.
 *
 * This program is a small profiler without syncline. It runs a known workload and prints one JSON
 * object: the default attributes, the cost of enabling, the threads of callbacks, the order of
 * records, the relation between the times of synchronization records, calls and kernels, and the
 * effect of a flush while a kernel runs. If the simulated CUPTI behaves differently, the simulation
 * must be corrected.
 *
 * Threads: the main thread. CUPTI's callbacks run on the main thread and on CUPTI's own threads.
 * The callbacks only count buffers and link them in a list, under `collected.lock`. Buffers live
 * until the end.
 *
 * usage: cupti_facts [--only-cuda-event] [--late]
 *   --only-cuda-event  enables CUDA_EVENT without SYNCHRONIZATION
 *   --late             enables kinds after the context was created
 */
#include "cuda_load.h"

#include <cupti.h>
#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "spin_kernel.h"

#define BUFFER_BYTES (1u << 20)
#define MAX_BUFFERS  64
#define MAX_CALLS    4096
#define ROUNDS       20
#define GRAPH_NODES  3

static const char ptx[] =
    SPIN_MODULE SPIN_KERNEL("fact_spin_ns") SPIN_KERNEL("long_spin_ns") SPIN_KERNEL("node_spin_ns");

#define CUPTI_FUNCTIONS(X)                                                                         \
    X(GetVersion, cuptiGetVersion)                                                                 \
    X(GetTimestamp, cuptiGetTimestamp)                                                             \
    X(ActivityRegisterCallbacks, cuptiActivityRegisterCallbacks)                                   \
    X(ActivityEnable, cuptiActivityEnable)                                                         \
    X(ActivityDisable, cuptiActivityDisable)                                                       \
    X(ActivityFlushAll, cuptiActivityFlushAll)                                                     \
    X(ActivityGetNextRecord, cuptiActivityGetNextRecord)                                           \
    X(ActivityGetAttribute, cuptiActivityGetAttribute)

#define CUPTI_MEMBER(member, function) __typeof__(function) *member;
static struct {
    CUPTI_FUNCTIONS(CUPTI_MEMBER)
} cupti;

static struct {
    pthread_mutex_t lock;
    long main_thread;
    unsigned requests, requests_on_main, completions, completions_on_main;
    unsigned buffers;
    uint8_t *buffer[MAX_BUFFERS];
    size_t valid[MAX_BUFFERS];
} collected = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* One API call, with its GPU operations and its synchronization record. */
struct call {
    uint32_t correlation;
    uint64_t begin, end, gpu_begin, gpu_end, sync_begin, sync_end;
    unsigned operations;
};

static struct call calls[MAX_CALLS];
static unsigned call_count;

static uint64_t now_ns(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void CUPTIAPI on_request(uint8_t **buffer, size_t *size, size_t *max_records)
{
    *buffer = aligned_alloc(8, BUFFER_BYTES);
    *size = BUFFER_BYTES;
    *max_records = 0;
    pthread_mutex_lock(&collected.lock);
    collected.requests++;
    collected.requests_on_main += syscall(SYS_gettid) == collected.main_thread;
    pthread_mutex_unlock(&collected.lock);
}

static void CUPTIAPI on_complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
                                 size_t valid)
{
    (void)context;
    (void)stream;
    (void)size;
    pthread_mutex_lock(&collected.lock);
    collected.completions++;
    collected.completions_on_main += syscall(SYS_gettid) == collected.main_thread;
    if (collected.buffers < MAX_BUFFERS) {
        collected.buffer[collected.buffers] = buffer;
        collected.valid[collected.buffers++] = valid;
    }
    pthread_mutex_unlock(&collected.lock);
}

static unsigned completions(void)
{
    unsigned count;

    pthread_mutex_lock(&collected.lock);
    count = collected.completions;
    pthread_mutex_unlock(&collected.lock);
    return count;
}

static void print_attributes(void)
{
    static const struct {
        const char *name;
        CUpti_ActivityAttribute attribute;
    } attributes[] = {
        {"device_buffer_size", CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE},
        {"device_buffer_pool_limit", CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT},
        {"device_buffer_pre_allocate", CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE},
        {"zeroed_out_buffer", CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER},
        {"per_thread_buffer", CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER},
        {"host_pinned", CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED},
    };

    for (size_t i = 0; i < sizeof(attributes) / sizeof(*attributes); i++) {
        uint64_t value = 0;
        size_t size = sizeof(value);
        CUptiResult result = cupti.ActivityGetAttribute(attributes[i].attribute, &size, &value);

        /* Some attributes have a size of one byte. CUPTI does not report the size of an attribute,
         * but refuses a wrong size. */
        if (result != CUPTI_SUCCESS) {
            size = 1;
            result = cupti.ActivityGetAttribute(attributes[i].attribute, &size, &value);
        }
        if (result == CUPTI_SUCCESS)
            printf("\"default %s\": %" PRIu64 ", ", attributes[i].name, value);
        else
            printf("\"default %s\": \"error %d\", ", attributes[i].name, (int)result);
    }
}

/* Reads CUPTI's clock between two readings of CLOCK_REALTIME, and prints the three times relative
 * to the first. */
static void print_clock(void)
{
    int64_t least = INT64_MAX, most = INT64_MIN;
    unsigned outside = 0;

    for (int i = 0; i < 1000; i++) {
        uint64_t before = now_ns(CLOCK_REALTIME), stamp = 0, after;
        int64_t offset;

        cupti.GetTimestamp(&stamp);
        after = now_ns(CLOCK_REALTIME);
        outside += stamp < before || stamp > after;
        offset = (int64_t)(stamp - before / 2 - after / 2);
        least = offset < least ? offset : least;
        most = offset > most ? offset : most;
    }
    printf("\"clock: outside its CLOCK_REALTIME bracket, of 1000\": %u, "
           "\"clock: offset ns min\": %" PRId64 ", \"clock: offset ns max\": %" PRId64 ", ",
           outside, least, most);
}

static void enable(const char *name, CUpti_ActivityKind kind)
{
    uint64_t begin = now_ns(CLOCK_MONOTONIC);
    CUptiResult result = cupti.ActivityEnable(kind);

    printf("\"enable %s us\": %.1f, ", name, 1e-3 * (double)(now_ns(CLOCK_MONOTONIC) - begin));
    if (result != CUPTI_SUCCESS)
        printf("\"enable %s result\": %d, ", name, (int)result);
}

static void enable_kinds(int only_cuda_event)
{
    enable("CONCURRENT_KERNEL", CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    enable("MEMCPY", CUPTI_ACTIVITY_KIND_MEMCPY);
    enable("MEMSET", CUPTI_ACTIVITY_KIND_MEMSET);
    enable("DRIVER", CUPTI_ACTIVITY_KIND_DRIVER);
    if (!only_cuda_event)
        enable("SYNCHRONIZATION", CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
    enable("CUDA_EVENT", CUPTI_ACTIVITY_KIND_CUDA_EVENT);
    enable("OVERHEAD", CUPTI_ACTIVITY_KIND_OVERHEAD);
}

static double flush_us(uint32_t flag)
{
    uint64_t begin = now_ns(CLOCK_MONOTONIC);

    cupti.ActivityFlushAll(flag);
    return 1e-3 * (double)(now_ns(CLOCK_MONOTONIC) - begin);
}

static void run_workload(CUmodule module)
{
    CUfunction fact, node;
    CUstream stream, other;
    CUevent event;
    CUgraph graph;
    CUgraphExec executable;

    CHECK(cu.ModuleGetFunction(&fact, module, "fact_spin_ns"));
    CHECK(cu.ModuleGetFunction(&node, module, "node_spin_ns"));
    CHECK(cu.StreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cu.StreamCreate(&other, CU_STREAM_NON_BLOCKING));
    CHECK(cu.EventCreate(&event, CU_EVENT_DISABLE_TIMING));
    for (int round = 0; round < ROUNDS; round++) {
        spin_launch(fact, stream, 8, 128, 200000);
        CHECK(cu.EventRecord(event, stream));
        CHECK(cu.StreamWaitEvent(other, event, 0));
        spin_launch(fact, other, 8, 128, 100000);
        CHECK(cu.StreamSynchronize(other));
        CHECK(cu.EventSynchronize(event));
        CHECK(cu.CtxSynchronize());
    }
    CHECK(cu.StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    for (int i = 0; i < GRAPH_NODES; i++)
        spin_launch(node, stream, 1, 32, 10000);
    CHECK(cu.StreamEndCapture(stream, &graph));
    CHECK(cu.GraphInstantiate(&executable, graph, 0));
    for (int i = 0; i < ROUNDS; i++)
        CHECK(cu.GraphLaunch(executable, stream));
    CHECK(cu.StreamSynchronize(stream));
    CHECK(cu.GraphExecDestroy(executable));
    CHECK(cu.GraphDestroy(graph));
    CHECK(cu.EventDestroy(event));
    CHECK(cu.StreamDestroy(other));
    CHECK(cu.StreamDestroy(stream));
}

static struct call *call_of(uint32_t correlation)
{
    for (unsigned i = 0; i < call_count; i++) {
        if (calls[i].correlation == correlation)
            return &calls[i];
    }
    if (call_count == MAX_CALLS)
        return NULL;
    calls[call_count].correlation = correlation;
    return &calls[call_count++];
}

/* What the records in the buffers showed: counts, and the orders in which records arrived. Times
 * are in the table `calls`. Records of other kinds are only counted. */
static struct {
    unsigned kernels, nodes, nodes_without_id, nodes_on_other_streams, calls, syncs, events,
        overheads, other, backwards, without_end;
    uint32_t lowest_correlation;
    unsigned event_sync_with_stream;
} seen = {.lowest_correlation = UINT32_MAX};

static void see_kernel(const CUpti_ActivityKernel10 *kernel, uint32_t *graph_stream)
{
    struct call *call = call_of(kernel->correlationId);

    seen.kernels++;
    seen.without_end += kernel->end == 0;
    if (strncmp(kernel->name, "node_", 5) == 0) {
        seen.nodes++;
        seen.nodes_without_id += kernel->graphNodeId == 0;
        if (*graph_stream == 0)
            *graph_stream = kernel->streamId;
        seen.nodes_on_other_streams += kernel->streamId != *graph_stream;
    }
    if (call) {
        call->operations++;
        if (call->gpu_begin == 0 || kernel->start < call->gpu_begin)
            call->gpu_begin = kernel->start;
        if (kernel->end > call->gpu_end)
            call->gpu_end = kernel->end;
    }
}

static void see(CUpti_Activity *record, uint64_t *last_begin, uint32_t *graph_stream)
{
    uint64_t begin = 0;

    if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
        const CUpti_ActivityKernel10 *kernel = (CUpti_ActivityKernel10 *)record;

        see_kernel(kernel, graph_stream);
        begin = kernel->start;
    } else if (record->kind == CUPTI_ACTIVITY_KIND_DRIVER) {
        const CUpti_ActivityAPI *api = (CUpti_ActivityAPI *)record;
        struct call *call = call_of(api->correlationId);

        seen.calls++;
        if (api->correlationId < seen.lowest_correlation)
            seen.lowest_correlation = api->correlationId;
        if (call) {
            call->begin = api->start;
            call->end = api->end;
        }
        begin = api->start;
    } else if (record->kind == CUPTI_ACTIVITY_KIND_SYNCHRONIZATION) {
        const CUpti_ActivitySynchronization2 *sync = (CUpti_ActivitySynchronization2 *)record;
        struct call *call = call_of(sync->correlationId);

        seen.syncs++;
        seen.event_sync_with_stream +=
            sync->type == CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE &&
            sync->streamId != CUPTI_SYNCHRONIZATION_INVALID_VALUE;
        if (call) {
            call->sync_begin = sync->start;
            call->sync_end = sync->end;
        }
        begin = sync->start;
    } else if (record->kind == CUPTI_ACTIVITY_KIND_CUDA_EVENT) {
        seen.events++;
    } else if (record->kind == CUPTI_ACTIVITY_KIND_OVERHEAD) {
        seen.overheads++;
    } else {
        seen.other++;
    }
    if (begin) {
        seen.backwards += begin < *last_begin;
        *last_begin = begin;
    }
}

static void see_all(void)
{
    uint32_t graph_stream = 0;

    for (unsigned i = 0; i < collected.buffers; i++) {
        CUpti_Activity *record = NULL;
        uint64_t last_begin = 0;

        while (cupti.ActivityGetNextRecord(collected.buffer[i], collected.valid[i], &record) ==
               CUPTI_SUCCESS)
            see(record, &last_begin, &graph_stream);
    }
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Prints the minimum, median and maximum of a difference over all calls that have it. */
static void print_spread(const char *name, int64_t (*difference)(const struct call *))
{
    static int64_t values[MAX_CALLS];
    unsigned count = 0;

    for (unsigned i = 0; i < call_count; i++) {
        int64_t value = difference(&calls[i]);

        if (value != INT64_MIN)
            values[count++] = value;
    }
    if (count == 0)
        return;
    qsort(values, count, sizeof(*values), compare);
    printf("\"%s\": {\"count\": %u, \"min\": %" PRId64 ", \"median\": %" PRId64
           ", \"max\": %" PRId64 "}, ",
           name, count, values[0], values[count / 2], values[count - 1]);
}

static int64_t sync_begin_in_call(const struct call *c)
{
    return c->begin && c->sync_begin ? (int64_t)(c->sync_begin - c->begin) : INT64_MIN;
}

static int64_t sync_end_before_call_end(const struct call *c)
{
    return c->begin && c->sync_begin ? (int64_t)(c->end - c->sync_end) : INT64_MIN;
}

static int64_t launch_to_start(const struct call *c)
{
    return c->begin && c->gpu_begin ? (int64_t)(c->gpu_begin - c->begin) : INT64_MIN;
}

static int64_t launch_duration(const struct call *c)
{
    return c->begin && c->gpu_begin ? (int64_t)(c->end - c->begin) : INT64_MIN;
}

/* Prints what FlushAll(0) delivers while a kernel of 300 ms runs, with a short kernel before and
 * after it. */
static void print_flush_while_running(CUmodule module)
{
    CUfunction fact, lengthy;
    CUstream stream;
    unsigned before, during;

    CHECK(cu.ModuleGetFunction(&fact, module, "fact_spin_ns"));
    CHECK(cu.ModuleGetFunction(&lengthy, module, "long_spin_ns"));
    CHECK(cu.StreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    spin_launch(fact, stream, 1, 32, 10000);
    CHECK(cu.StreamSynchronize(stream));
    before = completions();
    spin_launch(lengthy, stream, 1, 32, 300000000);
    printf("\"flush(0) while a kernel runs us\": %.1f, ", flush_us(0));
    during = completions();
    printf("\"flush(0) while a kernel runs: still running after it\": %s, "
           "\"flush(0) while a kernel runs: buffers returned at once\": %u, ",
           cu.StreamQuery(stream) == CUDA_ERROR_NOT_READY ? "true" : "false", during - before);
    CHECK(cu.StreamSynchronize(stream));
    printf("\"flush(0) after it us\": %.1f, ", flush_us(0));
    CHECK(cu.StreamDestroy(stream));
}

static int open_cupti(void)
{
    void *library = dlopen("libcupti.so.13", RTLD_NOW | RTLD_LOCAL);
    const char *missing = NULL;

    if (!library)
        library = dlopen("libcupti.so", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        printf("{\"error\": \"no libcupti.so.13\"}\n");
        return -1;
    }
#define CUPTI_LOOK_UP(member, function)                                                            \
    cupti.member = (__typeof__(cupti.member))dlsym(library, #function);                            \
    missing = cupti.member ? missing : #function;
    CUPTI_FUNCTIONS(CUPTI_LOOK_UP)
    if (missing) {
        printf("{\"error\": \"libcupti has no %s\"}\n", missing);
        return -1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    int only_cuda_event = 0, late = 0;
    uint32_t version = 0;
    CUmodule module;

    for (int i = 1; i < argc; i++) {
        only_cuda_event |= strcmp(argv[i], "--only-cuda-event") == 0;
        late |= strcmp(argv[i], "--late") == 0;
    }
    collected.main_thread = syscall(SYS_gettid);
    if (open_cupti())
        return 1;
    cupti.GetVersion(&version);
    /* The structs of the headers must fit the loaded CUPTI, so the versions must be equal. */
    if (version != CUPTI_API_VERSION) {
        printf("{\"error\": \"built with CUPTI %d headers, running on %u\"}\n", CUPTI_API_VERSION,
               version);
        return 1;
    }
    printf("{\"version\": %u, ", version);
    print_attributes();
    cupti.ActivityRegisterCallbacks(on_request, on_complete);
    if (!late)
        enable_kinds(only_cuda_event);
    cuda_open();
    cuda_use_device(0);
    if (late)
        enable_kinds(only_cuda_event);
    print_clock();
    CHECK(cu.ModuleLoadData(&module, ptx));
    run_workload(module);
    printf("\"flush(0) after the workload us\": %.1f, ", flush_us(0));
    print_flush_while_running(module);
    printf("\"flush(forced) us\": %.1f, ", flush_us(1));
    see_all();

    printf("\"buffer requests\": %u, \"buffer requests on the application's thread\": %u, ",
           collected.requests, collected.requests_on_main);
    printf("\"completions\": %u, \"completions on the application's thread\": %u, ",
           collected.completions, collected.completions_on_main);
    printf("\"kernels\": %u, \"expected kernels\": %u, \"kernels without end\": %u, ", seen.kernels,
           ROUNDS * 2 + ROUNDS * GRAPH_NODES + 2, seen.without_end);
    printf("\"graph nodes\": %u, \"graph nodes without node id\": %u, "
           "\"graph nodes on another stream than the first\": %u, ",
           seen.nodes, seen.nodes_without_id, seen.nodes_on_other_streams);
    printf("\"driver calls\": %u, \"syncs\": %u, \"event syncs that name a stream\": %u, "
           "\"event records\": %u, \"overheads\": %u, \"other records\": %u, ",
           seen.calls, seen.syncs, seen.event_sync_with_stream, seen.events, seen.overheads,
           seen.other);
    printf("\"records that start before their predecessor in the buffer\": %u, "
           "\"lowest correlation id\": %u, ",
           seen.backwards, seen.lowest_correlation);
    print_spread("sync record begins after its call ns", sync_begin_in_call);
    print_spread("sync record ends before its call ns", sync_end_before_call_end);
    print_spread("launch call to kernel start ns", launch_to_start);
    print_spread("launch call duration ns", launch_duration);
    printf("\"complete\": true}\n");
    CHECK(cu.ModuleUnload(module));
    return 0;
}
