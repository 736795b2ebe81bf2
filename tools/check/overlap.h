/*
 * overlap.h - checks that operations of one stream do not overlap.
 *
 * Rows of a stream come nearly in order. Each stream buffers its last 1024 operations, sorted by
 * start, and compares neighbours as they leave the buffer. An operation that comes too late for the
 * buffer is counted as not checked.
 *
 * Threads: one owner. Memory: 24 KiB per stream, 256 streams at most.
 */
#ifndef SL_CHECK_OVERLAP_H
#define SL_CHECK_OVERLAP_H

#include "check/finding.h"
#include "read/json_event.h"

struct sl_overlap;

/* 0 or -ENOMEM. `findings` is borrowed. */
int sl_overlap_create(struct sl_overlap **out, struct sl_findings *findings);
void sl_overlap_destroy(struct sl_overlap *o); /* NULL is fine */

/* Takes a GPU operation with device, stream, start and duration. */
void sl_overlap_row(struct sl_overlap *o, const struct sl_trace_row *row, uint64_t at);

/* After the last row. */
void sl_overlap_end(struct sl_overlap *o);

#endif
