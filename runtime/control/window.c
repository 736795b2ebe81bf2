/*
 * window.c - decides when to record: a pure state machine. Threads: the recorder thread. Other
 * threads only make requests, each on its own copy of the machine (window.h). Memory: the caller's.
 */
#include "control/window.h"

#include <errno.h>
#include <string.h>

#define NEVER UINT64_MAX
/* How long a closing window waits for work that was enqueued before its end. After this time, a
 * forced flush fetches pending records without their end, because the same buffers contain
 * completed records, too. */
#define DRAIN_NS     3000000000ull
#define CLOCK_SET_NS 100000000

#define PACKED_STATE 3u
#define PACKED_START 4u
#define PACKED_STOP  8u

static void begin(struct sl_window *w, struct sl_window_now now)
{
    w->opened_ns = now.real_ns;
    w->offset_ns = now.real_ns - now.monotonic_ns;
    w->next_ns = w->reason == SL_REASON_TIME ? now.monotonic_ns + w->window_ns : NEVER;
}

static uint32_t open_window(struct sl_window *w, struct sl_window_now now)
{
    w->state = SL_WIN_RECORDING;
    w->number++;
    w->has_begun = 0;
    w->await_step = NEVER;
    begin(w, now);
    return SL_ACT_OPEN;
}

void sl_window_ready(struct sl_window *w, struct sl_window_now now)
{
    if (!w->has_begun)
        begin(w, now);
    w->has_begun = 1;
}

/* Returns by how much the wall clock was set since the window opened. Small differences, from
 * slewing and from the time between two clock readings, count as 0. */
static int64_t clock_set(const struct sl_window *w, struct sl_window_now now)
{
    int64_t change = (int64_t)(now.real_ns - now.monotonic_ns - w->offset_ns);

    return change > CLOCK_SET_NS || change < -CLOCK_SET_NS ? change : 0;
}

void sl_window_bounds(const struct sl_window *w, struct sl_window_now now, uint64_t *from_ns,
                      uint64_t *until_ns)
{
    int64_t change = clock_set(w, now);

    *from_ns = w->opened_ns + (uint64_t)(change < 0 ? change : 0);
    *until_ns = w->next_ns == NEVER ? NEVER : w->next_ns + w->offset_ns + (uint64_t)change;
}

/* Sets the window's end. If sl_window_step() is called late, a timed window still ends at its
 * planned time. */
static void set_closed(struct sl_window *w, struct sl_window_now now)
{
    uint64_t from_ns, until_ns;

    sl_window_bounds(w, now, &from_ns, &until_ns);
    w->closed_ns = now.monotonic_ns < w->next_ns ? now.real_ns : until_ns;
}

/* ---- steps ---- */

void sl_window_tell(struct sl_window *w, uint64_t step, uint64_t began_ns)
{
    w->step = step;
    w->step_ns = began_ns;
}

/* Returns the time at which the awaited step began, and sets the stored time to 0. Returns 0 if the
 * step has not begun. */
static uint64_t take_step(struct sl_window *w)
{
    uint64_t ns = w->step_ns;

    if (ns)
        w->await_step = NEVER;
    w->step_ns = 0;
    return ns;
}

/* Plans the next window of steps. Kinds of records are turned on one step before the window, or
 * stay on if that step is running already. */
static void plan_steps(struct sl_window *w)
{
    w->next_ns = NEVER;
    w->reason = SL_REASON_STEPS;
    w->await_step = w->due_step - 1;
    if (!w->on_since_ns || w->want_start || w->step + 1 < w->due_step)
        return;
    w->state = SL_WIN_LEAD_IN;
    w->await_step = w->due_step;
}

static uint32_t open_with_step(struct sl_window *w, struct sl_window_now now, uint64_t began_ns)
{
    uint32_t actions = open_window(w, now);

    w->opened_ns = began_ns;
    w->has_begun = 1;
    w->await_step = w->step + w->window_steps;
    return actions;
}

/* ---- start and requests ---- */

