/*
 * cuda_facts.c - queries CUDA's versions and GPU facts from the libraries in the process.
 *
 * Threads: see cuda_facts.h. Memory: none. We use CUDA's libraries only if they are loaded already
 * (RTLD_NOLOAD).
 */
#include "collect/cupti/cuda_facts.h"

#include <cuda.h>
#include <errno.h>
#include <string.h>

#include "base/loader.h"

struct driver {
    CUresult (*get)(CUdevice *device, int ordinal);
    CUresult (*attribute)(int *value, CUdevice_attribute attribute, CUdevice device);
    CUresult (*name)(char *name, int length, CUdevice device);
    CUresult (*memory)(size_t *bytes, CUdevice device);
    CUresult (*uuid)(CUuuid *uuid, CUdevice device);
    CUresult (*primary)(CUdevice device, unsigned *flags, int *is_active);
    CUresult (*current)(CUcontext *context);
};

static int find_driver(struct driver *d)
{
    void *library = sl_loader_open("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);

    if (!library)
        return -ENOENT;
    *(void **)&d->get = sl_loader_symbol(library, "cuDeviceGet");
    *(void **)&d->attribute = sl_loader_symbol(library, "cuDeviceGetAttribute");
    *(void **)&d->name = sl_loader_symbol(library, "cuDeviceGetName");
    *(void **)&d->memory = sl_loader_symbol(library, "cuDeviceTotalMem_v2");
    *(void **)&d->uuid = sl_loader_symbol(library, "cuDeviceGetUuid");
    *(void **)&d->primary = sl_loader_symbol(library, "cuDevicePrimaryCtxGetState");
    *(void **)&d->current = sl_loader_symbol(library, "cuCtxGetCurrent");
    sl_loader_close(library); /* the process keeps the library loaded */
    return d->get && d->attribute ? 0 : -ENOENT;
}

static uint32_t ask(const struct driver *d, CUdevice device, CUdevice_attribute attribute)
{
    int value = 0;

    return d->attribute(&value, attribute, device) == CUDA_SUCCESS && value > 0 ? (uint32_t)value
                                                                                : 0;
}

int sl_cuda_facts_device(uint32_t ordinal, struct sl_device *out)
{
    struct driver d;
    struct sl_device facts = {.id = ordinal, .known = 1};
    size_t bytes = 0;
    CUdevice device;
    CUuuid uuid;

    if (find_driver(&d) || d.get(&device, (int)ordinal) != CUDA_SUCCESS)
        return -ENOENT;
    facts.compute_major = ask(&d, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    facts.compute_minor = ask(&d, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    facts.multiprocessors = ask(&d, device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    facts.max_threads_per_block = ask(&d, device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    facts.max_threads_per_sm = ask(&d, device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
    facts.max_blocks_per_sm = ask(&d, device, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
    facts.max_registers_per_block = ask(&d, device, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
    facts.max_registers_per_sm =
        ask(&d, device, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
    facts.max_shared_per_block = ask(&d, device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
    facts.max_shared_opted_in =
        ask(&d, device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    facts.max_shared_per_sm =
        ask(&d, device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
    facts.warp_size = ask(&d, device, CU_DEVICE_ATTRIBUTE_WARP_SIZE);
    facts.core_clock_khz = ask(&d, device, CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
    if (facts.warp_size)
        facts.max_warps_per_sm = facts.max_threads_per_sm / facts.warp_size;
    /* Memory transfers data twice per clock cycle, and the bus width is in bits. */
    facts.memory_bandwidth_kbps =
        2ull * ask(&d, device, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE) *
        (ask(&d, device, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH) / 8);
    if (d.memory && d.memory(&bytes, device) == CUDA_SUCCESS)
        facts.memory_bytes = bytes;
    if (d.uuid && d.uuid(&uuid, device) == CUDA_SUCCESS)
        memcpy(facts.uuid, uuid.bytes, sizeof(facts.uuid));
    if (!d.name || d.name(facts.name, sizeof(facts.name), device) != CUDA_SUCCESS)
        facts.name[0] = '\0';
    facts.name[sizeof(facts.name) - 1] = '\0';
    *out = facts;
    return 0;
}

int sl_cuda_facts_has_context(void)
{
    CUcontext context = NULL;
    struct driver d;
    CUdevice device;
    unsigned flags;

    if (find_driver(&d))
        return 0;
    if (d.current && d.current(&context) == CUDA_SUCCESS && context)
        return 1;
    for (int ordinal = 0; d.primary && d.get(&device, ordinal) == CUDA_SUCCESS; ordinal++) {
        int is_active = 0;

        if (d.primary(device, &flags, &is_active) == CUDA_SUCCESS && is_active)
            return 1;
    }
    return 0;
}

static uint32_t version_of(const char *library_name, const char *function)
{
    void *library = sl_loader_open(library_name, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
    int (*get)(int *version) = NULL;
    int version = 0;

    if (!library)
        return 0;
    *(void **)&get = sl_loader_symbol(library, function);
    if (!get || get(&version) != 0 || version < 0)
        version = 0;
    sl_loader_close(library);
    return (uint32_t)version;
}

void sl_cuda_facts_versions(uint32_t *driver, uint32_t *runtime)
{
    static const char *const names[] = {"libcudart.so.13", "libcudart.so.12"};

    *driver = version_of("libcuda.so.1", "cuDriverGetVersion");
    *runtime = 0;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names) && *runtime == 0; i++)
        *runtime = version_of(names[i], "cudaRuntimeGetVersion");
}
