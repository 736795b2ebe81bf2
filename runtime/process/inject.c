/*
 * inject.c - the exported functions for the CUDA driver and NVTX, and for the end of the process.
 *
 * The driver calls InitializeInjection() once inside cuInit, before any context, on the thread that
 * initialises CUDA. NVTX calls InitializeInjectionNvtx*() inside an NVTX call of the application,
 * on any thread. This file only dispatches; process.c does the work. This file owns no memory.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/loader.h"
#include "collect/source.h"
#include "process/process.h"
#include "write/distributed.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT int InitializeInjection(void);

static int has_fork_handlers;

static void after_fork_in_child(void)
{
    sl_loader_fork_child();
    sl_process_fork_child();
}

/* Always returns 1, which means success, because a profiler that cannot work must not make cuInit
 * fail. */
EXPORT int InitializeInjection(void)
{
    int saved = errno;

    if (sl_process_refuse_secure()) {
        errno = saved;
        return 1;
    }
    /* Registered first, because attaching walks the list of loaded objects, and a fork() must wait
     * for such walks. */
    if (!has_fork_handlers)
        has_fork_handlers =
            pthread_atfork(sl_loader_before_fork, sl_loader_after_fork, after_fork_in_child) == 0;
    if (sl_process_inject()) {
        /* Exit handlers run in reverse order. Our handler is registered after the driver was
         * loaded, so it runs before the driver's handler. */
        atexit(sl_process_exit);
    }
    errno = saved;
    return 1;
}

/* Ends recording in a process in which our exit handler could not be registered (the table may be
 * full). */
__attribute__((destructor)) static void on_unload(void)
{
    sl_process_exit();
}

EXPORT int InitializeInjectionNvtx2(const void *(*get_export_table)(uint32_t id));
EXPORT int InitializeInjectionNvtxExtension(void *module_info);

/* Each copy of NVTX in the process calls this function at its first use. If the function returns 0,
 * that copy stays inactive. */
EXPORT int InitializeInjectionNvtx2(const void *(*get_export_table)(uint32_t id))
{
    int saved = errno;
    int attached = !sl_process_refuse_secure() && sl_sources_on_nvtx(get_export_table);

    errno = saved;
    return attached;
}

EXPORT int InitializeInjectionNvtxExtension(void *module_info)
{
    int saved = errno;
    int attached = !sl_process_refuse_secure() && sl_sources_on_nvtx_extension(module_info);

    errno = saved;
    return attached;
}

EXPORT int sl_hook_groups(const char *json);
EXPORT int sl_hook_end(void);

/* The Python package calls this before _exit(), which does not run our exit handler. */
EXPORT int sl_hook_end(void)
{
    sl_process_exit();
    return 0;
}

/* Called by the Python package. Sets `distributedInfo` of later files. The package may call this
 * function before the injection, too. */
EXPORT int sl_hook_groups(const char *json)
{
    return sl_process_refuse_secure() ? -ENODEV : sl_distributed_set(json);
}
