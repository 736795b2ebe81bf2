/*
 * window_filter.c - opens and closes the window, sets its bounds, and notifies the writer.
 *
 * Recorder thread. Memory: the pipeline's.
 */
#include <errno.h>

#include "base/clock.h"
#include "base/stats.h"
#include "control/window.h"
#include "event/ring.h"
#include "pipeline/pipeline.h"
#include "pipeline/pipeline_state.h"

void sl_pipeline_arrow(struct sl_pipeline *p, struct sl_event *flow)
{
    uint64_t *startless = &p->startless[flow->correlation % SL_PIPELINE_STARTLESS];

    if (!sl_outlet_in_window(p, flow)) {
        if (flow->flags & SL_EVF_FLOW_FIRST)
            *startless = flow->correlation;
    } else if (*startless == flow->correlation) {
        flow->flags |= SL_EVF_FLOW_FIRST;
        *startless = 0;
    }
}

int sl_pipeline_open(struct sl_pipeline *p, const struct sl_pipeline_window *window)
{
    struct sl_event ev = {.kind = SL_EV_WINDOW_OPEN, .start_ns = window->opened_ns};
    uint64_t opened_ns = window->opened_ns;

    ev.u.window.number = window->number;
    ev.u.window.reason = (uint8_t)window->reason;
    ev.u.window.is_requested = window->reason == SL_REASON_API;
    ev.u.window.is_timed = window->reason == SL_REASON_TIME;
    ev.u.window.is_lead_in_short = window->is_lead_in_short != 0;
    ev.u.window.step = window->step;
    ev.missed = p->missed + window->missed;
    if (p->used)
        sl_outlet_early_rows(p); /* they were made before this window */
    if (ev.u.window.is_timed || (!p->used && window->reason != SL_REASON_API))
        p->opening = ev;
    else if (sl_ring_push_control(p->ring, &ev))
        return -ENOBUFS;
    else
        p->used = 1; /* a file is open, so the lanes may be read */
    p->missed = p->opening.kind ? ev.missed : 0;
    if (p->seen_ns < opened_ns)
        p->seen_ns = opened_ns; /* no window was open before this time */
    sl_pipeline_lanes_read(p);  /* shows which ranges and operators are open */
    if (p->ops)
        sl_ops_open(p->ops);
    p->from_ns = opened_ns;
    p->until_ns = SL_PIPELINE_NEVER;
    sl_pipeline_ranges_window(p);
    sl_writer_wake(p->writer);
    return 0;
}

void sl_pipeline_seen(struct sl_pipeline *p, uint64_t seen_ns)
{
    p->seen_ns = seen_ns;
}

void sl_pipeline_bound(struct sl_pipeline *p, uint64_t from_ns, uint64_t until_ns)
{
    p->from_ns = from_ns;
    p->until_ns = until_ns;
    sl_pipeline_ranges_window(p);
}

void sl_pipeline_limit(struct sl_pipeline *p, uint64_t closed_ns)
{
    p->until_ns = closed_ns;
    sl_pipeline_ranges_window(p);
}

int sl_pipeline_close(struct sl_pipeline *p, uint32_t number, uint32_t reason, uint64_t closed_ns)
{
    struct sl_event ev = {.kind = SL_EV_WINDOW_CLOSE, .end_ns = closed_ns};

    sl_pipeline_flush(p);
    if (p->used)
        sl_outlet_early_rows(p);
    sl_pipeline_lanes_read(p);
    sl_pipeline_ranges_close(p, closed_ns);
    sl_pipeline_ops_close(p, closed_ns);
    /* The edges of the window's remaining waits are emitted when the window ends, so losses must be
     * reported before the end. */
    if (sl_pipeline_delivered(p, 0))
        return -ENOBUFS;
    ev.u.window.number = number;
    ev.u.window.reason = (uint8_t)reason;
    if (p->opening.kind)
        p->opening.kind = SL_EV_NONE;
    else if (sl_ring_push_control(p->ring, &ev))
        return -ENOBUFS;
    p->from_ns = p->until_ns = SL_PIPELINE_NEVER;
    sl_pipeline_ranges_window(p);
    sl_writer_wake(p->writer);
    return 0;
}
