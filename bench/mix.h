/*
 * mix.h - makes the CUPTI 13.0 records of a training job. Every benchmark of the record path uses
 * these records.
 *
 * One step is about 1400 records. A step has 640 kernel launches (600 single, one graph of 40
 * nodes) with 200 distinct mangled names that demangle to 200-300 bytes. A step also has
 * host-to-device copies, memsets, event queries, and event records and stream waits between a
 * compute and a communication stream. A step ends with a read-back of the loss and a stream
 * synchronize. One thread makes the forward calls; another thread makes the backward calls. A GPU
 * operation starts some time after its call, as on a real GPU. Correlation ids grow by 1 or 2 per
 * call, because calls that are not recorded use up ids, too.
 *
 *   struct mix m;
 *   mix_init(&m, 1700000000000000000u);
 *    size_t valid = mix_fill(&m, buffer, size, &records); only complete records
 *   mix_free(&m);
 *
 * The record layouts are defined here, so that the mix does not depend on the machine's CUDA
 * headers. decode_bench checks them against the generated table. Every run gives the same records.
 * Threads: each `struct mix` is used by one thread. Memory: mix_init() allocates the names, which
 * must outlive the buffers that point to them.
 */
#ifndef BENCH_MIX_H
#define BENCH_MIX_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIX_CUPTI_VERSION 130001u
#define MIX_NAMES         200u
#define MIX_NAME_BYTES    320u
#define MIX_STEP_KERNELS  600u
#define MIX_GRAPH_NODES   40u
#define MIX_GPU_LAG       48u  /* number of later calls after which a GPU record is written */
#define MIX_QUEUE         128u /* power of two, above MIX_GPU_LAG + MIX_GRAPH_NODES */

enum {
    MIX_PID = 4242,
    MIX_FORWARD_THREAD = 4242,
    MIX_BACKWARD_THREAD = 4311,
    MIX_CONTEXT = 1,
    MIX_STREAM_COMPUTE = 7,
    MIX_STREAM_COMM = 28,
    MIX_STREAM_COPY = 32,
};

struct mix_api { /* CUpti_ActivityAPI: RUNTIME (5), DRIVER (4) */
    uint32_t kind, cbid;
    uint64_t start, end;
    uint32_t pid, thread, correlation, result;
};

struct mix_kernel { /* CUpti_ActivityKernel10: CONCURRENT_KERNEL (10) */
    uint32_t kind;
    uint8_t cache_config, shared_config;
    uint16_t registers;
    uint32_t cache_requested, cache_executed;
    uint64_t start, end, completed;
    uint32_t device, context, stream;
    int32_t grid[3], block[3], static_shared, dynamic_shared;
    uint32_t local_per_thread, local_total, correlation;
    int64_t grid_id;
    const char *name;
    void *reserved0;
    uint64_t queued, submitted;
    uint8_t launch_type, carveout_is_requested, carveout_requested, pad;
    uint32_t shared_executed;
    uint64_t graph_node;
    uint32_t shmem_limit, graph;
    void *access_policy;
    uint32_t channel, channel_type, cluster[3], cluster_policy;
    uint64_t local_total_v2;
    uint32_t max_potential_cluster, max_active_clusters;
    uint8_t is_device_launched, pad3[7];
};

struct mix_memcpy { /* CUpti_ActivityMemcpy6: MEMCPY (1) */
    uint32_t kind;
    uint8_t copy_kind, src_kind, dst_kind, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, correlation, runtime_correlation, pad;
    void *reserved0;
    uint64_t graph_node;
    uint32_t graph, channel, channel_type;
    uint8_t is_device_launched, pad2[3];
    uint64_t copy_count;
};

struct mix_memset { /* CUpti_ActivityMemset4: MEMSET (2) */
    uint32_t kind, value;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, correlation;
    uint16_t flags, memory_kind;
    uint32_t pad;
    void *reserved0;
    uint64_t graph_node;
    uint32_t graph, channel, channel_type;
    uint8_t is_device_launched, pad2[3];
};

