/*
 * fork.h - keeps mutexes free of other threads while the process forks. The child can then lock
 * them and finds the guarded data consistent.
 */
#ifndef SIM_FORK_H
#define SIM_FORK_H

#include <pthread.h>

/* Registers a mutex permanently. Any thread may call this. Not for recursive mutexes, because the
 * child is a different owner. A thread that holds such a mutex must not call the client (except its
 * clock) or this function. The client's mutexes may be held at a fork too. */
void sim_fork_hold(pthread_mutex_t *mutex);

/* A mutex private to a file. */
#define SIM_MUTEX(name)                                                                            \
    static pthread_mutex_t name = PTHREAD_MUTEX_INITIALIZER;                                       \
    __attribute__((constructor)) static void hold_##name(void)                                     \
    {                                                                                              \
        sim_fork_hold(&name);                                                                      \
    }                                                                                              \
    _Static_assert(1, "takes the semicolon")

#endif
