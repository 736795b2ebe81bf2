/*
 * ranges.c - matches the user's ranges with calls and GPU operations and passes them to the writer.
 *
 * Recorder thread. Memory: the pipeline's.
 */
#include <string.h>

#include "base/log.h"
#include "base/stats.h"
#include "event/range.h"
#include "pipeline/pipeline_state.h"

/* Pushes a range's slice, which is always in the window, or a mark if it is in the window. */
static void take_note(void *user, const struct sl_event *ev)
{
    struct sl_pipeline *p = user;

    if (ev->kind == SL_EV_NVTX_RANGE_MARK && !sl_outlet_in_window(p, ev)) {
        sl_stats_add(SL_STAT_OUTSIDE_WINDOW, 1);
        return;
    }
    if (p->opt.config->kinds == SL_KIND_COLLECTIVES && ev->value_type == SL_NOTE_RECORD_FUNCTION)
        return; /* a scope of PyTorch's record_function() */
    if (ev->end_ns != SL_END_UNKNOWN)
        sl_stats_add(SL_STAT_RANGES, 1);
    sl_outlet_push(p, ev);
}

/* Recognises threads that run backward passes by the name that PyTorch gives them. */
void sl_pipeline_ranges_thread(struct sl_pipeline *p, const struct sl_event *ev)
{
    static const char worker[] = "pt_autograd";
    size_t length = 0;
    const char *name = p->ranges && ev->kind == SL_EV_META_THREAD
                           ? sl_intern_get(p->intern, ev->name, &length)
                           : NULL;

    if (name && length >= sizeof(worker) - 1 && memcmp(name, worker, sizeof(worker) - 1) == 0)
        sl_ranges_worker(p->ranges, ev->thread);
}

/* Receives marks, and names of tracks that are no threads. */
void sl_pipeline_ranges_take(void *user, const struct sl_event *ev)
{
    if (ev->kind == SL_EV_META_NODE) {
        sl_outlet_meta(user, ev);
        return;
    }
    if (!sl_pipeline_is_meta(ev)) {
        take_note(user, ev);
        return;
    }
    sl_pipeline_ranges_thread(user, ev);
    sl_outlet_meta(user, ev);
}

void sl_pipeline_ranges_count(const struct sl_pipeline *p)
{
    struct sl_ranges_counts counts;

    if (!p->ranges)
        return;
    sl_ranges_get_counts(p->ranges, &counts);
    sl_stats_set(SL_STAT_RANGES_LOST, counts.lost + p->lost_by_sources.ranges);
    sl_stats_set(SL_STAT_RANGES_CUT, counts.cut);
}

void sl_pipeline_ranges_window(struct sl_pipeline *p)
{
    if (p->ranges)
        sl_ranges_window(p->ranges, p->from_ns, p->until_ns);
}

void sl_pipeline_ranges_event(struct sl_pipeline *p, struct sl_event *ev, uint32_t for_thread)
{
    if (!p->ranges)
        return;
    if (ev->kind == SL_EV_FLOW)
        sl_ranges_flow(p->ranges, ev);
    else if (ev->kind == SL_EV_RUNTIME || ev->kind == SL_EV_DRIVER)
        sl_ranges_call(p->ranges, ev, for_thread);
}

void sl_pipeline_ranges_close(struct sl_pipeline *p, uint64_t closed_ns)
{
    if (!p->ranges || !p->used)
        return;
    sl_ranges_close(p->ranges, closed_ns);
    sl_pipeline_ranges_count(p);
}

/* If there is no memory, the job is recorded without ranges. */
void sl_pipeline_ranges_create(struct sl_pipeline *p)
{
    const struct sl_config *config = p->opt.config;
    const struct sl_ranges_options ranges = {.cap_bytes = (size_t)(config->nvtx_memory_bytes / 3),
                                             .begins = sl_outputs_wants_begins(&p->outputs),
                                             .sink = take_note,
                                             .sink_user = p};

    if (sl_ranges_create(&p->ranges, &ranges) == 0) {
        sl_pipeline_ranges_window(p);
        return;
    }
    p->ranges = NULL;
    sl_log(SL_LOG_WARN,
           "not enough memory for ranges: the trace has none; lower SYNCLINE_NVTX_MEMORY");
}
