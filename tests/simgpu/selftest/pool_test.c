/*
 * pool_test.c - tests pools of stream-ordered memory: the used and reserved bytes of a pool, and
 * its device.
 */
#include "gpu.h"

#define INVALID(call) assert_int_equal((call), CUDA_ERROR_INVALID_VALUE)

enum {
    CHUNK = 32 << 20
};

static uint64_t fact(CUmemoryPool pool, CUmemPool_attribute attribute)
{
    cuuint64_t value = 1;

    OK(cuMemPoolGetAttribute(pool, attribute, &value));
    return value;
}

static void assert_holds(CUmemoryPool pool, uint64_t used, uint64_t used_high, uint64_t reserved,
                         uint64_t reserved_high)
{
    assert_int_equal(fact(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), used);
    assert_int_equal(fact(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH), used_high);
    assert_int_equal(fact(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), reserved);
    assert_int_equal(fact(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH), reserved_high);
}

static void a_pool_counts_what_it_holds(void **state)
{
    CUstream s = gpu_stream(CU_STREAM_NON_BLOCKING);
    cuuint64_t keep = UINT64_MAX, zero = 0, one = 1;
    CUmemoryPool pool;
    CUdeviceptr a, b;

    OK(cuDeviceGetMemPool(&pool, 0));
    assert_holds(pool, 0, 0, 0, 0);
    OK(cuMemAllocAsync(&a, 1000, s));
    assert_holds(pool, 1024, 1024, CHUNK, CHUNK);
    OK(cuMemAllocAsync(&b, CHUNK, s));
    assert_holds(pool, CHUNK + 1024, CHUNK + 1024, 2 * CHUNK, 2 * CHUNK);
    OK(cuMemFreeAsync(b, s));
    assert_holds(pool, 1024, CHUNK + 1024, CHUNK, 2 * CHUNK);

    OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &zero));
    OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &zero));
    assert_holds(pool, 1024, 1024, CHUNK, CHUNK);
    INVALID(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &one));
    INVALID(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &zero));

    OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
    assert_true(fact(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) == keep);
    OK(cuMemAllocAsync(&b, CHUNK, s));
    gpu_spin('a', 1 * MS, s);
    OK(cuMemFreeAsync(b, s));
    OK(cuStreamSynchronize(s));
    OK(cuMemFree(a)); /* cuMemFree, too, may free memory of a pool */
    assert_holds(pool, 0, CHUNK + 1024, 2 * CHUNK, 2 * CHUNK);
    OK(cuMemPoolTrimTo(pool, CHUNK));
    assert_holds(pool, 0, CHUNK + 1024, CHUNK, 2 * CHUNK);
    OK(cuMemPoolTrimTo(pool, 0));
    assert_holds(pool, 0, CHUNK + 1024, 0, 2 * CHUNK);
}

static void each_pool_counts_its_own(void **state)
{
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    CUstream s = gpu_stream(CU_STREAM_NON_BLOCKING);
    CUmemoryPool pool, first, now;
    CUdeviceptr a, b;
    int reuse = 0;

    OK(cuDeviceGetDefaultMemPool(&first, 0));
    uint64_t before = fact(first, CU_MEMPOOL_ATTR_USED_MEM_CURRENT);

    OK(cuMemPoolCreate(&pool, &props));
    OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, &reuse));
    assert_int_equal(reuse, 1);
    OK(cuMemAllocFromPoolAsync(&a, 512, pool, s));
    OK(cuDeviceSetMemPool(0, pool));
    OK(cuDeviceGetMemPool(&now, 0));
    assert_true(now == pool);
    OK(cuMemAllocAsync(&b, 512, s));
    assert_holds(pool, 1024, 1024, CHUNK, CHUNK);
    assert_int_equal(fact(first, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), before);
    OK(cuMemFreeAsync(a, s));
    /* Allocations stay valid, and the default pool is the current pool again. */
    OK(cuMemPoolDestroy(pool));
    OK(cuDeviceGetMemPool(&now, 0));
    assert_true(now == first);
    OK(cuMemFreeAsync(b, s));
    INVALID(cuMemPoolDestroy(pool));
    INVALID(cuMemPoolDestroy(first));
    INVALID(cuMemAllocFromPoolAsync(&a, 512, pool, s));
    INVALID(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &before));
    OK(cuStreamDestroy(s));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pool_counts_what_it_holds),
        cmocka_unit_test(each_pool_counts_its_own),
    };

    return cmocka_run_group_tests(tests, gpu_setup, NULL);
}
