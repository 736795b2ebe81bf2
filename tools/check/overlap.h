/*
 * overlap.h - checks that operations of one stream do not overlap.
 *
 * In a file, the rows of a stream are nearly in order of start. For each stream the check buffers
 * the last 1024 operations, sorted by start, and removes the earliest operation when the buffer is
 * full. Each removed operation must start after all operations that were removed before have ended.
 * If an operation starts before the operation that was removed last, it came too late and is
 * counted as not checked.
 *
 * Threads: one owner. Memory: 24 KiB per stream, 256 streams at most.
 */
#ifndef SL_CHECK_OVERLAP_H
#define SL_CHECK_OVERLAP_H

#include "check/finding.h"
#include "read/json_event.h"

#define SL_OVERLAP_STREAMS 256u

/* All members except `findings` begin as zero. */
struct sl_overlap {
    struct sl_findings *findings; /* borrowed */
    struct sl_overlap_stream *stream[SL_OVERLAP_STREAMS];
    unsigned streams;
    unsigned last; /* index of the stream used last */
    uint64_t unchecked;
};

void sl_overlap_free(struct sl_overlap *o);

/* Checks a GPU operation, which must have device, stream, start and duration. */
void sl_overlap_row(struct sl_overlap *o, const struct sl_trace_row *row, uint64_t at);

/* Call after the last row. Checks the operations that are still in the buffers. */
void sl_overlap_end(struct sl_overlap *o);

#endif