struct mix_sync { /* CUpti_ActivitySynchronization2: SYNCHRONIZATION (38) */
    uint32_t kind, type;
    uint64_t start, end;
    uint32_t correlation, context, stream, event;
    uint64_t event_sync;
    uint32_t result, pad;
};

struct mix_cuda_event { /* CUpti_ActivityCudaEvent2: CUDA_EVENT (36) */
    uint32_t kind, correlation, context, stream, event, pad, device, pad2;
    void *reserved0;
    uint64_t device_ns, event_sync;
};

struct mix_overhead { /* CUpti_ActivityOverhead3: OVERHEAD (17) */
    uint32_t kind, overhead_kind, object_kind, object_id[3];
    uint64_t start, end;
    uint32_t correlation, reserved0;
    void *data;
};

_Static_assert(sizeof(struct mix_api) == 40, "CUPTI 13.0 layout");
_Static_assert(sizeof(struct mix_kernel) == 216, "CUPTI 13.0 layout");
_Static_assert(sizeof(struct mix_memcpy) == 96, "CUPTI 13.0 layout");
_Static_assert(sizeof(struct mix_memset) == 88, "CUPTI 13.0 layout");
_Static_assert(sizeof(struct mix_sync) == 56, "CUPTI 13.0 layout");
_Static_assert(sizeof(struct mix_cuda_event) == 56, "CUPTI 13.0 layout");
_Static_assert(sizeof(struct mix_overhead) == 56, "CUPTI 13.0 layout");

struct mix_record {
    uint32_t size;
    union {
        struct mix_api api;
        struct mix_kernel kernel;
        struct mix_memcpy copy;
        struct mix_memset set;
        struct mix_sync sync;
        struct mix_cuda_event event;
        struct mix_overhead overhead;
    } u;
};

struct mix_queue {
    struct mix_record *record; /* MIX_QUEUE entries */
    uint32_t head, tail;
};

enum {
    MIX_EVENTS = 16
};

struct mix {
    char (*name)[MIX_NAME_BYTES];
    struct mix_queue cpu, gpu;
    uint64_t cpu_ns, gpu_ns[3]; /* current host time, and the time at which each stream becomes
                                   idle, in ns */
    uint64_t event_sync, sync_of[MIX_EVENTS]; /* number of cudaEventRecord calls so far, and the
                                                 number of the latest such call for each event */
    uint32_t correlation, step, at, random;
};

/* A linear congruential generator (from "Numerical Recipes"). It is good enough to vary
 * durations. */
static inline uint32_t mix_random(struct mix *m, uint32_t below)
{
    m->random = m->random * 1664525u + 1013904223u;
    return (uint32_t)(((uint64_t)m->random * below) >> 32);
}

/* A mangled template function: at::native::<family>_kernel<<nested functors>...>, padded with
 * template arguments until its demangled form is 200 to 300 bytes long. */
static inline void mix_make_name(char *out, uint32_t n)
{
    static const char *const family[] = {
        "vectorized_elementwise", "reduce",  "cutlass_tensorop_gemm", "layer_norm_forward",
        "multi_tensor_apply",     "softmax", "flash_fwd_splitkv",     "index_elementwise",
    };
    static const char *const functor[] = {"AddFunctor", "MulScalarFunctor", "GeluBackward",
                                          "CopyCastFunctor", "WelfordOps"};
    char text[64];
    int length, nested = 3 + (int)(n % 2);

    length = snprintf(text, sizeof text, "%s_kernel_%u", family[n % 8], n);
    length =
        snprintf(out, MIX_NAME_BYTES, "_ZN2at6native%d%sIN7cutlass9GemmShapeILi%uELi%uELi32EEE",
                 length, text, 64u << (n % 3), 64u << (n % 2));
    for (int i = 0; i < nested; i++) {
        const char *f = functor[(n + (uint32_t)i) % 5];

        length += snprintf(out + length, MIX_NAME_BYTES - (size_t)length,
                           "N2at6native%zu%sIffLi%uEEE", strlen(f), f, n + (uint32_t)i);
    }
    snprintf(out + length, MIX_NAME_BYTES - (size_t)length, "EEviPKfPff");
}

