/*
 * pipeline_state.h - shared by the pipeline's files: pipeline.c (passes events on), outlet.c
 * (pushes events into the ring), window_filter.c (the window), ranges.c, ops.c (PyTorch operators),
 * lanes.c (reads ranges and operators), and create.c (creates all modules).
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
#include "event/launches.h"
#include "event/ops.h"
#include "event/range.h"
#include "event/ring.h"
#include "event/shape.h"
#include "pipeline/pipeline.h"
#include "write/edge_rows.h"
#include "write/outputs.h"
#include "write/writer.h"

/* Shares of SYNCLINE_MEMORY, in sixteenths. With the default memory, the ring holds a quarter of a
 * second of events of a very busy process (a million events a second). The rest of the memory is
 * for the writer and the compressor. */
enum sl_pipeline_share {
    SL_SHARE_NONE = 0,
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
/* Maximum number of graph launches that are remembered because their first arrow led to an
 * operation outside the window. */
#define SL_PIPELINE_STARTLESS 256
/* This fraction (one in SL_PIPELINE_DETAIL_SHARE) of SYNCLINE_OPS_MEMORY is for details. The rest
 * is for operators whose calls may still arrive. */
#define SL_PIPELINE_DETAIL_SHARE 4

struct sl_pipeline {
    struct sl_pipeline_options opt;
    struct sl_intern *intern;
    struct sl_shape_table *shapes;
    struct sl_device_table devices;
    struct sl_decode *decode;
    /* layout that sl_pipeline_set_layout() has set; NULL: the layout of CUPTI's version */
    const struct sl_cupti_layout *layout;
    struct sl_assemble *assemble;
    struct sl_ranges *ranges;          /* NULL: no memory */
    struct sl_ops *ops;                /* NULL: PyTorch operators are off, or no memory */
    struct sl_intern *details;         /* details of operators; NULL: none */
    struct sl_launches *launches;      /* NCCL's launches; NULL: off, or no memory */
    struct sl_source_readers *readers; /* NULL: no memory for readers of lanes, or for ranges */
    struct sl_source_lost lost_by_sources;
    void (*decoded)(void *pipeline, const struct sl_event *ev); /* the decoder's sink */
    struct sl_ring *ring;
    struct sl_folder folder; /* of the traces; the writer thread's */
    struct sl_outputs outputs;
    struct sl_disk *disk; /* NULL: no memory for this object, so the disk use has no limit */
    size_t outputs_bytes;
    struct sl_edge_rows *edges; /* NULL: no memory for edges */
    struct sl_writer *writer;

    /* The bounds of the open window; [NEVER, NEVER) if none is open. */
    uint64_t from_ns, until_ns;
    uint64_t seen_ns; /* up to this time, the recorder knows whether the window has ended */
    uint64_t now_ns;  /* monotonic time of the delivery in progress */

    int kinds_on;
    uint64_t since_delivery; /* number of events pushed since the last delivery message */
    /* All records that ended before complete_ns are decoded. The last delivery message carried the
     * time told_ns, which is earlier if the assembler still held events. */
    uint64_t complete_ns, told_ns;
    uint64_t lost; /* number of records lost up to the last delivery */

    /* A process that initialises CUDA and never uses the GPU shall leave no file, although some
     * CUPTI versions record its devices. So the event that opens an automatic window is held back
     * until the GPU is used. A timed window's opening is held back until the window has an event. A
     * window that the user requested is opened at once. */
    int used;
    struct sl_event opening; /* the SL_EV_WINDOW_OPEN that is held back; kind 0: none */
    uint64_t missed; /* number of missed windows that no SL_EV_WINDOW_OPEN has reported yet */

    /* CUPTI's first records are about CUPTI's own overhead of requesting a buffer. These records
     * are held until the first other event, so that the devices are known when the file is
     * begun. While an opening is held back, such records are held, too, because CUPTI also makes
     * them in a window without any other event. */
    int any_row;
    struct sl_event node; /* a graph node that waits for room in the ring; kind 0: none */
    unsigned early_count;
    struct sl_event early[SL_PIPELINE_EARLY_ROWS];

