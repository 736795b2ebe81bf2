/*
 * window.h - when to record: a pure state machine.
 *
 * Input: the time, the job's steps and requests. Output: what to do next. The machine calls
 * nothing, so every sequence can be tested; the recorder thread carries out the actions.
 *
 *   PAUSED --(time, start)--> LEAD_IN --(lead-in over)--> RECORDING --(time, stop)--> DRAINING
 *   DRAINING --(all work enqueued before the end has arrived, or time-out)--> PAUSED
 *
 * The first enabling can take seconds, so a lead-in counts from the sl_window_step() after
 * SL_ACT_ENABLE. Carry out the actions, then call sl_window_step() again. A lead-in may have no
 * length, but the state is always entered, so RECORDING means that the kinds are on. If the kinds
 * are on already, there is no lead-in. Between windows of steps, a lead-in lasts at least one step.
 */
#ifndef SL_WINDOW_H
#define SL_WINDOW_H

#include <stdint.h>

#include "control/config.h"

enum sl_window_state {
    SL_WIN_PAUSED = 0,
    SL_WIN_LEAD_IN,
    SL_WIN_RECORDING,
    SL_WIN_DRAINING
};

enum sl_window_reason {
    SL_REASON_RUN,
    SL_REASON_TIME,
    SL_REASON_API,
    SL_REASON_EXIT,
    SL_REASON_STEPS
};

enum sl_window_action {
    SL_ACT_NONE = 0,
    SL_ACT_ENABLE = 1 << 0,  /* turn the kinds on */
    SL_ACT_OPEN = 1 << 1,    /* push SL_EV_WINDOW_OPEN */
    SL_ACT_DRAIN = 1 << 2,   /* flush CUPTI; records past the end are not written */
    SL_ACT_CLOSE = 1 << 3,   /* push SL_EV_WINDOW_CLOSE */
    SL_ACT_DISABLE = 1 << 4, /* turn off the kinds that may be off between windows */
};

/* Deadlines use the monotonic clock, so that setting the wall clock delays nothing. Timestamps are
 * CLOCK_REALTIME, like those of records. */
struct sl_window_now {
    uint64_t monotonic_ns, real_ns;
};

struct sl_window {
    enum sl_window_mode mode;
    enum sl_window_state state;
    uint64_t window_ns, period_ns, lead_in_ns, drain_ns;
    uint64_t next_ns; /* monotonic: when the state ends by itself; UINT64_MAX: never */
    uint64_t due_ns;  /* monotonic; time mode: when the next window opens */
    uint64_t window_steps, period_steps;
    uint64_t due_step; /* steps mode: the step with which the next window opens */
    /* sl_window_tell() must report this step or the first after it; UINT64_MAX: no step */
    uint64_t await_step;
    uint64_t step;    /* the last reported step */
    uint64_t step_ns; /* start of `step`, not used yet; 0: used */
    uint64_t opened_ns, closed_ns;
    uint64_t on_since_ns; /* real time since which records are complete; 0: kinds are off */
    uint64_t offset_ns;   /* real minus monotonic time when the window opened */
    uint32_t number;      /* number of the current or last window; counts from 1 */
    int want_start, want_stop;
    int untold;    /* 1: the first window is open, but SL_ACT_OPEN has not been given out yet */
    int has_begun; /* 1: opened_ns is final; 0: sl_window_ready() may move it */
    enum sl_window_reason reason; /* why the current or last window opened */
    enum sl_window_reason close_reason;
};

/* on_since_ns: since when (real time) the kinds are on, if they were enabled at injection before
 * any context; 0: off. In RUN and TIME modes, the first window is then open already. It began at
 * on_since_ns, so it has the first calls of the process; its length counts from now. */
void sl_window_init(struct sl_window *w, const struct sl_config *config, struct sl_window_now now,
                    uint64_t on_since_ns);

/* Reports that the awaited step has begun. The next sl_window_step() acts on it. */
void sl_window_tell(struct sl_window *w, uint64_t step, uint64_t began_ns);

/* Requests: they only set want_start and want_stop. The next sl_window_step() obeys them, the stop
 * first. start: 0; -EALREADY: open or opening; -EBUSY: the last window is closing, and the start is
 * obeyed afterwards. stop: 0; -EALREADY: none is open or requested. A stop cancels a start that was
 * not obeyed yet, and cancels a lead-in. */
int sl_window_start(struct sl_window *w);
int sl_window_stop(struct sl_window *w);
/* Requests a stop and then a start: the open window's file is completed, and recording goes on in
 * the next window. 0; -EALREADY: no window is open, or it is closing. */
int sl_window_renew(struct sl_window *w);

/* Packs state and requests into one word, so other threads can make requests by compare-and-swap.
 * They unpack into their own struct, call start or stop on it, and pack again. */
uint32_t sl_window_pack(const struct sl_window *w);
void sl_window_unpack(struct sl_window *w, uint32_t packed);

/* The process ends: returns the remaining actions for an open window. No further window opens. */
uint32_t sl_window_exit(struct sl_window *w, struct sl_window_now now);

/* `drained`: nothing that was enqueued before closed_ns is outstanding. Returns enum
 * sl_window_action bits, to be carried out in the order of their values. */
uint32_t sl_window_step(struct sl_window *w, struct sl_window_now now, int drained);

/* Called while SL_ACT_OPEN is carried out, when everything that the window records is on. The
 * window begins now, unless it began with a step or with the process. */
void sl_window_ready(struct sl_window *w, struct sl_window_now now);

/* Monotonic time at which sl_window_step() has something to do by itself; UINT64_MAX: never. */
uint64_t sl_window_deadline(const struct sl_window *w);

/* Start and end of the recording window in real time; end UINT64_MAX: not known yet. If the wall
 * clock is set back, both move. If it is set forward, only the end moves. */
void sl_window_bounds(const struct sl_window *w, struct sl_window_now now, uint64_t *from_ns,
                      uint64_t *until_ns);

#endif
