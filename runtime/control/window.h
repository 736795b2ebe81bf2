/*
 * window.h - decides when to record: a pure state machine.
 *
 * The machine gets the time, the job's steps and requests, and returns the actions to carry out.
 * The machine calls nothing, so tests can run every sequence of events. The recorder thread carries
 * out the actions.
 *
 *   PAUSED --(time, start)--> LEAD_IN --(lead-in over)--> RECORDING --(time, stop)--> DRAINING
 *   DRAINING --(all work enqueued before the end has arrived, or time-out)--> PAUSED
 *
 * After it has carried out the actions, the caller calls sl_window_step() again. The kinds are the
 * types of CUPTI records. Turning kinds on for the first time can take seconds, so a lead-in is
 * measured from the sl_window_step() after SL_ACT_ENABLE. If the kinds are off, the state LEAD_IN
 * is entered even if the lead-in has no length, so RECORDING means that the kinds are on. In steps
 * mode, a lead-in lasts at least one step.
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

/* Deadlines are on the monotonic clock, so that setting the wall clock does not delay them. Times
 * of windows are CLOCK_REALTIME, like the times of records. */
struct sl_window_now {
    uint64_t monotonic_ns, real_ns;
};

struct sl_window {
    enum sl_window_mode mode;
    enum sl_window_state state;
    uint64_t window_ns, period_ns, lead_in_ns, drain_ns;
    uint64_t next_ns; /* monotonic time at which the state ends by itself; UINT64_MAX: never */
    uint64_t due_ns;  /* time mode: monotonic time at which the next window opens */
    uint64_t window_steps, period_steps;
    uint64_t due_step; /* steps mode: the step with which the next window opens */
    /* step whose begin the caller must report with sl_window_tell(), or else the first step after
     * it; UINT64_MAX: none */
    uint64_t await_step;
    uint64_t step;    /* the last reported step */
    uint64_t step_ns; /* time at which `step` began; 0: the machine has handled this step */
    uint64_t opened_ns, closed_ns;
    uint64_t on_since_ns; /* CLOCK_REALTIME ns since which records are complete; 0: kinds are off */
    uint64_t offset_ns;   /* CLOCK_REALTIME minus monotonic time when the window opened */
    uint32_t number;      /* number of the current or last window; counts from 1 */
    int want_start, want_stop;
    int untold;    /* 1: the first window is open, but SL_ACT_OPEN was not returned yet */
    int has_begun; /* 1: opened_ns is final; 0: sl_window_ready() may change opened_ns */
    enum sl_window_reason reason; /* why the current or last window opened */
    enum sl_window_reason close_reason;
};

/* `on_since_ns` is the CLOCK_REALTIME since which the kinds are on, or 0 if the kinds were not
 * turned on at the injection. If the kinds are on, the first window of modes RUN and TIME is open
 * already. The window began at on_since_ns, so it contains the first calls of the process. But the
 * window's length is measured from now. */
void sl_window_init(struct sl_window *w, const struct sl_config *config, struct sl_window_now now,
                    uint64_t on_since_ns);

/* Reports that the awaited step has begun. The next sl_window_step() acts on this report. */
void sl_window_tell(struct sl_window *w, uint64_t step, uint64_t began_ns);

/* These requests only set want_start and want_stop. The next sl_window_step() acts on them, on the
 * stop before the start. A start returns 0, -EALREADY if a window is open or opening, or -EBUSY if
 * the last window is closing (the new window opens afterwards). A stop returns 0, or -EALREADY if
 * no window is open or requested. A stop cancels a lead-in, and a start on which sl_window_step()
 * has not acted yet. */
int sl_window_start(struct sl_window *w);
int sl_window_stop(struct sl_window *w);
/* Requests a stop and then a start, so that the open window's file is completed and recording
 * continues in the next window. Returns 0, or -EALREADY if no window is open, or if it is
 * closing. */
int sl_window_renew(struct sl_window *w);

/* Packs state and requests into one word, so that other threads can make requests by
 * compare-and-swap. Such a thread unpacks the word into its own struct, calls sl_window_start() or
 * sl_window_stop() on that struct, and packs the struct again. */
uint32_t sl_window_pack(const struct sl_window *w);
void sl_window_unpack(struct sl_window *w, uint32_t packed);

/* Call when the process ends. Returns the remaining actions for an open window. No further window
 * opens. */
uint32_t sl_window_exit(struct sl_window *w, struct sl_window_now now);

/* Makes one step. Set `drained` if all records of work that was enqueued before closed_ns have
 * arrived. Returns enum sl_window_action bits. The caller carries out the actions in the order of
 * the bits. */
uint32_t sl_window_step(struct sl_window *w, struct sl_window_now now, int drained);

/* Call while SL_ACT_OPEN is carried out, once all sources are on. The window begins now, unless it
 * began with a step or with the process. */
void sl_window_ready(struct sl_window *w, struct sl_window_now now);

/* Returns the monotonic time at which sl_window_step() must be called next, or UINT64_MAX if it
 * must be called only after a request or a step. */
uint64_t sl_window_deadline(const struct sl_window *w);

/* Writes the start and the end of the open window in real time; the end is UINT64_MAX if it is not
 * known yet. If the wall clock is set back, start and end are moved. If the wall clock is set
 * forward, only the end is moved. */
void sl_window_bounds(const struct sl_window *w, struct sl_window_now now, uint64_t *from_ns,
                      uint64_t *until_ns);

#endif
