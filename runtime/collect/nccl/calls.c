/*
 * calls.c - the calls of NCCL that the program has made, from NCCL's profiler and its NVTX ranges.
 *
 * Threads, memory: see calls.h.
 */
#include "collect/nccl/calls.h"

#include <stddef.h>

#include "collect/nccl/describe.h"

/* Identifies a call of several messages by its range. Handles never have this bit. */
#define OF_RANGE (1ull << 63)

/* Adds to a call what the range around it says. The range of another communicator belongs to
 * another call. */
static void merge(struct sl_nccl_calls *c, struct sl_nccl_call *call,
                  const struct sl_nccl_range *range)
{
    static const char *const of_messages[] = {"AlltoAll", "Gather", "Scatter", NULL};
    static const char *const messages[] = {"Send", "Recv", NULL};
    struct sl_nccl_event *e = &call->event;
    struct sl_nccl_comm comm;

    if (!range->id)
        return;
    if (range->hash && !sl_nccl_plugin_comm(e->record.aux, &comm) && comm.hash != range->hash) {
        c->odd++;
    } else if (range->func == e->func) {
        c->odd += range->bytes && range->bytes != sl_nccl_bytes(e);
        call->reduction = range->reduction;
        if (sl_nccl_is_one_of(e->func, messages) && range->peer >= 0)
            e->root = range->peer;
    } else if (sl_nccl_is_one_of(range->func, of_messages) &&
               sl_nccl_is_one_of(e->func, messages)) {
        e->func = range->func;
        e->root = range->root;
        call->whole = OF_RANGE | range->id;
        call->is_of_messages = 1;
    }
}

void sl_nccl_calls_add(struct sl_nccl_calls *c, const struct sl_nccl_ordered *it)
{
    struct sl_nccl_call *call = &c->call[c->count++ % SL_NCCL_CALLS_KEPT];

    *call = (struct sl_nccl_call){.event = it->event, .whole = it->event.handle};
    call->event.record.stamp = it->ns;
    merge(c, call, &it->range);
}

const struct sl_nccl_call *sl_nccl_calls_find(const struct sl_nccl_calls *c, uint64_t handle)
{
    uint64_t most = c->count < SL_NCCL_CALLS_KEPT ? c->count : SL_NCCL_CALLS_KEPT;

    for (uint64_t i = 1; handle && i <= most; i++) {
        const struct sl_nccl_call *call = &c->call[(c->count - i) % SL_NCCL_CALLS_KEPT];

        if (call->event.handle == handle)
            return call;
    }
    return NULL;
}

const struct sl_nccl_call *sl_nccl_calls_back(const struct sl_nccl_calls *c, uint64_t back)
{
    return back && back <= c->count && back <= SL_NCCL_CALLS_LOOK
               ? &c->call[(c->count - back) % SL_NCCL_CALLS_KEPT]
               : NULL;
}

struct sl_nccl_call sl_nccl_calls_by_range(struct sl_nccl_calls *c, struct sl_nccl_ranges *ranges,
                                           const struct sl_nccl_ordered *it)
{
    struct sl_nccl_call call = {.event = it->event, .whole = it->event.handle};
    struct sl_nccl_range range = it->range;
    struct sl_nccl_comm comm;

    if (!range.hash && !sl_nccl_plugin_comm(it->event.record.aux, &comm)) {
        const struct sl_nccl_range like = {
            .hash = comm.hash, .func = it->event.func, .bytes = sl_nccl_bytes(&it->event)};

        sl_nccl_ranges_take(ranges, it->thread, it->ns, &like, &range);
    }
    merge(c, &call, &range);
    return call;
}
