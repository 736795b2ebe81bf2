/*
 * fork.h - acquires all registered mutexes before the process forks. No other thread holds a mutex
 * at the fork, so the child can lock every mutex and finds the guarded data consistent.
 */
#ifndef SIM_FORK_H
#define SIM_FORK_H

#include <pthread.h>

/* Registers a mutex permanently. Any thread may call this function. The mutex must not be
 * recursive, because the child's thread is not the owner that locked it. A thread that holds a
 * registered mutex must not call this function or the CUPTI client (except the client's clock),
 * because the client may acquire mutexes of its own at a fork. */
void sim_fork_hold(pthread_mutex_t *mutex);

/* Defines a mutex that is private to a file, and registers it. */
#define SIM_MUTEX(name)                                                                            \
    static pthread_mutex_t name = PTHREAD_MUTEX_INITIALIZER;                                       \
    __attribute__((constructor)) static void hold_##name(void)                                     \
    {                                                                                              \
        sim_fork_hold(&name);                                                                      \
    }                                                                                              \
    _Static_assert(1, "takes the semicolon")

#endif
