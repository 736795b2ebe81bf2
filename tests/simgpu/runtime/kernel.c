/*
 * kernel.c - the kernels that nvcc's host code registers, and every way to launch them.
 *
 * __cudaRegisterFunction() maps the address of a host stub to a kernel. A framework registers tens
 * of thousands of kernels from constructors, so the map is a hash table whose size doubles when it
 * is full. Launches read a complete table without the lock, because entries are never removed.
 */
#include <cupti_driver_cbid.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <vector_types.h>

#include "core/fork.h"
#include "core/memory.h"
#include "runtime/call.h"

struct stub {
    const void *host;
    const char *name;
    _Atomic(struct sim_kernel *) kernel; /* the kernel is created at its first use */
};

struct stub_table {
    size_t slots, used;
    struct stub *stub[];
};

SIM_MUTEX(lock);
static _Atomic(struct stub_table *) table; /* old tables are kept, because a reader may still use
                                            * them */

static size_t slot_of(const struct stub_table *t, const void *host)
{
    size_t i = ((uintptr_t)host >> 4) * 0x9e3779b97f4a7c15u;

    for (i = (i >> 20) & (t->slots - 1); t->stub[i] && t->stub[i]->host != host;
         i = (i + 1) & (t->slots - 1)) {
    }
    return i;
}

static struct stub_table *grown(struct stub_table *old)
{
    size_t slots = old ? old->slots * 2 : 1024;
    struct stub_table *t = calloc(1, sizeof *t + slots * sizeof *t->stub);

    if (!t) {
        abort(); /* memory is exhausted, so the test fails in any case */
    }
    t->slots = slots;
    for (size_t i = 0; old && i < old->slots; i++) {
        if (old->stub[i]) {
            t->stub[slot_of(t, old->stub[i]->host)] = old->stub[i];
            t->used++;
        }
    }
    return t;
}

static void register_stub(const void *host, const char *name)
{
    struct stub *stub = calloc(1, sizeof *stub);

    if (!stub) {
        abort();
    }
    stub->host = host;
    stub->name = sim_intern(name, strlen(name));
    pthread_mutex_lock(&lock);
    struct stub_table *t = atomic_load_explicit(&table, memory_order_relaxed);

    /* The table is copied when it grows. Otherwise a slot only changes from NULL to its stub. */
    if (!t || t->used * 2 >= t->slots) {
        t = grown(t);
        atomic_store_explicit(&table, t, memory_order_release);
    }
    t->stub[slot_of(t, host)] = stub;
    t->used++;
    pthread_mutex_unlock(&lock);
}

/* Host stubs are registered when their library is loaded, long before they are called. A
 * cudaKernel_t is already a sim_kernel and is returned unchanged. */
static struct sim_kernel *find_kernel(const void *host)
{
    const struct stub_table *t = atomic_load_explicit(&table, memory_order_acquire);
    struct stub *stub = t ? t->stub[slot_of(t, host)] : NULL;

    if (!stub) {
        return sim_kernel_valid(host) ? (struct sim_kernel *)(uintptr_t)host : NULL;
    }
    struct sim_kernel *kernel = atomic_load_explicit(&stub->kernel, memory_order_acquire);

    if (!kernel) {
        pthread_mutex_lock(&lock);
        kernel = atomic_load_explicit(&stub->kernel, memory_order_relaxed);
        if (!kernel) {
            kernel = sim_kernel_new(stub->name, strlen(stub->name));
            atomic_store_explicit(&stub->kernel, kernel, memory_order_release);
        }
        pthread_mutex_unlock(&lock);
    }
    return kernel;
}

int sim_runtime_kernel(const void *host, struct sim_kernel **out)
{
    *out = find_kernel(host);
    return *out ? SIM_OK : cudaErrorInvalidDeviceFunction;
}

/* ---- registration ---- */

PLAIN(void **, __cudaRegisterFatBinary, (void *binary))
{
    void **handle = malloc(sizeof *handle);

    if (handle) {
        *handle = binary;
    }
    return handle;
}

PLAIN(void, __cudaRegisterFatBinaryEnd, (void **handle))
{
}

PLAIN(void, __cudaUnregisterFatBinary, (void **handle))
{
    free(handle);
}

PLAIN(void, __cudaRegisterFunction,
      (void **handle, const char *host, char *device, const char *name, int thread_limit, void *tid,
       void *bid, void *block, void *grid, int *warp_size))
{
    (void)handle, (void)device, (void)thread_limit, (void)tid, (void)bid, (void)block, (void)grid;
    register_stub(host, name);
}

