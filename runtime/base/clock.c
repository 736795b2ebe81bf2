/*
 * clock.c - computes CLOCK_REALTIME from the tick counter (TSC).
 *
 * Threads: any thread reads; one background thread calibrates. The calibrating thread publishes the
 * line ns = base_ns + (ticks - base_ticks) * rate under a sequence counter, so readers take no
 * lock. If a change is in progress, a reader retries a few times and then calls clock_gettime(). So
 * a child that was forked during a change does not wait for ever.
 *
 * The rate is measured over the last interval alone, because NTP slews CLOCK_REALTIME by up to 500
 * ppm and our stamps must agree with CUPTI's stamps, which are CLOCK_REALTIME. The error between
 * two calibrations is at most (change of slew) x (interval), which is 0.5 us for a change of 1 ppm
 * in half a second.
 */
#include "base/clock.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

#define NS_PER_S 1000000000u
/* The shortest interval for measuring the rate. A shorter interval would give an inaccurate rate:
 * an uncertainty of 50 ns in 50 ms is 1 ppm. */
#define INTERVAL_MIN_NS (50u * 1000 * 1000)
/* The largest relative change of the rate that a slew can cause. A greater change means that the
 * tick counter or the clock has changed, for example because the virtual machine was moved or the
 * time was set. */
#define SLOPE_CHANGE_MAX 0.001
#define BRACKETS         5
/* If CLOCK_REALTIME differs from the line by more than this, somebody has set the clock. The
 * fastest slew, 500 ppm, moves the clock only half as far in the half second between two
 * calibrations. */
#define SET_NS     (500u * 1000)
#define READ_TRIES 16

