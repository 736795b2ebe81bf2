/*
 * clock.c - the simulated time, which is the wall clock. Stamps are CLOCK_REALTIME in ns. The
 * option `scale` divides only modelled durations.
 *
 * Any thread.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <time.h>

#include "core/sim.h"

enum {
    SPIN_NS = 30000
}; /* shorter waits spin, because a sleep would return too late */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static double rate;

static void read_scale(void)
{
    double scale = sim_option_double("SCALE", 1);

    rate = scale > 0 ? 1 / scale : 1;
}

uint64_t sim_now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_REALTIME, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t sim_clock_scaled(uint64_t ns)
{
    pthread_once(&once, read_scale);
    return (uint64_t)((double)ns * rate);
}

void sim_clock_sleep_until(uint64_t ns)
{
    struct sim_thread *self = sim_thread_self();
    uint64_t now = sim_now_ns();

    if (!self->sharp_timer) {
        /* The default timer slack of 50 us would hide the 4-8 us that a real wake-up takes. */
        prctl(PR_SET_TIMERSLACK, 1000ul, 0, 0, 0);
        self->sharp_timer = true;
    }
    if (now + SPIN_NS < ns) {
        uint64_t until = ns - SPIN_NS / 3;
        struct timespec ts = {(time_t)(until / 1000000000u), (long)(until % 1000000000u)};

        while (clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &ts, NULL) == EINTR) {
        }
    }
    while (sim_now_ns() < ns) {
        sched_yield();
    }
}
