/*
 * assemble.c - puts the records of one process together.
 *
 * What is known of a correlation id stands in its slot (event/correlation.h). A GPU operation and
 * its call may come in either order: whoever comes second makes the flow. Driver rows wait in a
 * queue, since the runtime row around one, which ends later, usually comes later. So do waits that
 * do not tell their result: the call's row does.
 *
 * Threads: one owner. Memory: one mapping of cap_bytes, touched as it is used.
 */
#include "event/assemble.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/pages.h"
#include "event/correlation.h"

#define DEFAULT_CAP_BYTES (16u << 20)
#define DEFAULT_HOLD_NS   300000000u
#define RECENT_OPS        8192

/* What a slot's state says. While HAS_CALL is not set, start_ns, device and place (the stream) are
 * those of the first GPU operation; from then on start_ns and place (the thread) are the call's. */
enum slot_state {
    HAS_CALL = 1 << 0,    /* the one CPU row has gone out */
    BY_DRIVER = 1 << 1,   /* ... and it was a driver row */
    DRIVER_HELD = 1 << 2, /* a driver row is in the queue */
    HAS_OP = 1 << 3,      /* a GPU operation was seen; `mark` is the first one's */
    CALL_WAITS = 1 << 4,  /* a launch whose GPU operation has not come */
    OP_WAITS = 1 << 5,    /* GPU operations whose call has not come */
    NOT_READY = 1 << 6,   /* the call, seen if not written, was a query of unfinished work */
};

struct held_row {
    struct sl_event event;
    uint64_t due_ns;
};

/* Second and later GPU operations of an id (a graph's) that came before the call. */
struct extra_op {
    uint64_t start_ns;
    uint32_t stream;
    uint32_t next;
    uint16_t device;
};

struct sl_assemble {
    struct sl_assemble_options opt;
    struct sl_assemble_counts counts;
    struct sl_corr_table table;

    uint64_t calls_waiting; /* slots with CALL_WAITS */
    uint64_t newest;        /* highest widened correlation id so far */
    int any;

    struct held_row *held; /* a ring: rows [held_head, held_tail) */
    uint64_t held_head, held_tail, held_slots;

    struct extra_op *extra; /* extra[0] is not used: index 0 ends a chain */
    uint32_t extras, extra_used, extra_free;

    uint64_t *recent; /* fingerprints of records that share an id with others */
    void *memory;
};

static void emit(struct sl_assemble *a, const struct sl_event *ev)
{
    /* A refusal is the receiver's to count. */
    (void)a->opt.sink(a->opt.sink_user, ev);
}

/* The 64-bit id nearest to the newest one: right for whatever comes less than 2^31 ids late or
 * early. Ids from before the first wrap that come after it would be negative; they keep their 32
 * bits, which no other id of the first 2^31 has. */
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
    return mix(h, ev->u.op.graph_node ^ (uint64_t)ev->shape << 32);
}

static void emit_flow(struct sl_assemble *a, uint64_t id, const struct sl_corr_slot *call,
                      const struct extra_op *op, int first)
{
    struct sl_event flow;

    if (!a->opt.flows || op->start_ns == 0)
        return;
    memset(&flow, 0, sizeof(flow));
    flow.kind = SL_EV_FLOW;
    flow.flags = first ? SL_EVF_FLOW_FIRST : 0;
    flow.correlation = id;
    flow.start_ns = call->start_ns;
    flow.thread = call->place;
    flow.end_ns = op->start_ns;
    flow.device = op->device;
    flow.stream = op->stream;
    emit(a, &flow);
}

/* ---- GPU operations ---- */