/* Returns 0 or -ENOMEM. */
static inline int mix_init(struct mix *m, uint64_t start_ns)
{
    memset(m, 0, sizeof *m);
    m->name = calloc(MIX_NAMES, sizeof *m->name);
    m->cpu.record = calloc(MIX_QUEUE, sizeof *m->cpu.record);
    m->gpu.record = calloc(MIX_QUEUE, sizeof *m->gpu.record);
    if (!m->name || !m->cpu.record || !m->gpu.record)
        return -ENOMEM;
    for (uint32_t i = 0; i < MIX_NAMES; i++)
        mix_make_name(m->name[i], i);
    m->cpu_ns = m->gpu_ns[0] = m->gpu_ns[1] = m->gpu_ns[2] = start_ns;
    m->random = 1;
    return 0;
}

static inline void mix_free(struct mix *m)
{
    free(m->name);
    free(m->cpu.record);
    free(m->gpu.record);
}

static inline void *mix_put(struct mix_queue *q, uint32_t size)
{
    struct mix_record *r = &q->record[q->tail++ % MIX_QUEUE];

    memset(r, 0, sizeof *r);
    r->size = size;
    return &r->u;
}

static inline unsigned mix_stream_slot(uint32_t stream)
{
    return stream == MIX_STREAM_COMPUTE ? 0 : stream == MIX_STREAM_COMM ? 1 : 2;
}

/* Adds a call of about `cost_ns` and returns its record. */
static inline struct mix_api *mix_call(struct mix *m, uint32_t kind, uint32_t cbid,
                                       uint32_t cost_ns)
{
    struct mix_api *r = mix_put(&m->cpu, sizeof *r);

    m->correlation += 1 + (mix_random(m, 4) == 0);
    m->cpu_ns += 500 + mix_random(m, 1500);
    r->kind = kind;
    r->cbid = cbid;
    r->start = m->cpu_ns;
    m->cpu_ns += cost_ns + mix_random(m, cost_ns / 2);
    r->end = m->cpu_ns;
    r->pid = MIX_PID;
    r->thread = m->at < MIX_STEP_KERNELS / 2 ? MIX_FORWARD_THREAD : MIX_BACKWARD_THREAD;
    r->correlation = m->correlation;
    return r;
}

/* Keeps the stream busy for about `ns`. Sets *start, and returns the time at which the work
 * ends. */
static inline uint64_t mix_gpu_time(struct mix *m, uint32_t stream, uint32_t ns, uint64_t *start)
{
    uint64_t *free_ns = &m->gpu_ns[mix_stream_slot(stream)];

    if (*free_ns < m->cpu_ns + 4000)
        *free_ns = m->cpu_ns + 4000 + mix_random(m, 3000);
    *start = *free_ns + 800;
    *free_ns = *start + ns + mix_random(m, ns / 8 + 1);
    return *free_ns;
}

/* Adds the kernel that is number `at` in the step. Name, shape and stream are the same in every
 * step. */
static inline void mix_kernel(struct mix *m, uint32_t at, uint32_t graph, uint64_t node)
{
    struct mix_kernel *r = mix_put(&m->gpu, sizeof *r);
    uint32_t h = at * 2654435761u;

    r->kind = 10;
    r->registers = (uint16_t)(32 + (h >> 8) % 200);
    r->context = MIX_CONTEXT;
    r->stream = !graph && at % 20 == 19 ? MIX_STREAM_COMM : MIX_STREAM_COMPUTE;
    r->grid[0] = (int32_t)(1 + (h >> 4) % 8192);
    r->grid[1] = (int32_t)(1 + (h >> 20) % 4);
    r->grid[2] = 1;
    r->block[0] = (int32_t)(64u << ((h >> 12) % 4));
    r->block[1] = r->block[2] = 1;
    r->static_shared = (int32_t)((h >> 16) % 3 * 8192);
    r->dynamic_shared = (int32_t)((h >> 18) % 2 * 49152);
    r->correlation = m->correlation;
    r->grid_id = (int64_t)m->step * 1000 + at;
    r->name = m->name[(h >> 10) % MIX_NAMES];
    r->graph = graph;
    r->graph_node = node;
    r->channel = 5;
    r->channel_type = 1;
    r->end = mix_gpu_time(m, r->stream, 2000 + (h >> 14) % 40000, &r->start);
    r->completed = r->end;
}

