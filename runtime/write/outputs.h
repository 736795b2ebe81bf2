/*
 * outputs.h - the list of a job's outputs. It passes events and edges to each output, and handles
 * outputs that fail.
 *
 * The first output is the window's trace. Its failures are logged at once, and its path is reported
 * to the user. Failures of other outputs are logged after a second or at the window's end. They are
 * not logged if the same error was logged for another output, because a full disk stops all
 * outputs.
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
        int error;         /* the error that ended this window for the output, or that closing gave;
                            * 0: none */
        int has_part;      /* 1: it had a file at the time of the error, which keeps its .part
                            * name */
        int is_unsaid;     /* 1: the error is not logged yet */
        uint64_t error_ns; /* time of the error (monotonic) */
        int is_said;       /* 1: the error was logged */
    } entry[SL_OUTPUTS_MAX];
    size_t count;
    uint32_t window;
    _Atomic uint32_t lost_window; /* the last window whose file the host closed or replaced; 0:
                                   * none */
    int is_loss_said;
};

/* Adds an output, at most SL_OUTPUTS_MAX. A list of all zeros is empty. */
void sl_outputs_add(struct sl_outputs *o, const struct sl_output *output);
void sl_outputs_destroy(struct sl_outputs *o);

/* Call the functions of the same name of each output (write/output.h). */
void sl_outputs_open(struct sl_outputs *o, const struct sl_trace_meta *meta);
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

/* Any thread. Returns the last window with a file that the host closed or replaced
 * (base/own_file.h), 0 if there is none. Such a loss is logged once per process. */
uint32_t sl_outputs_lost_window(const struct sl_outputs *o);

/* Returns whether some output has wants_begins. */
int sl_outputs_wants_begins(const struct sl_outputs *o);

#endif
