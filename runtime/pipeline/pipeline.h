/*
 * pipeline.h - passes events from CUPTI buffers to the writer's file.
 *
 * The pipeline owns every module in between (names, shapes, decoder, assembler, ring, outputs,
 * writer), divides the memory cap among these modules, and decides which events belong to the open
 * window:
 *   - An event belongs to the window if its start is in [opened, closed). A flow arrow belongs to
 *     the window if both of its ends are in this interval. An event without a time belongs to the
 *     window if it is decoded while the window is open.
 *   - Metadata (names of threads, streams...) always goes to the writer. CUDA event records always
 *     go to the writer, too, because later waits refer to them. The writer keeps metadata and CUDA
 *     event records for later files.
 *   - All other events are counted as SL_STAT_OUTSIDE_WINDOW. While kinds of records are on, such
 *     events are also passed to the writer with a mark, because a wait in the window may be for
 *     work that was enqueued outside the window.
 *
 * Threads: the recorder thread, unless a function says otherwise.
 */
#ifndef SL_PIPELINE_H
#define SL_PIPELINE_H

#include <stddef.h>
#include <stdint.h>

#include "collect/cupti/api.h"
#include "collect/cupti/clock.h"
#include "collect/cupti/layout.h"
#include "control/config.h"
#include "control/identity.h"
#include "control/window.h"
#include "event/device.h"

struct sl_pipeline;

struct sl_pipeline_options {
    const struct sl_config *config; /* borrowed for the pipeline's life, like all pointers here */
    const struct sl_identity *identity;
    const struct sl_cupti_api *cupti;
    const struct sl_cupti_clock *clock; /* state of CUPTI's clock, which the recorder thread
                                         * updates */
    int filter_api; /* 1: CUPTI lacks the per-call filter, so the decoder leaves calls out */
};

/* Call once per process. Allocates the memory and starts the writer thread. Returns 0 or -errno. */
int sl_pipeline_create(struct sl_pipeline **out, const struct sl_pipeline_options *opt);

/* Sets the layout of the records in the next buffers (sl_decode_set_layout). */
void sl_pipeline_set_layout(struct sl_pipeline *p, const struct sl_cupti_layout *layout);

/* Decodes one completed buffer, assembles its events and passes them on. Returns the number of
 * records in the buffer. */
size_t sl_pipeline_buffer(struct sl_pipeline *p, const uint8_t *data, size_t valid);

/* Returns the GPU properties that were recorded so far. */
const struct sl_device_table *sl_pipeline_devices(const struct sl_pipeline *p);

/* Returns the number of launches of the open window whose GPU operation has not arrived. */
uint64_t sl_pipeline_waiting(const struct sl_pipeline *p);

/* Call after each delivery and at each tick. Releases events that were held long enough; updates
 * counters. */
void sl_pipeline_tick(struct sl_pipeline *p);

/* Call when no more records are expected. Releases all held events. */
void sl_pipeline_flush(struct sl_pipeline *p);

/* Call when all kinds were turned on. Set `anew` if the kinds were off before, so that some work
 * was not recorded. */
void sl_pipeline_kinds_on(struct sl_pipeline *p, int anew);
/* Call before some kinds are turned off. */
void sl_pipeline_kinds_off(struct sl_pipeline *p);

/* Call if nothing was recorded from from_ns to until_ns (0: the gap continues), because another
 * profiler had CUPTI. The open window's file shows the gap. */
void sl_pipeline_gap(struct sl_pipeline *p, uint64_t from_ns, uint64_t until_ns);

/* The caller guarantees that all records that ended before complete_ns went through
 * sl_pipeline_buffer(), or were counted as lost. Returns 0, or -ENOBUFS if the ring is too full for
 * the delivery message. Then the next call pushes the message. */
int sl_pipeline_delivered(struct sl_pipeline *p, uint64_t complete_ns);

