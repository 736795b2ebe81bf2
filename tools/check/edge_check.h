/*
 * edge_check.h - checks that the edges in a syncline file agree with its rows.
 *
 * The rules: a source ends before its wait ends. `wait_ns` and `wake_ns` match their definitions.
 * Exactly one edge of a wait released it, but none if some of the awaited work is not known. Arrows
 * exist only for edges with a wait, and both arrow ends lie inside their rows. An edge follows the
 * rows of its ends, or is in the row of its destination, and its arrow follows the edge.
 *
 * Threads: one owner. Memory: 5 MiB; times are kept for the most recent 65536 operations and calls.
 * The times of an edge between older operations or calls are not checked.
 */
#ifndef SL_CHECK_EDGE_CHECK_H
#define SL_CHECK_EDGE_CHECK_H

#include "check/finding.h"
#include "read/json_event.h"

#define SL_EDGE_SPANS 65536u

/* Further arrows of a row are not checked. */
#define SL_EDGE_ARROWS 256u

/* Times of an operation or a call. If the correlation id is 0, the entry is empty. */
struct sl_edge_span {
    uint64_t correlation, node; /* `node` is the id of the graph node, or 0 */
    uint32_t stream;            /* SL_STREAM_NONE: a call */
    int several; /* not 0 if several rows have these ids, so that an edge with these ids may belong
                    to any of these rows */
    int64_t start_ns, end_ns;
};

/* All members except `findings` begin as zero. */
struct sl_edge_check {
    struct sl_findings *findings; /* borrowed */
    struct sl_edge_span op[SL_EDGE_SPANS], call[SL_EDGE_SPANS];

    /* the edges of the current call */
    uint64_t call_id, call_at;
    unsigned waited, released;

    /* number of calls that waited and that no edge released, and the first of them */
    uint64_t unreleased, unreleased_id, unreleased_at;

    /* the edges of the last row with edges whose arrows may still follow, in the row's order */
    unsigned pending, pointed; /* number of these edges, and of those whose arrow has come */
    int is_open;               /* not 0: the head of an arrow must follow */
    int64_t arrow;
    const struct sl_edge_span *head, *tail[SL_EDGE_ARROWS]; /* NULL: unknown */
};

/* Checks a row of any kind. `at` is the row's offset in the text, in bytes. */
void sl_edge_check_row(struct sl_edge_check *c, const struct sl_trace_row *row, uint64_t at);

/* After the last row. `unknown` is the number of waits for work that is not known; at most so many
 * waits may lack an edge that released them. */
void sl_edge_check_end(struct sl_edge_check *c, uint64_t unknown);

#endif
