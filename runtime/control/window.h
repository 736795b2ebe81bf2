/*
 * window.h - when to record: a pure state machine.
 *
 * Told the time and what was asked, it says what to do next. It calls nothing, so every sequence
 * can be tested; the collector thread carries the actions out.
 *
 *   PAUSED --(time, start)--> LEAD_IN --(lead-in over)--> RECORDING --(time, stop)--> DRAINING
 *   DRAINING --(everything enqueued before the end is in, or given up)--> PAUSED
 */
#ifndef SL_WINDOW_H
#define SL_WINDOW_H

#include <stdint.h>

#include "control/config.h"

enum sl_window_state {
    SL_WIN_PAUSED,
    SL_WIN_LEAD_IN,
    SL_WIN_RECORDING,
    SL_WIN_DRAINING
};

enum sl_window_reason {
    SL_REASON_RUN,
    SL_REASON_TIME,
    SL_REASON_API,
    SL_REASON_EXIT
};

enum sl_window_action {
    SL_ACT_NONE = 0,
    SL_ACT_ENABLE = 1 << 0,  /* turn the kinds on */
    SL_ACT_OPEN = 1 << 1,    /* push SL_EV_WINDOW_OPEN */
    SL_ACT_DRAIN = 1 << 2,   /* flush; records past the end are not written */
    SL_ACT_CLOSE = 1 << 3,   /* push SL_EV_WINDOW_CLOSE */
    SL_ACT_DISABLE = 1 << 4, /* turn off the kinds that may be off between windows */
};

struct sl_window {
    enum sl_window_mode mode;
    enum sl_window_state state;
    uint64_t window_ns, period_ns, lead_in_ns, drain_ns;
    uint64_t next_ns; /* when the state ends by itself; UINT64_MAX = never */
    uint64_t opened_ns, closed_ns;
    uint32_t number; /* of the current or last window; counts from 1 */
    int want_start, want_stop;
    enum sl_window_reason reason;
};

/* kinds_on: kinds were enabled already (injection time), so no lead-in is needed for the first. */
void sl_window_init(struct sl_window *w, const struct sl_config *config, uint64_t now_ns,
                    int kinds_on);

/* Requests; idempotent. 0; -EALREADY when it is so already; -EBUSY while draining (the request is
 * kept and obeyed afterwards). */
int sl_window_start(struct sl_window *w, uint64_t now_ns);
int sl_window_stop(struct sl_window *w, uint64_t now_ns, enum sl_window_reason reason);

/* `drained`: nothing enqueued before closed_ns is outstanding. Returns enum sl_window_action bits,
 * to be carried out in the order of their values. */
uint32_t sl_window_step(struct sl_window *w, uint64_t now_ns, int drained);

/* Time of the next step that would do something by itself; UINT64_MAX = none. */
uint64_t sl_window_deadline(const struct sl_window *w);

#endif
