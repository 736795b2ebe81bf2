/*
 * assemble.h - joins the records of one process by correlation id.
 *
 * The input is decoded events in the order in which CUPTI delivers them: shuffled, late, sometimes
 * early, sometimes twice. The writers can write the output in the order in which the assembler
 * emits it. The output has these properties:
 *   - Correlation ids have 64 bits. CUPTI's ids have 32 bits and wrap, so the assembler chooses the
 *     64-bit id that is nearest to the newest id.
 *   - There is exactly one CPU event per correlation id. If a runtime call contains driver calls
 *     with the same id, only the runtime call is kept.
 *   - A query that found work pending did not wait, so CUPTI's record of its wait is left out.
 *   - There is an SL_EV_FLOW for each GPU operation whose launching call is known. The call and the
 *     operation may arrive in either order, and any number of other events may arrive between the
 *     two.
 *
 * Threads: one thread owns an assembler. Memory: at most `cap_bytes`. When the memory is full, the
 * assembler evicts the oldest completed correlations first. Then it evicts the oldest correlations
 * that still wait for a call or an operation, and counts them.
 */
#ifndef SL_ASSEMBLE_H
#define SL_ASSEMBLE_H

#include <stddef.h>
#include <stdint.h>

#include "event/event.h"

struct sl_assemble;

/* Receives assembled events. The function must not call the assembler. Returns 0 or -errno; the
 * sink itself counts an event that it refuses. */
typedef int (*sl_event_sink_fn)(void *user, const struct sl_event *ev);

struct sl_assemble_options {
    size_t cap_bytes; /* maximum memory in bytes; 0 means 16 MiB */
    /* how long a driver call is held for the runtime call around it; 0 means 300 ms */
    uint64_t driver_hold_ns;
    int flows; /* 1: the assembler emits SL_EV_FLOW events */
    sl_event_sink_fn sink;
    void *sink_user;
};

struct sl_assemble_counts {
    uint64_t nested_dropped; /* driver calls left out because they were inside another call */
    /* runtime calls left out because they arrived after the driver call inside them was emitted */
    uint64_t late_outer;
    uint64_t not_ready;        /* waits left out because their call was a query that found work
                                * pending */
    uint64_t duplicates;       /* records left out because CUPTI delivered them twice */
    uint64_t gpu_without_call; /* GPU operations whose launch has not been seen so far */
    uint64_t call_without_gpu; /* launches evicted before their GPU operation arrived */
    uint64_t wraps;            /* number of times that the 32-bit correlation id wrapped */
};

/* Returns 0, -ENOMEM or -EINVAL. */
int sl_assemble_create(struct sl_assemble **out, const struct sl_assemble_options *opt);
void sl_assemble_destroy(struct sl_assemble *a); /* NULL is allowed; held events are dropped */

/* Takes one decoded event. The assembler releases a held event when `now_ns` shows that it was held
 * long enough. `now_ns` may be on any monotonic clock. */
void sl_assemble_event(struct sl_assemble *a, const struct sl_event *ev, uint64_t now_ns);

/* After this call, the assembler holds each GPU operation until its launching call arrives, so that
 * the sink gets the launching call first. The assembler holds an operation at most twice as long as
 * a driver call, and releases the oldest operation when too many are held. */
void sl_assemble_hold_operations(struct sl_assemble *a);

/* Releases the events that were held long enough. The caller calls this after each delivery and on
 * each tick. */
void sl_assemble_tick(struct sl_assemble *a, uint64_t now_ns);

/* The caller guarantees that all records that ended before `complete_ns` have arrived. Releases
 * driver calls that are now known to be inside no runtime call. */
void sl_assemble_complete(struct sl_assemble *a, uint64_t complete_ns);

/* Called at the end of a window. Releases all held events, and keeps the state of all correlation
 * ids. */
void sl_assemble_flush(struct sl_assemble *a);

/* Returns the earliest start of a held event, UINT64_MAX if none is held. */
uint64_t sl_assemble_held_ns(const struct sl_assemble *a);

/* Returns the number of launches (SL_EVF_LAUNCH) whose GPU operation has not arrived yet. */
uint64_t sl_assemble_waiting(const struct sl_assemble *a);

void sl_assemble_get_counts(const struct sl_assemble *a, struct sl_assemble_counts *out);

#endif
