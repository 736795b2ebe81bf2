/*
 * tally.h - counts the contents of a trace: categories, processes, threads, devices, streams, time
 * span.
 *
 * Threads: one owner. Memory: about 4 MiB. The tables are bounded. Categories that do not fit are
 * counted as "(other)". A lane is a thread or a stream. If the table of lanes or of processes is
 * full, `lanes_full` is set and further lanes or processes are not counted separately.
 */
#ifndef SL_CHECK_TALLY_H
#define SL_CHECK_TALLY_H

#include <stdint.h>

#include "check/finding.h"
#include "read/json_event.h"

#define SL_TALLY_CATEGORIES 64
#define SL_TALLY_PROCESSES  1024
#define SL_TALLY_LANES      32768

struct sl_tally_category {
    char name[48]; /* name of the category in the file, or "(metadata)", "(none)" or "(other)" */
    uint64_t events;
    uint64_t total_ns; /* sum of durations */
    int is_other;      /* not 0 if it is not one of CUDA's and PyTorch's categories */
};

struct sl_tally_process {
    uint64_t key; /* key of the pid */
    char pid[32];
    char name[64]; /* name from the metadata row process_name; "" if unknown */
    uint64_t rows; /* number of rows, not counting metadata */
    uint32_t threads;
};

/* A lane is one row on a viewer's screen: a thread of a process, or a stream of a device. */
struct sl_tally_lane {
    uint64_t key; /* hash of pid and tid, or of device and stream; 0 if the entry is free */
    int is_stream;
    int64_t device, stream;
    uint64_t events;
    uint64_t busy_ns;
};

struct sl_tally {
    uint64_t events;
    int64_t first_ns, last_ns; /* first_ns is above last_ns if no event has a time */
    int64_t earliest_end_ns, latest_start_ns;
    uint64_t earliest_end_at, latest_start_at; /* offsets of these two events in the text */
    uint64_t gpu_operations;
    struct sl_tally_category category[SL_TALLY_CATEGORIES];
    unsigned categories;
    struct sl_tally_process process[SL_TALLY_PROCESSES];
    unsigned processes;
    struct sl_tally_lane lane[SL_TALLY_LANES];
    unsigned lanes;
    int lanes_full;
    /* Table entries of the previous row. Successive rows often have the same category and process,
     * so these entries are tried first. */
    unsigned last_category, last_process;
};

/* The caller has zeroed the struct. */
void sl_tally_init(struct sl_tally *t);

/* Counts one event. Reports late metadata to `findings`. */
void sl_tally_row(struct sl_tally *t, const struct sl_trace_row *row, uint64_t at,
                  struct sl_findings *findings);

#endif
