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
/* Kinds are turned on this many times the slowest enabling before a window is due. */
#define ENABLING_MARGIN 4
/* Assumed duration of the first enabling after the injection. On real GPUs it takes milliseconds,
 * and on a busy machine ten times as long. */
#define ENABLING_GUESS_NS 50000000

#define PACKED_STATE 3u
#define PACKED_START 4u
#define PACKED_STOP  8u

/* ---- opening and closing ---- */

/* The window begins now. */
static void begin(struct sl_window *w, struct sl_window_now now)
{
    w->opened_ns = now.real_ns;
    w->offset_ns = now.real_ns - now.monotonic_ns;
}

static uint32_t open_window(struct sl_window *w, struct sl_window_now now)
{
    w->state = SL_WIN_RECORDING;
    w->number++;
    w->has_begun = w->is_short = 0;
    w->step = 0;
    w->await_step = NEVER;
    w->next_ns = NEVER;
    begin(w, now);
    return SL_ACT_OPEN;
}

/* Opens a window that has begun already, at began_ns. */
static uint32_t open_since(struct sl_window *w, struct sl_window_now now, uint64_t began_ns)
{
    open_window(w, now);
    w->opened_ns = began_ns;
    w->has_begun = 1;
    return SL_ACT_OPEN;
}

void sl_window_ready(struct sl_window *w, struct sl_window_now now)
{
    if (!w->has_begun)
        begin(w, now);
    w->has_begun = 1;
}

/* Returns by how much the wall clock was set since it was offset_ns ahead. Small differences, from
 * slewing and from the time between two clock readings, count as 0. */
static int64_t clock_set(uint64_t offset_ns, struct sl_window_now now)
{
    int64_t change = (int64_t)(now.real_ns - now.monotonic_ns - offset_ns);

    return change > CLOCK_SET_NS || change < -CLOCK_SET_NS ? change : 0;
}

