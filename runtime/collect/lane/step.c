/*
 * step.c - decides when a step of the job ends and the next begins, and which source counts.
 *
 * Threads, memory: see step.h. Several threads may end a step at once. Each thread replaces the
 * running step's begin by the next step's begin in one atomic exchange, so no step is recorded
 * twice.
 */
#include "collect/lane/step.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "base/clock.h"
#include "base/decimal.h"
#include "base/json.h"
#include "collect/lane/lane.h"

#define NAME_PREFIX "ProfilerStep#"
/* Once other sources would have ended this many steps in a row, the job is assumed to make no more
 * named ranges. The earlier named ranges belonged to a torch.profiler session in the middle of the
 * job. */
#define NAMED_IS_OVER 3u
/* Stored instead of the number of steps while a named range is open whose end will be reported.
 * Until that end, no other source ends a step. */
#define NAMED_IS_OPEN UINT32_MAX
/* Number of steps whose mean length is reported. */
#define RECENT 8u
/* Maximum number of digits in a range's name, so that the number fits into 32 bits. */
#define GIVEN_DIGITS 9
/* A step's row ends this long before the next row begins. torch-tb-profiler reads times as doubles
 * of microseconds, in which the ends of touching rows may cross by 1 ns, and drops such steps. */
#define PAUSE_NS 2

static struct {
    _Atomic int best;             /* best source so far */
    _Atomic uint32_t since_named; /* 1 + number of steps that other sources would have ended since
                                   * the last named range; 0: no named ranges */
    _Atomic uint64_t ahead;       /* difference between step numbers and the numbers in the job's
                                   * names */
    _Atomic uint64_t number;      /* number of the running step */
    _Atomic uint64_t began_ns;    /* begin of the running step; 0: the begin is not known, or a
                                   * named range of the job shows the step */
    _Atomic uint64_t awaited;     /* number of the awaited step; UINT64_MAX: none */
    /* The last steps, each with its number (0 while the entry is being written) and its begin. */
    struct {
        _Atomic uint64_t number, ns;
    } kept[SL_STEP_KEPT];
} step = {.awaited = UINT64_MAX};

/* Returns whether this source may end a step now. Writes the best source before this call to
 * *before. */
static int counts(enum sl_step_source source, int *before)
{
    int best = atomic_load_explicit(&step.best, memory_order_relaxed);
    uint32_t since;

    while ((int)source > best &&
           !atomic_compare_exchange_weak_explicit(&step.best, &best, (int)source,
                                                  memory_order_relaxed, memory_order_relaxed))
        ;
    *before = best;
    if ((int)source < best)
        return 0;
    since = atomic_load_explicit(&step.since_named, memory_order_relaxed);
    if (!since)
        return 1;
    if (since == NAMED_IS_OPEN)
        return 0;
    if (since < NAMED_IS_OVER) {
        atomic_store_explicit(&step.since_named, since + 1, memory_order_relaxed);
        return 0;
    }
    atomic_store_explicit(&step.since_named, 0, memory_order_relaxed);
    return 1;
}

/* Returns the end. */
static char *put_name(char *at, uint64_t number)
{
    return sl_json_u64(SL_JSON_LITERAL(at, NAME_PREFIX), number);
}

static void put_row(uint64_t number, uint64_t began_ns, uint64_t ended_ns)
{
    char name[sizeof(NAME_PREFIX) + 20];
    size_t length = (size_t)(put_name(name, number) - name);

    if (ended_ns > began_ns + PAUSE_NS)
        ended_ns -= PAUSE_NS;
    sl_lane_put_past(SL_LANE_STEP, name, length, began_ns, ended_ns);
}

/* Remembers when the step began, and wakes the recorder thread if it awaits the step. The last
 * store and the load after it are sequentially consistent with sl_step_await() and sl_step_look():
 * either the recorder finds the step, or this thread sees that the step is awaited. */
static void keep(uint64_t number, uint64_t ns)
{
    uint64_t awaited;

    /* The release stores pair with the acquire loads in find_kept(). */
    atomic_store_explicit(&step.kept[number % SL_STEP_KEPT].number, 0, memory_order_release);
    atomic_store_explicit(&step.kept[number % SL_STEP_KEPT].ns, ns, memory_order_release);
    atomic_store(&step.kept[number % SL_STEP_KEPT].number, number);
    awaited = atomic_load(&step.awaited);
    if (number >= awaited && atomic_compare_exchange_strong(&step.awaited, &awaited, UINT64_MAX))
        sl_lanes_wake();
}

