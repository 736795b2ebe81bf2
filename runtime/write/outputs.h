/*
 * outputs.h - the list of a job's outputs. It passes events and edges to each output, and handles
 * outputs that fail.
 *
 * The first output is the window's trace. Its failures are logged at once, and its path is reported
 * to the user. Failures of other outputs are logged after a second or at the window's end. They are
 * not logged if the same error was logged for another output, because a full disk stops all
 * outputs.
 *
 * If a file cannot be written, the next windows would probably fail as well. So nothing is opened
 * for a minute, then for 2, 4, 8 and 10 minutes, unless somebody asks for a window. One line is
 * logged when such a series begins, and one when it ends. If the disk's limit is reached
 * (write/disk.h), the window ends early.
 *
 * Threads: one owner, the writer thread. Memory: none; outputs are destroyed with the list.
 */
#ifndef SL_OUTPUTS_H
#define SL_OUTPUTS_H

#include <stdatomic.h>

#include "write/output.h"

enum {
    SL_OUTPUTS_MAX = 8
};

struct sl_outputs {
    struct sl_outputs_entry {
        struct sl_output output;
        struct sl_window_file file;
        int is_open;
        int error;         /* the error that ended the window or spoilt its close; 0: none */
        int is_unsaid;     /* 1: the error is not logged yet */
        uint64_t error_ns; /* time of the error (monotonic) */
        int is_said;       /* 1: the error was logged */
    } entry[SL_OUTPUTS_MAX];
    size_t count;
    uint32_t window;
    int is_loss_said;

    struct sl_disk *disk;         /* borrowed; NULL: no limit */
    uint64_t disk_due_ns;         /* monotonic: when the disk is looked at next */
    int is_full;                  /* the open window must end */
    _Atomic uint32_t full_window; /* the last that had to end for good; 0: none */

    /* A series of failures. After each one, nothing is written for 1, 2, 4 ... 10 minutes. */
    uint64_t backoff_ns, retry_ns; /* 0: no series; monotonic: when it is tried again */
    uint32_t failed_window;        /* the last that failed */
    uint64_t failed;               /* windows of the series */

    _Atomic uint32_t lost_window; /* the last without a file of the first output; 0: none */
    _Atomic uint64_t renew_ns;    /* monotonic: from when on another file may be tried */
};

/* Adds an output, at most SL_OUTPUTS_MAX. A list of all zeros is empty. */
void sl_outputs_add(struct sl_outputs *o, const struct sl_output *output);
void sl_outputs_destroy(struct sl_outputs *o);

/* Same contracts as the functions of struct sl_output. */
/* is_requested: somebody asked for this window, so it is tried although the last one failed. */
void sl_outputs_open(struct sl_outputs *o, const struct sl_trace_meta *meta, int is_requested);
void sl_outputs_events(struct sl_outputs *o, const struct sl_event *ev, size_t count);
void sl_outputs_edges(struct sl_outputs *o, const struct sl_output_edges *edges);
void sl_outputs_complete(struct sl_outputs *o, const struct sl_output_progress *progress);
uint64_t sl_outputs_sync(struct sl_outputs *o); /* returns in how many ns the next sync is due */

/* Closes the outputs in reverse order, so that the counters in the first output's file include
 * those of the others. Returns the path of the first output's file if it is complete, else NULL. */
const char *sl_outputs_close(struct sl_outputs *o, uint64_t closed_ns);

/* Whether the first output, or any output, writes the open window. */
int sl_outputs_is_first_open(const struct sl_outputs *o);
int sl_outputs_is_open(const struct sl_outputs *o);

/* 1: the disk's limit is reached, and the open window must be closed now. */
int sl_outputs_is_full(const struct sl_outputs *o);

/* Any thread. The last window whose trace failed; 0: none. *renew_ns: from when on (monotonic)
 * another file may be tried. */
uint32_t sl_outputs_lost_window(const struct sl_outputs *o, uint64_t *renew_ns);
/* Any thread. The last window that ended, or never began, because the disk's limit was reached and
 * nothing may be deleted; 0: none. */
uint32_t sl_outputs_full_window(const struct sl_outputs *o);

/* Returns whether some output has wants_begins. */
int sl_outputs_wants_begins(const struct sl_outputs *o);

#endif
