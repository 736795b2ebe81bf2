/*
 * pipeline_state.h - shared by the pipeline's files: the way of the events (pipeline.c), the last
 * step into the ring (outlet.c), the window (window_filter.c), ranges (ranges.c), PyTorch operators
 * (ops.c), the reading of both (lanes.c), and the creation of all modules (create.c).
 *
 * Threads: the recorder thread, unless pipeline.h says "any".
 */
#ifndef SL_PIPELINE_STATE_H
#define SL_PIPELINE_STATE_H

#include "base/intern.h"
#include "collect/cupti/decode.h"
#include "collect/source.h"
#include "event/assemble.h"
#include "event/device.h"
#include "event/ops.h"
#include "event/range.h"
#include "event/ring.h"
#include "event/shape.h"
#include "pipeline/pipeline.h"
#include "write/edge_rows.h"
#include "write/outputs.h"
#include "write/writer.h"

/* Shares of SYNCLINE_MEMORY, in sixteenths. At the default, the ring holds a quarter of a second of
 * a very busy process (a million events a second). The rest is for the writer and the compressor.
 */
enum sl_pipeline_share {
    SL_SHARE_RING = 4,
    SL_SHARE_ASSEMBLE = 3,
    SL_SHARE_EDGES = 2,
    SL_SHARE_INTERN = 1,
    SL_SHARE_SHAPE = 1,
    SL_SHARE_TEXT = 1,
    SL_SHARE_CHAKRA = 3,
    SL_SHARE_ALL = 16
};

/* Slots that metadata leaves free for window open and close events. */
#define SL_PIPELINE_WINDOW_SLOTS 4
#define SL_PIPELINE_EARLY_ROWS   32
#define SL_PIPELINE_NEVER        UINT64_MAX
/* Launches of graphs whose nodes arrive out of order, the first arrow leading past the window. */
#define SL_PIPELINE_STARTLESS 256
/* The part of SYNCLINE_OPS_MEMORY for details: one in this many. The rest is for operators whose
 * calls may still arrive. */
#define SL_PIPELINE_DETAIL_SHARE 4

struct sl_pipeline {
    struct sl_pipeline_options opt;
    struct sl_intern *intern;
    struct sl_shape_table *shapes;
    struct sl_device_table devices;
    struct sl_decode *decode;
    /* set by sl_pipeline_set_layout(); NULL: that of CUPTI's version */
    const struct sl_cupti_layout *layout;
    struct sl_assemble *assemble;
    struct sl_ranges *ranges;          /* NULL: no memory */
    struct sl_ops *ops;                /* NULL: PyTorch operators are off, or no memory */
    struct sl_intern *details;         /* details of operators; NULL: none */
    struct sl_source_readers *readers; /* NULL: no memory for them, or for ranges */
    struct sl_source_lost lost_by_sources;
    void (*decoded)(void *pipeline, const struct sl_event *ev); /* the decoder's sink */
    struct sl_ring *ring;
    struct sl_outputs outputs;
    struct sl_disk *disk; /* NULL: no memory for it, so no limit */
    size_t outputs_bytes;
    struct sl_edge_rows *edges; /* NULL: no memory for it */
    struct sl_writer *writer;

    /* The window of the filter; [NEVER, NEVER): none is open. */
    uint64_t from_ns, until_ns;
    uint64_t seen_ns; /* whether the window has ended is known up to here */
    uint64_t now_ns;  /* monotonic: time of the delivery in progress */

    int kinds_on;
    uint64_t since_delivery; /* events pushed since then */
    /* All that ended before complete_ns is decoded. The writer was told told_ns, which is earlier
     * if assemble still held events. */
    uint64_t complete_ns, told_ns;
    uint64_t lost; /* records lost up to the last delivery */

    /* A process that initialises CUDA and never uses it leaves no file, although some CUPTI
     * versions record its devices. So the writer gets an automatic window only once the GPU was
     * used. A window that the user requested is opened at once. */
    int used;
    struct sl_event opening; /* the held-back SL_EV_WINDOW_OPEN; kind 0: none */

