/*
 * module.c - libcuda: modules, libraries, kernels and their attributes, occupancy.
 *
 * Application threads. CUfunction and CUkernel are the same object, as are CUmodule and CUlibrary.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/api.h"

static int load_data(const void *image, void *out)
{
    struct sim_context *context;

    REQUIRE(out, SIM_E_VALUE);
    CHECK(sim_context_current(&context));
    return sim_module_load(image, (struct sim_module **)out);
}

static int load_file(const char *path, void *out)
{
    FILE *file = fopen(path, "rb");
    char *image = NULL;
    long size;

    REQUIRE(file, 301); /* CUDA_ERROR_FILE_NOT_FOUND */
    if (fseek(file, 0, SEEK_END) == 0 && (size = ftell(file)) >= 0 &&
        (image = calloc(1, (size_t)size + 8))) {
        rewind(file);
        if (fread(image, 1, (size_t)size, file) != (size_t)size) {
            image[0] = 0;
        }
    }
    fclose(file);
    REQUIRE(image, SIM_E_MEMORY);
    int error = sim_module_load(image, (struct sim_module **)out);

    free(image);
    return error;
}

DRIVER_API(cuModuleLoadData, (CUmodule * module, const void *image), (module, image))
{
    return load_data(image, module);
}

DRIVER_API(cuModuleLoadDataEx,
           (CUmodule * module, const void *image, unsigned int count, CUjit_option *options,
            void **values),
           (module, image, count, options, values))
{
    return load_data(image, module);
}

DRIVER_API(cuModuleLoadFatBinary, (CUmodule * module, const void *image), (module, image))
{
    return load_data(image, module);
}

DRIVER_API(cuModuleLoad, (CUmodule * module, const char *path), (module, path))
{
    REQUIRE(module && path, SIM_E_VALUE);
    return load_file(path, module);
}

DRIVER_API(cuModuleUnload, (CUmodule module), (module))
{
    return sim_module_unload((struct sim_module *)module);
}

static int get_kernel(void *out, void *module, const char *name)
{
    REQUIRE(out && name, SIM_E_VALUE);
    REQUIRE(sim_module_valid(module), SIM_E_HANDLE);
    struct sim_kernel *kernel = sim_module_kernel(module, name);

    REQUIRE(kernel, SIM_E_NOT_FOUND);
    *(struct sim_kernel **)out = kernel;
    return SIM_OK;
}

static int get_global(CUdeviceptr *pointer, size_t *bytes, void *module, const char *name)
{
    REQUIRE(name, SIM_E_VALUE);
    REQUIRE(sim_module_valid(module), SIM_E_HANDLE);
    const struct sim_symbol *symbol = sim_module_symbol(module, name);

    REQUIRE(symbol, SIM_E_NOT_FOUND);
    if (pointer) {
        *pointer = (CUdeviceptr)symbol->address;
    }
    if (bytes) {
        *bytes = symbol->size;
    }
    return SIM_OK;
}

DRIVER_API(cuModuleGetFunction, (CUfunction * function, CUmodule module, const char *name),
           (function, module, name))
{
    return get_kernel(function, module, name);
}

DRIVER_API(cuModuleGetFunctionCount, (unsigned int *count, CUmodule module), (count, module))
{
    REQUIRE(sim_module_valid((struct sim_module *)module), SIM_E_HANDLE);
    *count = ((struct sim_module *)module)->kernel_count;
    return SIM_OK;
}

DRIVER_API(cuModuleGetGlobal_v2,
           (CUdeviceptr * pointer, size_t *bytes, CUmodule module, const char *name),
           (pointer, bytes, module, name))
{
    return get_global(pointer, bytes, module, name);
}

DRIVER_API(cuModuleGetLoadingMode, (CUmoduleLoadingMode * mode), (mode))
{
    *mode = CU_MODULE_LAZY_LOADING;
    return SIM_OK;
}

DRIVER_API(cuLibraryLoadData,
           (CUlibrary * library, const void *code, CUjit_option *jit, void **jit_values,
            unsigned int jit_count, CUlibraryOption *options, void **values, unsigned int count),
           (library, code, jit, jit_values, jit_count, options, values, count))
{
    REQUIRE(library, SIM_E_VALUE);
    return sim_module_load(code, (struct sim_module **)library);
}

DRIVER_API(cuLibraryUnload, (CUlibrary library), (library))
{
    return sim_module_unload((struct sim_module *)library);
}

DRIVER_API(cuLibraryGetKernel, (CUkernel * kernel, CUlibrary library, const char *name),
           (kernel, library, name))
{
    return get_kernel(kernel, library, name);
}

DRIVER_API(cuLibraryGetKernelCount, (unsigned int *count, CUlibrary library), (count, library))
{
    REQUIRE(sim_module_valid((struct sim_module *)library), SIM_E_HANDLE);
    *count = ((struct sim_module *)library)->kernel_count;
    return SIM_OK;
}

