/*
 * clock.c - the clock that records are stamped with.
 *
 * The core stamps in CLOCK_REALTIME. Once the client has registered a clock of its own, records
 * made from then on are converted to it; those made before keep the old domain, as on the metal.
 *
 * Any thread. The line from one clock to the other is drawn through the moment of registering and
 * the moment of converting, so that an error of the rate acts only on a record's age.
 */
#include <time.h>

#include "cupti/simcupti.h"

#define CALIBRATION_NS 300000u

static _Atomic(sim_clock) current;
static _Atomic uint64_t base_real_ns, base_client;
static _Atomic double first_rate;

uint64_t sim_monotonic_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

sim_clock sim_clock_now(void)
{
    /* Acquire pairs with the release in sim_clock_register(): the base is there. */
    return atomic_load_explicit(&current, memory_order_acquire);
}

void sim_clock_register(sim_clock clock)
{
    uint64_t real = sim_now_ns(), client = clock(), later;

    do {
        later = sim_now_ns();
    } while (later - real < CALIBRATION_NS);
    atomic_store_explicit(&first_rate, (double)(clock() - client) / (double)(later - real),
                          memory_order_relaxed);
    atomic_store_explicit(&base_real_ns, real, memory_order_relaxed);
    atomic_store_explicit(&base_client, client, memory_order_relaxed);
    /* Release pairs with the acquire in sim_clock_now(). */
    atomic_store_explicit(&current, clock, memory_order_release);
}

uint64_t sim_clock_convert(sim_clock clock, uint64_t realtime_ns)
{
    if (!clock || !realtime_ns) {
        return realtime_ns;
    }
    uint64_t real = sim_now_ns(), client = clock();
    uint64_t base = atomic_load_explicit(&base_real_ns, memory_order_relaxed);
    double rate = atomic_load_explicit(&first_rate, memory_order_relaxed);

    if (real - base > 30 * CALIBRATION_NS) {
        rate = (double)(client - atomic_load_explicit(&base_client, memory_order_relaxed)) /
               (double)(real - base);
    }
    return client - (uint64_t)(int64_t)((double)(int64_t)(real - realtime_ns) * rate);
}