    /* CUPTI's first records are about its own cost: for requesting a buffer. They are held until
     * the first other event, so that the devices are known when the file begins. */
    int any_row;
    struct sl_event node; /* a graph node that waits for room in the ring; kind 0: none */
    unsigned early_count;
    struct sl_event early[SL_PIPELINE_EARLY_ROWS];

    /* Hashed by correlation id: calls whose first arrow, with the tail, led past the window. */
    uint64_t startless[SL_PIPELINE_STARTLESS];
};

static inline size_t sl_pipeline_share(const struct sl_config *config,
                                       enum sl_pipeline_share sixteenths)
{
    return (size_t)(config->memory_bytes / SL_SHARE_ALL * sixteenths);
}

static inline int sl_pipeline_is_meta(const struct sl_event *ev)
{
    return ev->kind >= SL_EV_META_PROCESS && ev->kind <= SL_EV_META_EVENT;
}

/* pipeline.c: the sinks of the decoder and of the assembler. */
void sl_pipeline_decoded(void *pipeline, const struct sl_event *ev);
int sl_pipeline_assembled(void *pipeline, const struct sl_event *ev);
/* outlet.c */
/* Pushes an event of the window's file, or counts it as dropped. */
void sl_outlet_push(struct sl_pipeline *p, const struct sl_event *ev);
/* Checks the window first. Counts an event from outside; passes it on if edges need it. */
void sl_outlet_row(struct sl_pipeline *p, const struct sl_event *ev);
/* Pushes metadata. 0; -ENOBUFS: no room, counted. */
int sl_outlet_meta(struct sl_pipeline *p, const struct sl_event *ev);
/* Pushes the events that were held until the devices are known. */
void sl_outlet_early_rows(struct sl_pipeline *p);
int sl_outlet_in_window(const struct sl_pipeline *p, const struct sl_event *ev);

/* window_filter.c */
/* The first arrow of a call draws the common tail. If it leads past the window, the next arrow in
 * the window gets the tail. */
void sl_pipeline_arrow(struct sl_pipeline *p, struct sl_event *flow);

/* ranges.c: all functions do nothing if ranges are off. */
void sl_pipeline_ranges_create(struct sl_pipeline *p);
/* Takes marks, and names of tracks that are no threads, as they are read. */
void sl_pipeline_ranges_take(void *pipeline, const struct sl_event *ev);
void sl_pipeline_ranges_count(const struct sl_pipeline *p);
/* Takes an assembled event and gives a call its innermost range. `for_thread`: the thread for which
 * the call's thread works; 0: unknown. */
void sl_pipeline_ranges_event(struct sl_pipeline *p, struct sl_event *ev, uint32_t for_thread);
void sl_pipeline_ranges_thread(struct sl_pipeline *p, const struct sl_event *ev);
/* The window has changed. */
void sl_pipeline_ranges_window(struct sl_pipeline *p);
void sl_pipeline_ranges_close(struct sl_pipeline *p, uint64_t closed_ns);

/* ops.c: all functions do nothing if operators are off. Created after the ranges. */
void sl_pipeline_ops_create(struct sl_pipeline *p);
void sl_pipeline_ops_count(const struct sl_pipeline *p);
/* Gives a call its operator; see sl_ops_call(). */
uint32_t sl_pipeline_ops_event(struct sl_pipeline *p, struct sl_event *ev);
void sl_pipeline_ops_close(struct sl_pipeline *p, uint64_t closed_ns);

/* lanes.c: does nothing if ranges and operators are off. */
void sl_pipeline_lanes_create(struct sl_pipeline *p);
/* Checks a buffer for GPU use before it is decoded. The threads' own events are read first and need
 * an open file. */
void sl_pipeline_lanes_look(struct sl_pipeline *p, const uint8_t *data, size_t valid);
/* Reads what threads recorded up to now, before the CUPTI records of the same time. A process that
 * has not used the GPU has no file, so its lanes are not read. */
void sl_pipeline_lanes_read(struct sl_pipeline *p);

#endif