/* Returns the begin of the step, or 0 if the step is not remembered. */
static uint64_t find_kept(uint64_t number)
{
    uint64_t ns = 0;

    if (atomic_load(&step.kept[number % SL_STEP_KEPT].number) == number)
        ns = atomic_load_explicit(&step.kept[number % SL_STEP_KEPT].ns, memory_order_acquire);
    return atomic_load_explicit(&step.kept[number % SL_STEP_KEPT].number, memory_order_acquire) ==
                   number
               ? ns
               : 0;
}

void sl_step_take(enum sl_step_source source)
{
    uint64_t ns = sl_clock_now(), began, number;
    int before;

    if (!counts(source, &before))
        return;
    began = atomic_exchange(&step.began_ns, ns);
    /* The first batch of a DataLoader ends no step. */
    if (source == SL_STEP_LOADER && !began)
        return;
    /* The optimizer has just ended this iteration as a step, so the job's first sl_step() does not
     * end another step. */
    if (source == SL_STEP_JOB && before == SL_STEP_OPTIMIZER && began) {
        keep(atomic_load(&step.number), ns); /* a window that has begun with it stays open */
        return;
    }
    number = atomic_fetch_add(&step.number, 1);
    if (began)
        put_row(number, began, ns);
    keep(number + 1, ns);
}

/* ---- the job's own ranges ---- */

int sl_step_read_name(const char *text, size_t length, uint32_t *given)
{
    const size_t prefix = sizeof(NAME_PREFIX) - 1;
    uint64_t number;

    if (length < prefix + 1 || length > prefix + GIVEN_DIGITS ||
        memcmp(text, NAME_PREFIX, prefix) != 0 ||
        sl_decimal_read(text + prefix, text + length, UINT32_MAX, &number) != text + length)
        return -EINVAL;
    *given = (uint32_t)number;
    return 0;
}

/* Returns the number of the step that this name begins. If the running step began with the same
 * name, returns the number of the running step. */
static uint64_t number_of(uint32_t given, int was_named)
{
    uint64_t number = atomic_load(&step.number), told;

    do {
        told = given + atomic_load(&step.ahead);
        if (told == number && (was_named || number == 0))
            break;
        if (told <= number)
            told = number + 1;
    } while (!atomic_compare_exchange_weak(&step.number, &number, told));
    if (told > given)
        atomic_store(&step.ahead, told - given);
    return told;
}

int sl_step_begin_named(uint32_t given, int tells_end, struct sl_step_name *out)
{
    uint64_t ns = sl_clock_now(), before = atomic_load(&step.number), number;
    uint32_t since = atomic_load_explicit(&step.since_named, memory_order_relaxed);

    if (tells_end || since != NAMED_IS_OPEN)
        atomic_store_explicit(&step.since_named, tells_end ? NAMED_IS_OPEN : 1,
                              memory_order_relaxed);
    number = number_of(given, since != 0);
    if (number != before || !since) {
        atomic_store(&step.began_ns, 0);
        keep(number, ns);
    }
    if (number == given)
        return 0;
    *put_name(out->name, number) = '\0';
    *SL_JSON_LITERAL(put_name(SL_JSON_LITERAL(out->more, "\"called\":\""), given), "\"") = '\0';
    return 1;
}

void sl_step_end_named(void)
{
    uint32_t open = NAMED_IS_OPEN;

    atomic_compare_exchange_strong_explicit(&step.since_named, &open, 1, memory_order_relaxed,
                                            memory_order_relaxed);
}

/* ---- waiting for a step ---- */

uint64_t sl_step_number(void)
{
    return atomic_load_explicit(&step.number, memory_order_relaxed);
}

void sl_step_await(uint64_t number)
{
    atomic_store(&step.awaited, number);
}

/* The job's own names may leave out numbers. */
static uint64_t mean_length(uint64_t running)
{
    uint64_t last_ns = find_kept(running), ns;

    for (uint64_t before = running < RECENT ? running : RECENT; last_ns && before > 0; before--) {
        ns = find_kept(running - before);
        if (ns && ns < last_ns)
            return (last_ns - ns) / before;
    }
    return 0;
}

void sl_step_look(uint64_t number, struct sl_step_look *out)
{
    uint64_t running = atomic_load(&step.number), last;

    *out = (struct sl_step_look){.running = running, .length_ns = mean_length(running)};
    if (number > running)
        return;
    if (number + SL_STEP_KEPT <= running)
        number = running - SL_STEP_KEPT + 1;
    for (last = running; number <= last && !out->began_ns; number++) {
        out->number = number;
        out->began_ns = find_kept(number);
    }
    if (!out->began_ns)
        out->number = 0;
}
