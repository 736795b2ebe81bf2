/* window_rig.h - a window, the two clocks with which a test steps it, and its next deadline. */
#ifndef SL_TEST_WINDOW_RIG_H
#define SL_TEST_WINDOW_RIG_H

#include "test.h"

#include "control/window.h"

#define S  1000000000ull
#define T0 (1200 * S) /* a multiple of all periods in the tests */

static struct sl_window w;
/* How far the wall clock is ahead of the monotonic clock. */
static uint64_t ahead = 900 * S;

/* Returns both clocks at the time when the wall clock is `real_ns`. */
static inline struct sl_window_now at(uint64_t real_ns)
{
    return (struct sl_window_now){real_ns - ahead, real_ns};
}

/* Returns the window's deadline in the wall clock's time. */
static inline uint64_t deadline_of(void)
{
    uint64_t deadline = sl_window_deadline(&w);

    return deadline == UINT64_MAX || deadline == 0 ? deadline : deadline + ahead;
}

static inline uint32_t step(uint64_t now_ns)
{
    return sl_window_step(&w, at(now_ns), 0);
}

#endif
