/*
 * ops.c - matches PyTorch operators with CUDA calls and passes them to the writer.
 *
 * Recorder thread. Memory: the pipeline's.
 */
#include "event/ops.h"

#include <string.h>

#include "base/log.h"
#include "base/stats.h"
#include "pipeline/pipeline_state.h"
#include "sync/call_class.h"

/* Truncates an operator that began before the window. The window's start may become known only
 * after an operator's begin was emitted. If such an operator ended before the window, its end is
 * set to the window's start. */
static void cut_start(const struct sl_pipeline *p, struct sl_event *ev)
{
    if (ev->kind != SL_EV_CPU_OP || !sl_pipeline_is_open(p) || ev->start_ns >= p->from_ns ||
        (ev->end_ns <= p->from_ns && !(ev->flags & SL_EVF_BEGUN)))
        return;
    ev->start_ns = p->from_ns;
    if (ev->end_ns < p->from_ns)
        ev->end_ns = p->from_ns;
    ev->flags |= SL_EVF_CUT_START;
}

/* Returns whether the event is a call of torch.distributed. */
static int is_collective(const struct sl_pipeline *p, const struct sl_event *ev)
{
    static const char name[] = "record_param_comms";
    size_t length = 0;
    const char *text =
        ev->kind == SL_EV_CPU_OP ? sl_intern_get(p->intern, ev->name, &length) : NULL;

    return text && length == sizeof(name) - 1 && memcmp(text, name, length) == 0;
}

static void take_op(void *user, const struct sl_event *ev)
{
    struct sl_pipeline *p = user;
    struct sl_event row = *ev;
    int is_whole = ev->kind == SL_EV_CPU_OP && ev->end_ns != SL_END_UNKNOWN;

    if (p->opt.config->kinds == SL_KIND_COLLECTIVES && !is_collective(p, ev))
        return;
    if (ev->kind == SL_EV_META_NODE) {
        sl_outlet_meta(p, ev);
        return;
    }
    cut_start(p, &row);
    if (sl_outlet_in_window(p, &row)) {
        sl_stats_add(SL_STAT_OPS, is_whole);
        sl_outlet_push(p, &row);
    } else {
        sl_stats_add(SL_STAT_OUTSIDE_WINDOW, is_whole);
    }
}

void sl_pipeline_ops_count(const struct sl_pipeline *p)
{
    struct sl_ops_counts counts;

    sl_stats_set(SL_STAT_COLLECTIVES_LOST, p->lost_by_sources.launches);
    sl_stats_set(SL_STAT_NCCL_ODD, p->lost_by_sources.odd);
    if (p->launches && sl_launches_any(p->launches))
        sl_assemble_hold_operations(p->assemble);
    if (!p->ops)
        return;
    sl_ops_get_counts(p->ops, &counts);
    if (counts.ops) /* a kernel's slice names the operator of its call, so the call must be written
                     * before the kernel */
        sl_assemble_hold_operations(p->assemble);
    sl_stats_set(SL_STAT_OPS_LOST, counts.lost + p->lost_by_sources.ops);
    sl_stats_set(SL_STAT_OPS_FORGOTTEN, counts.forgotten);
    sl_stats_set(SL_STAT_OPS_INPUTS_LOST, p->lost_by_sources.inputs);
}

uint32_t sl_pipeline_ops_event(struct sl_pipeline *p, struct sl_event *ev)
{
    uint32_t for_thread = 0;

    if (p->ops && (ev->kind == SL_EV_RUNTIME || ev->kind == SL_EV_DRIVER))
        for_thread = sl_ops_call(p->ops, ev);
    /* The thread's name also shows that the thread works for autograd. But the name cannot be read
     * after the thread has ended, for example in a short job. */
    if (for_thread && p->ranges && sl_ops_is_worker(p->ops, ev->thread))
        sl_ranges_worker(p->ranges, ev->thread);
    return for_thread;
}

void sl_pipeline_ops_launch(struct sl_pipeline *p, const struct sl_event *call)
{
    struct sl_event ev = {.kind = SL_EV_COLLECTIVE,
                          .start_ns = call->start_ns,
                          .end_ns = call->end_ns,
                          .correlation = call->correlation};
    const struct sl_launch_about *about;

    if (!p->launches || !(call->flags & SL_EVF_LAUNCH) ||
        (call->kind != SL_EV_RUNTIME && call->kind != SL_EV_DRIVER) ||
        !sl_outlet_in_window(p, call))
        return;
    about = sl_launches_find(p->launches, call->thread, call->start_ns);
    if (!about || !about->text ||
        (about->what == SL_LAUNCH_NCCL_KERNELS &&
         (call->kind != SL_EV_DRIVER ||
          sl_call_class_of(SL_EV_DRIVER, call->u.call.cbid) != SL_CALL_KERNEL_LAUNCH)))
        return;
    ev.name = about->text;
    ev.u.collective.number = about->number;
    ev.u.collective.what = about->what;
    ev.u.collective.sizes = about->sizes;
    sl_stats_add(SL_STAT_COLLECTIVES, 1);
    sl_outlet_push(p, &ev);
}

void sl_pipeline_ops_close(struct sl_pipeline *p, uint64_t closed_ns)
{
    if (!p->ops || !p->used)
        return;
    sl_ops_close(p->ops, closed_ns);
    sl_pipeline_ops_count(p);
}

/* If there is no memory, the job is recorded without operators. */
void sl_pipeline_ops_create(struct sl_pipeline *p)
{
    size_t bytes = (size_t)p->opt.config->ops_memory_bytes;
    const struct sl_ops_options ops = {.cap_bytes = bytes - bytes / SL_PIPELINE_DETAIL_SHARE,
                                       .begins = sl_outputs_wants_begins(&p->outputs),
                                       .places = p->intern,
                                       .sink = take_op,
                                       .sink_user = p};

    if (p->details && p->ranges && sl_ops_create(&p->ops, &ops) != 0)
        sl_log(SL_LOG_WARN, "not enough memory for PyTorch operators: the trace has none; lower "
                            "SYNCLINE_OPS_MEMORY");
}

void sl_pipeline_launches_create(struct sl_pipeline *p)
{
    if (p->ranges && sl_launches_create(&p->launches) != 0)
        sl_log(SL_LOG_WARN, "not enough memory for NCCL's collectives: their kernels do not show "
                            "them; lower SYNCLINE_MEMORY");
}
