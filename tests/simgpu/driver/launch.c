/*
 * launch.c - libcuda: kernel launches and host callbacks.
 *
 * Application threads.
 */
#include "driver/api.h"

static int launch(CUfunction function, const uint32_t *grid, const uint32_t *block,
                  const uint32_t *cluster, uint32_t shared, CUstream handle, void **params,
                  void **extra)
{
    struct sim_work work = {
        .kind = SIM_WORK_KERNEL,
        .launch = {.kernel = (struct sim_kernel *)function, .dynamic_shared = shared}};
    struct sim_stream *stream;

    for (int i = 0; i < 3; i++) {
        work.launch.grid[i] = grid[i];
        work.launch.block[i] = block[i];
        work.launch.cluster[i] = cluster ? cluster[i] : 0;
    }
    CHECK(sim_stream_resolve(handle, &stream));
    int error = sim_kernel_plan(&work, params, extra);

    CHECK(error == SIM_E_CONFIGURATION ? SIM_E_VALUE : error);
    return sim_submit(stream, &work, NULL);
}

DRIVER_API_STREAM(cuLaunchKernel, cuLaunchKernel_ptsz,
                  (CUfunction function, unsigned int gx, unsigned int gy, unsigned int gz,
                   unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared,
                   CUstream stream, void **params, void **extra),
                  (function, gx, gy, gz, bx, by, bz, shared, stream, params, extra))
{
    return launch(function, (uint32_t[]){gx, gy, gz}, (uint32_t[]){bx, by, bz}, NULL, shared,
                  stream, params, extra);
}

DRIVER_API_STREAM(cuLaunchCooperativeKernel, cuLaunchCooperativeKernel_ptsz,
                  (CUfunction function, unsigned int gx, unsigned int gy, unsigned int gz,
                   unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared,
                   CUstream stream, void **params),
                  (function, gx, gy, gz, bx, by, bz, shared, stream, params))
{
    return launch(function, (uint32_t[]){gx, gy, gz}, (uint32_t[]){bx, by, bz}, NULL, shared,
                  stream, params, NULL);
}

DRIVER_API_STREAM(cuLaunchKernelEx, cuLaunchKernelEx_ptsz,
                  (const CUlaunchConfig *config, CUfunction function, void **params, void **extra),
                  (config, function, params, extra))
{
    uint32_t cluster[3] = {0};

    REQUIRE(config, SIM_E_VALUE);
    for (unsigned i = 0; i < config->numAttrs; i++) {
        if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
            cluster[0] = config->attrs[i].value.clusterDim.x;
            cluster[1] = config->attrs[i].value.clusterDim.y;
            cluster[2] = config->attrs[i].value.clusterDim.z;
        }
    }
    return launch(function, (uint32_t[]){config->gridDimX, config->gridDimY, config->gridDimZ},
                  (uint32_t[]){config->blockDimX, config->blockDimY, config->blockDimZ}, cluster,
                  config->sharedMemBytes, config->hStream, params, extra);
}

DRIVER_API_STREAM(cuLaunchHostFunc, cuLaunchHostFunc_ptsz,
                  (CUstream handle, CUhostFn function, void *data), (handle, function, data))
{
    struct sim_work work = {.kind = SIM_WORK_HOST, .host = {.call = function, .data = data}};
    struct sim_stream *stream;

    REQUIRE(function, SIM_E_VALUE);
    CHECK(sim_stream_resolve(handle, &stream));
    return sim_host_callback(stream, &work);
}

DRIVER_API_STREAM(cuStreamAddCallback, cuStreamAddCallback_ptsz,
                  (CUstream handle, CUstreamCallback function, void *data, unsigned int flags),
                  (handle, function, data, flags))
{
    struct sim_work work = {.kind = SIM_WORK_HOST, .host = {.data = data}};
    struct sim_stream *stream;

    REQUIRE(function && flags == 0, SIM_E_VALUE);
    CHECK(sim_stream_resolve(handle, &stream));
    /* `function` expects (CUstream, CUresult, void *). These types have the same representation as
     * the types of `call_stream`. */
    work.host.call_stream = (void (*)(struct sim_stream *, int, void *))(void *)function;
    return sim_host_callback(stream, &work);
}
