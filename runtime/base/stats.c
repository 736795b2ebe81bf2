/*
 * stats.c - counts losses and other facts, process-wide: one table of names and help texts, one
 * array of relaxed atomics.
 *
 * Threads: any; wait-free. Memory: static.
 */
#include "base/stats.h"

#include <stdatomic.h>
#include <string.h>

struct stat_text {
    const char *name, *help;
};

static const struct stat_text stat_text[SL_STAT_COUNT] = {
    [SL_STAT_RECORDS] = {"records", "CUPTI records decoded"},
    [SL_STAT_RECORDS_UNKNOWN] = {"records_unknown",
                                 "records of a kind that this version does not know, skipped"},
    [SL_STAT_RECORDS_FILTERED] = {"records_filtered", "calls that SYNCLINE_API leaves out"},
    [SL_STAT_RECORDS_INVALID] = {"records_invalid",
                                 "records that are damaged or impossible, dropped"},
    [SL_STAT_RECORDS_OTHER_CLOCK] = {"records_other_clock",
                                     "records stamped by an unknown clock, dropped"},
    [SL_STAT_HANDOVERS] = {"handovers", "times that another profiler was given CUPTI, or took it"},
    [SL_STAT_RECORDS_NO_TIME] =
        {"records_no_time", "records without a time, dropped: for example, operations that had not "
                            "begun"},
    [SL_STAT_EVENTS_WRITTEN] = {"events_written", "events written to files"},
    [SL_STAT_DROPPED_CUPTI] = {"dropped_cupti", "records that CUPTI itself dropped"},
    [SL_STAT_DROPPED_NO_BUFFER] =
        {"dropped_no_buffer",
         "buffers that were discarded because SYNCLINE_CUPTI_MEMORY was used up"},
    [SL_STAT_DROPPED_RECORDS_DISCARDED] = {"dropped_records_discarded",
                                           "records in the discarded buffers"},
    [SL_STAT_DROPPED_RING] = {"dropped_ring",
                              "events dropped because the ring before the writer was full"},
    [SL_STAT_DROPPED_WRITE] = {"dropped_write",
                               "events dropped because the file could not be written"},
    [SL_STAT_FILES_LOST] = {"files_lost",
                            "files that the program closed or replaced while they were written"},
    [SL_STAT_WINDOWS_DELETED] =
        {"windows_deleted",
         "earlier windows of this process, deleted to keep within SYNCLINE_DISK or the free space"},
    [SL_STAT_WINDOWS_FAILED] =
        {"windows_failed",
         "windows whose file could not be written, or was not tried because that failed before"},
    [SL_STAT_WINDOWS_MISSED] =
        {"windows_missed",
         "windows by steps or time that were due since the last file and not recorded, because "
         "recording was not ready in time"},
    [SL_STAT_OUTSIDE_WINDOW] = {"outside_window",
                                "events of lead-ins and pauses, decoded but not written"},
    [SL_STAT_NAMES_LOST] = {"names_lost", "names and texts dropped because their table was full"},
    [SL_STAT_FOREIGN_BUFFERS] =
        {"foreign_buffers", "buffers that CUPTI returned to syncline but another client had lent"},
    [SL_STAT_NESTED_DROPPED] = {"nested_dropped",
                                "driver calls inside a recorded runtime call, left out"},
    [SL_STAT_LATE_OUTER] = {"late_outer",
                            "runtime calls that arrived after the driver call inside them was "
                            "written"},
    [SL_STAT_NOT_READY] = {"not_ready", "queries that found work pending and so did not wait"},
    [SL_STAT_DUPLICATES] = {"duplicates", "records that CUPTI delivered twice, written once"},
    [SL_STAT_GPU_WITHOUT_CALL] = {"gpu_without_call", "GPU operations whose launch was not seen"},
    [SL_STAT_CALL_WITHOUT_GPU] = {"call_without_gpu", "launches whose GPU operation never arrived"},
    [SL_STAT_CORRELATION_WRAPS] = {"correlation_wraps",
                                   "times that CUPTI's 32-bit correlation id wrapped"},
    [SL_STAT_UNDELIVERED_AT_EXIT] =
        {"undelivered_at_exit",
         "records that were not in the file when the time for the exit ran out"},
    [SL_STAT_UNDELIVERED_BUFFERS] = {"undelivered_buffers",
                                     "buffers that CUPTI had not returned by the end of a window"},
    [SL_STAT_CUPTI_ERRORS] = {"cupti_errors", "CUPTI calls that failed"},
    [SL_STAT_EDGES] = {"edges", "sync edges found"},
    [SL_STAT_EDGES_RELEASED] = {"edges_released", "sync edges that released a wait"},
    [SL_STAT_WAITS_UNANNOTATED] = {"waits_unannotated",
                                   "calls written before their sync edges were known"},
    [SL_STAT_RANGES] = {"ranges", "NVTX ranges and marks, and the GPU work in them"},
    [SL_STAT_RANGES_LOST] =
        {"ranges_lost", "NVTX ranges, marks and names, and PyTorch operators, dropped because a "
                        "buffer or table was full"},
    [SL_STAT_RANGES_NO_CLOCK] = {"ranges_no_clock",
                                 "deferred NVTX events in an unknown time domain, dropped"},
    [SL_STAT_RANGES_CUT] = {"ranges_cut", "ranges truncated at the edge of a window"},
    [SL_STAT_OPS] = {"ops", "PyTorch operators"},
    [SL_STAT_OPS_LOST] = {"ops_lost", "PyTorch operators dropped because their table was full"},
    [SL_STAT_OPS_FORGOTTEN] = {"ops_forgotten",
                               "operators evicted before all calls inside them had arrived; those "
                               "calls name no operator"},
    [SL_STAT_OPS_INPUTS_LOST] = {"ops_inputs_lost", "operators without all of their inputs"},
    [SL_STAT_COLLECTIVES] = {"nccl_launches", "launches that NCCL described"},
    [SL_STAT_COLLECTIVES_LOST] = {"nccl_unjoined",
                                  "collectives reported by NCCL that no launch shows"},
    [SL_STAT_NCCL_ODD] = {"nccl_odd_events", "calls of the profiler plugin that did not fit"},
    [SL_STAT_CHAKRA_NODES] = {"chakra_nodes", "nodes written to execution traces"},
    [SL_STAT_CHAKRA_EDGES] = {"chakra_edges", "sync edges written to execution traces"},
    [SL_STAT_CHAKRA_EDGES_LEFT_OUT] =
        {"chakra_edges_left_out",
         "sync edges missing from an execution trace because source or destination is "
         "not in it"},
    [SL_STAT_CHAKRA_ROWS_LEFT_OUT] =
        {"chakra_rows_left_out",
         "events missing from an execution trace: they came too late, have no valid time, or "
         "found no memory"},
    [SL_STAT_CHAKRA_EDGES_LATE] = {"chakra_edges_late",
                                   "of these, sync edges found after the waiting call or operation "
                                   "was written"},
    [SL_STAT_CHAKRA_ROWS_LATE] = {"chakra_rows_late",
                                  "of these, events that came after later nodes of their thread "
                                  "were written"},
    [SL_STAT_CHAKRA_SEQUENCES_LATE] =
        {"chakra_sequences_late",
         "autograd evaluations in execution traces written before their sequence number was "
         "known"},
    [SL_STAT_CHAKRA_UNEXPLAINED] =
        {"chakra_unexplained", "GPU operations in execution traces that began over 20 us after "
                               "everything they are known to have waited for"},
    [SL_STAT_CHAKRA_NO_LAUNCH] = {"chakra_no_launch",
                                  "GPU operations in execution traces whose launch is missing"},
    [SL_STAT_CHAKRA_COMM_UNKNOWN] =
        {"chakra_comm_unknown",
         "collectives written as computation because type, size or ranks are unknown"},
    [SL_STAT_CHAKRA_CALLERS_UNKNOWN] =
        {"chakra_callers_unknown",
         "backward operators without a caller because several threads ran forward operators "
         "with the same sequence number"},
    [SL_STAT_CHAKRA_FORCED] =
        {"chakra_forced", "times that the Chakra writer ran out of memory and wrote nodes before "
                          "late events arrived"},
    [SL_STAT_CHAKRA_LANES_FORGOTTEN] =
        {"chakra_lanes_forgotten",
         "idle threads and streams evicted from the Chakra writer to make room"},
    [SL_STAT_CHAKRA_FAILED] = {"chakra_failed", "execution traces that could not be written"},
    [SL_STAT_EDGES_LOST_BEFORE_WINDOW] =
        {"edges_lost_before_window",
         "waits for work that may have been enqueued before recording began"},
    [SL_STAT_EDGES_LOST_GAVE_UP] = {"edges_lost_gave_up",
                                    "waits whose records were lost or arrived too late"},
    [SL_STAT_EDGES_LOST_AMBIGUOUS] = {"edges_lost_ambiguous", "waits for which two sources fit"},
    [SL_STAT_EDGES_LOST_FLAG_UNKNOWN] =
        {"edges_lost_flag_unknown",
         "edges left out because it is not known which streams are blocking"},
    [SL_STAT_EDGES_LOST_GRAPH_INSIDE] =
        {"edges_lost_graph_inside", "graph launches with unknown dependencies between their nodes"},
    [SL_STAT_EDGES_LOST_NO_RECORD] =
        {"edges_lost_no_record",
         "waits whose awaited work no record names, and operations whose launch "
         "was not seen"},
    [SL_STAT_EDGES_LOST_MEMORY] = {"edges_lost_memory",
                                   "waits dropped because the memory for edges was full"},
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
