/*
 * inject.c - what others call by name: the CUDA driver, the dynamic loader, and the public API.
 *
 * InitializeInjection() is called by the driver inside cuInit, once, before any context, on the
 * thread that initialises CUDA. InitializeInjectionNvtx*() by NVTX, inside an application's call of
 * it, on any thread. sl_*() by any thread. Sequence only: what happens is in process.c.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/loader.h"
#include "collect/nvtx/nvtx.h"
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

/* Always 1, success: a profiler that cannot work must not make cuInit fail. */
EXPORT int InitializeInjection(void)
{
    int saved = errno;

    /* First: attaching looks at the loaded objects, and a fork() waits for such looks. */
    if (!has_fork_handlers)
        has_fork_handlers =
            pthread_atfork(sl_loader_before_fork, sl_loader_after_fork, after_fork_in_child) == 0;
    if (sl_process_inject()) {
        /* Handlers run in reverse order: registered after the driver was loaded, this one runs
         * before the driver's own. */
        atexit(sl_process_exit);
    }
    errno = saved;
    return 1;
}

/* For a process whose exit handlers did not run ours (they may be full). */
__attribute__((destructor)) static void on_unload(void)
{
    sl_process_exit();
}

EXPORT int InitializeInjectionNvtx2(const void *(*get_export_table)(uint32_t id));
EXPORT int InitializeInjectionNvtxExtension(void *module_info);

/* Called by each copy of NVTX in the process at its first use; 0: it does nothing from then on. */
EXPORT int InitializeInjectionNvtx2(const void *(*get_export_table)(uint32_t id))
{
    int saved = errno, attached = sl_nvtx_attach(get_export_table);

    errno = saved;
    return attached;
}

EXPORT int InitializeInjectionNvtxExtension(void *module_info)
{
    int saved = errno, attached = sl_nvtx_attach_extension(module_info);

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

/* The Python package's, before an end by _exit(), which no handler of ours sees. */
EXPORT int sl_hook_end(void)
{
    sl_process_exit();
    return 0;
}

/* The Python package's: `distributedInfo` of the files to come. Before the injection, too. */
EXPORT int sl_hook_groups(const char *json)
{
    return sl_distributed_set(json);
}

/* The Python package's: enum sl_step_source. */
EXPORT int sl_hook_step(int source)
{
    return source == SL_STEP_LOADER || source == SL_STEP_OPTIMIZER
               ? sl_process_step((enum sl_step_source)source)
               : -EINVAL;
}

EXPORT uint64_t sl_hook_range_begin(const char *name);
EXPORT int sl_hook_range_end(uint64_t id);

/* The Python package's: a range that its end names, since coroutines end theirs in any order. 0:
 * there is none. */
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

/* The Python package's: 0, or PyTorch is to tell NVTX of its operators: 1, and 2 with shapes. */
EXPORT int sl_hook_ops(void)
{
    return sl_process_ops_by_strings();
}

EXPORT int sl_status(struct sl_status *status)
{
    return sl_process_status(status);
}
