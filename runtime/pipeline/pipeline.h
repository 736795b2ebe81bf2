/*
 * pipeline.h - from a full CUPTI buffer to the writer's file, for one process.
 *
 * Owns every module on the way (names, shapes, decoder, assembler, ring, kineto, writer), shares
 * the memory cap among them, and decides which events belong to the open window:
 *
 *   A row belongs to the window if its start lies in [opened, closed). A flow arrow belongs if
 *   both its ends do. A row without time belongs if it is decoded while the window is open. What
 *   is seen for the first time (names of threads, streams...) always goes to the writer, and so do
 *   event records, which later waits refer to; the writer keeps them for the files to come. The
 *   rest is counted as SL_STAT_OUTSIDE_WINDOW; while kinds are on it goes to the writer all the
 *   same, marked, since waits of the window may be for work from outside it.
 *
 * Threads: the collector, except where said.
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
    const struct sl_config *config; /* borrowed, like the next two, for the pipeline's life */
    const struct sl_identity *identity;
    const struct sl_cupti_api *cupti;
    const struct sl_cupti_clock *clock; /* borrowed too; the collector looks at it */
    int filter_api; /* the library lacks the per-call filter: leave calls out here */
};

/* Once per process: takes memory and starts the writer thread. 0, or -errno. */
int sl_pipeline_create(struct sl_pipeline **out, const struct sl_pipeline_options *opt);

/* How the records of the next buffers lie (sl_decode_set_layout). */
void sl_pipeline_set_layout(struct sl_pipeline *p, const struct sl_cupti_layout *layout);

/* One completed buffer: decoded, assembled, on its way. Returns the records seen. */
size_t sl_pipeline_buffer(struct sl_pipeline *p, const uint8_t *data, size_t valid);

/* What the rows so far have made known of each GPU. */
const struct sl_device_table *sl_pipeline_devices(const struct sl_pipeline *p);

/* Launches of the open window whose GPU operation has not come. */
uint64_t sl_pipeline_waiting(const struct sl_pipeline *p);

/* After each delivery and on each tick: what was held back long enough goes on; counters. */
void sl_pipeline_tick(struct sl_pipeline *p);

/* Nothing more is expected: what is held back goes on now. */
void sl_pipeline_flush(struct sl_pipeline *p);

/* All kinds are on from now on; `anew`: they were not before, so that some work was not seen. */
void sl_pipeline_kinds_on(struct sl_pipeline *p, int anew);
/* Some are off from now on. */
void sl_pipeline_kinds_off(struct sl_pipeline *p);

/* From from_ns to until_ns (0: until further notice) nothing was recorded, because another profiler
 * had CUPTI. The open window's file tells it. */
void sl_pipeline_gap(struct sl_pipeline *p, uint64_t from_ns, uint64_t until_ns);

/* Everything that ended before complete_ns has been through sl_pipeline_buffer(), or is lost and
 * counted. 0; -ENOBUFS: the writer is too far behind to be told; the next one will do. */
int sl_pipeline_delivered(struct sl_pipeline *p, uint64_t complete_ns);

/* Whether so much came since the last sl_pipeline_delivered() that another is due. */
int sl_pipeline_wants_delivery(const struct sl_pipeline *p);

/* 0; -ENOBUFS: the writer is so far behind that even the reserved slots are taken: try again. */
int sl_pipeline_open(struct sl_pipeline *p, uint32_t number, uint32_t reason, uint64_t opened_ns);
int sl_pipeline_close(struct sl_pipeline *p, uint32_t number, uint32_t reason, uint64_t closed_ns);

/* Whether a window was opened and not closed. */
int sl_pipeline_is_open(const struct sl_pipeline *p);

/* The process is known to use a GPU, though no record has shown it: the open window gets a file. */
void sl_pipeline_use(struct sl_pipeline *p);

/* From now on nothing here calls CUPTI. */
void sl_pipeline_without_cupti(struct sl_pipeline *p);

/* A window that ends with the job's steps had not ended yet at seen_ns, if it is open: what threads
 * left of their ranges after that is not read yet. Until this is called first, all of it is. */
void sl_pipeline_seen(struct sl_pipeline *p, uint64_t seen_ns);

/* From now on the open window's rows are those that start in [from_ns, until_ns). */
void sl_pipeline_bound(struct sl_pipeline *p, uint64_t from_ns, uint64_t until_ns);

/* From now on rows that start at or after closed_ns are not written; UINT64_MAX: no limit. */
void sl_pipeline_limit(struct sl_pipeline *p, uint64_t closed_ns);

/* Exiting thread, once the collector has ended or was cut off: the writer drains, closes its file
 * and ends; when time gets short it counts events instead of writing them. 0; -ETIMEDOUT: not
 * within timeout_ns, the file stays .part. */
int sl_pipeline_stop(struct sl_pipeline *p, uint64_t timeout_ns);

/* Any thread. Events on their way to the writer; whether they fill half of the room. */
size_t sl_pipeline_queued(const struct sl_pipeline *p);
int sl_pipeline_is_crowded(const struct sl_pipeline *p);

/* Any thread, never blocks: last complete file ("" if none), how many there are, bytes held. */
void sl_pipeline_last(struct sl_pipeline *p, char *path, size_t path_size, uint64_t *windows);
size_t sl_pipeline_bytes(const struct sl_pipeline *p);

#endif
