/*
 * outputs.h - the list of a job's outputs: passes everything on to each, and handles the one that
 * fails.
 *
 * The first output is the window's trace: its failures are logged at once, and its path is what the
 * user is told. Failures of the others are logged after a second, or when the window ends, and not
 * at all if the same error was logged for another output: a full disk stops them all.
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
        int error;         /* that ended its window, or spoilt its close; 0: none */
        int has_part;      /* it had a file by then, which stays as .part */
        int is_unsaid;     /* not logged yet, */
        uint64_t error_ns; /* since then (monotonic) */
        int is_said;       /* logged */
    } entry[SL_OUTPUTS_MAX];
    size_t count;
    uint32_t window;
    _Atomic uint32_t lost_window; /* the last one with a file that the host took; 0: none */
    int is_loss_said;
};

/* The list begins empty, as zeros. At most SL_OUTPUTS_MAX are taken. */
void sl_outputs_add(struct sl_outputs *o, const struct sl_output *output);
void sl_outputs_destroy(struct sl_outputs *o);

/* As the functions of struct sl_output. */
void sl_outputs_open(struct sl_outputs *o, const struct sl_trace_meta *meta);
void sl_outputs_events(struct sl_outputs *o, const struct sl_event *ev, size_t count);
void sl_outputs_edges(struct sl_outputs *o, const struct sl_output_edges *edges);
void sl_outputs_complete(struct sl_outputs *o, const struct sl_output_progress *progress);
uint64_t sl_outputs_sync(struct sl_outputs *o); /* in how many ns it is due again */

/* In reverse order: the first output's counters cover the others. Returns the path of the first
 * output's file if it is complete, else NULL. */
const char *sl_outputs_close(struct sl_outputs *o, uint64_t closed_ns);

/* The first output takes part in the open window; some output does. */
int sl_outputs_is_first_open(const struct sl_outputs *o);
int sl_outputs_is_open(const struct sl_outputs *o);

/* Any thread: the last window with a file that the host has closed or replaced (base/own_file.h),
 * which is logged once per process; 0: none. */
uint32_t sl_outputs_lost_window(const struct sl_outputs *o);

/* Some output has wants_begins. */
int sl_outputs_wants_begins(const struct sl_outputs *o);

#endif
