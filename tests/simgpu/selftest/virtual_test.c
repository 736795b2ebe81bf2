/*
 * virtual_test.c - tests virtual memory management: mapped ranges are device memory, calls with
 * unmapped addresses fail, and memory lives as long as a handle or a mapping. Run with --devices 2.
 */
#include "gpu.h"

#include <cupti_driver_cbid.h>

#define INVALID(call) assert_int_equal((call), CUDA_ERROR_INVALID_VALUE)

enum {
    UNIT = 2 << 20
};

static const CUmemAllocationProp first = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                          .requestedHandleTypes =
                                              CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                          .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};

static CUmemGenericAllocationHandle memory(size_t units, int device)
{
    CUmemAllocationProp properties = first;
    CUmemGenericAllocationHandle handle;

    properties.location.id = device;
    OK(cuMemCreate(&handle, units * UNIT, &properties, 0));
    return handle;
}

static void open_to(CUdeviceptr base, size_t units, int device)
{
    CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, device},
                              CU_MEM_ACCESS_FLAGS_PROT_READWRITE};

    OK(cuMemSetAccess(base, units * UNIT, &access, 1));
}

static size_t free_bytes(void)
{
    size_t bytes, total;

    OK(cuMemGetInfo(&bytes, &total));
    return bytes;
}

/* Copies in the direction that the addresses determine. */
static CUresult copy(CUdeviceptr dst, const void *src, size_t bytes)
{
    return cuMemcpy(dst, (CUdeviceptr)(uintptr_t)src, bytes);
}

static void mapped_ranges_are_device_memory(void **state)
{
    static char out[3 * UNIT], in[3 * UNIT];
    CUmemGenericAllocationHandle a, b;
    CUdeviceptr base, there, allocated;
    CUcontext context;
    unsigned type;
    size_t granularity, bytes, before;

    OK(cuMemGetAllocationGranularity(&granularity, &first, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
    assert_int_equal(granularity, UNIT);
    before = free_bytes();
    OK(cuMemAddressReserve(&base, 90ull << 30, 0, 0, 0));
    assert_int_equal(base % UNIT, 0);
    assert_int_equal(free_bytes(), before);
    a = memory(1, 0);
    b = memory(2, 0);
    assert_int_equal(free_bytes(), before - 3 * UNIT);
    OK(cuMemMap(base + UNIT, UNIT, 0, a, 0));
    OK(cuMemMap(base + 2 * UNIT, 2 * UNIT, 0, b, 0));
    open_to(base + UNIT, 3, 0);

    for (size_t i = 0; i < sizeof out; i++) {
        out[i] = (char)(i / 1000);
    }
    /* A copy over two mappings works like one copy. */
    OK(cuMemcpyHtoD(base + UNIT, out, sizeof out));
    OK(cuMemsetD8(base + UNIT + 5, 9, 2));
    OK(cuMemcpyDtoH(in, base + UNIT, sizeof in));
    out[5] = out[6] = 9;
    assert_memory_equal(in, out, sizeof in);
    INVALID(cuMemcpyHtoD(base + 3 * UNIT, out, UNIT + 1));

    OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, base + 3 * UNIT));
    assert_int_equal(type, CU_MEMORYTYPE_DEVICE);
    OK(cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, base + 3 * UNIT));
    assert_null(context);
    OK(cuMemGetAddressRange(&there, &bytes, base + 3 * UNIT));
    assert_true(there == base + 2 * UNIT);
    assert_int_equal(bytes, 2 * UNIT);
    INVALID(cuMemFree(base + UNIT));
    assert_int_not_equal(cuMemHostUnregister((void *)(uintptr_t)(base + UNIT)), CUDA_SUCCESS);
    OK(cuMemAlloc(&allocated, UNIT));
    OK(cuMemcpyDtoD(allocated, base + UNIT, UNIT));
    OK(cuMemFree(allocated));

    INVALID(cuMemAddressFree(base, 90ull << 30)); /* it contains a mapping */
    OK(cuMemUnmap(base + UNIT, UNIT));
    OK(cuMemUnmap(base + 2 * UNIT, 2 * UNIT));
    OK(cuMemRelease(a));
    OK(cuMemRelease(b));
    assert_int_equal(free_bytes(), before);
    INVALID(cuMemAddressFree(base, UNIT));
    OK(cuMemAddressFree(base, 90ull << 30));
    INVALID(cuMemAddressFree(base, 90ull << 30));
}

