/*
 * inject.c - what others call by name: the CUDA driver, the dynamic loader, and the public API.
 *
 * InitializeInjection() is called by the driver inside cuInit, once, before any context, on the
 * thread that initialises CUDA. sl_*() by any thread. Sequence only: what happens is in runtime.c.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "runtime.h"
#include "syncline/syncline.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT int InitializeInjection(void);

/* Always 1, success: a profiler that cannot work must not make cuInit fail. */
EXPORT int InitializeInjection(void)
{
    int saved = errno;

    if (sl_runtime_inject()) {
        pthread_atfork(NULL, NULL, sl_runtime_fork_child);
        /* Handlers run in reverse order: registered after the driver was loaded, this one runs
         * before the driver's own. */
        atexit(sl_runtime_exit);
    }
    errno = saved;
    return 1;
}

/* For a process whose exit handlers did not run ours (they may be full). */
__attribute__((destructor)) static void on_unload(void)
{
    sl_runtime_exit();
}

EXPORT int sl_start(void)
{
    return sl_runtime_start();
}

EXPORT int sl_stop(void)
{
    return sl_runtime_stop();
}

EXPORT int sl_status(struct sl_status *status)
{
    return sl_runtime_status(status);
}
