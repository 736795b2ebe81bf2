/*
 * assemble_op.c - GPU operations: which launch each came from, and what came twice.
 *
 * Threads: one owner (assemble.h). Memory: the assembler's.
 */
#include <string.h>

#include "event/assemble_impl.h"

static uint64_t mix(uint64_t h, uint64_t word)
{
    h = (h ^ word) * 0xff51afd7ed558ccdu;
    return h ^ h >> 32;
}

static uint64_t fingerprint(const struct sl_event *ev)
{
    uint64_t h = mix(ev->correlation, ev->start_ns);

    h = mix(h, ev->end_ns);
    h = mix(h, (uint64_t)ev->device << 40 ^ (uint64_t)ev->kind << 32 ^ ev->stream);
    if (ev->kind == SL_EV_OVERHEAD)
        return mix(h, (uint64_t)ev->name << 32 | ev->thread);
    if (ev->kind == SL_EV_SYNC || ev->kind == SL_EV_CUDA_EVENT)
        return mix(h, ev->u.sync.event_sync_id ^ (uint64_t)ev->u.sync.event_id << 32);
    /* (Not the shape: what is known of the stream stands in it, and that grows between two
     * records.) */
    return mix(mix(h, ev->u.op.graph_node ^ (uint64_t)ev->name << 32), ev->u.op.bytes);
}

void sl_assemble_arrow(struct sl_assemble *a, uint64_t id, struct sl_corr_slot *call,
                       const struct extra_op *op)
{
    struct sl_event flow;

    if (!a->opt.flows || op->start_ns == 0)
        return;
    memset(&flow, 0, sizeof(flow));
    flow.kind = SL_EV_FLOW;
    flow.flags = call->state & HAS_ARROW ? 0 : SL_EVF_FLOW_FIRST;
    call->state |= HAS_ARROW;
    flow.correlation = id;
    flow.start_ns = call->start_ns;
    flow.thread = call->place;
    flow.end_ns = op->start_ns;
    flow.u.flow.op_end_ns = op->end_ns;
    flow.device = op->device;
    flow.stream = op->stream;
    sl_assemble_emit(a, &flow);
}

static int seen_recently(struct sl_assemble *a, uint64_t mark)
{
    uint64_t *place = &a->recent[mark % (SL_ASSEMBLE_RECENT / SL_ASSEMBLE_WAYS) * SL_ASSEMBLE_WAYS];

    for (int i = 0; i < SL_ASSEMBLE_WAYS; i++)
        if (place[i] == mark)
            return 1;
    memmove(place + 1, place, (SL_ASSEMBLE_WAYS - 1) * sizeof(*place));
    *place = mark;
    return 0;
}

int sl_assemble_seen(struct sl_assemble *a, const struct sl_event *ev)
{
    return seen_recently(a, fingerprint(ev));
}

static void keep_extra(struct sl_assemble *a, struct sl_corr_slot *slot, const struct extra_op *op)
{
    uint32_t index = a->extra_free;

    if (index)
        a->extra_free = a->extra[index].next;
    else if (a->extra_used < a->extras)
        index = a->extra_used++;
    else
        return; /* no flow for this one; it stays counted as without call */
    a->extra[index] = *op;
    a->extra[index].next = slot->extra;
    slot->extra = index;
}

void sl_assemble_operation(struct sl_assemble *a, const struct sl_event *ev)
{
    struct extra_op op = {ev->start_ns, ev->end_ns, ev->stream, 0, ev->device};
    struct sl_corr_page *page;
    struct sl_corr_slot *slot = sl_corr_get(&a->table, ev->correlation, &page);
    uint64_t mark = fingerprint(ev);
    int first = !(slot->state & HAS_OP);

    if (!first && (slot->mark == (uint32_t)mark || seen_recently(a, mark))) {
        a->counts.duplicates++;
        return;
    }
    if (first) {
        slot->state |= HAS_OP;
        slot->mark = (uint32_t)mark;
    }
    sl_assemble_emit(a, ev);
    if (slot->state & HAS_CALL) {
        if (slot->state & CALL_WAITS) {
            slot->state &= (uint16_t)~CALL_WAITS;
            a->calls_waiting--;
            sl_corr_wait_over(&a->table, page);
        }
        sl_assemble_arrow(a, ev->correlation, slot, &op);
        return;
    }
    a->counts.gpu_without_call++;
    if (first) {
        slot->start_ns = ev->start_ns;
        slot->end_ns = ev->end_ns;
        slot->place = ev->stream;
        slot->device = ev->device;
        slot->state |= OP_WAITS;
        sl_corr_wait(&a->table, page);
    } else {
        keep_extra(a, slot, &op);
    }
}
