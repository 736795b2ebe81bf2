/*
 * pipeline_state.h - what the pipeline's files share: the way of the events (pipeline.c), the
 * window that they are judged by (window_filter.c), the user's ranges among them (ranges.c),
 * PyTorch's operators (ops.c), where both come
 * from (lanes.c), and the making of all its modules (create.c).
 *
 * Threads: the collector, except where pipeline.h says any.
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

/* Shares of SYNCLINE_MEMORY, in sixteenths. The ring's holds, at the default, a quarter of a second
 * of a very busy process (a million events a second). What is left is for the writer's block and
 * the compressor's tables. */
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

/* Slots that metadata leaves free for the opening and closing of windows. */
#define SL_PIPELINE_WINDOW_SLOTS 4
#define SL_PIPELINE_EARLY_ROWS   32
#define SL_PIPELINE_NEVER        UINT64_MAX
/* Launches whose nodes come in another order than they ran, some of them behind the window. */
#define SL_PIPELINE_STARTLESS 256
/* Of SYNCLINE_OPS_MEMORY; the rest is for operators whose calls may still come. */
#define SL_PIPELINE_DETAIL_SHARE 4

struct sl_pipeline {
    struct sl_pipeline_options opt;
    struct sl_intern *intern;
    struct sl_shape_table *shapes;
    struct sl_device_table devices;
    struct sl_decode *decode;
    const struct sl_cupti_layout *layout; /* that it was given; NULL: the version's */
    struct sl_assemble *assemble;
    struct sl_ranges *ranges;          /* NULL: no memory for it */
    struct sl_ops *ops;                /* NULL: PyTorch's operators are not wanted, or no memory */
    struct sl_intern *details;         /* of operators; NULL: none */
    struct sl_source_readers *readers; /* NULL: no memory for them, or for ranges */
    struct sl_source_lost lost_by_sources;
    void (*decoded)(void *pipeline, const struct sl_event *ev); /* the decoder's sink */
    struct sl_ring *ring;
    struct sl_outputs outputs;
    size_t outputs_bytes;
    struct sl_edge_rows *edges; /* NULL: no memory for it */
    struct sl_writer *writer;

    /* The window, as rows are judged by it: nothing is in [NEVER, NEVER). */
    uint64_t from_ns, until_ns;
    uint64_t seen_ns; /* up to here it is known whether the window's end has come */
    uint64_t now_ns;  /* monotonic: of the delivery in progress */

    int kinds_on;
    uint64_t since_delivery; /* events pushed */
    /* All that ended before complete_ns was decoded; the writer was told of told_ns, because some
     * of it was still held by assemble. */
    uint64_t complete_ns, told_ns;
    uint64_t lost; /* records, at the last delivery */

    /* A process that initialises CUDA and never uses it leaves no file, although some CUPTI makes
     * records of its devices: a window that nobody asked for by hand is opened for the writer only
     * once something was used, or one was asked for. */
    int used;
    struct sl_event opening; /* kind 0: none is held back */

    /* CUPTI tells of its own costs before anything else, of its buffer's request for one. Those
     * rows wait for the first other row, so that the devices are known when the file begins. */
    int any_row;
    struct sl_event node; /* of a graph; kind 0: none waits for room */
    unsigned early_count;
    struct sl_event early[SL_PIPELINE_EARLY_ROWS];

    /* By correlation id: the start of its arrows went with one to behind the window. */
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
/* A row of the window's file, or counted as dropped. */
void sl_outlet_push(struct sl_pipeline *p, const struct sl_event *ev);
/* Judges the row first: outside the window it is counted, and goes on for its edges alone. */
void sl_outlet_row(struct sl_pipeline *p, const struct sl_event *ev);
/* What is told once. 0; -ENOBUFS: no room, counted. */
int sl_outlet_meta(struct sl_pipeline *p, const struct sl_event *ev);
/* The rows that were kept back until the devices are known. */
void sl_outlet_early_rows(struct sl_pipeline *p);
int sl_outlet_in_window(const struct sl_pipeline *p, const struct sl_event *ev);

/* window_filter.c */
/* The first arrow of a call has the start of all; if it leads to behind the window, the next one in
 * it gets that. */
void sl_pipeline_arrow(struct sl_pipeline *p, struct sl_event *flow);

/* ranges.c: all of it does nothing where ranges are not wanted. */
void sl_pipeline_ranges_create(struct sl_pipeline *p);
void sl_pipeline_ranges_destroy(struct sl_pipeline *p);
/* Marks, and names of rows that belong to no thread, as read. */
void sl_pipeline_ranges_take(void *pipeline, const struct sl_event *ev);
void sl_pipeline_ranges_count(const struct sl_pipeline *p);
/* An assembled event, before it goes on; a call gets its innermost range. `for_thread`: the one
 * that its thread works for, 0: not known. */
void sl_pipeline_ranges_event(struct sl_pipeline *p, struct sl_event *ev, uint32_t for_thread);
void sl_pipeline_ranges_thread(struct sl_pipeline *p, const struct sl_event *ev);
/* The window is another one. */
void sl_pipeline_ranges_window(struct sl_pipeline *p);
void sl_pipeline_ranges_complete(struct sl_pipeline *p, uint64_t complete_ns);
void sl_pipeline_ranges_close(struct sl_pipeline *p, uint64_t closed_ns);

/* ops.c: all of it does nothing where operators are not wanted. After the ranges. */
void sl_pipeline_ops_create(struct sl_pipeline *p);
void sl_pipeline_ops_destroy(struct sl_pipeline *p);
void sl_pipeline_ops_count(const struct sl_pipeline *p);
/* All that threads have recorded so far was read. */
void sl_pipeline_ops_begun(struct sl_pipeline *p);
/* A call gets its operator; see sl_ops_call(). */
uint32_t sl_pipeline_ops_event(struct sl_pipeline *p, struct sl_event *ev);
void sl_pipeline_ops_complete(struct sl_pipeline *p, uint64_t complete_ns);
void sl_pipeline_ops_open(struct sl_pipeline *p);
void sl_pipeline_ops_close(struct sl_pipeline *p, uint64_t closed_ns);

/* lanes.c: nothing where neither is wanted. */
void sl_pipeline_lanes_create(struct sl_pipeline *p);
void sl_pipeline_lanes_destroy(struct sl_pipeline *p);
/* What threads tell goes first, and the file begins before it: whether a buffer shows that the GPU
 * is used must be known before it is decoded. */
void sl_pipeline_lanes_look(struct sl_pipeline *p, const uint8_t *data, size_t valid);
/* What was called by now, before what CUPTI tells of it. A process that has not used the GPU has no
 * file to show it in: it stays where it is. */
void sl_pipeline_lanes_read(struct sl_pipeline *p);

#endif
