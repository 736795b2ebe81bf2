/*
 * window.h - when to record: a pure state machine.
 *
 * Told the time, the job's steps and what was asked, it says what to do next. It calls nothing, so
 * every sequence can be tested; the collector thread carries the actions out.
 *
 *   PAUSED --(time, start)--> LEAD_IN --(lead-in over)--> RECORDING --(time, stop)--> DRAINING
 *   DRAINING --(everything enqueued before the end is in, or given up)--> PAUSED
 *
 * A lead-in counts from the step after SL_ACT_ENABLE was given out, because the first enabling can
 * take seconds: carry the actions out, then step again. It may be of no length, but is always gone
 * through, so that a state of RECORDING says that the kinds are on. With the kinds on already there
 * is none. Between windows of steps it lasts one step at least.
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
    SL_ACT_DRAIN = 1 << 2,   /* flush; records past the end are not written */
    SL_ACT_CLOSE = 1 << 3,   /* push SL_EV_WINDOW_CLOSE */
    SL_ACT_DISABLE = 1 << 4, /* turn off the kinds that may be off between windows */
};

/* Deadlines are on the monotonic clock, so that a wall clock that is set stalls nothing; stamps are
 * CLOCK_REALTIME, as the records have it. */
struct sl_window_now {
    uint64_t monotonic_ns, real_ns;
};

struct sl_window {
    enum sl_window_mode mode;
    enum sl_window_state state;
    uint64_t window_ns, period_ns, lead_in_ns, drain_ns;
    uint64_t next_ns; /* monotonic: when the state ends by itself; UINT64_MAX = never */
    uint64_t due_ns;  /* monotonic; time mode: when the next window is to open */
    uint64_t window_steps, period_steps;
    uint64_t due_step;   /* steps mode: with which the next window is to open */
    uint64_t await_step; /* asks to be told of it, or of the first after it; UINT64_MAX: of none */
    uint64_t step;       /* the last one told of, */
    uint64_t step_ns;    /* and when it began; 0: that has been obeyed */
    uint64_t opened_ns, closed_ns;
    uint64_t on_since_ns; /* rows are whole from here on; 0 = kinds are off */
    uint64_t offset_ns;   /* real minus monotonic time when the window opened */
    uint32_t number;      /* of the current or last window; counts from 1 */
    int want_start, want_stop;
    int untold;    /* the first window is open, and SL_ACT_OPEN has yet to be given out */
    int has_begun; /* opened_ns stands; 0: sl_window_ready() may move it */
    enum sl_window_reason reason; /* why the current or last window opened */
    enum sl_window_reason close_reason;
};

/* on_since_ns: since when (real time) the kinds are on (enabled at injection, before any context);
 * 0: off. The first window of RUN and TIME is then open already, and began there rather than now,
 * so that the first calls of the process are in it; its length counts from now. */
void sl_window_init(struct sl_window *w, const struct sl_config *config, struct sl_window_now now,
                    uint64_t on_since_ns);

/* A step that was asked for has begun; obeyed by the next step of the machine. */
void sl_window_tell(struct sl_window *w, uint64_t step, uint64_t began_ns);

/* Requests: they only set want_start and want_stop, and are obeyed by the next step, the stop
 * first. start: 0; -EALREADY when open or opening; -EBUSY while the last window closes: it is kept
 * and obeyed afterwards. stop: 0; -EALREADY when none is open or asked for. A stop takes back a
 * start that was not obeyed yet, and calls off a lead-in. */
int sl_window_start(struct sl_window *w);
int sl_window_stop(struct sl_window *w);
/* Both, the stop first: the open window's file is completed, and recording goes on in the next. 0;
 * -EALREADY when none is open, or it is closing. */
int sl_window_renew(struct sl_window *w);

/* State and requests in one word, so that other threads can ask by compare-and-swap: they unpack
 * into a struct of their own, call start or stop on it, and pack again. */
uint32_t sl_window_pack(const struct sl_window *w);
void sl_window_unpack(struct sl_window *w, uint32_t packed);

/* The process ends: what remains to be done for an open window; none opens any more. */
uint32_t sl_window_exit(struct sl_window *w, struct sl_window_now now);

/* `drained`: nothing enqueued before closed_ns is outstanding. Returns enum sl_window_action bits,
 * to be carried out in the order of their values. */
uint32_t sl_window_step(struct sl_window *w, struct sl_window_now now, int drained);

/* While SL_ACT_OPEN is carried out: all that the window is to record is on, so it begins now,
 * unless it began with a step or with the process. */
void sl_window_ready(struct sl_window *w, struct sl_window_now now);

/* Monotonic time of the next step that would do something by itself; UINT64_MAX = none. */
uint64_t sl_window_deadline(const struct sl_window *w);

/* While recording, in real time: where the window begins and ends (UINT64_MAX: when told). Both
 * move when the wall clock is set: the beginning if it is set back, the end either way. */
void sl_window_bounds(const struct sl_window *w, struct sl_window_now now, uint64_t *from_ns,
                      uint64_t *until_ns);

#endif
