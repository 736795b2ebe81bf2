/*
 * writer.h - the background thread that turns the ring into files.
 *
 * Pops events in order. SL_EV_WINDOW_OPEN begins files, SL_EV_WINDOW_CLOSE ends them; META events
 * outside a window are remembered by kineto for the files to come, and so is, in the engine of
 * edges (write/edge_rows.h), what was enqueued. Frames are closed at least once a second, so that a
 * killed process leaves a readable file. A failing sink ends the file (what was written stays), is
 * said once, and later events of that window are counted as lost; the next window tries again.
 */
#ifndef SL_WRITER_H
#define SL_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include "base/ring.h"
#include "write/edge_rows.h"
#include "write/kineto/kineto.h"
#include "write/sink/sink.h"

struct sl_writer;

struct sl_writer_options {
    struct sl_ring *ring;
    struct sl_kineto *kineto;
    struct sl_edge_rows *edges; /* between the ring and Kineto; NULL: rows go there at once */
    struct sl_et_window *et;    /* the other file of each window, fed by `edges`; NULL: none */
    enum sl_compression compression;
    int level;
    const char *folder; /* <output>/<job>/<host>-<rank>-<pid>; borrowed */
    struct sl_trace_meta meta;
};

/* Starts the thread (all signals blocked, named "syncline-write"). 0 or -errno. */
int sl_writer_start(struct sl_writer **out, const struct sl_writer_options *opt);

/* Any thread, async-safe: events are waiting. */
void sl_writer_wake(struct sl_writer *w);

/* Drains the ring, ends any open file and joins, waiting at most timeout_ns (CLOCK_MONOTONIC). What
 * is not drained after three quarters of that is counted (SL_STAT_UNDELIVERED_AT_EXIT) instead of
 * written, so that the file can be ended. 0, or -ETIMEDOUT: the thread is left alone with its
 * memory and the file stays .part. */
int sl_writer_stop(struct sl_writer *w, uint64_t timeout_ns);

/* Any thread, never blocks: path of the last file that was completed ("" if none), windows
 * completed. Not after stop. */
void sl_writer_last(struct sl_writer *w, char *path, size_t path_size, uint64_t *windows);

#endif
