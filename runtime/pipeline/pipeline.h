/*
 * pipeline.h - from a full CUPTI buffer to the writer's file, for one process.
 *
 * Owns every module on the way (names, shapes, decoder, assembler, ring, kineto, writer), shares
 * the memory cap among them, and decides which events belong to the open window:
 *   - An event belongs to the window if its start is in [opened, closed). A flow arrow belongs if
 *     both of its ends do. An event without a time belongs if it is decoded while the window is
 *     open.
 *   - Metadata (names of threads, streams...) always goes to the writer, and so do CUDA event
 *     records, to which later waits refer. The writer keeps them for later files.
 *   - All other events are counted as SL_STAT_OUTSIDE_WINDOW. While kinds are on, they also go to
 *     the writer with a mark, since waits in the window may be for work from outside it.
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
#include "event/device.h"

struct sl_pipeline;

struct sl_pipeline_options {
    const struct sl_config *config; /* borrowed for the pipeline's life, like all pointers here */
    const struct sl_identity *identity;
    const struct sl_cupti_api *cupti;
    const struct sl_cupti_clock *clock; /* updated by the recorder thread */
    int filter_api; /* 1: CUPTI lacks the per-call filter, so the decoder leaves calls out */
};

/* Once per process: takes memory and starts the writer thread. 0, or -errno. */
int sl_pipeline_create(struct sl_pipeline **out, const struct sl_pipeline_options *opt);

/* Sets the layout of the records in the next buffers (sl_decode_set_layout). */
void sl_pipeline_set_layout(struct sl_pipeline *p, const struct sl_cupti_layout *layout);

/* Decodes and assembles one completed buffer and passes its events on. Returns the records seen. */
size_t sl_pipeline_buffer(struct sl_pipeline *p, const uint8_t *data, size_t valid);

/* The GPU properties that were recorded so far. */
const struct sl_device_table *sl_pipeline_devices(const struct sl_pipeline *p);

/* Launches of the open window whose GPU operation has not arrived. */
uint64_t sl_pipeline_waiting(const struct sl_pipeline *p);

/* After each delivery and on each tick: releases events held long enough; updates counters. */
void sl_pipeline_tick(struct sl_pipeline *p);

/* Nothing more is expected: releases all held events. */
void sl_pipeline_flush(struct sl_pipeline *p);

/* All kinds are on from now on. `anew`: they were off before, so some work was not seen. */
void sl_pipeline_kinds_on(struct sl_pipeline *p, int anew);
/* Some kinds are off from now on. */
void sl_pipeline_kinds_off(struct sl_pipeline *p);

/* From from_ns to until_ns (0: still open) nothing was recorded, because another profiler had
 * CUPTI. The open window's file shows the gap. */
void sl_pipeline_gap(struct sl_pipeline *p, uint64_t from_ns, uint64_t until_ns);

/* Everything that ended before complete_ns went through sl_pipeline_buffer(), or is lost and
 * counted. 0; -ENOBUFS: the ring is too full for this message; the next call makes up for it. */
int sl_pipeline_delivered(struct sl_pipeline *p, uint64_t complete_ns);

/* Whether enough events came since the last sl_pipeline_delivered() to call it again. */
int sl_pipeline_wants_delivery(const struct sl_pipeline *p);

/* 0; -ENOBUFS: the writer is so far behind that even the reserved slots are taken: try again. */
int sl_pipeline_open(struct sl_pipeline *p, uint32_t number, uint32_t reason, uint64_t opened_ns);
int sl_pipeline_close(struct sl_pipeline *p, uint32_t number, uint32_t reason, uint64_t closed_ns);

/* Whether a window was opened and not closed. */
int sl_pipeline_is_open(const struct sl_pipeline *p);

/* The process uses a GPU, though no record has shown it: the open window gets a file. */
void sl_pipeline_use(struct sl_pipeline *p);

/* From now on the pipeline makes no CUPTI calls. */
void sl_pipeline_without_cupti(struct sl_pipeline *p);

/* A window of steps, if open, had not ended by seen_ns. Ranges that threads recorded after seen_ns
 * are not read yet. Before the first call, all of them are read. */
void sl_pipeline_seen(struct sl_pipeline *p, uint64_t seen_ns);

/* From now on the open window has the events that start in [from_ns, until_ns). */
void sl_pipeline_bound(struct sl_pipeline *p, uint64_t from_ns, uint64_t until_ns);

/* From now on events that start at or after closed_ns are not written; UINT64_MAX: no limit. */
void sl_pipeline_limit(struct sl_pipeline *p, uint64_t closed_ns);

/* Exiting thread, after the recorder thread has ended or was cut off. The writer drains the ring,
 * closes its file and ends; when time runs short, it counts events instead of writing them. 0;
 * -ETIMEDOUT: not done within timeout_ns, and the file stays .part. */
int sl_pipeline_stop(struct sl_pipeline *p, uint64_t timeout_ns);

/* Any thread. The number of events in the ring; whether they fill more than half of it. */
size_t sl_pipeline_queued(const struct sl_pipeline *p);
int sl_pipeline_is_crowded(const struct sl_pipeline *p);

/* Any thread: the last window whose trace failed, and from when on (monotonic) another may be
 * tried; the last that had to end because the disk's limit was reached. 0: none. */
uint32_t sl_pipeline_lost_window(const struct sl_pipeline *p, uint64_t *renew_ns);
uint32_t sl_pipeline_full_window(const struct sl_pipeline *p);

/* Any thread, never blocks: the last complete file ("": none), the number of files, bytes held. */
void sl_pipeline_last(struct sl_pipeline *p, char *path, size_t path_size, uint64_t *windows);
size_t sl_pipeline_bytes(const struct sl_pipeline *p);

#endif
