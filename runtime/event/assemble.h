/*
 * assemble.h - puts the records of one process together.
 *
 * Input: events as decoded, in the order CUPTI delivered them (shuffled, late, sometimes early or
 * twice). Output: events in an order a writer can take at once, with
 *   - correlation ids widened to 64 bits (they are 32 bits in CUPTI and wrap) by modular distance,
 *   - exactly one CPU row per correlation id: of a runtime call that nests driver calls with the
 *     same id only the outer is kept,
 *   - no wait for a query that found its work unfinished, which waited for nothing,
 *   - an SL_EV_FLOW for each GPU operation whose launching call is known, however far apart and in
 *     whatever order the two arrive.
 *
 * Threads: one thread owns an assembler. Memory: fixed by `cap_bytes`; when full, the oldest
 * completed correlations are forgotten first, then the oldest waiting ones, which are counted.
 */
#ifndef SL_ASSEMBLE_H
#define SL_ASSEMBLE_H

#include <stddef.h>
#include <stdint.h>

#include "event/event.h"

struct sl_assemble;

/* Where assembled events go. Must not call back into the assembler. Returns 0 or -errno; a
 * refusal is the receiver's to count. */
typedef int (*sl_event_sink_fn)(void *user, const struct sl_event *ev);

struct sl_assemble_options {
    size_t cap_bytes; /* memory bound; 0 = 16 MiB */
    uint64_t
        driver_hold_ns; /* how long a driver row waits for the runtime row around it; 0 = 300 ms */
    int flows;          /* make SL_EV_FLOW events */
    sl_event_sink_fn sink;
    void *sink_user;
};

struct sl_assemble_counts {
    uint64_t nested_dropped; /* inner driver rows left out */
    uint64_t late_outer;     /* outer row came after the inner one had to be written: left out */
    uint64_t not_ready;      /* waits whose call was a query that found work unfinished: left out */
    uint64_t duplicates;     /* the same record delivered twice: left out */
    uint64_t gpu_without_call; /* GPU operations whose launch was never seen (so far) */
    uint64_t call_without_gpu; /* launches forgotten before their GPU operation came */
    uint64_t wraps;            /* times the 32-bit correlation id wrapped */
};

/* 0, -ENOMEM, -EINVAL. */
int sl_assemble_create(struct sl_assemble **out, const struct sl_assemble_options *opt);
void sl_assemble_destroy(struct sl_assemble *a); /* NULL is fine; forgets what is held */

/* One decoded event. `now_ns` (same clock as the events' times or any monotonic one, only
 * differences matter) drives the release of held rows. */
void sl_assemble_event(struct sl_assemble *a, const struct sl_event *ev, uint64_t now_ns);

/* From now on GPU operations too wait for their call, so that what is known of it can go before
 * them: at most twice as long as driver rows, or until they are too many. */
void sl_assemble_hold_operations(struct sl_assemble *a);

/* Call after each delivery and on each tick: releases driver rows held long enough. */
void sl_assemble_tick(struct sl_assemble *a, uint64_t now_ns);

/* Everything that ended before `complete_ns` has come: releases driver rows that so are known to be
 * in no runtime row. */
void sl_assemble_complete(struct sl_assemble *a, uint64_t complete_ns);

/* End of a window: releases everything held. Correlations stay known. */
void sl_assemble_flush(struct sl_assemble *a);

/* The earliest start of what is held; UINT64_MAX: nothing is. */
uint64_t sl_assemble_held_ns(const struct sl_assemble *a);

/* Launches (SL_EVF_LAUNCH) whose GPU operation has not come yet. */
uint64_t sl_assemble_waiting(const struct sl_assemble *a);

void sl_assemble_get_counts(const struct sl_assemble *a, struct sl_assemble_counts *out);

#endif
