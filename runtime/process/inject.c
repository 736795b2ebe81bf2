/*
 * inject.c - the functions that the library exports to the CUDA driver, to NVTX, and as the public
 * API.
 *
 * The driver calls InitializeInjection() once inside cuInit, before any context, on the thread that
 * initialises CUDA. NVTX calls InitializeInjectionNvtx*() inside an NVTX call of the application,
 * on any thread. Any thread calls sl_*(). This file only dispatches; process.c does the work. It
 * owns no memory.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/loader.h"
#include "collect/source.h"
#include "process/process.h"
#include "syncline/syncline.h"
#include "write/distributed.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT int InitializeInjection(void);

static int has_fork_handlers;

static void after_fork_in_child(void)
{
    sl_loader_fork_child();
    sl_process_fork_child();
}

/* Always returns 1, success: a profiler that cannot work must not make cuInit fail. */
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
        /* Exit handlers run in reverse order. This one is registered after the driver was loaded,
         * so it runs before the driver's own. */
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

/* Each copy of NVTX in the process calls this at its first use. If it returns 0, that copy stays
 * inactive. */
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

EXPORT int sl_start(void)
{
    return sl_process_start();
}

EXPORT int sl_stop(void)
{
    return sl_process_stop();
}

EXPORT int sl_dump(void)
{
    return sl_process_dump();
}

EXPORT int sl_hand_over(void)
{
    return sl_process_hand_over();
}

EXPORT int sl_take_back(void)
{
    return sl_process_take_back();
}

EXPORT int sl_step(void)
{
    return sl_process_step(SL_STEP_JOB);
}

EXPORT int sl_range_push(const char *name)
{
    return sl_process_range_push(name);
}

EXPORT int sl_range_pop(void)
{
    return sl_process_range_pop();
}

EXPORT int sl_mark(const char *name)
{
    return sl_process_mark(name);
}

EXPORT int sl_hook_step(int source);
EXPORT int sl_hook_groups(const char *json);
EXPORT int sl_hook_end(void);

/* The Python package calls this before _exit(), which does not run our exit handler. */
EXPORT int sl_hook_end(void)
{
    sl_process_exit();
    return 0;
}

/* Called by the Python package. Sets `distributedInfo` of later files. Also allowed before the
 * injection. */
EXPORT int sl_hook_groups(const char *json)
{
    return sl_process_refuse_secure() ? -ENODEV : sl_distributed_set(json);
}

/* Called by the Python package at each step. `source` is an enum sl_step_source. */
EXPORT int sl_hook_step(int source)
{
    return source == SL_STEP_LOADER || source == SL_STEP_OPTIMIZER
               ? sl_process_step((enum sl_step_source)source)
               : -EINVAL;
}

EXPORT uint64_t sl_hook_range_begin(const char *name);
EXPORT int sl_hook_range_end(uint64_t id);

/* Called by the Python package. Begins a range that is ended by its number, because coroutines end
 * their ranges in any order. Returns the number, 0 if no range was begun. */
EXPORT uint64_t sl_hook_range_begin(const char *name)
{
    return sl_process_range_begin(name);
}

EXPORT int sl_hook_range_end(uint64_t id)
{
    sl_process_range_end(id);
    return 0;
}

EXPORT int sl_hook_ops(void);

/* Called by the Python package. Returns 0 if PyTorch shall not report operators to NVTX, 1 if it
 * shall, 2 if with shapes. */
EXPORT int sl_hook_ops(void)
{
    return sl_process_ops_by_strings();
}

EXPORT int sl_status(struct sl_status *status)
{
    return sl_process_status(status);
}
