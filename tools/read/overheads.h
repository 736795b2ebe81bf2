/*
 * overheads.h - finds the calls that rows of overhead belong to.
 *
 * Such a row says that a call waited, because its queue was full or because it loaded a module. The
 * row has no correlation id, and in files of torch.profiler no thread either. So it belongs to the
 * one call that launched work around it. If two calls fit, the row is not used.
 *
 * Threads: one owner. Memory: 32 bytes for each of at most 2^20 rows; further rows are not used.
 */
#ifndef SL_OVERHEADS_H
#define SL_OVERHEADS_H

#include <stddef.h>
#include <stdint.h>

#include "event/event.h"

struct sl_overhead {
    uint64_t start_ns, end_ns;
    uint64_t correlation; /* of the call; 0: not found yet; UINT64_MAX: two calls fit */
    uint32_t thread;      /* 0: not known */
    uint32_t type;        /* enum sl_overhead_type */
};

struct sl_overheads {
    struct sl_overhead *row;
    size_t count, slots;
    int sorted;
};

void sl_overheads_free(struct sl_overheads *o);
/* Uses the event's times, thread and `u.overhead`. */
void sl_overheads_put(struct sl_overheads *o, const struct sl_event *ev);
/* Adds a call that launches work. All rows must have been added before. */
void sl_overheads_call(struct sl_overheads *o, const struct sl_event *call);
/* Writes the next row that belongs to a call, as an event. `*at` starts at 0. Returns 1, or 0 at
 * the end. */
int sl_overheads_next(const struct sl_overheads *o, size_t *at, struct sl_event *out);

#endif
