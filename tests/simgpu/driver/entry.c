/*
 * entry.c - libcuda: names of errors, addresses of driver functions (cuGetProcAddress), profiler
 * control.
 *
 * Application threads.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "driver/api.h"

static const struct {
    int code;
    const char *name, *text;
} errors[] = {
    {0, "CUDA_SUCCESS", "no error"},
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {301, "CUDA_ERROR_FILE_NOT_FOUND", "file not found"},
    {400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {600, "CUDA_ERROR_NOT_READY", "device not ready"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {704, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "peer access is already enabled"},
    {705, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED", "peer access has not been enabled"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {800, "CUDA_ERROR_NOT_PERMITTED", "operation not permitted"},
    {801, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
    {901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
     "operation failed due to a previous error during capture"},
    {904, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "capturing stream has unjoined work"},
    {905, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION",
     "dependency created on uncaptured work in another stream"},
    {906, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
     "operation would make the legacy stream depend on a capturing blocking stream"},
    {910, "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE",
     "the graph update was not performed because it included changes which violated constraints"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

static int describe(CUresult error, const char **out, bool name)
{
    REQUIRE(out, SIM_E_VALUE);
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        if (errors[i].code == (int)error) {
            *out = name ? errors[i].name : errors[i].text;
            return SIM_OK;
        }
    }
    *out = NULL;
    return SIM_E_VALUE;
}

/* These two functions make no records, because they do not use the GPU. */
SIM_EXPORT CUresult cuGetErrorName(CUresult error, const char **out)
{
    return (CUresult)describe(error, out, true);
}

SIM_EXPORT CUresult cuGetErrorString(CUresult error, const char **out)
{
    return (CUresult)describe(error, out, false);
}

/* Returns the newest form of `symbol`, that is the highest _vN. If `per_thread` is true, prefers
 * the form with the suffix for per-thread default streams. */
static void *find(const char *symbol, bool per_thread)
{
    static const char *const versions[] = {"_v4", "_v3", "_v2", ""};
    static const char *const twins[] = {"_ptsz", "_ptds", ""};
    Dl_info self;
    void *library = dladdr((void *)(uintptr_t)cuInit, &self)
                        ? dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD)
                        : NULL;
    void *found = NULL;

    for (size_t v = 0; library && v < 4 && !found; v++) {
        for (size_t t = per_thread ? 0 : 2; t < 3 && !found; t++) {
            char name[256];

            snprintf(name, sizeof name, "%s%s%s", symbol, versions[v], twins[t]);
            found = dlsym(library, name);
        }
    }
    if (library) {
        dlclose(library);
    }
    return found;
}

static int get_address(const char *symbol, void **out, cuuint64_t flags,
                       CUdriverProcAddressQueryResult *status)
{
    REQUIRE(symbol && out, SIM_E_VALUE);
    *out = find(symbol, flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
    if (status) {
        *status = *out ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    }
    return *out ? SIM_OK : SIM_E_NOT_FOUND;
}

#undef cuGetProcAddress /* cuda.h replaces this name by the _v2 name; libcuda exports both */

DRIVER_API(cuGetProcAddress, (const char *symbol, void **out, int version, cuuint64_t flags),
           (symbol, out, version, flags))
{
    return get_address(symbol, out, flags, NULL);
}

DRIVER_API(cuGetProcAddress_v2,
           (const char *symbol, void **out, int version, cuuint64_t flags,
            CUdriverProcAddressQueryResult *status),
           (symbol, out, version, flags, status))
{
    return get_address(symbol, out, flags, status);
}

SIM_EXPORT CUresult cuGetExportTable(const void **table, const CUuuid *id)
{
    *table = NULL;
    return CUDA_ERROR_NOT_FOUND;
}

DRIVER_API(cuProfilerStart, (void), ())
{
    return SIM_OK;
}

DRIVER_API(cuProfilerStop, (void), ())
{
    return SIM_OK;
}
