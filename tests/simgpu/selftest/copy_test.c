/*
 * copy_test.c - tests copies: they move data in stream order, and exactly those block that block on
 * a real GPU.
 */
#include "gpu.h"

enum {
    N = 4096
};

static void data_goes_there_and_back(void **state)
{
    char out[N], in[N] = {0};
    CUdeviceptr a, b;

    memset(out, 7, N);
    OK(cuMemAlloc(&a, N));
    OK(cuMemAlloc(&b, N));
    OK(cuMemcpyHtoD(a, out, N));
    OK(cuMemsetD8(a + 100, 9, 10));
    OK(cuMemsetD32(a + 200, 0x01020304, 2));
    OK(cuMemcpyDtoD(b, a, N));
    OK(cuMemcpyDtoH(in, b, N));
    memset(out + 100, 9, 10);
    memcpy(out + 200, "\4\3\2\1\4\3\2\1", 8);
    assert_memory_equal(in, out, N);
    OK(cuMemFree(a));
    OK(cuMemFree(b));
    assert_int_equal(cuMemFree(b), CUDA_ERROR_INVALID_VALUE);
}

static void rows_have_pitches(void **state)
{
    char out[4][16], in[4][8];
    CUdeviceptr device;
    size_t pitch;

    for (int y = 0; y < 4; y++) {
        memset(out[y], 'a' + y, 16);
    }
    OK(cuMemAllocPitch(&device, &pitch, 16, 4, 4));
    CUDA_MEMCPY2D up = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                        .srcHost = out,
                        .srcPitch = 16,
                        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                        .dstDevice = device,
                        .dstPitch = pitch,
                        .WidthInBytes = 16,
                        .Height = 4};
    CUDA_MEMCPY2D down = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .srcDevice = device,
                          .srcPitch = pitch,
                          .srcY = 1,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = in,
                          .dstPitch = 8,
                          .WidthInBytes = 8,
                          .Height = 3};

    OK(cuMemcpy2D(&up));
    OK(cuMemcpy2D(&down));
    assert_memory_equal(in, "bbbbbbbbccccccccdddddddd", 24);
    OK(cuMemFree(device));
}

