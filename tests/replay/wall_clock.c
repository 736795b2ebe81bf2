/*
 * wall_clock.c - sets the process's time to the time of the recording. See wall_clock.h.
 *
 * Any thread.
 */
#include "wall_clock.h"

#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000

static _Atomic int64_t offset_ns;

/* Replaces libc's function for every library in the process. */
__attribute__((visibility("default"))) int clock_gettime(clockid_t id, struct timespec *out)
{
    int64_t ns;

    if (syscall(SYS_clock_gettime, id, out)) {
        return -1;
    }
    if (id == CLOCK_REALTIME) {
        ns = (int64_t)out->tv_sec * NS_PER_S + out->tv_nsec + offset_ns;
        *out = (struct timespec){ns / NS_PER_S, ns % NS_PER_S};
    }
    return 0;
}

static uint64_t now(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

void replay_wall_clock_set(uint64_t ns)
{
    offset_ns += (int64_t)(ns - now(CLOCK_REALTIME));
}

uint64_t replay_wall_clock_now(void)
{
    return now(CLOCK_REALTIME);
}

uint64_t replay_monotonic_now(void)
{
    return now(CLOCK_MONOTONIC);
}

void replay_sleep(uint64_t ns)
{
    const struct timespec t = {(time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S)};

    nanosleep(&t, NULL);
}