static int seen_recently(struct sl_assemble *a, uint64_t mark)
{
    uint64_t *at = &a->recent[mark % RECENT_OPS];

    if (*at == mark)
        return 1;
    *at = mark;
    return 0;
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

static void gpu_operation(struct sl_assemble *a, const struct sl_event *ev)
{
    struct extra_op op = {ev->start_ns, ev->stream, 0, ev->device};
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
    emit(a, ev);
    if (slot->state & HAS_CALL) {
        if (slot->state & CALL_WAITS) {
            slot->state &= (uint16_t)~CALL_WAITS;
            a->calls_waiting--;
            sl_corr_wait_over(&a->table, page);
        }
        emit_flow(a, ev->correlation, slot, &op, first);
        return;
    }
    a->counts.gpu_without_call++;
    if (first) {
        slot->start_ns = ev->start_ns;
        slot->place = ev->stream;
        slot->device = ev->device;
        slot->state |= OP_WAITS;
        sl_corr_wait(&a->table, page);
    } else {
        keep_extra(a, slot, &op);
    }
}

/* ---- calls ---- */

/* The CPU row of an id: out it goes, and with it the flows to operations that came before. */
static void emit_call(struct sl_assemble *a, const struct sl_event *ev, struct sl_corr_slot *slot,
                      struct sl_corr_page *page)
{
    struct extra_op first = {slot->start_ns, slot->place, 0, slot->device};
    int op_waits = slot->state & OP_WAITS;

    emit(a, ev);
    slot->start_ns = ev->start_ns;
    slot->place = ev->thread;
    slot->state |= HAS_CALL;
    if (op_waits) {
        slot->state &= (uint16_t)~OP_WAITS;
        a->counts.gpu_without_call--;
        emit_flow(a, ev->correlation, slot, &first, 1);
        while (slot->extra) {
            uint32_t index = slot->extra;

            a->counts.gpu_without_call--;
            emit_flow(a, ev->correlation, slot, &a->extra[index], 0);
            slot->extra = a->extra[index].next;
            a->extra[index].next = a->extra_free;
            a->extra_free = index;
        }
        sl_corr_wait_over(&a->table, page);
    } else if (ev->flags & SL_EVF_LAUNCH && ev->u.call.result == 0) {
        slot->state |= CALL_WAITS;
        a->calls_waiting++;
        sl_corr_wait(&a->table, page);
    }
}

static void note_result(const struct sl_event *ev, struct sl_corr_slot *slot)
{
    if (ev->u.call.result == SL_RESULT_NOT_READY)
        slot->state |= NOT_READY;
}

/* A wait without a result, when its call is known or was waited for long enough. */
static void judge_wait(struct sl_assemble *a, struct sl_event *ev, const struct sl_corr_slot *slot)
{
    if (slot->state & NOT_READY) {
        a->counts.not_ready++;
        return;
    }
    ev->flags &= (uint8_t)~SL_EVF_NO_RESULT;
    emit(a, ev);
}

/* A second row for an id whose CPU row is out. */
static void count_second_row(struct sl_assemble *a, const struct sl_event *ev,
                             const struct sl_corr_slot *slot)
{
    int out_is_driver = (slot->state & BY_DRIVER) != 0;
    int is_driver = ev->kind == SL_EV_DRIVER;

    if (out_is_driver && !is_driver)
        a->counts.late_outer++;
    else if (out_is_driver == is_driver && slot->start_ns == ev->start_ns &&
             slot->place == ev->thread)
        a->counts.duplicates++;
    else
        a->counts.nested_dropped++;
}

/* The held row of an id, among the newest: a nested pair lies side by side. */
static struct held_row *find_held(struct sl_assemble *a, uint64_t id)
{
    const uint64_t reach = 64;
    uint64_t at, left;

    for (at = a->held_tail, left = reach; at > a->held_head && left > 0; left--) {
        struct held_row *held = &a->held[--at % a->held_slots];

        if (held->event.correlation == id && held->event.kind == SL_EV_DRIVER)
            return held;
    }
    return NULL;
}

static void runtime_row(struct sl_assemble *a, const struct sl_event *ev)
{
    struct sl_corr_page *page;
    struct sl_corr_slot *slot = sl_corr_get(&a->table, ev->correlation, &page);

    note_result(ev, slot);
    if (slot->state & HAS_CALL) {
        count_second_row(a, ev, slot);
        return;
    }
    if (slot->state & DRIVER_HELD) {
        struct held_row *held = find_held(a, ev->correlation);

        /* Further back than find_held() looks: dropped when its turn comes, by HAS_CALL. */
        if (held)
            held->event.kind = SL_EV_NONE;
        slot->state &= (uint16_t)~DRIVER_HELD;
        a->counts.nested_dropped++;
        sl_corr_wait_over(&a->table, page);
    }
    emit_call(a, ev, slot, page);
}

/* There is room: make_room() came before. */
static void hold(struct sl_assemble *a, const struct sl_event *ev, uint64_t now_ns)
{
    struct held_row *held = &a->held[a->held_tail++ % a->held_slots];

    held->event = *ev;
    held->due_ns = now_ns + a->opt.driver_hold_ns;
}

static void release_oldest(struct sl_assemble *a)
{
    struct sl_event *ev = &a->held[a->held_head++ % a->held_slots].event;
    struct sl_corr_page *page;
    struct sl_corr_slot *slot;

    if (ev->kind == SL_EV_NONE)
        return;
    slot = sl_corr_get(&a->table, ev->correlation, &page);
    if (ev->kind == SL_EV_SYNC) {
        judge_wait(a, ev, slot);
        return;
    }
    if (slot->state & HAS_CALL)
        return;
    if (slot->state & DRIVER_HELD) {
        slot->state &= (uint16_t)~DRIVER_HELD;
        sl_corr_wait_over(&a->table, page);
    }
    slot->state |= BY_DRIVER;
    emit_call(a, ev, slot, page);
}

/* For one more held row. Before its slot is looked up: letting one go may take that page away. */
static void make_room(struct sl_assemble *a)
{
    if (a->held_tail - a->held_head == a->held_slots)
        release_oldest(a);
}

/* A second driver row while the first waits: the outer of the two stays. */
static void second_held_row(struct sl_assemble *a, const struct sl_event *ev)
{
    struct held_row *held = find_held(a, ev->correlation);

    if (held && memcmp(&held->event, ev, sizeof(*ev)) == 0) {
        a->counts.duplicates++;
        return;
    }
    if (held && ev->start_ns <= held->event.start_ns && ev->end_ns >= held->event.end_ns)
        held->event = *ev;
    a->counts.nested_dropped++;
}

static void driver_row(struct sl_assemble *a, const struct sl_event *ev, uint64_t now_ns)
{
    struct sl_corr_page *page;
    struct sl_corr_slot *slot;

    make_room(a);
    slot = sl_corr_get(&a->table, ev->correlation, &page);
    note_result(ev, slot);
    if (slot->state & HAS_CALL) {
        count_second_row(a, ev, slot);
        return;
    }
    if (slot->state & DRIVER_HELD) {
        second_held_row(a, ev);
        return;
    }
    slot->state |= DRIVER_HELD;
    sl_corr_wait(&a->table, page);
    hold(a, ev, now_ns);
}

/* ---- waits ---- */

/* Of a CUPTI that does not tell the result of a wait: it is left to the call. */
static void wait_row(struct sl_assemble *a, struct sl_event *ev, uint64_t now_ns)
{
    struct sl_corr_page *page;
    struct sl_corr_slot *slot;

    make_room(a);
    slot = sl_corr_get(&a->table, ev->correlation, &page);
    if (slot->state & (HAS_CALL | DRIVER_HELD))
        judge_wait(a, ev, slot);
    else
        hold(a, ev, now_ns);
}

/* ---- the outside ---- */

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
    size_t recent_bytes = RECENT_OPS * sizeof(uint64_t);
    size_t held_bytes = cap / 4, extra_bytes = cap / 16, pages_bytes;
    struct sl_assemble *a;
    char *memory;
    int error = -ENOMEM;

    if (!opt->sink || cap < 4 * recent_bytes)
        return -EINVAL;
    a = calloc(1, sizeof(*a));
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
    extra_bytes -= extra_bytes % 64;
    pages_bytes = cap - recent_bytes - held_bytes - extra_bytes;
    a->recent = (uint64_t *)memory;
    a->held = (struct held_row *)(memory + recent_bytes);
    a->held_slots = held_bytes / sizeof(struct held_row);
    a->extra = (struct extra_op *)(memory + recent_bytes + held_bytes);
    a->extras = (uint32_t)(extra_bytes / sizeof(struct extra_op));
    a->extra_used = 1;
    error = sl_corr_init(&a->table, memory + recent_bytes + held_bytes + extra_bytes, pages_bytes,
                         forget_page, a);
    if (error)
        goto fail_table;
    *out = a;
    return 0;

fail_table:
    sl_pages_unmap(memory, cap);
fail_map:
    free(a);
    return error;
}