static void what_cannot_be_used_is_refused(void **state)
{
    CUmemGenericAllocationHandle a = memory(1, 0);
    char host[16] = {0};
    unsigned type, facts[2] = {7, 7};
    CUpointer_attribute names[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_MAPPED};
    void *places[] = {&facts[0], &facts[1]};
    CUdeviceptr base, other;

    OK(cuMemAlloc(&other, sizeof host));
    OK(cuMemAddressReserve(&base, 2 * UNIT, 0, 0, 0));
    /* In round 0 the addresses are only reserved. In round 1 they are mapped, but no device may
     * access them. */
    for (int mapped = 0; mapped < 2; mapped++) {
        INVALID(cuMemcpyHtoD(base, host, sizeof host));
        INVALID(cuMemcpyDtoH(host, base, sizeof host));
        INVALID(cuMemcpyDtoD(base, other, sizeof host));
        INVALID(cuMemcpyDtoD(other, base, sizeof host));
        INVALID(copy(base, host, sizeof host));
        INVALID(cuMemsetD8(base, 0, sizeof host));
        OK(cuPointerGetAttributes(2, names, places, base));
        assert_int_equal(facts[0], mapped ? CU_MEMORYTYPE_DEVICE : 0);
        assert_int_equal(facts[1], mapped);
        if (!mapped) {
            INVALID(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, base));
            OK(cuMemMap(base, UNIT, 0, a, 0));
        }
    }
    open_to(base, 1, 0);
    OK(cuMemcpyHtoD(base, host, sizeof host));
    INVALID(cuMemcpyHtoD(base + UNIT - 8, host, sizeof host));
    OK(cuMemUnmap(base, UNIT));
    INVALID(cuMemcpyHtoD(base, host, sizeof host));
    OK(cuMemMap(base, UNIT, 0, a, 0));
    INVALID(cuMemcpyHtoD(base, host, sizeof host)); /* the access ended with the old mapping */
    OK(cuMemUnmap(base, UNIT));
    OK(cuMemAddressFree(base, 2 * UNIT));
    OK(cuMemRelease(a));
    OK(cuMemFree(other));
}

static void wrong_sizes_and_places_are_errors(void **state)
{
    CUmemGenericAllocationHandle a = memory(1, 0), b = memory(2, 0), none;
    CUmemAllocationProp properties = first;
    CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, (CUmemAccess_flags)2};
    CUdeviceptr base;
    size_t granularity;

    INVALID(cuMemAddressReserve(&base, 0, 0, 0, 0));
    INVALID(cuMemAddressReserve(&base, UNIT + 1, 0, 0, 0));
    INVALID(cuMemAddressReserve(&base, UNIT, 3, 0, 0));
    INVALID(cuMemAddressReserve(&base, UNIT, 0, 0, 1));
    assert_int_equal(cuMemAddressReserve(&base, 1ull << 60, 0, 0, 0), CUDA_ERROR_OUT_OF_MEMORY);
    OK(cuMemAddressReserve(&base, 8 * UNIT, 64 * UNIT, 0, 0));
    assert_int_equal(base % (64 * UNIT), 0);

    INVALID(cuMemCreate(&none, 0, &first, 0));
    INVALID(cuMemCreate(&none, UNIT / 2, &first, 0));
    INVALID(cuMemCreate(&none, UNIT, &first, 1));
    assert_int_equal(cuMemCreate(&none, 1ull << 50, &first, 0), CUDA_ERROR_OUT_OF_MEMORY);
    properties.location.id = 2;
    assert_int_equal(cuMemCreate(&none, UNIT, &properties, 0), CUDA_ERROR_INVALID_DEVICE);
    properties.location.type = CU_MEM_LOCATION_TYPE_HOST;
    assert_int_equal(cuMemCreate(&none, UNIT, &properties, 0), CUDA_ERROR_NOT_SUPPORTED);
    properties = first;
    properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_FABRIC;
    assert_int_equal(cuMemCreate(&none, UNIT, &properties, 0), CUDA_ERROR_NOT_SUPPORTED);
    INVALID(
        cuMemGetAllocationGranularity(&granularity, &first, (CUmemAllocationGranularity_flags)2));

    INVALID(cuMemMap(base + 4096, UNIT, 0, a, 0));
    INVALID(cuMemMap(base, UNIT / 2, 0, a, 0));
    INVALID(cuMemMap(base, UNIT, UNIT, b, 0));
    INVALID(cuMemMap(base, 2 * UNIT, 0, a, 0)); /* larger than the memory of the handle */
    INVALID(cuMemMap(base + 7 * UNIT, 2 * UNIT, 0, b, 0));
    INVALID(cuMemMap(base + 64 * UNIT, UNIT, 0, a, 0)); /* the addresses are not reserved */
    INVALID(cuMemMap(base, UNIT, 0, 12345, 0));
    INVALID(cuMemMap(base, UNIT, 0, 0, 0));
    OK(cuMemMap(base + UNIT, 2 * UNIT, 0, b, 0));
    INVALID(cuMemMap(base + 2 * UNIT, UNIT, 0, a, 0)); /* overlaps an existing mapping */
    INVALID(cuMemMap(base, 2 * UNIT, 0, b, 0));

    INVALID(cuMemUnmap(base, UNIT));
    INVALID(cuMemUnmap(base + UNIT, UNIT)); /* the range is only a part of a mapping */
    INVALID(cuMemUnmap(base + UNIT, 3 * UNIT));
    INVALID(cuMemSetAccess(base + UNIT, 2 * UNIT, &access, 1));
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
    INVALID(cuMemSetAccess(base + UNIT, 3 * UNIT, &access, 1));
    access.location.id = 2;
    assert_int_equal(cuMemSetAccess(base + UNIT, 2 * UNIT, &access, 1), CUDA_ERROR_INVALID_DEVICE);
    OK(cuMemMap(base, UNIT, 0, a, 0));
    OK(cuMemUnmap(base, 3 * UNIT)); /* two mappings at once */
    OK(cuMemAddressFree(base, 8 * UNIT));
    OK(cuMemRelease(a));
    INVALID(cuMemRelease(a));
    INVALID(cuMemGetAllocationPropertiesFromHandle(&properties, a));
    OK(cuMemRelease(b));
}

