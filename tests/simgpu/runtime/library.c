/*
 * library.c - cudaLibrary_t, that is modules without a context, and the device variables of a
 * program.
 *
 * Application threads. A cudaLibrary_t is a module of the core. A variable's host shadow is also
 * its device memory, because host and device share one memory.
 */
#include "core/memory.h"
#include "runtime/call.h"

static int load(struct sim_module **out, const void *code)
{
    return out ? sim_module_load(code, out) : SIM_E_VALUE;
}

static int get_kernel(struct sim_kernel **out, struct sim_module *library, const char *name)
{
    if (!out || !name) {
        return SIM_E_VALUE;
    }
    if (!sim_module_valid(library)) {
        return SIM_E_HANDLE;
    }
    *out = sim_module_kernel(library, name);
    return *out ? SIM_OK : SIM_E_NOT_FOUND;
}

static int get_count(unsigned *out, struct sim_module *library)
{
    if (!out || !sim_module_valid(library)) {
        return out ? SIM_E_HANDLE : SIM_E_VALUE;
    }
    *out = library->kernel_count;
    return SIM_OK;
}

static int get_global(void **out, size_t *bytes, struct sim_module *library, const char *name)
{
    if (!name || !sim_module_valid(library)) {
        return name ? SIM_E_HANDLE : SIM_E_VALUE;
    }
    const struct sim_symbol *symbol = sim_module_symbol(library, name);

    if (!symbol) {
        return SIM_E_NOT_FOUND;
    }
    if (out) {
        *out = symbol->address;
    }
    if (bytes) {
        *bytes = symbol->size;
    }
    return SIM_OK;
}

RUNTIME(cudaLibraryLoadData, v12060,
        (struct sim_module * *out, const void *code, void *jit, void **jit_values,
         unsigned jit_count, void *options, void **values, unsigned count),
        load(out, code))
RUNTIME(cudaLibraryUnload, v12060, (struct sim_module * library), sim_module_unload(library))
RUNTIME(cudaLibraryGetKernel, v12060,
        (struct sim_kernel * *out, struct sim_module *library, const char *name),
        get_kernel(out, library, name))
RUNTIME(cudaLibraryGetKernelCount, v12060, (unsigned *out, struct sim_module *library),
        get_count(out, library))
RUNTIME(cudaLibraryGetGlobal, v12060,
        (void **out, size_t *bytes, struct sim_module *library, const char *name),
        get_global(out, bytes, library, name))

/* ---- variables ---- */

static int symbol_fact(void **address, size_t *bytes, void *symbol)
{
    struct sim_allocation found;

    if (!sim_memory_find(symbol, &found)) {
        return cudaErrorInvalidSymbol;
    }
    if (address) {
        *address = symbol;
    }
    if (bytes) {
        *bytes = found.bytes;
    }
    return SIM_OK;
}

RUNTIME(cudaGetSymbolAddress, v3020, (void **out, void *symbol), symbol_fact(out, NULL, symbol))
RUNTIME(cudaGetSymbolSize, v3020, (size_t * out, void *symbol), symbol_fact(NULL, out, symbol))
