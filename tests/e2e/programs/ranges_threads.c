/* ranges_threads.c - the threads of `ranges`, and its forked child. */
#include "ranges.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void *work(void *user)
{
    char *steps = user, *step[32], *rest = NULL;
    int count = 0;

    printf("worker %ld\n", (long)syscall(SYS_gettid));
    for (char *one = strtok_r(steps, "+", &rest); one; one = strtok_r(NULL, "+", &rest))
        step[count++] = one;
    ranges_run(step, count);
    return NULL;
}

void ranges_worker(const char *steps)
{
    char *own = strdup(steps);
    pthread_t thread;

    pthread_create(&thread, NULL, work, own);
    pthread_join(thread, NULL);
    free(own);
}

static void *one_range(void *user)
{
    nvtxRangePushA("short life");
    nvtxRangePop();
    return NULL;
}

void ranges_churn(long n)
{
    pthread_t thread[4];

    for (long i = 0; i < n; i += 4) {
        for (int j = 0; j < 4; j++)
            pthread_create(&thread[j], NULL, one_range, NULL);
        for (int j = 0; j < 4; j++)
            pthread_join(thread[j], NULL);
    }
}

static void *wait_for_ever(void *user)
{
    pause();
    return user;
}

void ranges_thread_that_stays(void)
{
    pthread_t thread;

    pthread_create(&thread, NULL, wait_for_ever, NULL);
    pthread_detach(thread);
}

static _Atomic int is_loading;

static void *load(void *user)
{
    while (atomic_load(&is_loading)) {
        void *library = dlopen("libutil.so.1", RTLD_NOW);

        if (library)
            dlclose(library);
    }
    return user;
}

void ranges_loading(int ms)
{
    pthread_t thread;

    atomic_store(&is_loading, 1);
    pthread_create(&thread, NULL, load, NULL);
    ranges_sleep_ms(ms);
    atomic_store(&is_loading, 0);
    pthread_join(thread, NULL);
}

void ranges_fork(void)
{
    pid_t child = fork();

    if (child == 0) {
        nvtxRangePushA("in the child");
        printf("child %d\n", nvtxRangePop());
        fflush(stdout);
        _exit(0);
    }
    waitpid(child, NULL, 0);
}
