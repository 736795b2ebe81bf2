/*
 * assemble_call.c - emits one call per correlation id, and the waits whose result is only in the
 * record of the waiting call.
 *
 * Driver calls are held for a while, because a runtime call around a driver call ends later and
 * usually arrives later. A driver call is released earlier if a later call of the same thread shows
 * that no runtime call is around the driver call. Waits without a result are held until their call
 * arrives. If sl_assemble_hold_operations() was called, GPU operations are held until their call
 * arrives, too.
 *
 * Threads: one owner (assemble.h). Memory: part of the assembler's mapping.
 */
#include <string.h>

#include "event/assemble_impl.h"

enum {
    THREADS = 256, /* size of the table of threads; a power of two */
    /* Longest time, in nanoseconds, from the start of a launching driver call to the end of the
     * runtime call around it. */
    LAUNCHED_NS = 20000000
};

/* Emits the call of an id, and the arrows to operations that arrived before the call. */
static void emit_call(struct sl_assemble *a, const struct sl_event *ev, struct sl_corr_slot *slot,
                      struct sl_corr_page *page)
{
    struct extra_op first = {slot->start_ns, slot->end_ns, slot->place, 0, slot->device};
    int op_waits = slot->state & OP_WAITS;

    sl_assemble_emit(a, ev);
    slot->start_ns = ev->start_ns;
    slot->place = ev->thread;
    slot->state |= HAS_CALL;
    if (op_waits) {
        slot->state &= (uint16_t)~OP_WAITS;
        a->counts.gpu_without_call--;
        sl_assemble_arrow(a, ev->correlation, slot, &first);
        while (slot->extra) {
            uint32_t index = slot->extra;

            a->counts.gpu_without_call--;
            sl_assemble_arrow(a, ev->correlation, slot, &a->extra[index]);
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

/* Emits or drops a wait without a result, once the waiting call is known, or the wait was held for
 * long enough. */
static void judge_wait(struct sl_assemble *a, struct sl_event *ev, const struct sl_corr_slot *slot)
{
    if (slot->state & NOT_READY) {
        a->counts.not_ready++;
        return;
    }
    ev->flags &= (uint16_t)~SL_EVF_NO_RESULT;
    sl_assemble_emit(a, ev);
}

/* Counts a second call with an id whose call was already emitted. */
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

/* Finds the held driver call of an id. Searches only the newest held calls, because the records of
 * a nested pair arrive close together. */
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

void sl_assemble_runtime_row(struct sl_assemble *a, const struct sl_event *ev)
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

        /* A held call that is too far back to be found is dropped later by release(), because
         * HAS_CALL is set. */
        if (held)
            held->event.kind = SL_EV_NONE;
        slot->state &= (uint16_t)~DRIVER_HELD;
        a->counts.nested_dropped++;
        sl_corr_wait_over(&a->table, page);
    }
    emit_call(a, ev, slot, page);
}

/* Holds an event. The caller has called make_room() before. */
static void hold(struct sl_assemble *a, const struct sl_event *ev, uint64_t now_ns)
{
    struct held_row *held = &a->held[a->held_tail++ % a->held_slots];

    held->event = *ev;
    held->due_ns = now_ns + a->opt.driver_hold_ns;
}

static void release(struct sl_assemble *a, struct held_row *held)
{
    struct sl_event ev = held->event;
    struct sl_corr_page *page;
    struct sl_corr_slot *slot;

    held->event.kind = SL_EV_NONE;
    if (ev.kind == SL_EV_NONE)
        return;
    slot = sl_corr_get(&a->table, ev.correlation, &page);
    if (ev.kind == SL_EV_SYNC) {
        judge_wait(a, &ev, slot);
        return;
    }
    if (slot->state & HAS_CALL)
        return;
    if (slot->state & DRIVER_HELD) {
        slot->state &= (uint16_t)~DRIVER_HELD;
        sl_corr_wait_over(&a->table, page);
    }
    slot->state |= BY_DRIVER;
    emit_call(a, &ev, slot, page);
}

static void release_oldest(struct sl_assemble *a)
{
    release(a, &a->held[a->held_head++ % a->held_slots]);
}

/* Makes room for one more held event. Call this function before looking up the event's slot,
 * because releasing another event may evict the page of that slot. */
static void make_room(struct sl_assemble *a)
{
    if (a->held_tail - a->held_head == a->held_slots)
        release_oldest(a);
}

/* Handles a second driver call of an id while the first is held. Keeps the outer of the two. */
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

void sl_assemble_driver_row(struct sl_assemble *a, const struct sl_event *ev, uint64_t now_ns)
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

/* Some CUPTI versions report the result of a wait only in the record of the waiting call. */
void sl_assemble_wait_row(struct sl_assemble *a, struct sl_event *ev, uint64_t now_ns)
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

/* ---- operations ---- */

static void release_operation(struct sl_assemble *a)
{
    sl_assemble_operation(a, &a->op[a->op_head++ % a->op_slots].event);
}

static int has_call(struct sl_assemble *a, const struct sl_event *ev)
{
    struct sl_corr_page *page;
    const struct sl_corr_slot *slot = sl_corr_find(&a->table, ev->correlation, &page);

    return slot && slot->state & HAS_CALL;
}

/* Emits an operation, or holds it until its call was emitted. The call may have arrived before the
 * operation and still be held. */
void sl_assemble_operation_row(struct sl_assemble *a, const struct sl_event *ev, uint64_t now_ns)
{
    if (!a->holds_operations || has_call(a, ev)) {
        sl_assemble_operation(a, ev);
        return;
    }
    if (a->op_tail - a->op_head == a->op_slots)
        release_operation(a);
    a->op[a->op_tail++ % a->op_slots] = (struct held_row){*ev, now_ns + 2 * a->opt.driver_hold_ns};
}

static void tick_operations(struct sl_assemble *a, uint64_t now_ns)
{
    while (a->op_head != a->op_tail) {
        const struct held_row *held = &a->op[a->op_head % a->op_slots];

        if (now_ns < held->due_ns && !has_call(a, &held->event))
            return;
        release_operation(a);
    }
}

/* ---- release of events that were held long enough ---- */

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
                break;
        }
        release_oldest(a);
    }
    tick_operations(a, now_ns);
}

