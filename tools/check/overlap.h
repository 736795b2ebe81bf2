/*
 * overlap.h - checks that operations of one stream do not overlap.
 *
 * A file has the rows of a stream nearly in order of start. For each stream the check buffers the
 * last 1024 operations, sorted by start, and compares each operation that leaves the buffer with
 * the operation before. An operation that started before the last one to leave the buffer is
 * counted as not checked.
 *
 * Threads: one owner. Memory: 24 KiB per stream, 256 streams at most.
 */
#ifndef SL_CHECK_OVERLAP_H
#define SL_CHECK_OVERLAP_H

#include "check/finding.h"
#include "read/json_event.h"

#define SL_OVERLAP_STREAMS 256u

/* Zeroed, but for `findings`. */
struct sl_overlap {
    struct sl_findings *findings; /* borrowed */
    struct sl_overlap_stream *stream[SL_OVERLAP_STREAMS];
    unsigned streams;
    unsigned last; /* index of the stream used last */
    uint64_t unchecked;
};

void sl_overlap_free(struct sl_overlap *o);

/* Takes a GPU operation with device, stream, start and duration. */
void sl_overlap_row(struct sl_overlap *o, const struct sl_trace_row *row, uint64_t at);

/* After the last row. */
void sl_overlap_end(struct sl_overlap *o);

#endif