DRIVER_API(cuLibraryGetModule, (CUmodule * module, CUlibrary library), (module, library))
{
    REQUIRE(sim_module_valid((struct sim_module *)library), SIM_E_HANDLE);
    *module = (CUmodule)library;
    return SIM_OK;
}

DRIVER_API(cuLibraryGetGlobal,
           (CUdeviceptr * pointer, size_t *bytes, CUlibrary library, const char *name),
           (pointer, bytes, library, name))
{
    return get_global(pointer, bytes, library, name);
}

DRIVER_API(cuKernelGetFunction, (CUfunction * function, CUkernel kernel), (function, kernel))
{
    REQUIRE(sim_kernel_valid((struct sim_kernel *)kernel), SIM_E_HANDLE);
    *function = (CUfunction)kernel;
    return SIM_OK;
}

DRIVER_API(cuKernelGetName, (const char **name, CUkernel kernel), (name, kernel))
{
    REQUIRE(sim_kernel_valid((struct sim_kernel *)kernel), SIM_E_HANDLE);
    *name = ((struct sim_kernel *)kernel)->name;
    return SIM_OK;
}

DRIVER_API(cuFuncGetName, (const char **name, CUfunction function), (name, function))
{
    REQUIRE(sim_kernel_valid((struct sim_kernel *)function), SIM_E_HANDLE);
    *name = ((struct sim_kernel *)function)->name;
    return SIM_OK;
}

DRIVER_API(cuFuncGetModule, (CUmodule * module, CUfunction function), (module, function))
{
    REQUIRE(sim_kernel_valid((struct sim_kernel *)function), SIM_E_HANDLE);
    *module = (CUmodule)((struct sim_kernel *)function)->module;
    return SIM_OK;
}

static int param_info(const struct sim_kernel *kernel, size_t index, size_t *offset, size_t *size)
{
    REQUIRE(sim_kernel_valid(kernel), SIM_E_HANDLE);
    REQUIRE(index < kernel->parameters, SIM_E_VALUE);
    *offset = kernel->offsets[index];
    if (size) {
        *size = kernel->sizes[index];
    }
    return SIM_OK;
}

DRIVER_API(cuFuncGetParamInfo, (CUfunction function, size_t index, size_t *offset, size_t *size),
           (function, index, offset, size))
{
    return param_info((struct sim_kernel *)function, index, offset, size);
}

DRIVER_API(cuKernelGetParamInfo, (CUkernel kernel, size_t index, size_t *offset, size_t *size),
           (kernel, index, offset, size))
{
    return param_info((struct sim_kernel *)kernel, index, offset, size);
}

DRIVER_API(cuFuncGetAttribute, (int *value, CUfunction_attribute attribute, CUfunction function),
           (value, attribute, function))
{
    const struct sim_kernel *kernel = (struct sim_kernel *)function;

    REQUIRE(sim_kernel_valid(kernel), SIM_E_HANDLE);
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *value = 1024;
        break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
        *value = (int)kernel->static_shared;
        break;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
        *value = (int)kernel->local;
        break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
        *value = (int)kernel->registers;
        break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
        *value = 90;
        break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *value = kernel->max_dynamic_shared ? kernel->max_dynamic_shared : 48 * 1024;
        break;
    default:
        *value = 0;
        break;
    }
    return SIM_OK;
}

DRIVER_API(cuFuncSetAttribute, (CUfunction function, CUfunction_attribute attribute, int value),
           (function, attribute, value))
{
    struct sim_kernel *kernel = (struct sim_kernel *)function;

    REQUIRE(sim_kernel_valid(kernel), SIM_E_HANDLE);
    if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
        kernel->max_dynamic_shared = value;
    }
    return SIM_OK;
}

DRIVER_API(cuFuncSetCacheConfig, (CUfunction function, CUfunc_cache config), (function, config))
{
    return sim_kernel_valid((struct sim_kernel *)function) ? SIM_OK : SIM_E_HANDLE;
}

static int occupancy(int *blocks, CUfunction function, int block, size_t shared)
{
    const struct sim_kernel *kernel = (struct sim_kernel *)function;

    REQUIRE(sim_kernel_valid(kernel), SIM_E_HANDLE);
    REQUIRE(blocks && block > 0, SIM_E_VALUE);
    *blocks = sim_kernel_occupancy(kernel, block, shared);
    return SIM_OK;
}

DRIVER_API(cuOccupancyMaxActiveBlocksPerMultiprocessor,
           (int *blocks, CUfunction function, int block, size_t shared),
           (blocks, function, block, shared))
{
    return occupancy(blocks, function, block, shared);
}

DRIVER_API(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
           (int *blocks, CUfunction function, int block, size_t shared, unsigned int flags),
           (blocks, function, block, shared, flags))
{
    REQUIRE(flags <= 1, SIM_E_VALUE);
    return occupancy(blocks, function, block, shared);
}
