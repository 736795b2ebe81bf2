/*
 * runtime_calls.c - a program that uses the CUDA runtime API without nvcc. The program makes the
 * calls that nvcc would generate in host code. The program's fat binary is empty, so it runs only
 * on the simulated GPU, which identifies kernels by name.
 *
 *     runtime_calls 12|13      the major version of libcudart
 *
 * The program launches on two streams and on the default stream, and uses copies, a memset, an
 * event and a graph. Prints the major version. One thread.
 */
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUNDS    5
#define BYTES     65536
#define KERNEL_NS 50000ull

/* Handles are declared as plain pointers, so the headers of one version fit both. */
#define RUNTIME_FUNCTIONS(X)                                                                       \
    X(void **, __cudaRegisterFatBinary, (void *))                                                  \
    X(void, __cudaRegisterFunction,                                                                \
      (void **, const char *, char *, const char *, int, void *, void *, void *, void *, int *))   \
    X(void, __cudaUnregisterFatBinary, (void **))                                                  \
    X(int, cudaRuntimeGetVersion, (int *))                                                         \
    X(int, cudaMalloc, (void **, size_t))                                                          \
    X(int, cudaMallocHost, (void **, size_t))                                                      \
    X(int, cudaStreamCreateWithFlags, (void **, unsigned))                                         \
    X(int, cudaEventCreateWithFlags, (void **, unsigned))                                          \
    X(int, cudaLaunchKernel, (const void *, dim3, dim3, void **, size_t, void *))                  \
    X(int, cudaMemcpyAsync, (void *, const void *, size_t, int, void *))                           \
    X(int, cudaMemcpy, (void *, const void *, size_t, int))                                        \
    X(int, cudaMemsetAsync, (void *, int, size_t, void *))                                         \
    X(int, cudaEventRecord, (void *, void *))                                                      \
    X(int, cudaStreamWaitEvent, (void *, void *, unsigned))                                        \
    X(int, cudaStreamBeginCapture, (void *, int))                                                  \
    X(int, cudaStreamEndCapture, (void *, void **))                                                \
    X(int, cudaGraphInstantiate, (void **, void *, unsigned long long))                            \
    X(int, cudaGraphLaunch, (void *, void *))                                                      \
    X(int, cudaEventSynchronize, (void *))                                                         \
    X(int, cudaStreamSynchronize, (void *))                                                        \
    X(int, cudaDeviceSynchronize, (void))

#define MEMBER(type, name, parameters) type(*name) parameters;
static struct {
    RUNTIME_FUNCTIONS(MEMBER)
} rt;
#undef MEMBER

#define CHECK(call)                                                                                \
    do {                                                                                           \
        int result_ = (call);                                                                      \
        if (result_) {                                                                             \
            fprintf(stderr, "%s: %d\n", #call, result_);                                           \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* Stand-ins for the stub functions of nvcc, by whose addresses host code identifies kernels. */
static const char linear, reduce;

static void open_runtime(const char *major)
{
    char name[32];
    void *library;

    snprintf(name, sizeof(name), "libcudart.so.%s", major);
    library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
#define LOOK_UP(type, name, parameters)                                                            \
    *(void **)&rt.name = dlsym(library, #name);                                                    \
    if (!rt.name)                                                                                  \
        exit(1);
    RUNTIME_FUNCTIONS(LOOK_UP)
#undef LOOK_UP
}

static void launch(const char *kernel, unsigned blocks, void *stream)
{
    unsigned long long duration_ns = KERNEL_NS;
    void *parameters[] = {&duration_ns};
    dim3 grid = {blocks, 1, 1}, block = {128, 1, 1};

    CHECK(rt.cudaLaunchKernel(kernel, grid, block, parameters, 0, stream));
}

int main(int argc, char **argv)
{
    static char binary[16];
    void **handle, *compute, *side, *ready, *device, *pinned, *graph, *exec;
    int version;

    open_runtime(argc > 1 ? argv[1] : "13");
    handle = rt.__cudaRegisterFatBinary(binary);
    rt.__cudaRegisterFunction(handle, &linear, NULL, "_ZN6layers14linear_spin_nsIfLi4EEEvy", -1,
                              NULL, NULL, NULL, NULL, NULL);
    rt.__cudaRegisterFunction(handle, &reduce, NULL, "_Z14reduce_spin_nsy", -1, NULL, NULL, NULL,
                              NULL, NULL);
    CHECK(rt.cudaMalloc(&device, BYTES));
    CHECK(rt.cudaMallocHost(&pinned, BYTES));
    CHECK(rt.cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
    CHECK(rt.cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
    CHECK(rt.cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
    for (int i = 0; i < ROUNDS; i++) {
        CHECK(rt.cudaMemsetAsync(device, i, BYTES, compute));
        launch(&linear, 4, compute);
        launch(&reduce, 2, compute);
        CHECK(rt.cudaEventRecord(ready, compute));
        CHECK(rt.cudaStreamWaitEvent(side, ready, 0));
        CHECK(rt.cudaMemcpyAsync(pinned, device, BYTES, cudaMemcpyDeviceToHost, side));
        CHECK(rt.cudaStreamSynchronize(side));
    }
    CHECK(rt.cudaStreamBeginCapture(compute, cudaStreamCaptureModeThreadLocal));
    launch(&linear, 1, compute);
    launch(&reduce, 1, compute);
    CHECK(rt.cudaStreamEndCapture(compute, &graph));
    CHECK(rt.cudaGraphInstantiate(&exec, graph, 0));
    CHECK(rt.cudaGraphLaunch(exec, compute));
    CHECK(rt.cudaEventRecord(ready, compute));
    CHECK(rt.cudaEventSynchronize(ready));
    launch(&reduce, 1, NULL);
    CHECK(rt.cudaMemcpy(pinned, device, BYTES, cudaMemcpyDeviceToHost));
    CHECK(rt.cudaDeviceSynchronize());
    CHECK(rt.cudaRuntimeGetVersion(&version));
    rt.__cudaUnregisterFatBinary(handle);
    printf("runtime %d\n", version / 1000);
    return 0;
}
