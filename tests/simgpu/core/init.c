/*
 * init.c - starts and ends the simulation in a process: cuInit, fork and exit. Like the real
 * driver, cuInit loads the library that CUDA_INJECTION64_PATH names.
 *
 * Any thread. The first caller initializes the process under a lock. The lock is recursive, because
 * the injected library may call CUDA from InitializeInjection.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/sim.h"

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static atomic_int state; /* state of the initialisation: 0 not started, 1 in progress, 2 done */
static atomic_bool forked;

static void in_child(void)
{
    if (atomic_load(&state) != 0) {
        atomic_store(&forked, true);
    }
}

bool sim_forked(void)
{
    return atomic_load_explicit(&forked, memory_order_relaxed);
}

bool sim_ready(void)
{
    return atomic_load_explicit(&state, memory_order_acquire) != 0;
}

int sim_driver_version(void)
{
    return (int)sim_option_u64("DRIVER_VERSION", sim_option_u64("CUDA", 13) == 12 ? 12080 : 13000);
}

static void tell_probe_of_exit(void)
{
    const struct sim_probe *probe = sim_probe_registered();

    if (!sim_forked() && probe && probe->at_exit) {
        probe->at_exit();
    }
}

/* Runs after all atexit handlers, when no thread enqueues any more. */
__attribute__((destructor)) static void finish(void)
{
    if (!sim_ready() || sim_forked()) {
        return;
    }
    sim_schedule_stop();
    if (sim_truth_on) {
        sim_schedule_report_unfinished();
    }
    sim_truth_flush();
    sim_record_flush();
}

static void load_injection(void)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");

    if (!path || !*path) {
        return;
    }
    void *library = dlopen(path, RTLD_NOW);
    int (*initialize)(void) = NULL;

    if (library) {
        *(void **)&initialize = dlsym(library, "InitializeInjection");
    }
    if (!initialize) {
        fprintf(stderr, "simgpu: CUDA_INJECTION64_PATH: %s\n", dlerror());
        return;
    }
    initialize();
}

int sim_init(void)
{
    if (atomic_load_explicit(&state, memory_order_acquire) == 2) {
        return SIM_OK;
    }
    pthread_mutex_lock(&lock);
    if (atomic_load(&state) == 0) {
        atomic_store(&state, 1);
        sim_truth_open();
        sim_record_open();
        pthread_atfork(NULL, NULL, in_child);
        /* Registered before the injected library's own handlers, so that it runs after them. */
        atexit(tell_probe_of_exit);
        if (sim_device_count() > 0) {
            load_injection();
        }
        atomic_store_explicit(&state, 2, memory_order_release);
    }
    pthread_mutex_unlock(&lock);
    return sim_device_count() > 0 ? SIM_OK : SIM_E_NO_DEVICE;
}
