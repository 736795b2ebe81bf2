/*
 * fork.h - mutexes that no other thread holds when the process forks, so that the child may take
 * them, and finds whole what they guard.
 */
#ifndef SIM_FORK_H
#define SIM_FORK_H

#include <pthread.h>

/* For good; any thread. Not a recursive mutex: the child is another owner. Nobody calls the client
 * (but for its clock), or this, while holding one: the client's own may be held at a fork, too. */
void sim_fork_hold(pthread_mutex_t *mutex);

/* A file's own mutex. */
#define SIM_MUTEX(name)                                                                            \
    static pthread_mutex_t name = PTHREAD_MUTEX_INITIALIZER;                                       \
    __attribute__((constructor)) static void hold_##name(void)                                     \
    {                                                                                              \
        sim_fork_hold(&name);                                                                      \
    }                                                                                              \
    _Static_assert(1, "takes the semicolon")

#endif