static void memory_lives_as_long_as_it_is_held_or_mapped(void **state)
{
    CUmemGenericAllocationHandle a = memory(1, 0), again;
    CUmemAllocationProp properties;
    size_t before = free_bytes();
    CUdeviceptr base;
    char in[4] = {0};

    OK(cuMemGetAllocationPropertiesFromHandle(&properties, a));
    assert_memory_equal(&properties, &first, sizeof first);
    OK(cuMemAddressReserve(&base, 4 * UNIT, 0, 0, 0));
    OK(cuMemMap(base, UNIT, 0, a, 0));
    OK(cuMemMap(base + 2 * UNIT, UNIT, 0, a, 0)); /* maps the same memory a second time */
    open_to(base, 1, 0);
    open_to(base + 2 * UNIT, 1, 0);
    OK(cuMemsetD8(base + 100, 3, 4));
    OK(cuMemcpyDtoH(in, base + 2 * UNIT + 100, 4));
    assert_int_equal(in[3], 3);
    OK(cuMemRelease(a));
    OK(cuMemUnmap(base, UNIT));
    INVALID(cuMemMap(base, UNIT, 0, a, 0));
    OK(cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)(base + 2 * UNIT + 100)));
    assert_true(again == a);
    INVALID(cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)base));
    OK(cuMemUnmap(base + 2 * UNIT, UNIT));
    assert_int_equal(free_bytes(), before);
    OK(cuMemMap(base, UNIT, 0, a, 0));
    open_to(base, 1, 0);
    in[3] = 0;
    OK(cuMemcpyDtoH(in, base + 100, 4));
    assert_int_equal(in[3], 3);
    OK(cuMemUnmap(base, UNIT));
    OK(cuMemRelease(a));
    assert_int_equal(free_bytes(), before + UNIT);
    OK(cuMemAddressFree(base, 4 * UNIT));
}

static struct {
    uint32_t kind, src, dst, src_device, dst_device;
} seen;

static void look(struct sim_op *op)
{
    if (op->kind == SIM_OP_MEMCPY) {
        seen.kind = op->copy_kind;
        seen.src = op->src_memory;
        seen.dst = op->dst_memory;
        seen.src_device = op->src_device;
        seen.dst_device = op->dst_device;
    }
}

static uint32_t called[8];
static int calls;

static void enter(enum sim_domain domain, uint32_t cbid, uint32_t correlation, uint64_t now_ns)
{
    called[calls++ % 8] = cbid;
}

