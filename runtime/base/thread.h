/*
 * thread.h - starts a thread of ours.
 *
 * The host's signal handlers never run on the new thread, because the thread starts with all
 * signals blocked. The new thread rounds to nearest, and no floating-point operation raises a
 * signal there, whatever the host's thread has set. Any thread. errno is preserved.
 */
#ifndef SL_THREAD_H
#define SL_THREAD_H

#include <pthread.h>
#include <stddef.h>

/* Starts `run(argument)` on a stack of `stack_bytes`, or on a stack of the host's default size if
 * the host's thread-local data does not fit into `stack_bytes`. The caller joins or detaches the
 * thread. 0 or -errno. */
int sl_thread_start(pthread_t *out, size_t stack_bytes, void *(*run)(void *), void *argument);

#endif
