/*
 * outputs.h - the list of a job's outputs. The list passes events and edges to each output, and
 * handles outputs that fail.
 *
 * The first output is the window's trace. Its failures are logged at once, and its path is reported
 * to the user. Failures of other outputs are logged after a second or at the window's end. They are
 * not logged if the same error was logged for another output, because a full disk stops all
 * outputs.
 *
 * If a file cannot be written, the next windows would probably fail as well. So no file is opened
 * for a minute, and after further failures for 2, 4, 8 and 10 minutes, unless somebody requests a
 * window. One line is logged when such a series of failures begins, and one line when it ends. If
 * the disk's limit is reached (write/disk.h), the window ends early.
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
        /* error number of the failure that ended the window or made its close fail; 0 if there was
         * none */
        int error;
        int is_unsaid;     /* 1: the error is not logged yet */
        uint64_t error_ns; /* time of the error, on the monotonic clock */
        int is_said;       /* 1: the error was logged */
    } entry[SL_OUTPUTS_MAX];
    size_t count;
    uint32_t window;
    int is_loss_said;

    /* the folder of all files; borrowed; NULL if no output has a file */
    struct sl_folder *folder;
    /* the limits of the disk; the owner of the list keeps the ownership; NULL: no limit */
    struct sl_disk *disk;
    uint64_t disk_due_ns; /* time of the next check of disk and folder, on the monotonic clock */
    int is_full;          /* 1: the open window must end */
    /* number of the last window that had to end because nothing may be deleted; 0 if there is none
     */
    _Atomic uint32_t full_window;
    _Atomic int is_shut; /* 1: the host has changed its root folder, so no window opens any more */

    /* A series of failures. After each one, nothing is written for 1, 2, 4 ... 10 minutes. */
    /* backoff_ns is 0 if there is no series; retry_ns is the time of the next attempt, on the
     * monotonic clock */
    uint64_t backoff_ns, retry_ns;
    uint32_t failed_window; /* number of the last window that failed */
    uint64_t failed;        /* number of failed windows in the series */

    /* number of the last window without a file of the first output; 0 if there is none */
    _Atomic uint32_t lost_window;
    /* time, on the monotonic clock, from which on another file may be tried */
    _Atomic uint64_t renew_ns;
};

/* Adds an output, at most SL_OUTPUTS_MAX. A list of all zeros is empty. */
void sl_outputs_add(struct sl_outputs *o, const struct sl_output *output);
void sl_outputs_destroy(struct sl_outputs *o);

/* The functions below have the same contracts as the functions of struct sl_output. */
/* If is_requested is set, somebody requested this window, so the outputs are opened even if the
 * last window failed. */
void sl_outputs_open(struct sl_outputs *o, const struct sl_trace_meta *meta, int is_requested);
void sl_outputs_events(struct sl_outputs *o, const struct sl_event *ev, size_t count);
void sl_outputs_edges(struct sl_outputs *o, const struct sl_output_edges *edges);
void sl_outputs_complete(struct sl_outputs *o, const struct sl_output_progress *progress);
/* returns the time in ns until the next sync is due */
uint64_t sl_outputs_sync(struct sl_outputs *o);

/* Closes the outputs in reverse order, so that the counters in the first output's file include
 * those of the others. Returns the path of the first output's file if the file is complete,
 * otherwise NULL. */
const char *sl_outputs_close(struct sl_outputs *o, uint64_t closed_ns);

/* The first function returns 1 if the first output writes the open window. The second function
 * returns 1 if any output does. */
int sl_outputs_is_first_open(const struct sl_outputs *o);
int sl_outputs_is_open(const struct sl_outputs *o);

/* Returns 1 if the open window must be closed now, because the disk's limit is reached, or because
 * the host has changed its root folder. */
int sl_outputs_is_full(const struct sl_outputs *o);

/* Any thread. Returns the number of the last window whose trace failed, or 0 if none failed. Writes
 * to *renew_ns the time, on the monotonic clock, from which on another file may be tried. */
uint32_t sl_outputs_lost_window(const struct sl_outputs *o, uint64_t *renew_ns);
/* Any thread. Returns the number of the last window that ended, or never began, because the disk's
 * limit was reached and nothing may be deleted. Returns 0 if there is no such window. */
uint32_t sl_outputs_full_window(const struct sl_outputs *o);
/* Any thread. Returns 1 if the host has changed its root folder (chroot). The open window was
 * completed then, and no further window is opened. */
int sl_outputs_is_shut(const struct sl_outputs *o);

/* Returns 1 if some output has set wants_begins. */
int sl_outputs_wants_begins(const struct sl_outputs *o);

#endif
