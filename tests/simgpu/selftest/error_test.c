/*
 * error_test.c - tests injected errors on the n-th call, wrong handles, and a context broken by a
 * kernel. Run with --fail cuMemAlloc_v2:2:2 --fail cuEventCreate:1:2 --fail cuEventCreate:2:1
 * --kernel-error broken:2:719.
 */
#include "gpu.h"

static void the_nth_call_fails(void **state)
{
    CUdeviceptr p;
    CUevent e;

    OK(cuMemAlloc(&p, 16));
    assert_int_equal(cuMemAlloc(&p, 16), CUDA_ERROR_OUT_OF_MEMORY);
    OK(cuMemAlloc(&p, 16));
    assert_int_equal(cuEventCreate(&e, 0), CUDA_ERROR_OUT_OF_MEMORY);
    assert_int_equal(cuEventCreate(&e, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuEventCreate(&e, 0));
}

static void wrong_arguments_are_errors(void **state)
{
    CUstream s = gpu_stream(0);
    CUmodule module;
    CUfunction function;

    OK(cuStreamDestroy(s));
    assert_int_equal(cuStreamSynchronize(s), CUDA_ERROR_INVALID_HANDLE);
    assert_int_equal(cuModuleLoadData(&module, "no program"), CUDA_ERROR_INVALID_IMAGE);
    OK(cuModuleLoadData(&module, ".version 8.0\n"));
    assert_int_equal(cuModuleGetFunction(&function, module, "f"), CUDA_ERROR_NOT_FOUND);
    assert_int_equal(cuLaunchKernel(gpu_kernel[4], 0, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL),
                     CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuLaunchKernel(gpu_kernel[4], 1, 1, 1, 2048, 1, 1, 0, NULL, NULL, NULL),
                     CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuLaunchKernel(gpu_kernel[4], 1, 65536, 1, 1, 1, 1, 0, NULL, NULL, NULL),
                     CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuLaunchKernel(gpu_kernel[4], 1, 1, 1, 1, 1, 65, 0, NULL, NULL, NULL),
                     CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuLaunchKernel(gpu_kernel[4], 1, 1, 1, 1, 1, 1, 1 << 20, NULL, NULL, NULL),
                     CUDA_ERROR_INVALID_VALUE);
}

static void addresses_are_found_by_name(void **state)
{
    CUdriverProcAddressQueryResult status;
    void *address;

    OK(cuGetProcAddress("cuMemAlloc", &address, 13000, 0, &status));
    assert_true(address == (void *)(uintptr_t)cuMemAlloc);
    assert_int_equal(status, CU_GET_PROC_ADDRESS_SUCCESS);
    assert_int_equal(cuGetProcAddress("cuNothing", &address, 13000, 0, &status),
                     CUDA_ERROR_NOT_FOUND);
}

/* This test must run last, because every later call in the broken context fails. */
static void a_broken_kernel_breaks_its_context(void **state)
{
    CUdeviceptr p;

    OK(cuLaunchKernel(gpu_kernel[4], 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    OK(cuCtxSynchronize());
    OK(cuLaunchKernel(gpu_kernel[4], 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    assert_int_equal(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
    assert_int_equal(cuMemAlloc(&p, 16), CUDA_ERROR_LAUNCH_FAILED);
    assert_int_equal(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
    OK(cuDevicePrimaryCtxReset(0));
    OK(cuDevicePrimaryCtxRetain(&gpu_context, 0));
    OK(cuCtxSetCurrent(gpu_context));
    OK(cuCtxSynchronize());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_nth_call_fails),
        cmocka_unit_test(wrong_arguments_are_errors),
        cmocka_unit_test(addresses_are_found_by_name),
        cmocka_unit_test(a_broken_kernel_breaks_its_context),
    };

    return cmocka_run_group_tests(tests, gpu_setup, NULL);
}