    /* A hash table of correlation ids of calls. The first flow arrow of each of these calls led to
     * an operation outside the window, so the start that all arrows of the call share is not drawn
     * yet. */
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
/* Pushes an event of the window's file, or counts it as dropped. The first event of a timed window
 * opens the window's file. */
void sl_outlet_push(struct sl_pipeline *p, const struct sl_event *ev);
/* Pushes an event that is in the window. Counts an event that is outside the window. If sync edges
 * need such an event, pushes it with the mark that it is not to be written. */
void sl_outlet_row(struct sl_pipeline *p, const struct sl_event *ev);
/* Pushes metadata. Returns 0, or -ENOBUFS if there is no room (counted). */
int sl_outlet_meta(struct sl_pipeline *p, const struct sl_event *ev);
/* Call when a record shows that the process uses a GPU. A timed window still waits for an event. */
void sl_pipeline_meet_use(struct sl_pipeline *p);
/* Pushes the events that were held until the devices are known. */
void sl_outlet_early_rows(struct sl_pipeline *p);
int sl_outlet_in_window(const struct sl_pipeline *p, const struct sl_event *ev);

/* window_filter.c */
/* The first arrow of a call draws the start that all arrows of the call share. If the first arrow
 * leads to an operation outside the window, the next arrow in the window draws the start. */
void sl_pipeline_arrow(struct sl_pipeline *p, struct sl_event *flow);

/* ranges.c: all functions do nothing if ranges are off. */
void sl_pipeline_ranges_create(struct sl_pipeline *p);
/* Receives marks, names of tracks that are no threads, and facts about graph nodes, at the moment
 * when they are read. */
void sl_pipeline_ranges_take(void *pipeline, const struct sl_event *ev);
void sl_pipeline_ranges_count(const struct sl_pipeline *p);
/* Receives an assembled event. If the event is a call, adds its innermost range. `for_thread` is
 * the thread for which the call's thread works (0: not known). */
void sl_pipeline_ranges_event(struct sl_pipeline *p, struct sl_event *ev, uint32_t for_thread);
void sl_pipeline_ranges_thread(struct sl_pipeline *p, const struct sl_event *ev);
/* Call when the window's bounds have changed. */
void sl_pipeline_ranges_window(struct sl_pipeline *p);
void sl_pipeline_ranges_close(struct sl_pipeline *p, uint64_t closed_ns);

/* ops.c: all functions do nothing if operators are off. Operators are created after the ranges. */
void sl_pipeline_ops_create(struct sl_pipeline *p);
void sl_pipeline_ops_count(const struct sl_pipeline *p);
/* Stores in a call the operator around the call; see sl_ops_call(). */
uint32_t sl_pipeline_ops_event(struct sl_pipeline *p, struct sl_event *ev);
/* Call before the event of a call is passed on. If NCCL described the call's launch, passes on that
 * description. */
void sl_pipeline_ops_launch(struct sl_pipeline *p, const struct sl_event *call);
/* Must precede sl_pipeline_lanes_create(). */
void sl_pipeline_launches_create(struct sl_pipeline *p);
void sl_pipeline_ops_close(struct sl_pipeline *p, uint64_t closed_ns);

/* lanes.c: does nothing if ranges and operators are off. */
void sl_pipeline_lanes_create(struct sl_pipeline *p);
/* Checks a buffer for GPU use before it is decoded. The threads' own events are read first and need
 * an open file. */
void sl_pipeline_lanes_look(struct sl_pipeline *p, const uint8_t *data, size_t valid);
/* Reads the lanes up to now. Call before the CUPTI records of the same time are decoded. Does
 * nothing in a process that has not used the GPU, because it has no file. */
void sl_pipeline_lanes_read(struct sl_pipeline *p);

#endif
