/*
 * stats.h - loss is data: every drop has a counter, and the trace carries it.
 *
 * Counters are process-wide relaxed atomics, each written mostly by one thread. Names appear in
 * the trace's metadata and in `syncline check`; docs/trace-format.md has them all.
 */
#ifndef SL_STATS_H
#define SL_STATS_H

#include <stdint.h>

/* Keep in the order of the table in stats.c, which holds name and help of each. */
enum sl_stat {
    SL_STAT_RECORDS,             /* CUPTI records decoded */
    SL_STAT_RECORDS_UNKNOWN,     /* of a kind that we do not know: skipped */
    SL_STAT_RECORDS_FILTERED,    /* calls left out by the filter at decode */
    SL_STAT_RECORDS_INVALID,     /* damaged or impossible */
    SL_STAT_RECORDS_OTHER_CLOCK, /* stamped by a clock that is not known: left out */
    SL_STAT_HANDOVERS,           /* times that another profiler was given CUPTI, or took it */
    SL_STAT_RECORDS_NO_TIME,     /* CUPTI gave them none: not written */
    SL_STAT_EVENTS_WRITTEN,
    SL_STAT_DROPPED_CUPTI,     /* cuptiActivityGetNumDroppedRecords */
    SL_STAT_DROPPED_NO_BUFFER, /* buffers handed out only to be discarded: pool at its cap */
    SL_STAT_DROPPED_RECORDS_DISCARDED, /* records in those */
    SL_STAT_DROPPED_RING,              /* event ring full */
    SL_STAT_DROPPED_WRITE,             /* not written because the sink had failed */
    SL_STAT_FILES_LOST,                /* closed or replaced by the host: base/own_file.h */
    SL_STAT_OUTSIDE_WINDOW,            /* records of lead-ins and pauses, decoded and not written */
    SL_STAT_NAMES_LOST,                /* text not kept: table at its cap */
    SL_STAT_FOREIGN_BUFFERS,           /* completed to us, requested from somebody else */
    SL_STAT_NESTED_DROPPED,
    SL_STAT_LATE_OUTER,
    SL_STAT_NOT_READY, /* waits of queries that found work unfinished, known by the call's result */
    SL_STAT_DUPLICATES,
    SL_STAT_GPU_WITHOUT_CALL,
    SL_STAT_CALL_WITHOUT_GPU,
    SL_STAT_CORRELATION_WRAPS,
    SL_STAT_UNDELIVERED_AT_EXIT, /* records CUPTI still held when the exit budget ran out, where
                                    known */
    SL_STAT_UNDELIVERED_BUFFERS, /* buffers of ours that CUPTI had not given back by the end of a
                                    window, however hard it was asked */
    SL_STAT_CUPTI_ERRORS,
    SL_STAT_EDGES,             /* sync_edge rows */
    SL_STAT_EDGES_RELEASED,    /* those that released a wait */
    SL_STAT_WAITS_UNANNOTATED, /* calls' rows written before the engine had decided */
    SL_STAT_RANGES,            /* rows of the user's ranges and marks, and of the GPU's for them */
    SL_STAT_RANGES_LOST,       /* no room: in a thread's lane, or among the known ones */
    SL_STAT_RANGES_NO_CLOCK,   /* deferred events in a time domain that is not known: no row */
    SL_STAT_RANGES_CUT,        /* shown in part: open at a window's edge */
    SL_STAT_OPS,               /* rows of PyTorch's operators */
    SL_STAT_OPS_LOST,          /* no room: among those that run, or for a name */
    SL_STAT_OPS_FORGOTTEN,     /* before all calls made in them were in: those are in none */
    SL_STAT_OPS_INPUTS_LOST,   /* rows without all of their inputs */
    SL_STAT_CHAKRA_NODES,      /* of execution traces */
    SL_STAT_CHAKRA_EDGES,      /* sync edges in them */
    SL_STAT_CHAKRA_EDGES_LEFT_OUT,  /* source or destination not in the file, or no room */
    SL_STAT_CHAKRA_ROWS_LEFT_OUT,   /* calls without a time of their own */
    SL_STAT_CHAKRA_UNEXPLAINED,     /* GPU operations that began later than their parents explain */
    SL_STAT_CHAKRA_NO_LAUNCH,       /* whose launch was not in the file before them */
    SL_STAT_CHAKRA_COMM_UNKNOWN,    /* collectives that are computation in them */
    SL_STAT_CHAKRA_CALLERS_UNKNOWN, /* rows of autograd that follow no caller: several fit */
    SL_STAT_CHAKRA_FORCED,          /* times that nodes went out early for lack of room */
    SL_STAT_CHAKRA_LANES_FORGOTTEN, /* threads and streams that made room for others */
    SL_STAT_CHAKRA_FAILED,          /* files that could not be made, or went wrong */
    /* one for each enum sl_edge_loss */
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
const char *sl_stats_name(enum sl_stat which); /* "dropped_ring" */
const char *sl_stats_help(const char *name);   /* what it counts; NULL: no counter of ours */
void sl_stats_reset(void);                     /* tests, and the child of a fork */

#endif