PLAIN(void, __cudaRegisterVar,
      (void **handle, char *host, char *device, const char *name, int external, size_t size,
       int constant, int global))
{
    (void)handle, (void)device, (void)name, (void)external, (void)constant, (void)global;
    /* The variable's host shadow is also its device memory, because host and device share one
     * memory. */
    (void)sim_memory_declare(host, size, SIM_DEVICE);
}

PLAIN(void, __cudaRegisterManagedVar,
      (void **handle, void **host, char *device, const char *name, int external, size_t size,
       int constant, int global))
{
    (void)handle, (void)device, (void)name, (void)external, (void)constant, (void)global;
    *host = calloc(1, size);
    if (*host) {
        (void)sim_memory_declare(*host, size, SIM_MANAGED);
    }
}

PLAIN(char, __cudaInitModule, (void **handle))
{
    return 1;
}

struct configuration {
    dim3 grid, block;
    size_t shared;
    void *stream;
};

/* <<<...>>> stores its configuration here for the stub, which the compiler calls next. */
static __thread struct configuration pushed[8];
static __thread unsigned depth;

PLAIN(unsigned, __cudaPushCallConfiguration, (dim3 grid, dim3 block, size_t shared, void *stream))
{
    if (depth == sizeof pushed / sizeof *pushed) {
        return SIM_E_VALUE;
    }
    pushed[depth++] = (struct configuration){grid, block, shared, stream};
    return SIM_OK;
}

PLAIN(int, __cudaPopCallConfiguration, (dim3 * grid, dim3 *block, size_t *shared, void **stream))
{
    if (depth == 0) {
        return SIM_E_VALUE;
    }
    const struct configuration *top = &pushed[--depth];

    *grid = top->grid;
    *block = top->block;
    *shared = top->shared;
    *stream = top->stream;
    return SIM_OK;
}

/* ---- launches ---- */

static int launch(const void *host, const struct configuration *how, const uint32_t *cluster,
                  void **params)
{
    struct sim_work work = {.kind = SIM_WORK_KERNEL};
    struct sim_context *current;
    struct sim_stream *stream;
    struct sim_kernel *kernel = find_kernel(host);

    if (!kernel) {
        return cudaErrorInvalidDeviceFunction;
    }
    work.launch.kernel = kernel;
    work.launch.grid[0] = how->grid.x;
    work.launch.grid[1] = how->grid.y;
    work.launch.grid[2] = how->grid.z;
    work.launch.block[0] = how->block.x;
    work.launch.block[1] = how->block.y;
    work.launch.block[2] = how->block.z;
    work.launch.dynamic_shared = (uint32_t)how->shared;
    if (cluster) {
        memcpy(work.launch.cluster, cluster, sizeof work.launch.cluster);
    }
    int error = sim_kernel_plan(&work, params, NULL);

    if (!error) {
        error = sim_stream_resolve(how->stream, &stream);
    }
    if (!error) {
        error = sim_context_current(&current);
    }
    if (!error && stream->context->device != current->device) {
        error = SIM_E_HANDLE;
    }
    return error ? error : sim_submit(stream, &work, NULL);
}

static pthread_once_t nested_once = PTHREAD_ONCE_INIT;
static bool nested;

static void read_nested(void)
{
    nested = sim_option("NESTED_DRIVER") != NULL;
}

/* With --nested-driver the runtime's launch call makes a driver launch call, as some launches of
 * newer runtimes do. The CUPTI records of both calls have the same correlation id. */
static int launch_nested(const void *host, const struct configuration *how, const uint32_t *cluster,
                         void **params)
{
    struct sim_call inner;
    uint32_t cbid =
        cluster ? CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx : CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel;

    pthread_once(&nested_once, read_nested);
    if (!nested) {
        return launch(host, how, cluster, params);
    }
    int error =
        sim_call_enter_nested(&inner, cbid, cluster ? "cuLaunchKernelEx" : "cuLaunchKernel");

    if (!error) {
        error = launch(host, how, cluster, params);
    }
    return sim_call_exit(&inner, error);
}

static int launch_plain(const void *host, dim3 grid, dim3 block, void **params, size_t shared,
                        void *stream)
{
    struct configuration how = {grid, block, shared, stream};

    return launch_nested(host, &how, NULL, params);
}

static int launch_config(const cudaLaunchConfig_t *config, const void *host, void **params)
{
    uint32_t cluster[3] = {0};

    if (!config) {
        return SIM_E_VALUE;
    }
    struct configuration how = {config->gridDim, config->blockDim, config->dynamicSmemBytes,
                                config->stream};

    for (unsigned i = 0; i < config->numAttrs; i++) {
        if (config->attrs[i].id == cudaLaunchAttributeClusterDimension) {
            cluster[0] = config->attrs[i].val.clusterDim.x;
            cluster[1] = config->attrs[i].val.clusterDim.y;
            cluster[2] = config->attrs[i].val.clusterDim.z;
        }
    }
    return launch_nested(host, &how, cluster, params);
}

