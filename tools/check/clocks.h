/*
 * clocks.h - checks that the times of GPU operations fit the times of calls (read/clock_fit.h).
 *
 * Rows may be in any order, and the comparison needs them in order of enqueue. So the rows of the
 * SL_CLOCKS_IDS highest correlation ids are kept, and compared after the last row.
 *
 * Threads: one owner. Memory: 7 MiB.
 */
#ifndef SL_CHECK_CLOCKS_H
#define SL_CHECK_CLOCKS_H

#include "check/finding.h"
#include "read/clock_fit.h"
#include "read/json_event.h"

#define SL_CLOCKS_IDS 32768u

/* The rows with one correlation id. The kind of an absent row is SL_EV_NONE. */
struct sl_clocks_rows {
    uint64_t id; /* 0: the entry is free */
    struct sl_event call, sync, operation;
    uint32_t record_stream; /* the stream of the event that the call recorded; 0: none */
    enum sl_clock_own own;  /* whether the call waits for its operation */
};

/* Begins as zero. */
struct sl_clocks {
    struct sl_clocks_rows rows[SL_CLOCKS_IDS];
    uint64_t highest; /* the highest id */
    uint32_t context; /* the context of the operations */
    int several;      /* the operations have several contexts */
    struct sl_clock_fit fit;
};

void sl_clocks_row(struct sl_clocks *c, const struct sl_trace_row *row);
void sl_clocks_end(struct sl_clocks *c, struct sl_findings *findings); /* after the last row */

#endif
