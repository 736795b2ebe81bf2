/*
 * runtime_api.cu - uses the CUDA runtime API, compiled by nvcc.
 *
 * The other samples use the driver API so that they build on any machine; most programs use the
 * runtime API. This sample needs nvcc and uses the shared runtime (--cudart shared), so that the
 * process loads a libcudart.so. A namespace and a template give the kernels mangled names. The
 * sample has one thread.
 */
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define CHECK(call) check((call), #call, __LINE__)

static void check(cudaError_t result, const char *call, int line)
{
    if (result == cudaSuccess)
        return;
    std::fprintf(stderr, "%s:%d: %s failed: %s\n", __FILE__, line, call,
                 cudaGetErrorString(result));
    std::exit(1);
}

__device__ void spin(unsigned long long duration_ns)
{
    unsigned long long begin, now;

    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
    do {
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    } while (now - begin < duration_ns);
}

namespace layers
{
template <typename Scalar, int Tile> __global__ void linear_spin_ns(unsigned long long duration_ns)
{
    spin(duration_ns);
}
} // namespace layers

__global__ void reduce_spin_ns(unsigned long long duration_ns)
{
    spin(duration_ns);
}

int main()
{
    constexpr size_t bytes = 1u << 20;
    constexpr int rounds = 5;
    cudaStream_t compute, side;
    cudaEvent_t ready;
    void *memory;
    unsigned char *pinned;

    CHECK(cudaSetDevice(0));
    CHECK(cudaStreamCreate(&compute));
    CHECK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
    CHECK(cudaMalloc(&memory, bytes));
    CHECK(cudaMallocHost((void **)&pinned, bytes));

    for (int round = 0; round < rounds; round++) {
        CHECK(cudaMemsetAsync(memory, round + 1, bytes, compute));
        layers::linear_spin_ns<float, 128><<<32, 128, 0, compute>>>(1000000);
        layers::linear_spin_ns<double, 64><<<16, 64, 1024, compute>>>(500000);
        CHECK(cudaGetLastError());
        CHECK(cudaEventRecord(ready, compute));
        CHECK(cudaStreamWaitEvent(side, ready, 0));
        reduce_spin_ns<<<8, 256, 0, side>>>(500000);
        CHECK(cudaMemcpyAsync(pinned, memory, bytes, cudaMemcpyDeviceToHost, side));
        CHECK(cudaStreamSynchronize(side));
    }
    reduce_spin_ns<<<8, 256>>>(500000); /* the legacy default stream */
    CHECK(cudaDeviceSynchronize());
    std::printf("runtime_api: %d rounds, read back %d\n", rounds, pinned[bytes - 1]);

    CHECK(cudaFreeHost(pinned));
    CHECK(cudaFree(memory));
    CHECK(cudaEventDestroy(ready));
    CHECK(cudaStreamDestroy(side));
    CHECK(cudaStreamDestroy(compute));
    return 0;
}