/* Returns whether so many events were pushed since the last sl_pipeline_delivered() that the caller
 * should call sl_pipeline_delivered() again. */
int sl_pipeline_wants_delivery(const struct sl_pipeline *p);

struct sl_pipeline_window {
    uint32_t number; /* number of the window in the process, from 1 */
    enum sl_window_reason reason;
    uint64_t step;        /* the step with which the window begins; 0: none */
    int is_lead_in_short; /* 1: a stop came before the lead-in was over */
    uint64_t missed;      /* number of windows that were missed before this one */
    uint64_t opened_ns;
};

/* A timed window gets its file when it has its first event, and none if it stays empty. In a
 * process that has not used the GPU, a window gets its file when the GPU is used, unless the window
 * was requested. Other windows get their file at once. */
/* Return 0, or -ENOBUFS if even the reserved slots of the ring are used, because the writer is far
 * behind. Then the caller must try again. */
int sl_pipeline_open(struct sl_pipeline *p, const struct sl_pipeline_window *window);
int sl_pipeline_close(struct sl_pipeline *p, uint32_t number, uint32_t reason, uint64_t closed_ns);

/* Returns whether a window was opened and not closed. */
int sl_pipeline_is_open(const struct sl_pipeline *p);

/* Call if the open window must have a file, even if it has no events: something was lost or could
 * not be recorded. Also shows that the process uses a GPU. */
void sl_pipeline_use(struct sl_pipeline *p);

/* From now on the pipeline makes no CUPTI calls. */
void sl_pipeline_without_cupti(struct sl_pipeline *p);

/* Call when the windows that have begun or ended by seen_ns are known. Records that threads made
 * after seen_ns are then not read yet, because another window may begin or end before them. */
void sl_pipeline_seen(struct sl_pipeline *p, uint64_t seen_ns);

/* Sets the bounds of the open window, which has the events that start in [from_ns, until_ns). */
void sl_pipeline_bound(struct sl_pipeline *p, uint64_t from_ns, uint64_t until_ns);

/* Sets the end of the open window. Events that start at or after closed_ns are not written
 * (UINT64_MAX: no limit). */
void sl_pipeline_limit(struct sl_pipeline *p, uint64_t closed_ns);

/* Exiting thread, after the recorder thread has ended or was cut off. The writer drains the ring,
 * closes its file and ends. If time runs short, the writer counts events as dropped instead of
 * writing them. Returns 0, or -ETIMEDOUT if the writer was not done within timeout_ns; then the
 * file keeps its .part name. */
int sl_pipeline_stop(struct sl_pipeline *p, uint64_t timeout_ns);

/* Any thread. sl_pipeline_queued() returns the number of events in the ring,
 * sl_pipeline_is_crowded() whether the events fill more than half of the ring. */
size_t sl_pipeline_queued(const struct sl_pipeline *p);
int sl_pipeline_is_crowded(const struct sl_pipeline *p);

/* Any thread. sl_pipeline_lost_window() returns the number of the last window whose trace failed
 * (0: none), and writes the monotonic time from which on another window may be tried.
 * sl_pipeline_full_window() returns the number of the last window that had to end because the
 * disk's limit was reached (0: none). sl_pipeline_is_shut() returns 1 if the last file is complete
 * because the host has changed its root folder. */
uint32_t sl_pipeline_lost_window(const struct sl_pipeline *p, uint64_t *renew_ns);
uint32_t sl_pipeline_full_window(const struct sl_pipeline *p);
int sl_pipeline_is_shut(const struct sl_pipeline *p);

/* Any thread; the functions never block. sl_pipeline_last() writes the path of the last complete
 * file ("": none) and the number of complete files. sl_pipeline_bytes() returns the bytes of memory
 * that the pipeline holds. */
void sl_pipeline_last(struct sl_pipeline *p, char *path, size_t path_size, uint64_t *windows);
size_t sl_pipeline_bytes(const struct sl_pipeline *p);

#endif
