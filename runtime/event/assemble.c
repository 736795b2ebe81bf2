/*
 * assemble.c - joins the records of one process by correlation id.
 *
 * The assembler keeps one slot per correlation id (event/correlation.h), with the data seen so far
 * for the id. A GPU operation and the call that launched it may arrive in either order. When the
 * second of the two arrives, the assembler emits the flow arrow. assemble_impl.h describes the
 * parts of the assembler and names the file of each.
 *
 * Threads: one owner. Memory: one mapping of cap_bytes. The assembler touches a page only when it
 * needs the page.
 */
#include "event/assemble.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/pages.h"
#include "event/assemble_impl.h"

/* ---- GPU operations: finding launches and duplicates ---- */

static uint64_t mix(uint64_t h, uint64_t word)
{
    h = (h ^ word) * 0xff51afd7ed558ccdu;
    return h ^ h >> 32;
}

static uint64_t fingerprint(const struct sl_event *ev)
{
    uint64_t h = mix(ev->correlation, ev->start_ns);

    h = mix(h, ev->end_ns);
    if (ev->kind == SL_EV_OVERHEAD)
        return mix(h ^ ev->kind, (uint64_t)ev->name << 32 | ev->thread);
    h = mix(h, (uint64_t)ev->device << 40 ^ (uint64_t)ev->kind << 32 ^ ev->stream);
    if (ev->kind == SL_EV_SYNC || ev->kind == SL_EV_CUDA_EVENT)
        return mix(h, ev->u.sync.event_sync_id ^ (uint64_t)ev->u.sync.event_id << 32);
    /* The shape is left out of the hash, because it includes facts about the stream that may become
     * known between the two deliveries of a record. */
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
    flow.u.flow.head_ns = op->start_ns;
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

/* Returns 1 if the same record arrived a short time ago. Otherwise stores the record's fingerprint
 * for later checks. */
static int is_seen(struct sl_assemble *a, const struct sl_event *ev)
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
        return; /* this operation gets no flow arrow and stays counted in gpu_without_call */
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

/* ---- incoming events ---- */

#define DEFAULT_CAP_BYTES (16u << 20)
#define DEFAULT_HOLD_NS   300000000u

/* Returns the 64-bit id with these low 32 bits that is nearest to the newest id. The result is
 * correct for ids that arrive less than 2^31 ids late or early. If the newest id is small and an id
 * just below 2^32 arrives, the nearest id is negative. The function then returns the 32-bit id
 * unchanged. */
static uint64_t widen(struct sl_assemble *a, uint32_t id)
{
    uint64_t wide;

    if (!a->any) {
        a->any = 1;
        a->newest = id;
        return id;
    }
    wide = a->newest + (uint64_t)(int64_t)(int32_t)(id - (uint32_t)a->newest);
    if ((int64_t)wide < 0)
        return id;
    if (wide > a->newest) {
        if (wide >> 32 != a->newest >> 32)
            a->counts.wraps++;
        a->newest = wide;
    }
    return wide;
}

static void forget_page(void *user, struct sl_corr_page *page)
{
    struct sl_assemble *a = user;
    unsigned i;

    if (page->waiting == 0)
        return;
    for (i = 0; i < SL_CORR_PAGE_IDS; i++) {
        struct sl_corr_slot *slot = &page->slot[i];

        if (slot->state & CALL_WAITS) {
            a->counts.call_without_gpu++;
            a->calls_waiting--;
        }
        while (slot->extra) {
            uint32_t index = slot->extra;

            slot->extra = a->extra[index].next;
            a->extra[index].next = a->extra_free;
            a->extra_free = index;
        }
    }
}

int sl_assemble_create(struct sl_assemble **out, const struct sl_assemble_options *opt)
{
    size_t cap = opt->cap_bytes ? opt->cap_bytes : DEFAULT_CAP_BYTES;
    size_t recent_bytes = SL_ASSEMBLE_RECENT * sizeof(uint64_t);
    size_t held_bytes = cap / 4, op_bytes = cap / 8, extra_bytes = cap / 16, pages_bytes;
    struct sl_assemble *a;
    char *memory;
    int error = -ENOMEM;

    if (!opt->sink || cap < 4 * recent_bytes)
        return -EINVAL;
    a = sl_pages_map(sizeof(*a));
    if (!a)
        return -ENOMEM;
    memory = sl_pages_map(cap);
    if (!memory)
        goto fail_map;
    a->memory = memory;
    a->opt = *opt;
    a->opt.cap_bytes = cap;
    if (!a->opt.driver_hold_ns)
        a->opt.driver_hold_ns = DEFAULT_HOLD_NS;
    held_bytes -= held_bytes % 64;
    op_bytes -= op_bytes % 64;
    extra_bytes -= extra_bytes % 64;
    pages_bytes = cap - recent_bytes - held_bytes - op_bytes - extra_bytes;
    a->recent = (uint64_t *)memory;
    a->held = (struct held_row *)(memory + recent_bytes);
    a->held_slots = held_bytes / sizeof(struct held_row);
    a->op = (struct held_row *)(memory + recent_bytes + held_bytes);
    a->op_slots = op_bytes / sizeof(struct held_row);
    a->extra = (struct extra_op *)(memory + recent_bytes + held_bytes + op_bytes);
    a->extras = (uint32_t)(extra_bytes / sizeof(struct extra_op));
    a->extra_used = 1;
    error = sl_corr_init(&a->table, (char *)a->extra + extra_bytes, pages_bytes, forget_page, a);
    if (error)
        goto fail_table;
    *out = a;
    return 0;

fail_table:
    sl_pages_unmap(memory, cap);
fail_map:
    sl_pages_unmap(a, sizeof(*a));
    return error;
}

void sl_assemble_destroy(struct sl_assemble *a)
{
    if (!a)
        return;
    sl_pages_unmap(a->memory, a->opt.cap_bytes);
    sl_pages_unmap(a, sizeof(*a));
}

void sl_assemble_event(struct sl_assemble *a, const struct sl_event *ev, uint64_t now_ns)
{
    struct sl_event wide;

    if (ev->correlation == 0) {
        if (ev->kind == SL_EV_OVERHEAD && is_seen(a, ev))
            a->counts.duplicates++;
        else
            sl_assemble_emit(a, ev);
        return;
    }
    wide = *ev;
    wide.correlation = widen(a, (uint32_t)ev->correlation);
    switch (ev->kind) {
    case SL_EV_KERNEL:
    case SL_EV_MEMCPY:
    case SL_EV_MEMSET:
    case SL_EV_GRAPH:
        sl_assemble_operation_row(a, &wide, now_ns);
        break;
    case SL_EV_RUNTIME:
        sl_assemble_runtime_row(a, &wide);
        break;
    case SL_EV_DRIVER:
        sl_assemble_driver_row(a, &wide, now_ns);
        break;
    case SL_EV_SYNC:
    case SL_EV_CUDA_EVENT:
        if (is_seen(a, &wide))
            a->counts.duplicates++;
        else if (wide.flags & SL_EVF_NO_RESULT)
            sl_assemble_wait_row(a, &wide, now_ns);
        else
            sl_assemble_emit(a, &wide);
        break;
    default:
        sl_assemble_emit(a, &wide);
        break;
    }
}

void sl_assemble_hold_operations(struct sl_assemble *a)
{
    a->holds_operations = 1;
}

void sl_assemble_get_counts(const struct sl_assemble *a, struct sl_assemble_counts *out)
{
    *out = a->counts;
}

uint64_t sl_assemble_waiting(const struct sl_assemble *a)
{
    return a->calls_waiting;
}
