/*
 * fork.c - see fork.h. The fork handlers are process-wide and run in the thread that forks.
 */
#include "core/fork.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the list of mutexes */
static pthread_mutex_t **held;
static size_t count, cap;

/* Locks the mutex number `first`, then tries to lock the others. Returns SIZE_MAX if this thread
 * now holds all mutexes. Otherwise unlocks all of them, and returns the number of the mutex that
 * another thread holds. The order cannot cause a deadlock, because this function blocks only while
 * it holds no mutex. */
static size_t take_all(size_t first)
{
    pthread_mutex_lock(held[first]);
    for (size_t i = 1; i < count; i++) {
        size_t at = (first + i) % count;

        if (pthread_mutex_trylock(held[at]) != 0) {
            while (i-- > 0) {
                pthread_mutex_unlock(held[(first + i) % count]);
            }
            return at;
        }
    }
    return SIZE_MAX;
}

static void before(void)
{
    pthread_mutex_lock(&lock);
    for (size_t first = 0; first < count;) {
        first = take_all(first);
    }
}

static void after(void)
{
    for (size_t i = 0; i < count; i++) {
        pthread_mutex_unlock(held[i]);
    }
    pthread_mutex_unlock(&lock);
}

void sim_fork_hold(pthread_mutex_t *mutex)
{
    static bool registered;

    pthread_mutex_lock(&lock);
    if (!registered) {
        registered = pthread_atfork(before, after, after) == 0;
    }
    if (count == cap) {
        size_t more_cap = cap ? cap * 2 : 64;
        pthread_mutex_t **more = realloc(held, more_cap * sizeof(*more));

        if (!more) {
            abort();
        }
        held = more;
        cap = more_cap;
    }
    held[count++] = mutex;
    pthread_mutex_unlock(&lock);
}
