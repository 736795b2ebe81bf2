/*
 * runtime_test.c - tests what the runtime does beyond the driver: it creates the primary context at
 * first use, stores the last error, and launches kernels that nvcc's host code has registered. Run
 * with --nested-driver and --devices 2.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <cuda_runtime_api.h>

#include "core/probe.h"

#define OK(call) assert_int_equal((call), cudaSuccess)

/* Functions that nvcc's host code calls. */
void **__cudaRegisterFatBinary(void *binary);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                            int thread_limit, void *tid, void *bid, void *block, void *grid,
                            int *warp_size);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void *stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);

static char stub;

static void a_registered_kernel_runs(void **state)
{
    static char binary[16];
    unsigned long long ns = 20000000;
    void *params[] = {&ns}, *stream;
    dim3 grid = {1, 1, 1}, block = {32, 1, 1};
    size_t shared;
    uint64_t begin = sim_now_ns();

    void **binary_handle = __cudaRegisterFatBinary(binary);
    __cudaRegisterFunction(binary_handle, &stub, &stub, "_Z7spin_nsy", -1, NULL, NULL, NULL, NULL,
                           NULL);
    assert_int_equal(__cudaPushCallConfiguration(grid, block, 0, NULL), 0);
    OK(__cudaPopCallConfiguration(&grid, &block, &shared, &stream));
    OK(cudaLaunchKernel(&stub, grid, block, params, shared, stream));
    OK(cudaDeviceSynchronize());
    assert_true(sim_now_ns() - begin >= 20000000);
    assert_int_equal(cudaLaunchKernel(&begin, grid, block, params, 0, NULL),
                     cudaErrorInvalidDeviceFunction);
    assert_int_equal(cudaPeekAtLastError(), cudaErrorInvalidDeviceFunction);
    assert_int_equal(cudaGetLastError(), cudaErrorInvalidDeviceFunction);
    OK(cudaGetLastError());
    __cudaUnregisterFatBinary(binary_handle);
}

static int calls[2];

static void count_call(enum sim_domain domain, uint32_t cbid, uint32_t correlation, uint64_t ns)
{
    static uint32_t outer;

    if (domain == SIM_RUNTIME) {
        outer = correlation;
    } else {
        assert_int_equal(correlation, outer);
    }
    calls[domain]++;
}

static void count_nothing(enum sim_domain domain, uint32_t cbid, uint32_t correlation,
                          uint64_t start_ns, uint64_t end_ns, int result)
{
}

static void a_launch_shows_a_driver_call(void **state)
{
    static const struct sim_probe probe = {.api_enter = count_call, .api_exit = count_nothing};
    unsigned long long ns = 1;
    void *params[] = {&ns};
    dim3 one = {1, 1, 1};

    sim_probe_set(&probe);
    OK(cudaLaunchKernel(&stub, one, one, params, 0, NULL));
    sim_probe_set(NULL);
    assert_int_equal(calls[SIM_RUNTIME], 1);
    assert_int_equal(calls[SIM_DRIVER], 1);
}

static void devices_describe_themselves(void **state)
{
    struct cudaDeviceProp prop;
    int major, version, count;

    OK(cudaGetDeviceCount(&count));
    assert_int_equal(count, 2);
    OK(cudaGetDeviceProperties(&prop, 0));
    OK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    assert_int_equal(prop.major, major);
    assert_int_equal(prop.multiProcessorCount, 132);
    assert_int_equal(cudaSetDevice(2), cudaErrorInvalidDevice);
    OK(cudaRuntimeGetVersion(&version));
    assert_int_equal(version / 1000, 13);
    cudaGetLastError();
}

static void a_launch_that_cannot_be_says_why(void **state)
{
    dim3 one = {1, 1, 1}, flat = {1, 65536, 1};
    cudaStream_t other;

    assert_int_equal(cudaLaunchKernel(&stub, flat, one, NULL, 0, NULL),
                     cudaErrorInvalidConfiguration);
    assert_int_equal(cudaLaunchKernel(&stub, one, one, NULL, 1 << 20, NULL), cudaErrorInvalidValue);
    OK(cudaSetDevice(1));
    OK(cudaStreamCreate(&other));
    OK(cudaSetDevice(0));
    assert_int_equal(cudaLaunchKernel(&stub, one, one, NULL, 0, other),
                     cudaErrorInvalidResourceHandle);
    OK(cudaStreamDestroy(other));
    cudaGetLastError();
}

static void memory_and_graphs_work_through_the_runtime(void **state)
{
    int out[4] = {1, 2, 3, 4}, in[4] = {0}, *device;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;

    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaMalloc((void **)&device, sizeof out));
    OK(cudaMemcpy(device, out, sizeof out, cudaMemcpyHostToDevice));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    OK(cudaMemsetAsync(device, 0xff, 4, stream));
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaMemcpyAsync(in, device, sizeof in, cudaMemcpyDeviceToHost, stream));
    assert_int_equal(in[0], -1);
    assert_int_equal(in[3], 4);
    assert_int_equal(cudaMemcpy(in, out, 4, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
    assert_int_equal(cudaMemcpy(in, out, 4, (enum cudaMemcpyKind)7),
                     cudaErrorInvalidMemcpyDirection);
    assert_int_equal(cudaMemcpy2D(in, 4, device, 8, 8, 1, cudaMemcpyDeviceToHost),
                     cudaErrorInvalidPitchValue);
    assert_string_equal(cudaGetErrorName(cudaErrorInvalidMemcpyDirection),
                        "cudaErrorInvalidMemcpyDirection");
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaFree(device));
    OK(cudaStreamDestroy(stream));
    OK(cudaDeviceReset());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_registered_kernel_runs),
        cmocka_unit_test(a_launch_shows_a_driver_call),
        cmocka_unit_test(devices_describe_themselves),
        cmocka_unit_test(a_launch_that_cannot_be_says_why),
        cmocka_unit_test(memory_and_graphs_work_through_the_runtime),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
