/*
 * assemble_impl.h - declarations that only the assembler's own files use.
 *
 * assemble.c receives events, and handles GPU operations and their flow arrows. assemble_call.c
 * handles calls and waits, and the queues of held events.
 *
 * Threads: one owner.
 */
#ifndef SL_ASSEMBLE_IMPL_H
#define SL_ASSEMBLE_IMPL_H

#include "event/assemble.h"
#include "event/correlation.h"

#define SL_ASSEMBLE_RECENT 8192
/* Number of fingerprints that one hash value can hold, with the newest first. These fingerprints
 * fill one cache line. With a lower number, fingerprints with the same hash value would soon evict
 * each other. */
#define SL_ASSEMBLE_WAYS 8

/* Bits of a slot's state. If HAS_CALL is set, the slot holds the call's start_ns and, in `place`,
 * its thread. Otherwise the slot holds the first GPU operation's times, device and, in `place`, its
 * stream. */
enum sl_assemble_state {
    HAS_CALL = 1 << 0,    /* the id's only CPU event was emitted */
    BY_DRIVER = 1 << 1,   /* the emitted CPU event was a driver call */
    DRIVER_HELD = 1 << 2, /* a driver call with this id is in the queue of held calls */
    /* a GPU operation with this id was seen; `mark` is computed from the first operation */
    HAS_OP = 1 << 3,
    CALL_WAITS = 1 << 4, /* the call is a launch whose GPU operation has not arrived */
    OP_WAITS = 1 << 5,   /* GPU operations with this id have arrived, but their call has not */
    NOT_READY = 1 << 6,  /* the call was a query that found work pending, whether emitted or not */
    /* the first arrow of the call was emitted, with the arrow's start, which all arrows of the call
     * share */
    HAS_ARROW = 1 << 7,
};

struct held_row {
    struct sl_event event;
    uint64_t due_ns;
};

/* A GPU operation that arrived before its call, if the id already had a GPU operation. (A graph
 * launch has several operations with one id.) */
struct extra_op {
    uint64_t start_ns, end_ns;
    uint32_t stream;
    uint32_t next;
    uint8_t device;
};

struct sl_assemble {
    struct sl_assemble_options opt;
    struct sl_assemble_counts counts;
    struct sl_corr_table table;

    uint64_t calls_waiting; /* number of slots with CALL_WAITS */
    uint64_t newest;        /* highest widened correlation id so far */
    int any;

    struct held_row *held; /* a ring of the slots [held_head, held_tail) */
    uint64_t held_head, held_tail, held_slots;
    int holds_operations;
    struct held_row *op; /* a ring of held GPU operations */
    uint64_t op_head, op_tail, op_slots;

    struct extra_op *extra; /* extra[0] is not used, because the index 0 ends a chain */
    uint32_t extras, extra_used, extra_free;

    uint64_t *recent; /* fingerprints of records that share an id with others */
    void *memory;
};

static inline void sl_assemble_emit(struct sl_assemble *a, const struct sl_event *ev)
{
    /* The sink counts events that it refuses. */
    (void)a->opt.sink(a->opt.sink_user, ev);
}

/* assemble.c */
void sl_assemble_operation(struct sl_assemble *a, const struct sl_event *ev);
/* Emits the flow arrow from a call to one of its GPU operations. The slot has the call's thread and
 * start. An operation without a time has no slice, so the function emits no arrow to it. */
void sl_assemble_arrow(struct sl_assemble *a, uint64_t id, struct sl_corr_slot *call,
                       const struct extra_op *op);

/* assemble_call.c, also sl_assemble_tick() and sl_assemble_flush() */
void sl_assemble_runtime_row(struct sl_assemble *a, const struct sl_event *ev);
void sl_assemble_driver_row(struct sl_assemble *a, const struct sl_event *ev, uint64_t now_ns);
/* Handles a GPU operation. The assembler may hold it until its call arrives. */
void sl_assemble_operation_row(struct sl_assemble *a, const struct sl_event *ev, uint64_t now_ns);
/* Handles a wait whose record does not contain the result of the wait. */
void sl_assemble_wait_row(struct sl_assemble *a, struct sl_event *ev, uint64_t now_ns);

#endif
