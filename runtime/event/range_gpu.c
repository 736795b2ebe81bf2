/*
 * range_gpu.c - collects the GPU work of each range.
 *
 * Threads, memory: see range.h.
 */
#include "event/range_impl.h"

/* If exactly one thread has open ranges, returns the innermost range of that thread. Otherwise
 * returns NULL. */
static struct sl_range *only_caller_at(struct sl_ranges *r, uint64_t ns)
{
    struct sl_range *found = NULL, *x;

    if (r->callers > SL_RANGE_CALLERS)
        return NULL;
    for (uint32_t i = 0; i < r->callers; i++) {
        x = sl_range_is_worker(r, r->caller[i]) ? NULL : sl_range_at(r, r->caller[i], ns);
        if (x && found)
            return NULL;
        found = x ? x : found;
    }
    return found;
}

/* Returns the innermost range of the thread for which this thread works. */
static struct sl_range *caller_at(struct sl_ranges *r, uint32_t thread, uint64_t ns,
                                  uint32_t for_thread)
{
    if (!r->workers || !sl_range_is_worker(r, thread))
        return NULL;
    if (for_thread && !sl_range_is_worker(r, for_thread))
        return sl_range_at(r, for_thread, ns);
    return only_caller_at(r, ns);
}

static struct sl_range_launch *launch_at(struct sl_ranges *r, uint64_t ns)
{
    return &r->launch[ns * 0x9e3779b97f4a7c15u >> (64 - SL_RANGE_LAUNCH_BITS)];
}

static void name_range(struct sl_event *call, const struct sl_range *x)
{
    call->u.call.range = x->look.name;
    call->range_numbers = x->look.numbers;
}

/* Adds a launch to the count of a range, and to the counts of all open ranges around this range. */
static void count_launch(struct sl_ranges *r, struct sl_range *x, uint64_t ns)
{
    for (; x; x = sl_range_parent(r, x))
        x->launches += x->end_ns > ns;
}

void sl_ranges_call(struct sl_ranges *r, struct sl_event *call, uint32_t for_thread)
{
    struct sl_range *around[] = {sl_range_at(r, call->thread, call->start_ns),
                                 caller_at(r, call->thread, call->start_ns, for_thread)};
    int launches = call->flags & SL_EVF_LAUNCH && call->u.call.result == 0;

    if (around[0] || around[1])
        name_range(call, around[0] ? around[0] : around[1]);
    for (unsigned i = 0; launches && i < 2; i++)
        count_launch(r, around[i], call->start_ns);
    if (launches && for_thread)
        *launch_at(r, call->start_ns) =
            (struct sl_range_launch){call->start_ns, call->thread, for_thread};
}

/* Returns the range's span on a stream. Creates the span if needed. Returns NULL if there is no
 * room. */
static struct sl_range_span *get_span(struct sl_ranges *r, struct sl_range *x,
                                      const struct sl_event *flow)
{
    struct sl_range_span *s;
    uint32_t index;

    for (index = x->spans; index; index = s->next) {
        s = &r->span[index];
        if (s->device == flow->device && s->stream == flow->stream)
            return s;
    }
    index = r->span_free;
    if (index)
        r->span_free = r->span[index].next;
    else if (r->spans_used < r->spans)
        index = r->spans_used++;
    else
        return NULL;
    s = &r->span[index];
    *s = (struct sl_range_span){flow->u.flow.head_ns, flow->u.flow.head_ns, flow->stream, x->spans,
                                flow->device};
    x->spans = index;
    return s;
}

static void add_operation(struct sl_ranges *r, struct sl_range *x, const struct sl_event *flow)
{
    uint64_t start_ns = flow->u.flow.head_ns, end_ns = flow->u.flow.op_end_ns;
    struct sl_range_span *s;

    if (flow->flags & SL_EVF_FLOW_FIRST)
        x->launches -= x->launches > 0;
    else
        x->has_graph = 1;
    if (end_ns > x->last_op_ns)
        x->last_op_ns = end_ns;
    if (!sl_range_in_window(r, start_ns))
        return;
    s = get_span(r, x, flow);
    if (!s) {
        r->counts.lost++;
        return;
    }
    s->from_ns = start_ns < s->from_ns ? start_ns : s->from_ns;
    s->to_ns = end_ns > s->to_ns ? end_ns : s->to_ns;
}

void sl_ranges_flow(struct sl_ranges *r, const struct sl_event *flow)
{
    const struct sl_range_launch *launch = launch_at(r, flow->start_ns);
    int is_it = launch->ns == flow->start_ns && launch->thread == flow->thread;
    struct sl_range *around[] = {
        sl_range_at(r, flow->thread, flow->start_ns),
        caller_at(r, flow->thread, flow->start_ns, is_it ? launch->for_thread : 0)};

    for (unsigned i = 0; i < 2; i++)
        for (struct sl_range *x = around[i]; x; x = sl_range_parent(r, x))
            if (x->end_ns > flow->start_ns)
                add_operation(r, x, flow);
}

void sl_range_put_spans(struct sl_ranges *r, struct sl_range *x)
{
    uint32_t index = x->spans, next;

    for (; index; index = next) {
        struct sl_range_span *s = &r->span[index];
        const struct sl_event ev = {.kind = SL_EV_NVTX_RANGE_GPU,
                                    .start_ns = s->from_ns,
                                    .end_ns = s->to_ns,
                                    .name_numbers = x->look.numbers,
                                    .name = x->look.name,
                                    .thread = x->thread,
                                    .device = s->device,
                                    .stream = s->stream,
                                    .more = x->look.more};

        next = s->next;
        r->opt.sink(r->opt.sink_user, &ev);
        s->next = r->span_free;
        r->span_free = index;
    }
    x->spans = 0;
}
