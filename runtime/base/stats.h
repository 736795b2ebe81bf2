/*
 * stats.h - the counters of the process. Every kind of loss has a counter, and each trace file
 * contains all counters.
 *
 * Counters are process-wide relaxed atomics; most are written by one thread. The trace and
 * `syncline check` show the counters by name; docs/trace-format.md lists the names.
 */
#ifndef SL_STATS_H
#define SL_STATS_H

#include <stdint.h>

/* The table in stats.c has the name and the description of each counter, in the same order. A
 * comment below only adds to the description in stats.c. */
enum sl_stat {
    SL_STAT_RECORDS,
    SL_STAT_RECORDS_UNKNOWN,
    SL_STAT_RECORDS_FILTERED,
    SL_STAT_RECORDS_INVALID,
    SL_STAT_RECORDS_OTHER_CLOCK,
    SL_STAT_HANDOVERS,
    SL_STAT_RECORDS_NO_TIME,
    SL_STAT_EVENTS_WRITTEN,
    SL_STAT_DROPPED_CUPTI,     /* reported by cuptiActivityGetNumDroppedRecords */
    SL_STAT_DROPPED_NO_BUFFER, /* discarded because the buffer pool was at its cap */
    SL_STAT_DROPPED_RECORDS_DISCARDED,
    SL_STAT_DROPPED_RING,
    SL_STAT_DROPPED_WRITE, /* events lost because the file could not be written */
    SL_STAT_FILES_LOST,    /* see base/own_file.h */
    SL_STAT_WINDOWS_DELETED,
    SL_STAT_WINDOWS_FAILED,
    SL_STAT_WINDOWS_MISSED,
    SL_STAT_OUTSIDE_WINDOW,
    SL_STAT_NAMES_LOST,
    SL_STAT_FOREIGN_BUFFERS,
    SL_STAT_NESTED_DROPPED,
    SL_STAT_LATE_OUTER,
    SL_STAT_NOT_READY, /* calls such as cudaEventQuery() that returned cudaErrorNotReady */
    SL_STAT_DUPLICATES,
    SL_STAT_GPU_WITHOUT_CALL,
    SL_STAT_CALL_WITHOUT_GPU,
    SL_STAT_CORRELATION_WRAPS,
    SL_STAT_UNDELIVERED_AT_EXIT, /* an estimate, because CUPTI had not delivered these records */
    SL_STAT_UNDELIVERED_BUFFERS, /* buffers that CUPTI did not return although flushes were
                                  * forced */
    SL_STAT_CUPTI_ERRORS,
    SL_STAT_EDGES,
    SL_STAT_EDGES_RELEASED,
    SL_STAT_WAITS_UNANNOTATED,
    SL_STAT_RANGES,
    SL_STAT_RANGES_LOST, /* dropped because a thread's lane (its queue of records) or the table of
                          * ranges was full */
    SL_STAT_RANGES_NO_CLOCK,
    SL_STAT_RANGES_CUT,
    SL_STAT_OPS,
    SL_STAT_OPS_LOST, /* dropped because the table of operators or the table of their names was
                       * full */
    SL_STAT_OPS_FORGOTTEN,
    SL_STAT_OPS_INPUTS_LOST,
    SL_STAT_COLLECTIVES,
    SL_STAT_COLLECTIVES_LOST,
    SL_STAT_NCCL_ODD,
    SL_STAT_CHAKRA_NODES,
    SL_STAT_CHAKRA_EDGES,
    SL_STAT_CHAKRA_EDGES_LEFT_OUT, /* this counter includes edges for which there was no memory */
    SL_STAT_CHAKRA_ROWS_LEFT_OUT,
    SL_STAT_CHAKRA_EDGES_LATE, /* also part of SL_STAT_CHAKRA_EDGES_LEFT_OUT */
    SL_STAT_CHAKRA_ROWS_LATE,  /* also part of SL_STAT_CHAKRA_ROWS_LEFT_OUT */
    SL_STAT_CHAKRA_SEQUENCES_LATE,
    SL_STAT_CHAKRA_UNEXPLAINED,
    SL_STAT_CHAKRA_NO_LAUNCH,
    SL_STAT_CHAKRA_COMM_UNKNOWN,
    SL_STAT_CHAKRA_CALLERS_UNKNOWN,
    SL_STAT_CHAKRA_FORCED,
    SL_STAT_CHAKRA_LANES_FORGOTTEN,
    SL_STAT_CHAKRA_FAILED, /* the output was not created, or failed later */
    /* one counter for each value of enum sl_edge_loss */
    SL_STAT_EDGES_LOST_BEFORE_WINDOW,
    SL_STAT_EDGES_LOST_GAVE_UP,
    SL_STAT_EDGES_LOST_AMBIGUOUS,
    SL_STAT_EDGES_LOST_FLAG_UNKNOWN,
    SL_STAT_EDGES_LOST_GRAPH_INSIDE,
    SL_STAT_EDGES_LOST_NO_RECORD,
    SL_STAT_EDGES_LOST_MEMORY,
    SL_STAT_EDGES_LOST_CYCLE,
    SL_STAT_COUNT
};

void sl_stats_add(enum sl_stat which, uint64_t n);
void sl_stats_set(enum sl_stat which, uint64_t value);
uint64_t sl_stats_get(enum sl_stat which);
const char *sl_stats_name(enum sl_stat which); /* returns a name such as "dropped_ring" */
const char *sl_stats_help(const char *name);   /* the description of the counter; NULL: no such
                                                * counter */
void sl_stats_reset(void);                     /* resets all counters; for tests and for the child
                                                * of a fork */

#endif
