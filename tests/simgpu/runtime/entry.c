/*
 * entry.c - the runtime's functions that return addresses of driver functions
 * (cudaGetDriverEntryPoint).
 *
 * Application threads. The addresses are those of the functions that the process's libcuda.so.1
 * exports. The newest _vN form is tried first, as in cuGetProcAddress.
 */
#include <dlfcn.h>
#include <stdio.h>

#include "runtime/call.h"

static void *find_driver_symbol(const char *name, bool per_thread)
{
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    char symbol[160];

    if (!driver) {
        return NULL;
    }
    for (int version = 4; version >= 1; version--) {
        for (int twin = per_thread; twin >= 0; twin--) {
            int n = version > 1
                        ? snprintf(symbol, sizeof symbol, "%s_v%d%s", name, version,
                                   twin ? "_ptsz" : "")
                        : snprintf(symbol, sizeof symbol, "%s%s", name, twin ? "_ptsz" : "");
            void *found = n < (int)sizeof symbol ? dlsym(driver, symbol) : NULL;

            if (found) {
                return found;
            }
        }
    }
    return NULL;
}

static int entry_point(const char *name, void **out, unsigned long long flags, int *status,
                       bool per_thread)
{
    if (!name || !out) {
        return SIM_E_VALUE;
    }
    *out = find_driver_symbol(name, per_thread || flags == cudaEnablePerThreadDefaultStream);
    if (status) {
        *status = *out ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
    }
    return SIM_OK;
}

RUNTIME_STREAM(cudaGetDriverEntryPoint, v11030, ptsz, v11030,
               (const char *name, void **out, unsigned long long flags, int *status),
               entry_point(name, out, flags, status, frame.per_thread))
RUNTIME_STREAM(cudaGetDriverEntryPointByVersion, v12050, ptsz, v12050,
               (const char *name, void **out, unsigned version, unsigned long long flags,
                int *status),
               entry_point(name, out, flags, status, frame.per_thread))

/* Undocumented tables that only NVIDIA's own libraries request. */
PLAIN(int, cudaGetExportTable, (const void **table, const void *id))
{
    if (table) {
        *table = NULL;
    }
    return SIM_E_NOT_SUPPORTED;
}
