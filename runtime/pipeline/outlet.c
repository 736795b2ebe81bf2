/*
 * outlet.c - checks whether an event is in the window, and pushes it into the ring. This is the
 * last step of an event on the recorder thread.
 *
 * All files of the pipeline call this file, and this file calls none of them. Threads: the recorder
 * thread. Memory: the pipeline's.
 */
#include <errno.h>

#include "base/stats.h"
#include "event/ring.h"
#include "pipeline/pipeline_state.h"

int sl_outlet_in_window(const struct sl_pipeline *p, const struct sl_event *ev)
{
    if (ev->kind == SL_EV_CUDA_EVENT)
        return 1;
    if (ev->kind == SL_EV_FLOW || ev->kind == SL_EV_FLOW_BACK)
        return ev->start_ns >= p->from_ns && ev->u.flow.head_ns < p->until_ns;
    if (ev->start_ns == 0 && ev->end_ns == 0)
        return p->from_ns != SL_PIPELINE_NEVER;
    return ev->start_ns >= p->from_ns && ev->start_ns < p->until_ns;
}

/* Returns whether a wait in the window may have waited for this event, which is outside the
 * window. */
static int orders_waits(const struct sl_pipeline *p, const struct sl_event *ev)
{
    return p->kinds_on && p->edges && ev->kind >= SL_EV_KERNEL && ev->kind <= SL_EV_SYNC &&
           ev->kind != SL_EV_OVERHEAD;
}

/* Returns whether an event is worth a file. CUPTI's own overhead is not, nor are arrows, which come
 * with their events, and facts about CUDA events, which are pushed between windows, too. */
static int is_content(const struct sl_event *ev)
{
    return ev->kind >= SL_EV_KERNEL && ev->kind <= SL_EV_SYNC && ev->kind != SL_EV_OVERHEAD &&
           !(ev->flags & SL_EVF_ONLY_EDGES);
}

void sl_outlet_push(struct sl_pipeline *p, const struct sl_event *ev)
{
    if (p->opening.kind && is_content(ev)) {
        sl_pipeline_use(p);
        if (p->opening.kind) {
            sl_stats_add(SL_STAT_DROPPED_RING, 1);
            return;
        }
        sl_outlet_early_rows(p);
    }
    p->since_delivery++;
    if (sl_ring_push(p->ring, ev))
        sl_stats_add(SL_STAT_DROPPED_RING, 1);
}

void sl_outlet_row(struct sl_pipeline *p, const struct sl_event *ev)
{
    struct sl_event marked;

    if (sl_outlet_in_window(p, ev)) {
        sl_outlet_push(p, ev);
        return;
    }
    /* We make flow arrows ourselves, so they do not count as records. */
    sl_stats_add(SL_STAT_OUTSIDE_WINDOW, ev->kind != SL_EV_FLOW);
    if (!orders_waits(p, ev))
        return;
    marked = *ev;
    marked.flags |= SL_EVF_ONLY_EDGES;
    sl_outlet_push(p, &marked);
}

void sl_outlet_early_rows(struct sl_pipeline *p)
{
    for (unsigned i = 0; i < p->early_count; i++)
        sl_outlet_row(p, &p->early[i]);
    p->early_count = 0;
}

int sl_outlet_meta(struct sl_pipeline *p, const struct sl_event *ev)
{
    /* Metadata is rare, and later events need it. So metadata may use the reserved slots, except
     * the last SL_PIPELINE_WINDOW_SLOTS slots. */
    if (sl_ring_used(p->ring) + SL_PIPELINE_WINDOW_SLOTS >= sl_ring_slots(p->ring)) {
        sl_stats_add(SL_STAT_NAMES_LOST, 1);
        return -ENOBUFS;
    }
    return sl_ring_push_control(p->ring, ev);
}

void sl_pipeline_meet_use(struct sl_pipeline *p)
{
    if (p->opening.kind && p->opening.u.window.is_timed)
        p->used = 1;
    else
        sl_pipeline_use(p);
}

void sl_pipeline_use(struct sl_pipeline *p)
{
    p->used = 1;
    /* If even the reserved slots of the ring are full, the opening is pushed later. */
    if (!p->opening.kind || sl_ring_push_control(p->ring, &p->opening))
        return;
    p->opening.kind = SL_EV_NONE;
    p->missed = 0;
}

int sl_pipeline_is_open(const struct sl_pipeline *p)
{
    return p->from_ns != SL_PIPELINE_NEVER;
}
