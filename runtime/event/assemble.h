/*
 * assemble.h - joins the records of one process by correlation id.
 *
 * Input: decoded events in the order of CUPTI's delivery: shuffled, late, sometimes early or twice.
 * Output: events in an order that a writer can take at once, with these properties:
 *   - Correlation ids are widened from CUPTI's 32 bits, which wrap, to 64 bits by modular
 *     distance.
 *   - There is exactly one CPU event per correlation id: the outer one, where a runtime call
 *     contains driver calls with the same id.
 *   - A query that found its work pending waited for nothing, so its wait is left out.
 *   - There is an SL_EV_FLOW for each GPU operation whose launching call is known, however far
 *     apart and in whatever order the two arrive.
 *
 * Threads: one thread owns an assembler. Memory: fixed by `cap_bytes`. When it is full, the oldest
 * completed correlations are evicted first, then the oldest waiting ones, which are counted.
 */
#ifndef SL_ASSEMBLE_H
#define SL_ASSEMBLE_H

#include <stddef.h>
#include <stdint.h>

#include "event/event.h"

struct sl_assemble;

/* Takes assembled events. Must not call back into the assembler. Returns 0 or -errno; the sink
 * itself counts an event that it refuses. */
typedef int (*sl_event_sink_fn)(void *user, const struct sl_event *ev);

struct sl_assemble_options {
    size_t cap_bytes; /* memory cap; 0: 16 MiB */
    uint64_t
        driver_hold_ns; /* how long a driver call waits for the runtime call around it; 0: 300 ms */
    int flows;          /* make SL_EV_FLOW events */
    sl_event_sink_fn sink;
    void *sink_user;
};

struct sl_assemble_counts {
    uint64_t nested_dropped; /* inner driver calls left out */
    /* outer calls left out: they arrived after the inner call was emitted */
    uint64_t late_outer;
    uint64_t not_ready;        /* waits left out: their call was a query that found work pending */
    uint64_t duplicates;       /* records left out: CUPTI delivered them twice */
    uint64_t gpu_without_call; /* GPU operations whose launch was not seen (so far) */
    uint64_t call_without_gpu; /* launches evicted before their GPU operation arrived */
    uint64_t wraps;            /* times the 32-bit correlation id wrapped */
};

/* 0, -ENOMEM, -EINVAL. */
int sl_assemble_create(struct sl_assemble **out, const struct sl_assemble_options *opt);
void sl_assemble_destroy(struct sl_assemble *a); /* NULL is allowed; held events are dropped */

/* Takes one decoded event. `now_ns` decides when held events are released. Any monotonic clock will
 * do, since only differences matter. */
void sl_assemble_event(struct sl_assemble *a, const struct sl_event *ev, uint64_t now_ns);

/* From now on GPU operations also wait for their call, so that the receiver knows the call first.
 * They wait at most twice as long as driver calls, or until too many are held. */
void sl_assemble_hold_operations(struct sl_assemble *a);

/* Call after each delivery and on each tick: releases events that were held long enough. */
void sl_assemble_tick(struct sl_assemble *a, uint64_t now_ns);

/* Everything that ended before `complete_ns` has arrived. Releases driver calls that are now known
 * to be inside no runtime call. */
void sl_assemble_complete(struct sl_assemble *a, uint64_t complete_ns);

/* End of a window: releases all held events. Correlations stay known. */
void sl_assemble_flush(struct sl_assemble *a);

/* The earliest start of a held event; UINT64_MAX: none is held. */
uint64_t sl_assemble_held_ns(const struct sl_assemble *a);

/* Launches (SL_EVF_LAUNCH) whose GPU operation has not arrived yet. */
uint64_t sl_assemble_waiting(const struct sl_assemble *a);

void sl_assemble_get_counts(const struct sl_assemble *a, struct sl_assemble_counts *out);

#endif