void sl_window_init(struct sl_window *w, const struct sl_config *config, struct sl_window_now now,
                    uint64_t on_since_ns)
{
    memset(w, 0, sizeof(*w));
    w->mode = config->window_mode;
    w->state = SL_WIN_PAUSED;
    w->window_ns = config->window_ns;
    w->period_ns = config->period_ns;
    w->lead_in_ns = config->lead_in_ns;
    w->drain_ns = DRAIN_NS;
    w->window_steps = config->window_steps;
    w->period_steps = config->period_steps;
    w->await_step = NEVER;
    w->on_since_ns = on_since_ns;
    w->reason = w->mode == SL_WINDOW_RUN ? SL_REASON_RUN : SL_REASON_TIME;
    w->next_ns = w->due_ns = w->mode == SL_WINDOW_TIME ? now.monotonic_ns : NEVER;
    if (w->mode == SL_WINDOW_STEPS) {
        w->due_step = 1;
        plan_steps(w);
    } else if (on_since_ns && w->mode != SL_WINDOW_DEMAND) {
        open_window(w, now);
        w->opened_ns = on_since_ns;
        w->untold = w->has_begun = 1;
    } else {
        w->want_start = w->mode == SL_WINDOW_RUN;
    }
}

int sl_window_start(struct sl_window *w)
{
    int open = w->state == SL_WIN_LEAD_IN || w->state == SL_WIN_RECORDING;

    if (w->want_start || (open && !w->want_stop))
        return -EALREADY;
    w->want_start = 1;
    return open || w->state == SL_WIN_DRAINING ? -EBUSY : 0;
}

int sl_window_stop(struct sl_window *w)
{
    int open = w->state == SL_WIN_LEAD_IN || w->state == SL_WIN_RECORDING;

    if (w->want_start) {
        w->want_start = 0;
        return 0;
    }
    if (!open || w->want_stop)
        return -EALREADY;
    w->want_stop = 1;
    return 0;
}

int sl_window_renew(struct sl_window *w)
{
    if (w->state != SL_WIN_RECORDING || w->want_stop)
        return -EALREADY;
    w->want_start = w->want_stop = 1;
    return 0;
}

uint32_t sl_window_pack(const struct sl_window *w)
{
    return (uint32_t)w->state | (w->want_start ? PACKED_START : 0) |
           (w->want_stop ? PACKED_STOP : 0);
}

void sl_window_unpack(struct sl_window *w, uint32_t packed)
{
    w->state = (enum sl_window_state)(packed & PACKED_STATE);
    w->want_start = (packed & PACKED_START) != 0;
    w->want_stop = (packed & PACKED_STOP) != 0;
}

static uint32_t step_paused(struct sl_window *w, struct sl_window_now now)
{
    if (!w->want_start && now.monotonic_ns < w->next_ns && !take_step(w))
        return SL_ACT_NONE;
    if (!w->want_start)
        w->reason = w->mode == SL_WINDOW_STEPS ? SL_REASON_STEPS : SL_REASON_TIME;
    else if (w->mode != SL_WINDOW_RUN || w->number > 0)
        w->reason = SL_REASON_API;
    w->want_start = w->want_stop = 0;
    w->await_step = NEVER;
    if (w->on_since_ns && (w->reason != SL_REASON_TIME || now.monotonic_ns >= w->due_ns))
        return open_window(w, now);
    w->state = SL_WIN_LEAD_IN;
    /* If next_ns is 0, sl_window_step() sets it once the kinds are on. */
    w->next_ns = w->on_since_ns ? w->due_ns : 0;
    return w->on_since_ns ? SL_ACT_NONE : SL_ACT_ENABLE;
}

/* Plans the next window. In time mode, a window is due once in each period, even if the application
 * has opened windows in between. If the time of a due window is over, the window is skipped. If the
 * next window's time has begun already, because a window is as long as the period, the window opens
 * at once. */
static void plan_next(struct sl_window *w, struct sl_window_now now)
{
    if (w->mode == SL_WINDOW_STEPS) {
        if (w->window_steps == w->period_steps)
            w->due_step = w->step + 1; /* windows are as long as the period, so the next window
                                        * opens as soon as possible */
        else if (w->due_step <= w->step)
            w->due_step += ((w->step - w->due_step) / w->period_steps + 1) * w->period_steps;
        plan_steps(w);
        return;
    }
    if (w->mode != SL_WINDOW_TIME) {
        w->next_ns = w->due_ns = NEVER;
        return;
    }
    if (w->reason == SL_REASON_TIME)
        w->due_ns += w->period_ns;
    if (w->due_ns + w->window_ns <= now.monotonic_ns)
        w->due_ns +=
            ((now.monotonic_ns - w->due_ns - w->window_ns) / w->period_ns + 1) * w->period_ns;
    w->next_ns = w->due_ns > w->lead_in_ns ? w->due_ns - w->lead_in_ns : 0;
}