static inline void mix_copy(struct mix *m, uint32_t stream, uint32_t copy_kind, uint32_t src,
                            uint32_t dst, uint64_t bytes)
{
    struct mix_memcpy *r = mix_put(&m->gpu, sizeof *r);

    r->kind = 1;
    r->copy_kind = (uint8_t)copy_kind;
    r->src_kind = (uint8_t)src;
    r->dst_kind = (uint8_t)dst;
    r->flags = 1; /* asynchronous */
    r->bytes = bytes;
    r->context = MIX_CONTEXT;
    r->stream = stream;
    r->correlation = m->correlation;
    r->channel = 9;
    r->channel_type = 2;
    r->copy_count = 1;
    r->end = mix_gpu_time(m, stream, (uint32_t)(1500 + bytes / 25), &r->start);
}

static inline void mix_fill_zero(struct mix *m, uint64_t bytes)
{
    struct mix_memset *r = mix_put(&m->gpu, sizeof *r);

    r->kind = 2;
    r->bytes = bytes;
    r->context = MIX_CONTEXT;
    r->stream = MIX_STREAM_COMPUTE;
    r->correlation = m->correlation;
    r->memory_kind = 3;
    r->channel = 5;
    r->channel_type = 1;
    r->end = mix_gpu_time(m, r->stream, (uint32_t)(1200 + bytes / 1500), &r->start);
}

static inline void mix_synchronized(struct mix *m, const struct mix_api *call, uint32_t type,
                                    uint32_t stream, uint32_t event)
{
    struct mix_sync *r = mix_put(&m->cpu, sizeof *r);

    r->kind = 38;
    r->type = type;
    r->start = call->start + 300;
    r->end = call->end - 200;
    r->correlation = call->correlation;
    r->context = MIX_CONTEXT;
    r->stream = stream;
    r->event = event;
    r->event_sync = event ? m->sync_of[event] : 0;
    if (type == 1 && m->gpu_ns[0] > r->end)
        r->result = 600; /* a query of unfinished work */
}

/* The stream's next work begins after all pending work of `other`. */
static inline void mix_come_behind(struct mix *m, uint32_t stream, uint32_t other)
{
    uint64_t *free_ns = &m->gpu_ns[mix_stream_slot(stream)];
    uint64_t until_ns = m->gpu_ns[mix_stream_slot(other)];

    if (*free_ns < until_ns)
        *free_ns = until_ns;
}

static inline void mix_record_event(struct mix *m, uint32_t stream, uint32_t event)
{
    uint32_t correlation = mix_call(m, 5, 135, 1200)->correlation; /* cudaEventRecord */
    struct mix_cuda_event *r = mix_put(&m->cpu, sizeof *r);

    r->kind = 36;
    r->correlation = correlation;
    r->context = MIX_CONTEXT;
    r->stream = stream;
    r->event = event;
    r->event_sync = m->sync_of[event] = ++m->event_sync;
}

/* The call returns when the compute stream has no pending work. */
static inline void mix_wait(struct mix *m, struct mix_api *call)
{
    if (call->end < m->gpu_ns[0] + 5000)
        call->end = m->cpu_ns = m->gpu_ns[0] + 5000;
}