void sl_assemble_destroy(struct sl_assemble *a)
{
    if (!a)
        return;
    sl_pages_unmap(a->memory, a->opt.cap_bytes);
    free(a);
}

void sl_assemble_event(struct sl_assemble *a, const struct sl_event *ev, uint64_t now_ns)
{
    struct sl_event wide;

    if (ev->correlation == 0) {
        if (ev->kind == SL_EV_OVERHEAD && seen_recently(a, fingerprint(ev)))
            a->counts.duplicates++;
        else
            emit(a, ev);
        return;
    }
    wide = *ev;
    wide.correlation = widen(a, (uint32_t)ev->correlation);
    switch (ev->kind) {
    case SL_EV_KERNEL:
    case SL_EV_MEMCPY:
    case SL_EV_MEMSET:
    case SL_EV_GRAPH:
        gpu_operation(a, &wide);
        break;
    case SL_EV_RUNTIME:
        runtime_row(a, &wide);
        break;
    case SL_EV_DRIVER:
        driver_row(a, &wide, now_ns);
        break;
    case SL_EV_SYNC:
    case SL_EV_CUDA_EVENT:
        if (seen_recently(a, fingerprint(&wide)))
            a->counts.duplicates++;
        else if (wide.flags & SL_EVF_NO_RESULT)
            wait_row(a, &wide, now_ns);
        else
            emit(a, &wide);
        break;
    default:
        emit(a, &wide);
        break;
    }
}

void sl_assemble_tick(struct sl_assemble *a, uint64_t now_ns)
{
    while (a->held_head != a->held_tail) {
        const struct held_row *held = &a->held[a->held_head % a->held_slots];
        int known = held->event.kind == SL_EV_SYNC ? HAS_CALL | DRIVER_HELD : HAS_CALL;
        struct sl_corr_page *page;
        struct sl_corr_slot *slot;

        if (now_ns < held->due_ns && held->event.kind != SL_EV_NONE) {
            slot = sl_corr_find(&a->table, held->event.correlation, &page);
            if (!slot || !(slot->state & known))
                return;
        }
        release_oldest(a);
    }
}

void sl_assemble_flush(struct sl_assemble *a)
{
    while (a->held_head != a->held_tail)
        release_oldest(a);
}

void sl_assemble_get_counts(const struct sl_assemble *a, struct sl_assemble_counts *out)
{
    *out = a->counts;
}

uint64_t sl_assemble_waiting(const struct sl_assemble *a)
{
    return a->calls_waiting;
}