static void only_some_copies_block(void **state)
{
    CUstream s = gpu_stream(CU_STREAM_NON_BLOCKING);
    char pageable[N] = {0};
    CUdeviceptr a, b;
    void *pinned;

    OK(cuMemAlloc(&a, N));
    OK(cuMemAlloc(&b, N));
    OK(cuMemAllocHost(&pinned, N));
    gpu_spin('a', 300 * MS, s);
    OK(cuMemcpyDtoDAsync(b, a, N, s));
    OK(cuMemcpyDtoHAsync(pinned, a, N, s));
    OK(cuMemcpyHtoDAsync(a, pageable, N, s));
    OK(cuMemsetD8Async(a, 1, N, s));
    assert_int_equal(cuStreamQuery(s), CUDA_ERROR_NOT_READY);
    OK(cuMemcpyDtoHAsync(pageable, a, N, s)); /* pageable: blocks */
    OK(cuStreamQuery(s));
    assert_int_equal(pageable[N - 1], 1);

    gpu_spin('a', 300 * MS, NULL);
    OK(cuMemsetD8(a, 2, N)); /* a memset of device memory does not block */
    OK(cuMemcpyDtoD(b, a, N));
    assert_int_equal(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
    OK(cuMemcpyDtoH(pageable, b, N));
    OK(cuStreamQuery(NULL));

    gpu_spin('a', 20 * MS, s);
    OK(cuMemFree(a)); /* waits for the whole context */
    OK(cuStreamQuery(s));
    OK(cuMemFree(b));
    OK(cuMemFreeHost(pinned));
}

static void CUDA_CB fill(void *data)
{
    memset(data, 5, N);
}

/* A copy follows a host callback on its stream. The copy sees what the callback wrote. */
static void a_copy_behind_a_callback_moves_later(void **state)
{
    CUstream s = gpu_stream(CU_STREAM_NON_BLOCKING);
    void *pinned, *back;
    CUdeviceptr device;

    OK(cuMemAllocHost(&pinned, N));
    OK(cuMemAllocHost(&back, N));
    OK(cuMemAllocAsync(&device, N, s));
    gpu_spin('a', 10 * MS, s);
    OK(cuLaunchHostFunc(s, fill, pinned));
    OK(cuMemcpyHtoDAsync(device, pinned, N, s));
    OK(cuMemcpyDtoHAsync(back, device, N, s));
    OK(cuMemFreeAsync(device, s));
    OK(cuStreamSynchronize(s));
    assert_int_equal(((char *)back)[N - 1], 5);
    OK(cuMemFreeHost(pinned));
    OK(cuMemFreeHost(back));
}

static void devices_copy_to_each_other(void **state)
{
    CUcontext second;
    CUdeviceptr here, there;
    char in[N];
    int can;

    OK(cuDeviceCanAccessPeer(&can, 0, 1));
    assert_int_equal(can, 1);
    OK(cuDevicePrimaryCtxRetain(&second, 1));
    OK(cuMemAlloc(&here, N));
    OK(cuMemsetD8(here, 3, N));
    OK(cuCtxPushCurrent(second));
    OK(cuMemAlloc(&there, N));
    OK(cuCtxEnablePeerAccess(gpu_context, 0));
    assert_int_equal(cuCtxEnablePeerAccess(gpu_context, 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    OK(cuCtxPopCurrent(NULL));
    gpu_spin('a', 300 * MS, gpu_stream(0));
    OK(cuMemcpyPeer(there, second, here, gpu_context, N));
    OK(cuCtxPushCurrent(second));
    CUstream other = gpu_stream(0);

    /* This operation runs after the copy, and the copy runs after the kernel of the first
     * device. */
    OK(cuMemsetD8Async(there + 1, 4, 1, other));
    assert_int_equal(cuStreamQuery(other), CUDA_ERROR_NOT_READY);
    OK(cuStreamSynchronize(other));
    OK(cuCtxPopCurrent(NULL));
    OK(cuStreamQuery(NULL));
    OK(cuMemcpyDtoH(in, there, N));
    assert_int_equal(in[N - 1], 3);
    OK(cuMemFree(here));
    OK(cuMemFree(there));
}

static void pointers_know_what_they_are(void **state)
{
    size_t before, after, total;
    unsigned type;
    CUdeviceptr p, base;

    OK(cuMemGetInfo(&before, &total));
    OK(cuMemAlloc(&p, 3 << 20));
    OK(cuMemGetInfo(&after, &total));
    assert_int_equal(before - after, 3 << 20);
    OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p + 5));
    assert_int_equal(type, CU_MEMORYTYPE_DEVICE);
    OK(cuMemGetAddressRange(&base, NULL, p + 5));
    assert_true(base == p);
    assert_int_equal(
        cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)&before),
        CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree(p));
    assert_int_equal(cuMemAlloc(&p, total * 2), CUDA_ERROR_OUT_OF_MEMORY);
}

static void nothing_goes_past_an_allocation(void **state)
{
    char host[64] = {0};
    CUdeviceptr p;

    OK(cuMemAlloc(&p, 16));
    OK(cuMemcpyHtoD(p + 8, host, 8));
    assert_int_equal(cuMemcpyHtoD(p + 8, host, 9), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemcpyDtoH(host, p, 64), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemsetD8(p, 0, 17), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemsetD2D8(p, 12, 0, 4, 2));
    assert_int_equal(cuMemsetD2D8(p, 12, 0, 5, 2), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree(p));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(data_goes_there_and_back),
        cmocka_unit_test(rows_have_pitches),
        cmocka_unit_test(only_some_copies_block),
        cmocka_unit_test(a_copy_behind_a_callback_moves_later),
        cmocka_unit_test(devices_copy_to_each_other),
        cmocka_unit_test(pointers_know_what_they_are),
        cmocka_unit_test(nothing_goes_past_an_allocation),
    };

    return cmocka_run_group_tests(tests, gpu_setup, NULL);
}