static uint32_t pause_after(struct sl_window *w, struct sl_window_now now)
{
    w->state = SL_WIN_PAUSED;
    plan_next(w, now);
    if (w->want_start || w->next_ns <= now.monotonic_ns || w->state == SL_WIN_LEAD_IN)
        return SL_ACT_NONE; /* the next window is near, so the kinds stay on and its lead-in
                             * begins */
    w->on_since_ns = 0;
    return SL_ACT_DISABLE;
}

/* Called if a stop is requested after the lead-in has ended, but before sl_window_step() has opened
 * the window. The window is opened for the time between the lead-in's end and the stop. */
static uint32_t open_late(struct sl_window *w, struct sl_window_now now)
{
    uint64_t late_ns = now.monotonic_ns - w->next_ns;
    uint32_t actions = open_window(w, now);

    w->opened_ns -= late_ns;
    w->has_begun = 1;
    return actions;
}

static uint32_t step_lead_in(struct sl_window *w, struct sl_window_now now)
{
    uint64_t began_ns;

    if (w->want_stop && w->next_ns && now.monotonic_ns >= w->next_ns)
        return open_late(w, now);
    if (w->want_stop) {
        w->want_stop = 0;
        if (w->reason == SL_REASON_STEPS)
            w->due_step += w->period_steps;
        return pause_after(w, now);
    }
    if (w->next_ns == 0) {
        w->on_since_ns = now.real_ns;
        if (w->reason == SL_REASON_STEPS)
            w->await_step = w->due_step;
        w->next_ns = w->reason == SL_REASON_STEPS ? NEVER : now.monotonic_ns + w->lead_in_ns;
    }
    if (w->reason == SL_REASON_STEPS) {
        began_ns = take_step(w);
        return began_ns ? open_with_step(w, now, began_ns) : SL_ACT_NONE;
    }
    return now.monotonic_ns < w->next_ns ? SL_ACT_NONE : open_window(w, now);
}

static uint32_t step_recording(struct sl_window *w, struct sl_window_now now)
{
    uint64_t ended_ns;

    if (w->untold) {
        w->untold = 0;
        return SL_ACT_OPEN;
    }
    ended_ns = take_step(w);
    if (!w->want_stop && now.monotonic_ns < w->next_ns && !ended_ns)
        return SL_ACT_NONE;
    set_closed(w, now);
    w->close_reason = w->want_stop ? SL_REASON_API : ended_ns ? SL_REASON_STEPS : SL_REASON_TIME;
    if (ended_ns)
        w->closed_ns = ended_ns;
    w->await_step = NEVER;
    w->want_stop = 0;
    w->state = SL_WIN_DRAINING;
    w->next_ns = now.monotonic_ns + w->drain_ns;
    return SL_ACT_DRAIN;
}

static uint32_t step_draining(struct sl_window *w, struct sl_window_now now, int drained)
{
    if (!drained && now.monotonic_ns < w->next_ns)
        return SL_ACT_NONE;
    return SL_ACT_CLOSE | pause_after(w, now);
}

uint32_t sl_window_step(struct sl_window *w, struct sl_window_now now, int drained)
{
    switch (w->state) {
    case SL_WIN_PAUSED:
        return step_paused(w, now);
    case SL_WIN_LEAD_IN:
        return step_lead_in(w, now);
    case SL_WIN_RECORDING:
        return step_recording(w, now);
    case SL_WIN_DRAINING:
        return step_draining(w, now, drained);
    }
    return SL_ACT_NONE;
}

uint32_t sl_window_exit(struct sl_window *w, struct sl_window_now now)
{
    uint32_t actions = SL_ACT_NONE;

    if (w->state == SL_WIN_RECORDING) {
        set_closed(w, now);
        actions = SL_ACT_DRAIN | SL_ACT_CLOSE;
    } else if (w->state == SL_WIN_DRAINING) {
        actions = SL_ACT_DRAIN | SL_ACT_CLOSE;
    }
    w->state = SL_WIN_PAUSED;
    w->close_reason = SL_REASON_EXIT;
    w->next_ns = NEVER;
    w->want_start = w->want_stop = 0;
    return actions;
}

uint64_t sl_window_deadline(const struct sl_window *w)
{
    return w->next_ns;
}
