/*
 * host_load.c - modes of the program `host` that use the GPU in various rhythms, from one thread
 * and from many.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"

#define FLOOD_NS          1000
#define FLOOD_LAUNCHES    200 /* launches between two waits */
#define WARM_UP           100 /* waits before and after what a mode is about */
#define THREADS_AT_ONCE   4
#define KERNELS_A_THREAD  3
#define KERNELS_OF_MANY   20
#define NS_OF_A_MS        1000000u
#define CUDA_SUCCESS_CODE 0
#define THREAD_NAME       "hostile"

static _Atomic int changed_threads;

static void run_work(int n)
{
    host_gpu_setup();
    host_gpu_work(n);
    host_view("end");
}

static void run_for(int ms)
{
    host_gpu_setup();
    host_view("begin");
    fprintf(host_out, "works\n");
    host_gpu_work_ms(ms);
    host_view("end");
}

static void run_pause(int ms)
{
    host_gpu_setup();
    host_gpu_work(WARM_UP);
    host_sleep_ms(ms);
    host_gpu_work(WARM_UP);
    host_view("end");
}

static void run_idle(int ms)
{
    host_gpu_setup();
    host_gpu_work(WARM_UP);
    host_view("busy");
    host_sleep_ms(ms);
    host_view("idle");
    host_gpu_work(10);
}

static void run_flood(int ms)
{
    int64_t end_ms;
    long launches = 0;

    host_gpu_setup();
    end_ms = host_now_ms() + ms;
    while (host_now_ms() < end_ms) {
        for (int i = 0; i < FLOOD_LAUNCHES; i++)
            host_gpu_launch(FLOOD_NS);
        launches += FLOOD_LAUNCHES;
        host_gpu_wait();
    }
    fprintf(host_out, "measured %ld launches\n", launches);
    host_view("end");
}

static void run_hang(int ms)
{
    host_gpu_setup();
    host_gpu_work(WARM_UP);
    host_gpu_launch((uint64_t)ms * NS_OF_A_MS);
    host_gpu_wait();
    host_view("end");
}

/* The test gives this mode short windows by time, and views are taken in and between windows. */
static void run_time_windows(int ms)
{
    int64_t end_ms;

    host_gpu_setup();
    end_ms = host_now_ms() + ms;
    for (int part = 0; part < 4; part++) {
        do
            host_gpu_work(10);
        while (host_now_ms() < end_ms - (3 - part) * (ms / 4));
        host_view("part");
    }
}

/* A thread inherits its name and signal mask from the main thread. */
static void *work_on_thread(void *kernels)
{
    char name[16] = "";
    sigset_t mask;

    host_gpu_thread(*(int *)kernels);
    pthread_getname_np(pthread_self(), name, sizeof(name));
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    if (strcmp(name, THREAD_NAME) != 0 || sigismember(&mask, SIGUSR1) != 1 ||
        sigismember(&mask, SIGUSR2) != 0)
        atomic_fetch_add(&changed_threads, 1);
    return NULL;
}

static void prepare_threads(void)
{
    sigset_t blocked;

    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &blocked, NULL);
    pthread_setname_np(pthread_self(), THREAD_NAME);
    host_gpu_setup();
}

static void print_threads(int count)
{
    fprintf(host_out, "%d threads, %d changed\n", count, atomic_load(&changed_threads));
    host_view("end");
}

static void start_thread(pthread_t *thread, int *kernels)
{
    int error = pthread_create(thread, NULL, work_on_thread, kernels);

    if (error) {
        fprintf(host_out, "no thread: error %d\n", error);
        exit(1);
    }
}

static void run_threads(int n)
{
    int kernels = KERNELS_A_THREAD;
    int64_t began_ms = host_now_ms();
    pthread_t thread[THREADS_AT_ONCE];

    prepare_threads();
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < THREADS_AT_ONCE; k++)
            start_thread(&thread[k], &kernels);
        for (int k = 0; k < THREADS_AT_ONCE; k++)
            pthread_join(thread[k], NULL);
    }
    fprintf(host_out, "measured %ld ms\n", (long)(host_now_ms() - began_ms));
    print_threads(n * THREADS_AT_ONCE);
}

static void run_many_threads(int n)
{
    pthread_t *thread = calloc((size_t)n, sizeof(*thread));
    int kernels = KERNELS_OF_MANY;

    if (!thread)
        exit(1);
    prepare_threads();
    for (int i = 0; i < n; i++)
        start_thread(&thread[i], &kernels);
    for (int i = 0; i < n; i++)
        pthread_join(thread[i], NULL);
    free(thread);
    print_threads(n);
}

static void run_dlclose(int n)
{
    for (int i = 0; i < n; i++) {
        void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
        unsigned (*init)(unsigned);

        if (!library) {
            fprintf(host_out, "%s\n", dlerror());
            exit(1);
        }
        *(void **)&init = dlsym(library, "cuInit");
        if (!init || init(0) != CUDA_SUCCESS_CODE)
            fprintf(host_out, "cuInit failed in round %d\n", i);
        if (dlclose(library))
            fprintf(host_out, "%s\n", dlerror());
    }
    host_gpu_setup();
    host_gpu_work(WARM_UP);
    host_view("end");
}

const struct host_mode host_load_modes[] = {
    {"work", run_work, "N kernels, each followed by a wait"},
    {"for", run_for, "kernels and waits for N ms"},
    {"pause", run_pause, "work, N ms of sleep, work"},
    {"idle", run_idle, "work, and views of the process before and after N ms of sleep"},
    {"flood", run_flood, "as many kernels of 1 us as possible in N ms"},
    {"hang", run_hang, "one kernel that runs for N ms"},
    {"timewindows", run_time_windows, "work for N ms, with four views of the process"},
    {"threads", run_threads, "N times four threads, each with a stream and kernels of its own"},
    {"manythreads", run_many_threads, "N threads at once"},
    {"dlclose", run_dlclose, "loads the driver, calls cuInit, and unloads the driver; N times"},
    {0},
};