RUNTIME_STREAM(cudaLaunchKernel, v7000, ptsz, v7000,
               (const void *host, dim3 grid, dim3 block, void **params, size_t shared,
                void *stream),
               launch_plain(host, grid, block, params, shared, stream))
RUNTIME_STREAM(cudaLaunchCooperativeKernel, v9000, ptsz, v9000,
               (const void *host, dim3 grid, dim3 block, void **params, size_t shared,
                void *stream),
               launch_plain(host, grid, block, params, shared, stream))
RUNTIME_STREAM(cudaLaunchKernelExC, v11060, ptsz, v11060,
               (const cudaLaunchConfig_t *config, const void *host, void **params),
               launch_config(config, host, params))

/* Code from nvcc 13 calls this function instead of cudaLaunchKernel. CUPTI reports the call as
 * cudaLaunchKernel. */
#define LAUNCH_OF_NVCC_13(symbol, as, version, per_thread)                                         \
    ENTRY(symbol, CUPTI_RUNTIME_TRACE_CBID_##as##_##version, #as, per_thread,                      \
          (void *kernel, dim3 grid, dim3 block, void **params, size_t shared, void *stream),       \
          launch_plain(kernel, grid, block, params, shared, stream))
LAUNCH_OF_NVCC_13(__cudaLaunchKernel, cudaLaunchKernel, v7000, false)
LAUNCH_OF_NVCC_13(__cudaLaunchKernel_ptsz, cudaLaunchKernel_ptsz, v7000, true)

/* ---- queries about kernels ---- */

static int get_kernel(void **out, const void *host)
{
    struct sim_kernel *kernel = find_kernel(host);

    if (!out || !kernel) {
        return out ? cudaErrorInvalidDeviceFunction : SIM_E_VALUE;
    }
    *out = kernel;
    return SIM_OK;
}

PLAIN(int, __cudaGetKernel, (void **out, const void *host))
{
    return get_kernel(out, host);
}

static int attributes(struct cudaFuncAttributes *out, const void *host)
{
    const struct sim_kernel *kernel = find_kernel(host);

    if (!out || !kernel) {
        return out ? cudaErrorInvalidDeviceFunction : SIM_E_VALUE;
    }
    const struct sim_device_info *info = sim_device_info(0);

    *out = (struct cudaFuncAttributes){
        .sharedSizeBytes = kernel->static_shared,
        .localSizeBytes = kernel->local,
        .maxThreadsPerBlock = (int)info->max_threads_per_block,
        .numRegs = (int)kernel->registers,
        .ptxVersion = (int)(info->major * 10 + info->minor),
        .binaryVersion = (int)(info->major * 10 + info->minor),
        .maxDynamicSharedSizeBytes = (int)info->max_shared_per_block,
    };
    return SIM_OK;
}

static int name_of(const char **out, const void *host)
{
    const struct sim_kernel *kernel = find_kernel(host);

    if (!out || !kernel) {
        return out ? cudaErrorInvalidDeviceFunction : SIM_E_VALUE;
    }
    *out = kernel->name;
    return SIM_OK;
}

static int occupancy(int *blocks, const void *host, int block, size_t shared)
{
    const struct sim_kernel *kernel = find_kernel(host);

    if (!blocks || !kernel) {
        return blocks ? cudaErrorInvalidDeviceFunction : SIM_E_VALUE;
    }
    *blocks = sim_kernel_occupancy(kernel, block, shared);
    return SIM_OK;
}

static int known(const void *host)
{
    return find_kernel(host) ? SIM_OK : cudaErrorInvalidDeviceFunction;
}

RUNTIME(cudaGetKernel, v12000, (void **out, const void *host), get_kernel(out, host))
RUNTIME(cudaGetFuncBySymbol, v11000, (void **out, const void *host), get_kernel(out, host))
RUNTIME(cudaFuncGetName, v12030, (const char **out, const void *host), name_of(out, host))
RUNTIME(cudaFuncGetAttributes, v3020, (struct cudaFuncAttributes * out, const void *host),
        attributes(out, host))
RUNTIME(cudaFuncSetAttribute, v9000, (const void *host, int attribute, int value), known(host))
RUNTIME(cudaFuncSetCacheConfig, v3020, (const void *host, int config), known(host))
RUNTIME(cudaOccupancyMaxActiveBlocksPerMultiprocessor, v6050,
        (int *blocks, const void *host, int block, size_t shared),
        occupancy(blocks, host, block, shared))
RUNTIME(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, v7000,
        (int *blocks, const void *host, int block, size_t shared, unsigned flags),
        occupancy(blocks, host, block, shared))
