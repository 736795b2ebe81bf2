/*
 * assemble_impl.h - what the files of the assembler share. Included by them alone.
 *
 * assemble.c takes events in and has GPU operations and their arrows; assemble_call.c has CPU rows
 * and waits, and the queue of those that are held.
 *
 * Threads: one owner.
 */
#ifndef SL_ASSEMBLE_IMPL_H
#define SL_ASSEMBLE_IMPL_H

#include "event/assemble.h"
#include "event/correlation.h"

#define SL_ASSEMBLE_RECENT 8192
/* Fingerprints that share a place, the newest first: a line of the cache. Fewer, and one that
 * happens to fall into the same place soon pushes another out. */
#define SL_ASSEMBLE_WAYS 8

/* What a slot's state says. While HAS_CALL is not set, times, device and place (the stream) are
 * those of the first GPU operation; from then on start_ns and place (the thread) are the call's. */
enum sl_assemble_state {
    HAS_CALL = 1 << 0,    /* the one CPU row has gone out */
    BY_DRIVER = 1 << 1,   /* ... and it was a driver row */
    DRIVER_HELD = 1 << 2, /* a driver row is in the queue */
    HAS_OP = 1 << 3,      /* a GPU operation was seen; `mark` is the first one's */
    CALL_WAITS = 1 << 4,  /* a launch whose GPU operation has not come */
    OP_WAITS = 1 << 5,    /* GPU operations whose call has not come */
    NOT_READY = 1 << 6,   /* the call, seen if not written, was a query of unfinished work */
    HAS_ARROW = 1 << 7,   /* the first arrow has gone out, and with it the start of all */
};

struct held_row {
    struct sl_event event;
    uint64_t due_ns;
};

/* Second and later GPU operations of an id (a graph's) that came before the call. */
struct extra_op {
    uint64_t start_ns, end_ns;
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
    int holds_operations;
    struct held_row *op; /* the same for GPU operations */
    uint64_t op_head, op_tail, op_slots;

    struct extra_op *extra; /* extra[0] is not used: index 0 ends a chain */
    uint32_t extras, extra_used, extra_free;

    uint64_t *recent; /* fingerprints of records that share an id with others */
    void *memory;
};

static inline void sl_assemble_emit(struct sl_assemble *a, const struct sl_event *ev)
{
    /* A refusal is the receiver's to count. */
    (void)a->opt.sink(a->opt.sink_user, ev);
}

/* assemble.c */
void sl_assemble_operation(struct sl_assemble *a, const struct sl_event *ev);
/* From the call, whose thread and start are in the slot, to one operation; none to one without a
 * time, which has no row. */
void sl_assemble_arrow(struct sl_assemble *a, uint64_t id, struct sl_corr_slot *call,
                       const struct extra_op *op);

/* assemble_call.c, which also has sl_assemble_tick() and sl_assemble_flush(). */
void sl_assemble_runtime_row(struct sl_assemble *a, const struct sl_event *ev);
void sl_assemble_driver_row(struct sl_assemble *a, const struct sl_event *ev, uint64_t now_ns);
/* A GPU operation, which may have to wait for its call. */
void sl_assemble_operation_row(struct sl_assemble *a, const struct sl_event *ev, uint64_t now_ns);
/* A wait whose record does not tell its result. */
void sl_assemble_wait_row(struct sl_assemble *a, struct sl_event *ev, uint64_t now_ns);

#endif
