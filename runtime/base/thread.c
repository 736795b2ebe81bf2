/*
 * thread.c - starts a thread of ours. Any thread; no state.
 */
#include "base/thread.h"

#include <errno.h>
#include <signal.h>

int sl_thread_start(pthread_t *out, size_t stack_bytes, void *(*run)(void *), void *argument)
{
    sigset_t all, before;
    pthread_attr_t attributes;
    int error, saved = errno;

    /* A thread inherits the signal mask of its creator. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, stack_bytes);
    error = pthread_create(out, &attributes, run, argument);
    pthread_attr_destroy(&attributes);
    if (error == EINVAL)
        error = pthread_create(out, NULL, run, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = saved;
    return -error;
}
