/*
 * stats.c - the process's counters: one table of names and help, one array of relaxed atomics.
 *
 * Any thread; wait-free. Lives as long as the process.
 */
#include "base/stats.h"

#include <stdatomic.h>
#include <string.h>

struct stat_text {
    const char *name, *help;
};

static const struct stat_text stat_text[SL_STAT_COUNT] = {
    [SL_STAT_RECORDS] = {"records", "CUPTI records decoded"},
    [SL_STAT_RECORDS_UNKNOWN] = {"records_unknown", "records of a kind not known here, skipped"},
    [SL_STAT_RECORDS_FILTERED] = {"records_filtered", "calls left out by the filter at decode"},
    [SL_STAT_RECORDS_INVALID] = {"records_invalid", "damaged or impossible records"},
    [SL_STAT_RECORDS_OTHER_CLOCK] = {"records_other_clock",
                                     "records stamped by a clock that is not known, left out"},
    [SL_STAT_HANDOVERS] = {"handovers", "times that another profiler was given CUPTI, or took it"},
    [SL_STAT_RECORDS_NO_TIME] = {"records_no_time",
                                 "records without a time, such as operations that had not begun"},
    [SL_STAT_EVENTS_WRITTEN] = {"events_written", "events written to files"},
    [SL_STAT_DROPPED_CUPTI] = {"dropped_cupti", "records that CUPTI itself dropped"},
    [SL_STAT_DROPPED_NO_BUFFER] = {"dropped_no_buffer",
                                   "buffers handed out to be discarded: pool at its cap"},
    [SL_STAT_DROPPED_RECORDS_DISCARDED] = {"dropped_records_discarded",
                                           "records in discarded buffers"},
    [SL_STAT_DROPPED_RING] = {"dropped_ring", "events lost because the ring was full"},
    [SL_STAT_DROPPED_WRITE] = {"dropped_write", "events not written because the file had failed"},
    [SL_STAT_FILES_LOST] = {"files_lost",
                            "files that the program closed or replaced while they were written"},
    [SL_STAT_OUTSIDE_WINDOW] = {"outside_window",
                                "events of lead-ins and pauses, decoded and not written"},
    [SL_STAT_NAMES_LOST] = {"names_lost", "texts not kept: the table was at its cap"},
    [SL_STAT_FOREIGN_BUFFERS] = {"foreign_buffers", "buffers completed to us that were not ours"},
    [SL_STAT_NESTED_DROPPED] = {"nested_dropped", "inner driver calls left out"},
    [SL_STAT_LATE_OUTER] = {"late_outer", "outer calls that came after the inner was written"},
    [SL_STAT_NOT_READY] = {"not_ready", "queries of unfinished work, which waited for nothing"},
    [SL_STAT_DUPLICATES] = {"duplicates", "records delivered twice, left out once"},
    [SL_STAT_GPU_WITHOUT_CALL] = {"gpu_without_call", "GPU operations whose launch was not seen"},
    [SL_STAT_CALL_WITHOUT_GPU] = {"call_without_gpu", "launches whose GPU operation never came"},
    [SL_STAT_CORRELATION_WRAPS] = {"correlation_wraps", "wraps of CUPTI's 32-bit correlation id"},
    [SL_STAT_UNDELIVERED_AT_EXIT] = {"undelivered_at_exit",
                                     "records not in the file when the exit budget ran out"},
    [SL_STAT_UNDELIVERED_BUFFERS] = {"undelivered_buffers",
                                     "buffers that CUPTI had not given back at a window's end"},
    [SL_STAT_CUPTI_ERRORS] = {"cupti_errors", "CUPTI calls that failed"},
    [SL_STAT_EDGES] = {"edges", "sync edges: which GPU operation a wait was for"},
    [SL_STAT_EDGES_RELEASED] = {"edges_released", "edges that released a wait"},
    [SL_STAT_WAITS_UNANNOTATED] = {"waits_unannotated",
                                   "calls whose row was written before it was known what they "
                                   "waited for"},
    [SL_STAT_RANGES] = {"ranges", "rows of NVTX ranges and marks, and of GPU work in them"},
    [SL_STAT_RANGES_LOST] = {"ranges_lost",
                             "records of threads lost for lack of room: NVTX ranges, marks "
                             "and names, operators of PyTorch"},
    [SL_STAT_RANGES_NO_CLOCK] = {"ranges_no_clock",
                                 "deferred NVTX events in a time domain that is not known"},
    [SL_STAT_RANGES_CUT] = {"ranges_cut", "NVTX ranges cut at the edge of a window"},
    [SL_STAT_OPS] = {"ops", "rows of PyTorch's operators"},
    [SL_STAT_OPS_LOST] = {"ops_lost", "PyTorch's operators lost for lack of room"},
    [SL_STAT_OPS_FORGOTTEN] = {"ops_forgotten",
                               "operators forgotten before all calls made in them were in"},
    [SL_STAT_OPS_INPUTS_LOST] = {"ops_inputs_lost", "operators without all of their inputs"},
    [SL_STAT_CHAKRA_NODES] = {"chakra_nodes", "nodes written to execution traces"},
    [SL_STAT_CHAKRA_EDGES] = {"chakra_edges", "sync edges written to execution traces"},
    [SL_STAT_CHAKRA_EDGES_LEFT_OUT] = {"chakra_edges_left_out",
                                       "sync edges that an execution trace lacks: their source or "
                                       "destination is not in it"},
    [SL_STAT_CHAKRA_ROWS_LEFT_OUT] = {"chakra_rows_left_out",
                                      "rows that an execution trace lacks: no time of their own"},
    [SL_STAT_CHAKRA_UNEXPLAINED] =
        {"chakra_unexplained", "GPU operations of execution traces that began over 20 us after "
                               "all that they are known to have waited for"},
    [SL_STAT_CHAKRA_NO_LAUNCH] = {"chakra_no_launch",
                                  "GPU operations of execution traces without their launch"},
    [SL_STAT_CHAKRA_COMM_UNKNOWN] = {"chakra_comm_unknown",
                                     "collectives that execution traces have as computation: "
                                     "type, size or ranks are not known"},
    [SL_STAT_CHAKRA_CALLERS_UNKNOWN] =
        {"chakra_callers_unknown", "backward operators of execution traces that follow no caller: "
                                   "several threads ran forward code of their sequence number"},
    [SL_STAT_CHAKRA_FORCED] = {"chakra_forced",
                               "times that an execution trace went on without late rows: no room"},
    [SL_STAT_CHAKRA_LANES_FORGOTTEN] =
        {"chakra_lanes_forgotten", "threads and streams of execution traces that were idle for "
                                   "long and made room for others"},
    [SL_STAT_CHAKRA_FAILED] = {"chakra_failed", "execution traces that could not be written"},
    [SL_STAT_EDGES_LOST_BEFORE_WINDOW] =
        {"edges_lost_before_window",
         "waits for work that may have been enqueued before recording began"},
    [SL_STAT_EDGES_LOST_GAVE_UP] = {"edges_lost_gave_up",
                                    "waits whose records were lost or too late"},
    [SL_STAT_EDGES_LOST_AMBIGUOUS] = {"edges_lost_ambiguous", "waits for which two sources fit"},
    [SL_STAT_EDGES_LOST_FLAG_UNKNOWN] =
        {"edges_lost_flag_unknown", "orders by the legacy default stream, streams' flags unknown"},
    [SL_STAT_EDGES_LOST_GRAPH_INSIDE] =
        {"edges_lost_graph_inside", "graph launches with unknown dependencies between their nodes"},
    [SL_STAT_EDGES_LOST_NO_RECORD] = {"edges_lost_no_record",
                                      "waits for an event never seen recorded, or for what no "
                                      "record names; operations whose launch was not seen"},
    [SL_STAT_EDGES_LOST_MEMORY] = {"edges_lost_memory", "what found no room in the edges' memory"},
    [SL_STAT_EDGES_LOST_CYCLE] = {"edges_lost_cycle", "sources that ended after their wait"},
};

static _Atomic uint64_t value_of[SL_STAT_COUNT];

void sl_stats_add(enum sl_stat which, uint64_t n)
{
    atomic_fetch_add_explicit(&value_of[which], n, memory_order_relaxed);
}

void sl_stats_set(enum sl_stat which, uint64_t value)
{
    atomic_store_explicit(&value_of[which], value, memory_order_relaxed);
}

uint64_t sl_stats_get(enum sl_stat which)
{
    return atomic_load_explicit(&value_of[which], memory_order_relaxed);
}

const char *sl_stats_name(enum sl_stat which)
{
    return stat_text[which].name;
}

const char *sl_stats_help(const char *name)
{
    for (int i = 0; i < SL_STAT_COUNT; i++)
        if (strcmp(stat_text[i].name, name) == 0)
            return stat_text[i].help;
    return NULL;
}

void sl_stats_reset(void)
{
    for (int i = 0; i < SL_STAT_COUNT; i++)
        sl_stats_set((enum sl_stat)i, 0);
}
