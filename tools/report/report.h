/*
 * report.h - what all metrics of one report share: the recordings, their parts, and the options.
 *
 * Threads: one owner. Memory: see recording.h and parts.h.
 */
#ifndef SL_REPORT_REPORT_H
#define SL_REPORT_REPORT_H

#include "report/parts.h"
#include "report/recording.h"
#include "report/setting.h"
#include "report/sums.h"

struct sl_hta;

struct sl_report {
    /* The rank that the chosen ranks waited longest for, -1: none, and its part of their waiting.
     * It need not be one of them. */
    int64_t late_rank;
    double late_ratio;
    struct sl_recordings recordings; /* by rank and time; those of no rank stand alone */
    uint64_t ranks;                  /* that have a file, also if they are not chosen */
    int is_one_host;                 /* 0: the files name several hosts */
    int is_host_known; /* 1: all files name their host; 0: that the ranks share one is inferred */
    int64_t matched;   /* collectives that were matched between ranks (peers.h) */
    struct sl_parts *parts; /* of each recording, in the same order */
    struct sl_peers *peers; /* likewise */
    /* Only intervals of these steps count. Without steps in a recording, its whole time counts as
     * one step. */
    uint64_t first_step, last_step;
    int counts_between;     /* 1: what is outside of steps counts too */
    const uint64_t *stream; /* only these streams count, in tables of streams' work */
    size_t streams;         /* 0: all streams count */
    struct sl_settings settings;
    struct sl_hta *hta; /* with --hta: the rows as HTA sees them (hta/hta_rows.h); else NULL */
};

/* Returns the rank of a recording, or -1 if the file does not name it. */
int64_t sl_report_rank(const struct sl_recording *r);

/* Returns 1 if the step counts, because it is chosen. `step` is the step's index + 1. 0 stands for
 * the time between steps, which counts if the recording has no steps. */
int sl_report_counts_step(const struct sl_report *report, const struct sl_recording *r,
                          uint32_t step);

/* The same for a part of the CPU's time (sl_recording_part()). */
static inline int sl_report_counts_part(const struct sl_report *report,
                                        const struct sl_recording *r, uint32_t part)
{
    return sl_report_counts_step(report, r, part % 2 ? part / 2 + 1 : 0);
}

/* Returns 1 if --steps chose steps. */
static inline int sl_report_chooses_steps(const struct sl_report *report)
{
    return report->first_step != 0 || report->last_step != UINT64_MAX;
}

/* Returns 1 if the stream counts, because it is chosen. */
static inline int sl_report_counts_stream(const struct sl_report *report, uint32_t stream)
{
    for (size_t i = 0; i < report->streams; i++)
        if (report->stream[i] == stream)
            return 1;
    return report->streams == 0;
}

/* Returns 1 if the operation is of a chosen step and stream. */
static inline int sl_report_counts_op(const struct sl_report *report, const struct sl_recording *r,
                                      const struct sl_report_op *op)
{
    return sl_report_counts_stream(report, op->stream) &&
           sl_report_counts_part(report, r, op->part);
}

/* The chosen steps of one device, together. */
struct sl_report_time {
    uint64_t length_ns, steps, part_ns[SL_PART_COUNT];
    uint64_t between_ns; /* see struct sl_interval */
};

void sl_report_time_add(struct sl_report_time *time, const struct sl_interval *in);

/* Adds up the steps of a device in the recordings [first, end). */
struct sl_report_time sl_report_time(const struct sl_report *report, size_t first, size_t end,
                                     uint8_t device);

/* Returns 1 if a recording has steps. Without any, times are of the whole recordings. */
int sl_report_has_steps(const struct sl_report *report);

/* Sets late_rank and late_ratio, when the collectives of all ranks are matched and the ranks are
 * chosen. Returns 0 or -ENOMEM. */
int sl_report_find_late(struct sl_report *report);

/* Returns the number of records that CUPTI or syncline lost, by all counters of losses. */
uint64_t sl_report_lost(const struct sl_report *report);

/* Returns the number of chosen steps of a recording, or 1 if it has none at all. */
size_t sl_report_cpu_steps(const struct sl_report *report, const struct sl_recording *r);

/* Returns the index after the last recording of the rank of the recording `first`. */
size_t sl_report_rank_end(const struct sl_report *report, size_t first);

/* Adds up the GPU operations of the chosen steps in the recordings [first, end), by kind of work
 * (key 0, enum sl_work) and name (key 1), the largest first. The caller frees the groups. */
struct sl_sums sl_report_kernels(const struct sl_report *report, size_t first, size_t end);

/* Returns 1 if a replay of a CUDA graph launched the operation. */
int sl_report_is_replayed(const struct sl_report *report, const struct sl_recording *r,
                          const struct sl_report_op *op);

/* Returns 1 if the operation is a whole replay of a CUDA graph, whose nodes were not recorded. */
static inline int sl_report_is_whole_replay(const struct sl_report_op *op)
{
    return op->graph && !op->is_node;
}

/* Says which recording has the nodes of replays. */
extern const char sl_report_whole_replays[];

struct sl_table;

/* Calls `add` for each rank. The recordings [first, end) are of one rank, in the order of time. */
void sl_report_each_rank(const struct sl_report *report,
                         void (*add)(const struct sl_report *report, size_t first, size_t end,
                                     struct sl_table *out),
                         struct sl_table *out);

/* Returns 1 for a range of the user that is not a step of torch.profiler. */
static inline int sl_report_is_annotation(const struct sl_report_range *range)
{
    return !range->is_operator && !range->is_step;
}

/* Calls `add` for each device of each rank, in the order of their numbers. */
void sl_report_each_device(const struct sl_report *report,
                           void (*add)(const struct sl_report *report, size_t first, size_t end,
                                       uint8_t device, struct sl_table *out),
                           struct sl_table *out);

/* Sets `seen` to 1 for each device of the recordings [first, end). Returns their number. */
int sl_report_devices(const struct sl_report *report, size_t first, size_t end,
                      uint8_t seen[UINT8_MAX + 1]);

/* Returns a name, or "" for 0. */
const char *sl_report_name(const struct sl_report *report, uint32_t id);

#endif
