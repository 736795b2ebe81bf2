/*
 * window.h - decides when to record: a pure state machine.
 *
 * The machine gets the time, the job's steps and requests, and returns the actions to carry out.
 * The machine calls nothing, so tests can run every sequence of events. The recorder thread carries
 * out the actions.
 *
 *   PAUSED     The kinds (the types of CUPTI records) are off. The machine knows what comes next: a
 *              request, the step `due_step`, or the time `due_real_ns`.
 *              -> LEAD_IN: at a request, or some time before the next window is due
 *   LEAD_IN    The kinds are on or are being turned on, and nothing is written yet. `ready_ns` is
 *              the earliest time at which a window can still begin with all its records.
 *              -> RECORDING: the window begins
 *              -> PAUSED, or LEAD_IN for a later window: the due window was missed or cancelled
 *   RECORDING  The window has begun at `opened_ns`. Its end is known if the window is timed, and
 *              otherwise is a step or a request.
 *              -> DRAINING: the window has ended at `closed_ns`
 *   DRAINING   Records of the window are still arriving.
 *              -> LEAD_IN: all records have arrived, or time-out; the next window is near
 *              -> PAUSED: the same; the next window is not near
 *
 * After it has carried out the actions, the caller calls sl_window_step() again.
 *
 * Windows of steps are due at the steps 1, PERIOD + 1, 2 PERIOD + 1 ..., on every rank. Such a
 * window has the bounds of its steps, or it is missed and counted: the kinds were not on when its
 * step began, or the previous window was not complete. The kinds are turned on some steps before,
 * namely in four times the longest time that turning them on has taken.
 *
 * Timed windows are due at the multiples of their period since the epoch, on every rank. The first
 * window, which begins with the process, is extra. A timed window that cannot begin in time begins
 * late and still ends in time; it is missed if it would be empty.
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
    SL_REASON_STEPS,
    SL_REASON_MEMORY /* a window ended because memory is short */
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

/* Facts about the job's steps. All zeros: the job has made no step yet. */
struct sl_window_steps {
    uint64_t running;   /* number of the running step */
    uint64_t length_ns; /* mean length of the last steps; 0: not known */
    uint64_t number;    /* first step that has begun and is not before `await_step`; 0: none */
    uint64_t began_ns;  /* begin of step `number`, CLOCK_REALTIME ns */
};

struct sl_window {
    enum sl_window_mode mode;
    enum sl_window_state state;
    uint64_t window_ns, period_ns, lead_in_ns, drain_ns;
    uint64_t next_ns; /* monotonic time at which the state ends by itself; UINT64_MAX: never */

    /* time mode: the time at which the next window is due, in CLOCK_REALTIME ns; 0: when its
     * lead-in is over */
    uint64_t due_real_ns;
    uint64_t due_offset_ns; /* CLOCK_REALTIME minus monotonic time when this time was planned */

    uint64_t window_steps, period_steps;
    uint64_t due_step; /* steps mode: the step with which the next window begins */
    uint64_t step;     /* the step with which the open window began; 0: no window of steps */
    /* the step whose begin the caller must report with sl_window_tell(); UINT64_MAX: none */
    uint64_t await_step;
    struct sl_window_steps steps; /* the last report */
    int has_steps;                /* 1: the job has made a step */

    uint64_t opened_ns, closed_ns;
    int are_kinds_on;
    /* LEAD_IN: a window that begins at this time or later (CLOCK_REALTIME ns) has all its records;
     * 0: the next sl_window_step() sets this */
    uint64_t ready_ns;
    uint64_t asked_ns;   /* monotonic time at which SL_ACT_ENABLE was returned; 0: not pending */
    uint64_t slowest_ns; /* longest time from SL_ACT_ENABLE until the kinds were on; 0: not known */
    uint64_t missed;     /* number of due windows that were missed since the last window opened;
                          * the caller may set this to 0 */
    uint64_t offset_ns;  /* CLOCK_REALTIME minus monotonic time when the window opened */
    uint32_t number;     /* number of the current or last window; counts from 1 */
    int is_short;        /* 1: it ended before its lead-in was over, so edges may be missing */
    int want_start, want_stop;
    /* 1: memory is short, so no window opens, and an open one ends. A window of the whole run, or
     * one that was requested, continues as another window afterwards. Set by the caller */
    int is_barred;
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

/* Reports the job's steps. Call before each sl_window_step() in steps mode. */
void sl_window_tell(struct sl_window *w, const struct sl_window_steps *steps);

/* Reports that all records made before seen_ns (CLOCK_REALTIME ns) are about to be decoded. If the
 * window has not begun yet, those that belong to it are lost, so the window begins later. */
void sl_window_seen(struct sl_window *w, uint64_t seen_ns);

/* These requests only set want_start and want_stop. The next sl_window_step() acts on them, on the
 * stop before the start. A start returns 0, -EALREADY if a window is open or opening, or -EBUSY if
 * the last window is closing (the new window opens afterwards). A stop returns 0, 1 if
 * the machine is paused and the stop cancels a start on which sl_window_step() has not acted yet,
 * or -EALREADY if no window is open or requested. A stop during the lead-in of a requested window
 * opens the window at once, for the time from `ready_ns` on, and closes it. During the lead-in of
 * another window, a stop cancels that window, which counts as missed. */
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

/* Call while SL_ACT_OPEN is carried out, once all sources are on. The window begins now, unless its
 * begin is known. */
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