/* ---- driver calls that are in no runtime call ---- */

/* Of one thread, the held driver call that began last. */
struct last_row {
    uint64_t start_ns, correlation;
    uint32_t thread, taken;
};

static struct last_row *place_of(struct last_row *last, uint32_t thread)
{
    return &last[thread & (THREADS - 1)];
}

/* Several threads may have the same index in the table. The table then notes only one of these
 * threads. The calls of the other threads are held for the usual time. */
static void note_last(struct last_row *last, const struct sl_event *ev)
{
    struct last_row *place = place_of(last, ev->thread);

    if (!place->taken || (place->thread == ev->thread && place->start_ns < ev->start_ns))
        *place = (struct last_row){ev->start_ns, ev->correlation, ev->thread, 1};
}

/* Returns 1 if a held driver call is inside no runtime call. If the thread has begun a later call
 * with another id, a runtime call around the driver call must have ended before that later call,
 * and the record of the runtime call would have arrived. (Calls inside the same runtime call have
 * the same id.) */
static int is_alone(struct last_row *last, const struct sl_event *ev, uint64_t complete_ns)
{
    const struct last_row *place = place_of(last, ev->thread);

    if (place->thread == ev->thread && place->start_ns >= ev->end_ns &&
        place->correlation != ev->correlation)
        return 1;
    return ev->flags & SL_EVF_LAUNCH && ev->end_ns + LAUNCHED_NS < complete_ns;
}

void sl_assemble_complete(struct sl_assemble *a, uint64_t complete_ns)
{
    struct last_row last[THREADS] = {0};
    uint64_t at;

    for (at = a->held_head; at != a->held_tail; at++) {
        const struct sl_event *ev = &a->held[at % a->held_slots].event;

        if (ev->kind == SL_EV_DRIVER && ev->start_ns < complete_ns)
            note_last(last, ev);
    }
    for (at = a->held_head; at != a->held_tail; at++) {
        struct held_row *held = &a->held[at % a->held_slots];

        if (held->event.kind == SL_EV_DRIVER && is_alone(last, &held->event, complete_ns))
            release(a, held);
    }
    tick_operations(a, 0); /* emits operations whose calls were released */
}

void sl_assemble_flush(struct sl_assemble *a)
{
    while (a->held_head != a->held_tail)
        release_oldest(a);
    while (a->op_head != a->op_tail)
        release_operation(a);
}

uint64_t sl_assemble_held_ns(const struct sl_assemble *a)
{
    uint64_t ns = UINT64_MAX;

    for (uint64_t at = a->held_head; at != a->held_tail; at++) {
        const struct sl_event *ev = &a->held[at % a->held_slots].event;

        if (ev->kind != SL_EV_NONE && ev->start_ns < ns)
            ns = ev->start_ns;
    }
    for (uint64_t at = a->op_head; at != a->op_tail; at++) {
        const struct sl_event *ev = &a->op[at % a->op_slots].event;

        if (ev->start_ns && ev->start_ns < ns)
            ns = ev->start_ns;
    }
    return ns;
}