static void leave(enum sim_domain domain, uint32_t cbid, uint32_t correlation, uint64_t start_ns,
                  uint64_t end_ns, int result)
{
}

/* Device 0 has access to memory of device 1. CUPTI's records must have the kind "device memory" and
 * a copy between devices. */
static void it_belongs_to_the_device_that_made_it(void **state)
{
    static const struct sim_probe probe = {
        .api_enter = enter, .api_exit = leave, .op_enqueued = look};
    static const uint32_t order[] = {
        CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoD_v2, CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoD_v2,
        CUPTI_DRIVER_TRACE_CBID_cuMemUnmap, CUPTI_DRIVER_TRACE_CBID_cuMemAddressFree,
        CUPTI_DRIVER_TRACE_CBID_cuMemRelease};
    CUmemGenericAllocationHandle a = memory(1, 1);
    CUmemLocation where = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    CUdeviceptr base, here;
    unsigned long long flags;
    char host[8] = {0};
    int device;

    OK(cuMemAlloc(&here, UNIT));
    OK(cuMemAddressReserve(&base, UNIT, 0, 0, 0));
    OK(cuMemMap(base, UNIT, 0, a, 0));
    open_to(base, 1, 1);
    OK(cuMemGetAccess(&flags, &where, base));
    assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_NONE);
    open_to(base, 1, 0);
    OK(cuMemGetAccess(&flags, &where, base + 5));
    assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    OK(cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, base + 5));
    assert_int_equal(device, 1);
    sim_probe_set(&probe);
    OK(cuMemcpyHtoD(base, host, sizeof host));
    assert_int_equal(seen.kind, 1);
    assert_int_equal(seen.dst, 3); /* CUPTI's DEVICE */
    assert_int_equal(seen.dst_device, 1);
    OK(cuMemcpyDtoD(here, base, sizeof host));
    assert_int_equal(seen.kind, 10); /* PTOP */
    assert_int_equal(seen.src_device, 1);
    OK(cuMemUnmap(base, UNIT));
    OK(cuMemAddressFree(base, UNIT));
    OK(cuMemRelease(a));
    sim_probe_set(NULL);
    assert_memory_equal(called, order, sizeof order);
    OK(cuMemFree(here));
}

static void CUDA_CB late(void *data)
{
}

/* As on a real GPU, unmapping does not wait for pending work. A copy that runs after the unmapping
 * is discarded, and the process continues. */
static void work_behind_an_unmapping_harms_nobody(void **state)
{
    CUmemGenericAllocationHandle a = memory(1, 0);
    CUstream s = gpu_stream(CU_STREAM_NON_BLOCKING);
    CUdeviceptr base;
    char in = 7;

    OK(cuMemAddressReserve(&base, UNIT, 0, 0, 0));
    OK(cuMemMap(base, UNIT, 0, a, 0));
    open_to(base, 1, 0);
    OK(cuMemsetD8(base, 0, UNIT));
    gpu_spin('a', 20 * MS, s);
    OK(cuLaunchHostFunc(s, late, NULL));
    OK(cuMemsetD8Async(base, 5, UNIT, s));
    OK(cuMemUnmap(base, UNIT));
    OK(cuStreamSynchronize(s));
    OK(cuMemMap(base, UNIT, 0, a, 0));
    open_to(base, 1, 0);
    OK(cuMemcpyDtoH(&in, base, 1));
    assert_int_equal(in, 0);
    OK(cuMemUnmap(base, UNIT));
    OK(cuMemRelease(a));
    OK(cuMemAddressFree(base, UNIT));
}

static void nothing_is_shared_with_other_processes(void **state)
{
    CUmemGenericAllocationHandle a = memory(1, 0);
    int descriptor;

    assert_int_equal(
        cuMemExportToShareableHandle(&descriptor, a, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
        CUDA_ERROR_NOT_SUPPORTED);
    OK(cuMemRelease(a));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mapped_ranges_are_device_memory),
        cmocka_unit_test(what_cannot_be_used_is_refused),
        cmocka_unit_test(wrong_sizes_and_places_are_errors),
        cmocka_unit_test(memory_lives_as_long_as_it_is_held_or_mapped),
        cmocka_unit_test(it_belongs_to_the_device_that_made_it),
        cmocka_unit_test(work_behind_an_unmapping_harms_nobody),
        cmocka_unit_test(nothing_is_shared_with_other_processes),
    };

    return cmocka_run_group_tests(tests, gpu_setup, NULL);
}
