/*
 * chakra.h - events and edges -> a Chakra execution trace (.et).
 *
 * What stands in the file, and why, is told in docs/chakra.md. In short: one node per GPU
 * operation, CPU rows cut into exclusive pieces chained in thread order, gaps as nodes, a call that
 * waits as two nodes, and everything that one node had to wait for as a data dependency, so that a
 * simulator can give the recorded times back.
 *
 *   sl_chakra_create(&c, &opt);
 *   sl_chakra_begin(c, sink, &meta);
 *   sl_chakra_events(c, ev, n); sl_chakra_edges(c, edge, n);     as they come, in any order
 *       (operators and ranges before what is inside them has been written: when they begin)
 *   sl_chakra_advance(c, complete_ns);                           now and then
 *   sl_chakra_end(c);                                            the sink stays the caller's
 *
 * Written online: a node goes out when nothing that belongs before it can still come. That is what
 * sl_chakra_advance() tells, so whoever calls it decides how long late records are waited for.
 *
 * Threads: one owner. Memory: fixed by `cap_bytes`, whatever the trace; what had to be left out for
 * it is counted.
 */
#ifndef SL_CHAKRA_H
#define SL_CHAKRA_H

#include <stddef.h>
#include <stdint.h>

#include "base/intern.h"
#include "event/collective.h"
#include "event/event.h"
#include "event/shape.h"
#include "sync/edge.h"
#include "write/sink/sink.h"
#include "write/trace_meta.h"

struct sl_chakra_options {
    const struct sl_intern *intern;
    const struct sl_shape_table *shapes;
    size_t cap_bytes; /* 0 = 24 MiB; at least 12 MiB */
    /* Name of a call whose event carries none; NULL: none known. */
    const char *(*api_name)(enum sl_event_kind domain, uint32_t cbid);
    /* Asked for kernels whose name begins with "nccl": 1 and *out when it is known what it does.
     * Others are computation to a simulator. NULL: nothing is known. */
    int (*collective)(void *user, const struct sl_event *op, struct sl_collective *out);
    void *collective_user;
    /* Asked for operators whose event has a `shape`, or a record function: more fields of the node
     * (inputs, outputs, attributes) as bytes of the schema; returns how many. NULL: there are none.
     */
    size_t (*more)(void *user, const struct sl_event *op, char *out, size_t room);
    void *more_user;
    /* What is written of an event's thread; NULL: itself. */
    int64_t (*thread)(void *user, uint32_t thread);
    void *thread_user;
    uint64_t correlation_mask; /* bits of a correlation id that are written; 0: all */
    int64_t clock_offset_ns;   /* of the events' clock to the epoch; 0 in a job */
};

/* Of the open file, or of the last one. */
struct sl_chakra_counts {
    uint64_t nodes;
    uint64_t cpu_nodes, gap_nodes, wait_nodes, gpu_nodes, comm_nodes;
    uint64_t comm_unknown;         /* NCCL kernels of which nothing, or not all, is known */
    uint64_t edges;                /* sync edges written */
    uint64_t edges_no_source;      /* left out: their source is not in the file before them */
    uint64_t edges_no_destination; /* left out: what waited has no row, or waited for nothing */
    uint64_t edges_cycle;          /* left out: source ends after the destination, a cycle */
    uint64_t edges_full;           /* left out: no room to hold them */
    uint64_t handovers;            /* backward passes whose caller is known */
    uint64_t callers_unknown;      /* rows of autograd that may be for one of several threads */
    uint64_t gpu_without_launch;   /* GPU operations whose call was not in the file by then */
    uint64_t gpu_overlaps;         /* GPU operations that began before their call had ended... */
    uint64_t gpu_overlaps_ns;      /* ...by how much in all: that much later in a replay */
    uint64_t stream_overlaps;      /* GPU operations that began before their stream was free... */
    uint64_t stream_overlaps_ns;   /* ...by how much in all: so much their nodes are shorter */
    uint64_t unexplained;          /* GPU operations that began over 20 us after all parents... */
    uint64_t unexplained_ns;       /* ...and by how much more in all */
    uint64_t rows_cut;             /* CPU rows that came when part of their time was written */
    uint64_t rows_late;            /* CPU rows that came when all of it was: left out */
    uint64_t rows_full;            /* more threads were busy than there is room for: left out */
    uint64_t rows_deep;            /* too deep in others: part of their time is the innermost's */
    uint64_t rows_invalid;         /* without a time, or ending before they start: left out */
    uint64_t gpu_late;             /* came after a later operation of their stream */
    uint64_t forced;               /* times that nodes went out early for lack of room */
    uint64_t lanes_forgotten;      /* threads and streams idle for long: should they go on, anew */
};

struct sl_chakra;

/* 0, -ENOMEM, or -EINVAL (cap too small). */
int sl_chakra_create(struct sl_chakra **out, const struct sl_chakra_options *opt);
void sl_chakra_destroy(struct sl_chakra *c); /* NULL is fine; no file may be open */

/* Begins a file. -EBUSY if one is open. The sink and what `meta` points to are borrowed. */
int sl_chakra_begin(struct sl_chakra *c, struct sl_sink *sink, const struct sl_trace_meta *meta);

/* Events as assembled, in any order; those that are no row of a CPU or GPU are passed over. 0 or
 * the sticky error of this file. */
int sl_chakra_events(struct sl_chakra *c, const struct sl_event *ev, size_t count);

/* Edges as found, before or after the events they join. */
int sl_chakra_edges(struct sl_chakra *c, const struct sl_edge *edge, size_t count);

/* The caller has given every event and every edge of what ended at or before `complete_ns`, and
 * every operator and range that began by then. */
int sl_chakra_advance(struct sl_chakra *c, uint64_t complete_ns);

/* Hands all nodes written so far to the sink (the caller then syncs the sink). */
int sl_chakra_flush(struct sl_chakra *c);

/* Writes what is held, and ends the file. */
int sl_chakra_end(struct sl_chakra *c);

void sl_chakra_get_counts(const struct sl_chakra *c, struct sl_chakra_counts *out);

/* Ranks of a communicator, number 1 or more; told once, before its first collective, and known for
 * all files that follow. 0 or -ENOSPC; -EINVAL for number 0. */
int sl_chakra_group(struct sl_chakra *c, uint32_t number, const uint32_t *rank, size_t ranks);

/* The comm-group file that ASTRA-sim wants beside the traces: {"1": [0, 1]}. 0 or -errno. */
int sl_chakra_put_groups(const struct sl_chakra *c, struct sl_sink *sink);

#endif
