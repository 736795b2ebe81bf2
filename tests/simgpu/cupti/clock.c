/*
 * clock.c - the clock of record time stamps.
 *
 * The core takes time stamps from CLOCK_REALTIME. Once a client has registered its own clock, the
 * times of its later records are converted to that clock. As on a real GPU, earlier records keep
 * times of the old clock. The clock of a subscriber is used only while it is the only subscriber.
 *
 * Any thread. The conversion is a line through two moments at which both clocks were read. The
 * first of these moments is the registration of the clock. The second moment is measured again when
 * the span between the two has doubled, or when a second has passed. So errors of tens of ns when
 * reading the clocks never add up.
 */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "core/fork.h"
#include "cupti/simcupti.h"

#define CALIBRATION_NS 300000u
#define RENEWAL_NS     1000000000u
#define CLOSE_NS       100u /* ns; readings this close together are one moment */
#define TRIES          50

struct moment {
    uint64_t real, client;
};

struct line {
    sim_clock clock;
    struct moment first, last;
    double rate; /* client ticks per ns */
    uint64_t renew_ns;
    struct line *before; /* the previous line, kept because another thread may still read it */
};

static _Atomic(sim_clock) current[SIM_CLIENTS];
static _Atomic(struct line *) newest; /* list of the lines of all clocks */
SIM_MUTEX(renewing);

uint64_t sim_monotonic_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

sim_clock sim_clock_now(void)
{
    if (sim_v2_on() && sim_client_after(sim_client_first()) < SIM_CLIENTS) {
        return NULL;
    }
    /* The acquire pairs with the release in sim_clock_register(). So this thread sees the line of
     * the clock. */
    return atomic_load_explicit(&current[sim_client], memory_order_acquire);
}

/* Reads both clocks several times. Returns the pair of readings with the least time between
 * them. */
static struct moment take_moment(sim_clock clock)
{
    struct moment best = {0, 0};
    uint64_t best_ns = UINT64_MAX;

    for (int i = 0; i < TRIES && best_ns > CLOSE_NS; i++) {
        uint64_t before = sim_now_ns(), client = clock(), took = sim_now_ns() - before;

        if (took < best_ns) {
            best_ns = took;
            best = (struct moment){before + took / 2, client};
        }
    }
    return best;
}

static void draw_line(sim_clock clock, struct moment first, struct moment last)
{
    struct line *line = malloc(sizeof *line);

    if (!line) {
        return; /* memory is exhausted; the previous line is exact enough */
    }
    uint64_t age = last.real - first.real;

    *line = (struct line){
        .clock = clock,
        .first = first,
        .last = last,
        .rate = (double)(last.client - first.client) / (double)age,
        .renew_ns = last.real + (age < RENEWAL_NS ? age : RENEWAL_NS),
        .before = atomic_load_explicit(&newest, memory_order_relaxed),
    };
    /* Release pairs with the acquire in sim_clock_convert(). */
    atomic_store_explicit(&newest, line, memory_order_release);
}

void sim_clock_register(sim_clock clock)
{
    if (clock) {
        pthread_mutex_lock(&renewing);
        struct moment first = take_moment(clock);

        while (sim_now_ns() - first.real < CALIBRATION_NS) {
        }
        draw_line(clock, first, take_moment(clock));
        pthread_mutex_unlock(&renewing);
    }
    /* The release pairs with the acquire in sim_clock_now(). */
    atomic_store_explicit(&current[sim_client], clock, memory_order_release);
}

/* Returns the newest line of this clock, whichever client registered it. */
static const struct line *newest_of(sim_clock clock)
{
    const struct line *line = atomic_load_explicit(&newest, memory_order_acquire);

    while (line->clock != clock) {
        line = line->before;
    }
    return line;
}

static const struct line *line_until(sim_clock clock, uint64_t realtime_ns)
{
    const struct line *line = newest_of(clock);

    if (realtime_ns > line->renew_ns && pthread_mutex_trylock(&renewing) == 0) {
        draw_line(clock, line->first, take_moment(clock));
        pthread_mutex_unlock(&renewing);
        line = newest_of(clock);
    }
    return line;
}

void sim_clock_convert(sim_clock clock, uint64_t *start_ns, uint64_t *end_ns)
{
    if (!clock || !*end_ns) {
        return;
    }
    const struct line *line = line_until(clock, *end_ns);
    double to_start = (double)(int64_t)(*start_ns - line->last.real);
    double length = (double)(int64_t)(*end_ns - *start_ns);

    *start_ns = line->last.client + (uint64_t)(int64_t)(to_start * line->rate);
    *end_ns = *start_ns + (uint64_t)(int64_t)(length * line->rate);
}
