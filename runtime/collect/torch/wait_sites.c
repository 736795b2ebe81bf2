/*
 * wait_sites.c - finds the Python line of PyTorch waits that are not inside operators.
 *
 * Threads, memory: see wait_sites.h. We need not keep the CUDA runtime loaded. PyTorch's libraries
 * depend on the CUDA runtime and are never unloaded.
 */
#include "collect/torch/wait_sites.h"

#include <stdio.h>
#include <string.h>

#include "base/import_slot.h"
#include "base/loader.h"
#include "base/log.h"
#include "collect/torch/ops.h"

/* Number of watched libraries, which are libc10_cuda, libtorch_cuda and libtorch_python. Calls from
 * PyTorch's other libraries are always inside operators. */
#define LIBRARIES 3
/* PyTorch uses the CUDA runtime with which this library is linked. */
#define RUNTIME_OF "libc10_cuda.so"

/* The CUDA runtime's own functions. These pointers are set before any slot points to our functions.
 * The functions return cudaError_t. */
static struct {
    int (*device_synchronize)(void);
    int (*stream_synchronize)(void *stream);
    int (*stream_query)(void *stream);
    int (*event_synchronize)(void *event);
    int (*event_query)(void *event);
    int (*free_device)(void *memory);
    int (*free_host)(void *memory);
} cuda;

/* ---- the functions in the slots ---- */

static int pass_on(int (*function)(void *), void *object)
{
    int is_noted = sl_torch_ops_site_begin();
    int result = function(object);

    if (is_noted)
        sl_torch_ops_site_end();
    return result;
}

static int device_synchronize(void)
{
    int is_noted = sl_torch_ops_site_begin();
    int result = cuda.device_synchronize();

    if (is_noted)
        sl_torch_ops_site_end();
    return result;
}

static int stream_synchronize(void *stream)
{
    return pass_on(cuda.stream_synchronize, stream);
}

static int stream_query(void *stream)
{
    return pass_on(cuda.stream_query, stream);
}

static int event_synchronize(void *event)
{
    return pass_on(cuda.event_synchronize, event);
}

static int event_query(void *event)
{
    return pass_on(cuda.event_query, event);
}

static int free_device(void *memory)
{
    return pass_on(cuda.free_device, memory);
}

static int free_host(void *memory)
{
    return pass_on(cuda.free_host, memory);
}

/* ---- PyTorch's libraries ---- */

struct libraries {
    const void *within[LIBRARIES]; /* an address inside each library; NULL: not loaded */
    char runtime_of[4096];         /* path of the library RUNTIME_OF */
};

static int note(struct dl_phdr_info *info, size_t size, void *user)
{
    static const char *const names[LIBRARIES] = {RUNTIME_OF, "libtorch_cuda.so",
                                                 "libtorch_python.so"};
    struct libraries *found = user;
    const char *slash = strrchr(info->dlpi_name, '/');

    (void)size;
    for (size_t i = 0; slash && i < LIBRARIES; i++) {
        if (strcmp(slash + 1, names[i]) != 0)
            continue;
        found->within[i] = (const void *)(info->dlpi_addr + info->dlpi_phdr[0].p_vaddr);
        if (i == 0)
            snprintf(found->runtime_of, sizeof(found->runtime_of), "%s", info->dlpi_name);
    }
    return 0;
}

/* Each function's name, where its address is stored, and our function for the slots. */
static const struct {
    const char *name;
    void *function;
    void *instead;
} waits[] = {
    {"cudaDeviceSynchronize", &cuda.device_synchronize, (void *)device_synchronize},
    {"cudaStreamSynchronize", &cuda.stream_synchronize, (void *)stream_synchronize},
    {"cudaStreamQuery", &cuda.stream_query, (void *)stream_query},
    {"cudaEventSynchronize", &cuda.event_synchronize, (void *)event_synchronize},
    {"cudaEventQuery", &cuda.event_query, (void *)event_query},
    {"cudaFree", &cuda.free_device, (void *)free_device},
    {"cudaFreeHost", &cuda.free_host, (void *)free_host},
};

#define WAITS (sizeof(waits) / sizeof(*waits))

/* Looks up the functions through the library at `path`. So even if several CUDA runtimes are
 * loaded, the functions belong to the CUDA runtime with which this library is linked. Leaves out
 * functions that are not found. Returns the number of functions found. */
static size_t find_functions(const char *path, struct sl_import *imports)
{
    void *library = sl_loader_open(path, RTLD_LAZY | RTLD_NOLOAD), *function;
    size_t count = 0;

    for (size_t i = 0; library && i < WAITS; i++) {
        function = sl_loader_symbol(library, waits[i].name);
        if (!function)
            continue;
        memcpy(waits[i].function, &function, sizeof(function));
        imports[count++] = (struct sl_import){
            .name = waits[i].name, .instead = waits[i].instead, .function = function};
    }
    if (library)
        sl_loader_close(library);
    return count;
}

void sl_wait_sites_watch(void)
{
    struct libraries libraries = {0};
    struct sl_import imports[WAITS];
    unsigned found = 0, redirected = 0;
    size_t count;

    sl_loader_look(note, &libraries);
    count = libraries.within[0] ? find_functions(libraries.runtime_of, imports) : 0;
    for (size_t i = 0; i < LIBRARIES; i++) {
        for (size_t k = 0; k < count; k++)
            imports[k].within = libraries.within[i];
        if (libraries.within[i])
            sl_import_redirect(imports, count);
        for (size_t k = 0; k < count && libraries.within[i]; k++) {
            found += imports[k].slots;
            redirected += imports[k].redirected;
        }
    }
    sl_log(SL_LOG_DEBUG, "watching %u of %u import slots for waits of PyTorch", redirected, found);
}
