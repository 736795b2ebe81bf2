/*
 * account.c - measures the CPU time of the client's two callbacks, and the records and bytes
 * delivered to the callbacks. Writes one line to the log at process exit.
 *
 * Any thread.
 */
#include <stdatomic.h>
#include <time.h>

#include "cupti/simcupti.h"

static _Atomic uint64_t calls[2], cpu_ns[2], records, bytes;

uint64_t sim_account_begin(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void sim_account_end(enum sim_callback callback, uint64_t began, size_t delivered,
                     size_t delivered_bytes)
{
    uint64_t took = sim_account_begin() - began;

    atomic_fetch_add_explicit(&calls[callback], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&cpu_ns[callback], took, memory_order_relaxed);
    atomic_fetch_add_explicit(&records, delivered, memory_order_relaxed);
    atomic_fetch_add_explicit(&bytes, delivered_bytes, memory_order_relaxed);
}

void sim_account_log(void)
{
    sim_log("{\"what\":\"client\",\"records\":%llu,\"bytes\":%llu,\"requests\":%llu,"
            "\"request_cpu_ns\":%llu,\"completions\":%llu,\"completion_cpu_ns\":%llu}",
            (unsigned long long)records, (unsigned long long)bytes,
            (unsigned long long)calls[SIM_CALLBACK_REQUEST],
            (unsigned long long)cpu_ns[SIM_CALLBACK_REQUEST],
            (unsigned long long)calls[SIM_CALLBACK_COMPLETE],
            (unsigned long long)cpu_ns[SIM_CALLBACK_COMPLETE]);
}