/* Adds the records of the next call in the step, and of its GPU work, to the queues. */
static inline void mix_step(struct mix *m)
{
    uint32_t at = m->at;
    struct mix_api *call;

    if (at == 0) { /* the step begins with the copy of the next batch */
        for (uint32_t i = 0; i < 2; i++) {
            mix_call(m, 5, 41, 5000); /* cudaMemcpyAsync */
            mix_copy(m, MIX_STREAM_COPY, 1, 2, 3, i ? 32768 : 4u << 20);
        }
        mix_record_event(m, MIX_STREAM_COPY, 3);
        mix_synchronized(m, mix_call(m, 5, 147, 900), 2, MIX_STREAM_COMPUTE, 3);
        mix_come_behind(m, MIX_STREAM_COMPUTE, MIX_STREAM_COPY);
    }
    if (at % 60 == 30) {
        mix_call(m, 5, 51, 4000); /* cudaMemsetAsync */
        mix_fill_zero(m, 1u << 20);
    }
    if (at % 20 == 19) { /* for a collective, one stream waits for the other */
        mix_record_event(m, MIX_STREAM_COMPUTE, 11);
        mix_synchronized(m, mix_call(m, 5, 147, 900), 2, MIX_STREAM_COMM, 11);
        mix_come_behind(m, MIX_STREAM_COMM, MIX_STREAM_COMPUTE);
    }
    if (at % 100 == 50)
        mix_synchronized(m, mix_call(m, 5, 138, 1500), 1, UINT32_MAX, 11); /* cudaEventQuery */
    if (at == MIX_STEP_KERNELS / 2) {
        mix_call(m, 5, 311, 9000); /* cudaGraphLaunch */
        for (uint32_t i = 0; i < MIX_GRAPH_NODES; i++)
            mix_kernel(m, MIX_STEP_KERNELS + i, 2, ((uint64_t)2 << 32) + i);
    }
    if (at % 8 == 7)
        mix_call(m, 4, 652, 4000); /* cuLaunchKernelEx, as Triton does */
    else
        mix_call(m, 5, 211, 4500); /* cudaLaunchKernel */
    mix_kernel(m, at, 0, 0);

    if (++m->at < MIX_STEP_KERNELS)
        return;
    call = mix_call(m, 5, 41, 6000); /* loss.item() copies to pageable memory, so the call waits */
    mix_copy(m, MIX_STREAM_COMPUTE, 2, 3, 1, 4);
    mix_wait(m, call);
    call = mix_call(m, 5, 131, 20000); /* cudaStreamSynchronize */
    mix_wait(m, call);
    mix_synchronized(m, call, 3, MIX_STREAM_COMPUTE, 0);
    if (m->step % 8 == 0) {
        struct mix_overhead *r = mix_put(&m->cpu, sizeof *r);

        r->kind = 17;
        r->overhead_kind = 7u << 16; /* overhead of a request for an activity buffer */
        r->object_kind = 2;          /* thread */
        r->object_id[0] = MIX_PID;
        r->object_id[1] = MIX_FORWARD_THREAD;
        r->start = m->cpu_ns;
        r->end = m->cpu_ns + 3000;
    }
    m->step++;
    m->at = 0;
}

/* Fills `buffer` (8-byte aligned) with as many complete records as fit, continuing where the last
 * call ended. Returns the bytes used. `records` gets the number of records and may be NULL. */
static inline size_t mix_fill(struct mix *m, uint8_t *buffer, size_t size, size_t *records)
{
    size_t used = 0, count = 0;

    for (;;) {
        struct mix_queue *q = &m->cpu;
        const struct mix_record *r;

        if (q->head == q->tail && m->gpu.tail - m->gpu.head > MIX_GPU_LAG)
            q = &m->gpu;
        if (q->head == q->tail) {
            mix_step(m);
            continue;
        }
        r = &q->record[q->head % MIX_QUEUE];
        if (used + r->size > size)
            break;
        memcpy(buffer + used, &r->u, r->size);
        used += r->size;
        count++;
        q->head++;
    }
    if (records)
        *records = count;
    return used;
}

#endif
