/*
 * clock.c - finds out which clock stamps CUPTI records, and converts stamps to our clock.
 *
 * Threads: the recorder thread. Memory: none.
 */
#include "collect/cupti/clock.h"

#include <errno.h>

#include "base/clock.h"

#define LOOKS 3
/* Largest difference between our clock and a clock that counts as CLOCK_REALTIME. */
#define OFF_NS 1000000
/* Tolerance for stamps: records may be older than the first check of the clock, and the wall clock
 * may be set. */
#define SLACK_NS 3600000000000ull

static int is_near(int64_t difference)
{
    return difference < OFF_NS && difference > -OFF_NS;
}

static int offset(void *user, uint64_t *stamp)
{
    int (*get)(uint64_t *) = *(int (**)(uint64_t *))user;

    return get(stamp);
}

/* Returns whether CUPTI's clock is the tick counter. If it is, CUPTI's stamp lies between two
 * readings of the counter. */
static int is_ticks(int (*get)(uint64_t *stamp))
{
    uint64_t before = sl_clock_ticks(), stamp, after;

    if (get(&stamp))
        return 0;
    after = sl_clock_ticks();
    return before && before <= stamp && stamp <= after;
}

/* Makes sure that ticks can be converted. In a young process, the counter's rate is not known
 * before the second calibration. */
static void make_line(void)
{
    uint64_t ns;

    if (sl_clock_from_ticks(sl_clock_ticks(), &ns))
        sl_clock_calibrate();
}

/* If the wall clock is set, CUPTI's clock changes at once, but ours only at its next calibration.
 * So an offset is accepted only after our clock was calibrated. */
static void measure(struct sl_cupti_clock *clock, int (*get)(uint64_t *stamp))
{
    sl_clock_follow();
    do {
        clock->offset_ns = sl_clock_offset(offset, &get, LOOKS, &clock->uncertainty_ns);
    } while (!is_near(clock->offset_ns) && sl_clock_follow());
}

enum sl_cupti_clock_domain sl_cupti_clock_look(struct sl_cupti_clock *clock,
                                               int (*get)(uint64_t *stamp))
{
    measure(clock, get);
    clock->last_ns = sl_clock_now();
    if (!clock->first_ns)
        clock->first_ns = clock->last_ns;
    if (clock->uncertainty_ns == UINT64_MAX) { /* CUPTI's clock could not be read, so later records
                                                * may have stamps of the tick counter */
        clock->is_mixed = 1;
        make_line();
        return clock->domain;
    }
    if (clock->uncertainty_ns > OFF_NS)
        return clock->domain; /* this thread was descheduled in each try, so the offset is too
                               * uncertain */
    if (is_near(clock->offset_ns))
        clock->domain = SL_CUPTI_CLOCK_REALTIME;
    else if (is_ticks(get)) {
        clock->domain = SL_CUPTI_CLOCK_TICKS;
        make_line();
    } else
        clock->domain = SL_CUPTI_CLOCK_UNKNOWN;
    clock->is_mixed |= clock->domain == SL_CUPTI_CLOCK_TICKS;
    return clock->domain;
}

static int is_of_this_process(const struct sl_cupti_clock *clock, uint64_t ns)
{
    return ns + SLACK_NS >= clock->first_ns && ns <= clock->last_ns + SLACK_NS;
}

int sl_cupti_clock_to_real(const struct sl_cupti_clock *clock, uint64_t *stamp)
{
    uint64_t ns;

    if (!clock->is_mixed || *stamp == 0 || is_of_this_process(clock, *stamp))
        return 0;
    if (sl_clock_from_ticks(*stamp, &ns) || !is_of_this_process(clock, ns))
        return -ERANGE;
    *stamp = ns;
    return 0;
}