void sl_window_bounds(const struct sl_window *w, struct sl_window_now now, uint64_t *from_ns,
                      uint64_t *until_ns)
{
    int64_t change = clock_set(w->offset_ns, now);

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

/* Returns the first of base, base + period, base + 2 period ... that is not before `least`. */
static uint64_t next_due(uint64_t base, uint64_t period, uint64_t least)
{
    return least <= base ? base : base + (least - base + period - 1) / period * period;
}

void sl_window_seen(struct sl_window *w, uint64_t seen_ns)
{
    if (w->state == SL_WIN_LEAD_IN && w->ready_ns)
        w->ready_ns = seen_ns;
}

/* ---- steps ---- */

/* A process that was first seen at a later step begins with the next window that is due. */
void sl_window_tell(struct sl_window *w, const struct sl_window_steps *steps)
{
    w->steps = *steps;
    if (w->has_steps || !steps->running)
        return;
    w->has_steps = 1;
    w->due_step =
        next_due(w->due_step, w->period_steps, steps->number ? steps->number : steps->running);
}

/* Returns how many steps before a window its kinds are turned on. */
static uint64_t lead_in_steps(const struct sl_window *w)
{
    uint64_t enabling_ns = w->slowest_ns ? w->slowest_ns : ENABLING_GUESS_NS;
    uint64_t length_ns = w->steps.length_ns;
    uint64_t steps = length_ns ? (ENABLING_MARGIN * enabling_ns + length_ns - 1) / length_ns : 1;

    return steps ? steps : 1;
}

/* Windows that were due before step `least` are missed. */
static void miss_steps(struct sl_window *w, uint64_t least)
{
    uint64_t next = next_due(w->due_step, w->period_steps, least);

    w->missed += (next - w->due_step) / w->period_steps;
    w->due_step = next;
}

/* Plans the next window of steps. Returns 1 if the kinds must be on for it now. */
static int plan_steps(struct sl_window *w)
{
    uint64_t steps = lead_in_steps(w);

    w->next_ns = NEVER;
    if (w->steps.running + steps >= w->due_step) {
        w->await_step = w->due_step;
        return 1;
    }
    w->await_step = w->due_step - steps;
    return 0;
}

static uint32_t open_with_step(struct sl_window *w, struct sl_window_now now)
{
    open_since(w, now, w->steps.began_ns);
    w->step = w->due_step;
    w->await_step = w->due_step + w->window_steps;
    w->due_step += w->period_steps;
    return SL_ACT_OPEN;
}

/* Returns the time at which the awaited step, or one after it, began. Returns 0 if it has not
 * begun, or if the last report is about another step. */
static uint64_t awaited_ns(const struct sl_window *w)
{
    return w->await_step != NEVER && w->steps.number >= w->await_step ? w->steps.began_ns : 0;
}

/* ---- timed windows ---- */

/* Windows that were due before the time `least_ns` are missed. The first one may be due at any
 * time. */
static void miss_time(struct sl_window *w, uint64_t least_ns)
{
    uint64_t next_ns = next_due(0, w->period_ns, least_ns);

    if (w->due_real_ns >= least_ns)
        return;
    w->missed += (next_ns - w->due_real_ns + w->period_ns - 1) / w->period_ns;
    w->due_real_ns = next_ns;
}

/* Plans the next timed window. The monotonic clock gives the deadlines, and the wall clock says
 * which windows are due. So if the wall clock was set, another window is next. Returns 1 if the
 * kinds must be on for it now. */
static int plan_time(struct sl_window *w, struct sl_window_now now)
{
    uint64_t lead_ns = w->lead_in_ns + ENABLING_MARGIN * w->slowest_ns, wait_ns;

    if (!w->due_real_ns || clock_set(w->due_offset_ns, now))
        w->due_real_ns = next_due(0, w->period_ns, now.real_ns);
    w->due_offset_ns = now.real_ns - now.monotonic_ns;
    if (now.real_ns >= w->window_ns)
        miss_time(w, now.real_ns - w->window_ns + 1);
    wait_ns = w->due_real_ns > now.real_ns ? w->due_real_ns - now.real_ns : 0;
    w->next_ns = now.monotonic_ns + wait_ns;
    if (wait_ns <= lead_ns)
        return 1;
    w->next_ns -= lead_ns;
    return 0;
}

static uint32_t open_timed(struct sl_window *w, struct sl_window_now now)
{
    uint64_t due_ns = w->due_real_ns;

    open_since(w, now, due_ns > w->ready_ns ? due_ns : w->ready_ns);
    w->next_ns = now.monotonic_ns + (due_ns + w->window_ns - now.real_ns);
    w->due_real_ns = next_due(0, w->period_ns, due_ns + 1);
    return SL_ACT_OPEN;
}

/* ---- the next window ---- */

/* Plans the next window. Returns 1 if the kinds must be on for it now. */
static int plan(struct sl_window *w, struct sl_window_now now)
{
    w->await_step = w->next_ns = NEVER;
    switch (w->mode) {
    case SL_WINDOW_STEPS:
        w->reason = SL_REASON_STEPS;
        return plan_steps(w);
    case SL_WINDOW_TIME:
        w->reason = SL_REASON_TIME;
        return plan_time(w, now);
    default:
        return 0;
    }
}

/* Memory is short. What is due meanwhile is counted as missed when the next window is planned. */
static uint32_t pause_barred(struct sl_window *w)
{
    uint32_t actions = w->are_kinds_on ? SL_ACT_DISABLE : SL_ACT_NONE;

    w->state = SL_WIN_PAUSED;
    w->ready_ns = 0;
    w->await_step = w->next_ns = NEVER;
    w->are_kinds_on = 0;
    return actions;
}

/* Returns 1 if the window was requested, or is that of the whole run, and nobody has stopped it. */
static int continues(const struct sl_window *w)
{
    return !w->want_stop && (w->reason == SL_REASON_API || w->reason == SL_REASON_RUN);
}

/* The last window is over, or the one that was due is cancelled. If the next one is near, the kinds
 * stay on. */
static uint32_t pause_after(struct sl_window *w, struct sl_window_now now)
{
    w->ready_ns = 0;
    if (w->mode == SL_WINDOW_STEPS && w->has_steps) /* those that have begun already */
        miss_steps(w, w->steps.running + 1);
    if (w->is_barred)
        return pause_barred(w);
    w->state = plan(w, now) ? SL_WIN_LEAD_IN : SL_WIN_PAUSED;
    if (w->want_start)
        w->state = SL_WIN_PAUSED; /* which opens the requested window at once */
    if (w->want_start || w->state == SL_WIN_LEAD_IN)
        return SL_ACT_NONE;
    w->are_kinds_on = 0;
    return SL_ACT_DISABLE;
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
    w->await_step = w->next_ns = NEVER;
    w->are_kinds_on = on_since_ns != 0;
    w->reason = w->mode == SL_WINDOW_RUN ? SL_REASON_RUN : SL_REASON_TIME;
    w->due_offset_ns = now.real_ns - now.monotonic_ns;
    w->due_step = 1;
    if (w->mode == SL_WINDOW_STEPS) {
        plan(w, now);
        w->state = on_since_ns ? SL_WIN_LEAD_IN : SL_WIN_PAUSED;
        w->ready_ns = on_since_ns;
    } else if (on_since_ns && w->mode != SL_WINDOW_DEMAND) {
        open_since(w, now, on_since_ns);
        w->untold = 1;
        if (w->mode == SL_WINDOW_TIME) {
            w->next_ns = now.monotonic_ns + w->window_ns;
            w->due_real_ns = next_due(0, w->period_ns, now.real_ns + 1);
        }
    } else {
        w->want_start = w->mode == SL_WINDOW_RUN;
        w->next_ns = w->mode == SL_WINDOW_TIME ? now.monotonic_ns : NEVER;
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
        return w->state == SL_WIN_PAUSED;
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
    int is_first_timed = w->mode == SL_WINDOW_TIME && !w->due_real_ns;

    if (w->is_barred)
        return pause_barred(w);
    if (w->want_start) {
        w->want_start = w->want_stop = 0;
        w->reason = w->mode == SL_WINDOW_RUN && !w->number ? SL_REASON_RUN : SL_REASON_API;
        w->await_step = w->next_ns = NEVER;
        if (w->are_kinds_on)
            return open_window(w, now);
    } else if (!is_first_timed && !plan(w, now)) {
        return SL_ACT_NONE;
    }
    w->want_stop = 0;
    w->state = SL_WIN_LEAD_IN;
    w->ready_ns = 0;
    if (w->are_kinds_on)
        return SL_ACT_NONE;
    w->asked_ns = now.monotonic_ns;
    return SL_ACT_ENABLE;
}

/* Called in the first step after the actions that begin a lead-in. */
static void begin_lead_in(struct sl_window *w, struct sl_window_now now)
{
    uint64_t took_ns = now.monotonic_ns - w->asked_ns;

    w->ready_ns = now.real_ns;
    w->are_kinds_on = 1;
    if (w->asked_ns && took_ns > w->slowest_ns)
        w->slowest_ns = took_ns;
    w->asked_ns = 0;
    if (w->reason == SL_REASON_TIME && !w->due_real_ns)
        w->due_real_ns = now.real_ns + w->lead_in_ns;
    if (w->reason == SL_REASON_API || w->reason == SL_REASON_RUN)
        w->next_ns = now.monotonic_ns + w->lead_in_ns;
}

static uint32_t cancel(struct sl_window *w, struct sl_window_now now)
{
    w->want_stop = 0;
    if (w->reason == SL_REASON_STEPS)
        miss_steps(w, w->due_step + 1);
    else
        miss_time(w, w->due_real_ns + 1);
    return pause_after(w, now);
}

/* A window opens with its step or not at all. If a stop comes late, a window that was due before
 * the stop is opened nevertheless. */
static uint32_t lead_in_to_step(struct sl_window *w, struct sl_window_now now)
{
    if (!awaited_ns(w))
        return w->want_stop ? cancel(w, now) : SL_ACT_NONE;
    if (w->steps.number < w->due_step && w->steps.running >= w->due_step) {
        w->await_step = w->due_step; /* the report was about the process's first step */
        return SL_ACT_NONE;
    }
    if (w->steps.number == w->due_step && w->steps.began_ns >= w->ready_ns)
        return open_with_step(w, now);
    return pause_after(w, now);
}

/* If a stop comes late, a window that was due before the stop is opened nevertheless. */
static uint32_t lead_in_to_time(struct sl_window *w, struct sl_window_now now)
{
    uint64_t due_ns = w->due_real_ns;

    plan_time(w, now);
    if (w->due_real_ns == due_ns && now.monotonic_ns >= w->next_ns)
        return open_timed(w, now);
    if (w->want_stop)
        return cancel(w, now);
    return w->due_real_ns == due_ns ? SL_ACT_NONE : pause_after(w, now);
}

static uint32_t step_lead_in(struct sl_window *w, struct sl_window_now now)
{
    uint64_t over_ns;
    int is_over;

    if (!w->ready_ns)
        begin_lead_in(w, now);
    if (w->ready_ns > now.real_ns) /* the wall clock was set back */
        w->ready_ns = now.real_ns;
    if (w->is_barred) {
        w->want_start |= continues(w);
        w->want_stop = 0;
        return pause_barred(w);
    }
    if (w->reason == SL_REASON_STEPS)
        return lead_in_to_step(w, now);
    if (w->reason == SL_REASON_TIME)
        return lead_in_to_time(w, now);
    is_over = now.monotonic_ns >= w->next_ns;
    if (!w->want_stop)
        return is_over ? open_window(w, now) : SL_ACT_NONE;
    /* If the recorder is late, the window has already begun, at the lead-in's end. */
    over_ns = is_over ? now.real_ns - (now.monotonic_ns - w->next_ns) : 0;
    open_since(w, now, over_ns > w->ready_ns ? over_ns : w->ready_ns);
    w->is_short = !is_over;
    return SL_ACT_OPEN;
}

static uint32_t step_recording(struct sl_window *w, struct sl_window_now now)
{
    uint64_t ended_ns = awaited_ns(w);

    if (w->untold) {
        w->untold = 0;
        return SL_ACT_OPEN;
    }
    if (!w->want_stop && now.monotonic_ns < w->next_ns && !ended_ns && !w->is_barred)
        return SL_ACT_NONE;
    set_closed(w, now);
    w->close_reason = w->want_stop   ? SL_REASON_API
                      : ended_ns     ? SL_REASON_STEPS
                      : w->is_barred ? SL_REASON_MEMORY
                                     : SL_REASON_TIME;
    w->want_start |= w->is_barred && continues(w);
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