static uint64_t gettime_ns(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static uint64_t system_realtime_ns(void)
{
    return gettime_ns(CLOCK_REALTIME);
}

static uint64_t system_monotonic_ns(void)
{
    return gettime_ns(CLOCK_MONOTONIC);
}

#if defined(__x86_64__)
static uint64_t system_ticks(void)
{
    return __rdtsc();
}

static int has_system_ticks(void)
{
    unsigned a, b, c, d;

    /* CPUID 8000_0007h, EDX bit 8: the TSC runs at one rate in all power states. */
    return __get_cpuid(0x80000007u, &a, &b, &c, &d) && (d & (1u << 8));
}
#elif defined(__aarch64__)
static uint64_t system_ticks(void)
{
    uint64_t ticks;

    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
}

static int has_system_ticks(void)
{
    return 1; /* every processor of this architecture has the generic timer */
}
#else
static uint64_t system_ticks(void)
{
    return 0;
}

static int has_system_ticks(void)
{
    return 0;
}
#endif

static const struct sl_clock_source system_source = {system_realtime_ns, system_monotonic_ns,
                                                     system_ticks};
static const struct sl_clock_source system_source_no_ticks = {system_realtime_ns,
                                                              system_monotonic_ns, NULL};

static _Atomic(const struct sl_clock_source *) source = &system_source;

/* The published line. `sequence` is odd while the line is being changed. `rate` is 0 if no line was
 * published yet. */
static struct {
    _Atomic uint32_t sequence;
    _Atomic uint64_t base_ticks, base_ns;
    _Atomic uint64_t rate; /* ns per tick, 32.32 fixed point */
} line;

/* The last calibration. Used by the calibrating thread only. */
static struct {
    uint64_t ticks, ns;
    double rate;
    int have_point;
} calibration;

static const struct sl_clock_source *current_source(void)
{
    return atomic_load_explicit(&source, memory_order_acquire);
}

/* Publishes a line. No fences are used, because ThreadSanitizer does not support them. The release
 * store of each field pairs with its acquire load, so that a reader of a new field also sees the
 * odd sequence. The last store ends the change. */
static void publish(uint64_t base_ticks, uint64_t base_ns, uint64_t rate)
{
    uint32_t sequence = atomic_load_explicit(&line.sequence, memory_order_relaxed);

    atomic_store_explicit(&line.sequence, sequence + 1, memory_order_relaxed);
    atomic_store_explicit(&line.base_ticks, base_ticks, memory_order_release);
    atomic_store_explicit(&line.base_ns, base_ns, memory_order_release);
    atomic_store_explicit(&line.rate, rate, memory_order_release);
    atomic_store_explicit(&line.sequence, sequence + 2, memory_order_release);
}

void sl_clock_set_source(const struct sl_clock_source *replacement)
{
    publish(0, 0, 0);
    calibration.have_point = 0;
    calibration.rate = 0;
    if (!replacement)
        replacement = &system_source;
    atomic_store_explicit(&source, replacement, memory_order_release);
}

int sl_clock_get_line(struct sl_clock_line *out)
{
    for (int i = 0; i < READ_TRIES; i++) {
        uint32_t sequence = atomic_load_explicit(&line.sequence, memory_order_acquire);

        out->ticks = atomic_load_explicit(&line.base_ticks, memory_order_acquire);
        out->ns = atomic_load_explicit(&line.base_ns, memory_order_acquire);
        out->rate = atomic_load_explicit(&line.rate, memory_order_acquire);
        if (!(sequence & 1) &&
            sequence == atomic_load_explicit(&line.sequence, memory_order_relaxed))
            return out->rate ? 0 : -ENODATA;
    }
    return -ENODATA;
}

/* The difference is signed, because the counter of another core may be a few ticks smaller than the
 * line's base. */
static uint64_t on_line(const struct sl_clock_line *at, uint64_t ticks)
{
    return at->ns + (uint64_t)(int64_t)(((__int128)(int64_t)(ticks - at->ticks) * at->rate) >> 32);
}

uint64_t sl_clock_now(void)
{
    const struct sl_clock_source *from = current_source();
    struct sl_clock_line last;

    if (from->ticks && sl_clock_get_line(&last) == 0)
        return on_line(&last, from->ticks());
    return from->realtime_ns();
}

uint64_t sl_clock_ticks(void)
{
    const struct sl_clock_source *from = current_source();

    return from->ticks ? from->ticks() : 0;
}

int sl_clock_from_ticks(uint64_t ticks, uint64_t *ns)
{
    struct sl_clock_line last;

    if (sl_clock_get_line(&last))
        return -ENODATA;
    *ns = on_line(&last, ticks);
    return 0;
}

uint64_t sl_clock_stamp(void)
{
    const struct sl_clock_source *from = current_source();

#if defined(__x86_64__)
    /* The usual clock is read without an indirect call, because each NVTX range needs stamps. */
    if (from == &system_source)
        return __rdtsc();
#endif
    return from->ticks ? from->ticks() : from->realtime_ns();
}

uint64_t sl_clock_monotonic(void)
{
    return current_source()->monotonic_ns();
}

/* Takes a pair (ticks, ns): reads the clock between two reads of the counter. Tries several times
 * and keeps the try with the shortest interval, so that a try during which the thread was
 * descheduled does not count. Returns -1 if the counter ran backwards each time, because the
 * counters of cores disagree. */
static int take_point(const struct sl_clock_source *from, uint64_t *ticks, uint64_t *ns)
{
    uint64_t best = UINT64_MAX;

    *ticks = *ns = 0;
    for (int i = 0; i < BRACKETS; i++) {
        uint64_t before = from->ticks(), now = from->realtime_ns(), after = from->ticks();

        if (after >= before && after - before < best) {
            best = after - before;
            *ticks = before + best / 2;
            *ns = now;
        }
    }
    return best == UINT64_MAX ? -1 : 0;
}

int sl_clock_take_point(uint64_t *stamp, uint64_t *ns)
{
    const struct sl_clock_source *from = current_source();

    if (from->ticks)
        return take_point(from, stamp, ns) ? -EAGAIN : 0;
    *stamp = *ns = from->realtime_ns();
    return 0;
}

static int is_slew(double rate, double last)
{
    double change = rate / last - 1;

    return change < SLOPE_CHANGE_MAX && change > -SLOPE_CHANGE_MAX;
}

void sl_clock_calibrate(void)
{
    const struct sl_clock_source *from = current_source();
    uint64_t ticks, ns;
    double rate;

    if (from == &system_source && !has_system_ticks()) {
        atomic_store_explicit(&source, &system_source_no_ticks, memory_order_release);
        return;
    }
    if (!from->ticks || take_point(from, &ticks, &ns))
        return;
    if (!calibration.have_point) {
        calibration.have_point = 1;
    } else if (ns <= calibration.ns || ticks <= calibration.ticks) {
        /* The clock was set back, or the counter restarted, so the measurement starts again. */
        calibration.rate = 0;
        publish(0, 0, 0);
    } else if (ns - calibration.ns < INTERVAL_MIN_NS) {
        return;
    } else {
        rate = (double)(ns - calibration.ns) / (double)(ticks - calibration.ticks);
        if (calibration.rate == 0 || is_slew(rate, calibration.rate)) {
            calibration.rate = rate;
            publish(ticks, ns, (uint64_t)(rate * 4294967296.0));
        } else {
            calibration.rate = 0;
            publish(0, 0, 0);
        }
    }
    calibration.ticks = ticks;
    calibration.ns = ns;
}

int sl_clock_follow(void)
{
    const struct sl_clock_source *from = current_source();
    struct sl_clock_line last;
    uint64_t before, now, after;

    if (!from->ticks || sl_clock_get_line(&last))
        return 0;
    before = on_line(&last, from->ticks());
    now = from->realtime_ns();
    after = on_line(&last, from->ticks());
    if (now + SET_NS >= before && now <= after + SET_NS)
        return 0;
    publish(0, 0, 0);
    calibration.have_point = 0;
    calibration.rate = 0;
    sl_clock_calibrate();
    return 1;
}

int64_t sl_clock_offset(int (*other)(void *user, uint64_t *ns), void *user, int rounds,
                        uint64_t *uncertainty_ns)
{
    uint64_t best = UINT64_MAX;
    int64_t offset = 0;

    for (int i = 0; i < rounds; i++) {
        uint64_t before = sl_clock_now(), theirs = 0, after;

        if (other(user, &theirs))
            continue;
        after = sl_clock_now();
        if (after >= before && after - before < best) {
            best = after - before;
            offset = (int64_t)(theirs - (before + best / 2));
        }
    }
    *uncertainty_ns = best == UINT64_MAX ? UINT64_MAX : (best + 1) / 2;
    return offset;
}
