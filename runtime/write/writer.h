/*
 * writer.h - the background thread that writes the events of the ring to files.
 *
 * The thread pops events in order and passes them to the outputs (write/output.h).
 * SL_EV_WINDOW_OPEN opens the outputs, SL_EV_WINDOW_CLOSE closes them. Outside of a window, the
 * outputs and the edge engine (write/edge_rows.h) store the facts that later windows need. Outputs
 * are synced at least once a second, so that a killed process leaves readable files. An output that
 * fails loses the rest of its window (write/outputs.h). In the next window, the writer opens the
 * output again.
 */
#ifndef SL_WRITER_H
#define SL_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include "event/ring.h"
#include "write/edge_rows.h"
#include "write/outputs.h"
#include "write/trace_meta.h"

struct sl_writer;

struct sl_writer_options {
    struct sl_ring *ring;
    struct sl_outputs *outputs;
    /* gets the events and passes them to the outputs; NULL if edges are off */
    struct sl_edge_rows *edges;
    struct sl_trace_meta meta;
};

/* Starts the thread (all signals blocked, named "syncline-write"). Returns 0 or -errno. */
int sl_writer_start(struct sl_writer **out, const struct sl_writer_options *opt);

/* Any thread, async-signal-safe. Reports that events are waiting. */
void sl_writer_wake(struct sl_writer *w);

/* Drains the ring, ends any open file and joins the thread, within timeout_ns (CLOCK_MONOTONIC).
 * Events that were not drained after three quarters of this time are counted
 * (SL_STAT_UNDELIVERED_AT_EXIT) and not written, so that the file can be ended in time. Returns 0,
 * or -ETIMEDOUT if the thread is still running. In the latter case the memory is not freed, and the
 * file keeps its .part name. */
int sl_writer_stop(struct sl_writer *w, uint64_t timeout_ns);

/* Any thread. These functions return the same as sl_outputs_lost_window(),
 * sl_outputs_full_window() and sl_outputs_is_shut(). */
uint32_t sl_writer_lost_window(const struct sl_writer *w, uint64_t *renew_ns);
uint32_t sl_writer_full_window(const struct sl_writer *w);
int sl_writer_is_shut(const struct sl_writer *w);

/* Any thread, never blocks. Writes the path of the last file that the first output has completed
 * ("" if none), and the number of such files. The caller must not call this function after
 * sl_writer_stop(). */
void sl_writer_last(struct sl_writer *w, char *path, size_t path_size, uint64_t *windows);

#endif
