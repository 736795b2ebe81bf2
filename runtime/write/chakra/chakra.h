/*
 * chakra.h - writes events and edges as a Chakra execution trace (.et).
 *
 * docs/chakra.md describes the file and the reasons for its form. In short, each GPU operation is a
 * node. The slices of a CPU thread are cut into pieces that do not overlap. Each piece is a node
 * that depends on the previous piece. Gaps between slices are nodes, too. A call that waits becomes
 * two nodes. A node has a data dependency on every node that it had to wait for, so that a
 * simulator can reproduce the recorded times.
 *
 *   sl_chakra_create(&c, &opt);
 *   sl_chakra_begin(c, sink, &meta);
 *   sl_chakra_events(c, ev, n); sl_chakra_edges(c, edge, n);     in any order
 *       (operators and ranges when they begin, before the events inside them are written)
 *   sl_chakra_advance(c, complete_ns);                           repeatedly
 *   sl_chakra_end(c);                                            the caller closes the sink
 *
 * The file is written while the job runs. A node is written once no earlier event can arrive. The
 * caller reports with sl_chakra_advance() up to which time all events have arrived. So the caller
 * decides how long the writer waits for late events.
 *
 * Threads: one owner. Memory: fixed by `cap_bytes`. Anything that is left out for lack of memory is
 * counted.
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
    size_t cap_bytes; /* maximum memory in bytes; at least 12 MiB; 0 means 24 MiB */
    /* Returns the name of a call whose event has no name. NULL if no names of calls are known. */
    const char *(*api_name)(enum sl_event_kind domain, uint32_t cbid);
    /* Called for kernels whose name begins with "nccl". Returns 1 and *out if the kernel's
     * collective is known. A simulator treats kernels without a known collective as computation.
     * The pointer is NULL if no collectives are known. */
    int (*collective)(void *user, const struct sl_event *op, struct sl_collective *out);
    void *collective_user;
    /* Called for operators whose event has `inputs` or a record function. Writes more fields of the
     * node (inputs, outputs, attributes) as encoded protobuf bytes. Returns the number of bytes.
     * The pointer is NULL if there are no more fields. */
    size_t (*more)(void *user, const struct sl_event *op, char *out, size_t room);
    void *more_user;
    /* Returns the thread number to write for an event's thread. If the pointer is NULL, the event's
     * own number is written. */
    int64_t (*thread)(void *user, uint32_t thread);
    void *thread_user;
    /* mask of the bits of a correlation id that are written; 0: all bits */
    uint64_t correlation_mask;
    /* number of nanoseconds to add to event times to get the time since 1970; 0 in a job */
    int64_t clock_offset_ns;
    /* The time base of the file, if it is before the window: the ranks of a job have one base. The
     * first node then lasts from the base to the window. 0: the base is the start of the window. */
    uint64_t base_ns;
};

/* Counts of the open file. If no file is open, these are the counts of the last file. */
struct sl_chakra_counts {
    uint64_t nodes;
    uint64_t cpu_nodes, gap_nodes, wait_nodes, gpu_nodes, comm_nodes;
    uint64_t comm_unknown; /* NCCL kernels whose collective is unknown or only partly known */
    uint64_t edges;        /* sync edges written */
    /* sync edges left out because their source is not earlier in the file */
    uint64_t edges_no_source;
    /* sync edges left out because the waiting call or operation has no row, or did not wait */
    uint64_t edges_no_destination;
    /* sync edges left out because they arrived after their destination was written */
    uint64_t edges_late;
    /* sync edges left out because the source ends after the destination, so that the edge would
     * close a cycle */
    uint64_t edges_cycle;
    /* sync edges left out because there was no memory to hold them */
    uint64_t edges_full;
    uint64_t handovers; /* backward passes whose caller is known */
    /* rows of autograd threads whose caller is not known, because it may be one of several threads
     */
    uint64_t callers_unknown;
    /* autograd evaluations written before their backward operator began, so without its sequence
     * number */
    uint64_t sequences_late;
    uint64_t gpu_without_launch; /* GPU operations whose call was not yet in the file */
    uint64_t gpu_overlaps;       /* GPU operations that began before their call had ended */
    /* total time by which the operations of gpu_overlaps begin later in a replay */
    uint64_t gpu_overlaps_ns;
    uint64_t stream_overlaps; /* GPU operations that began before their stream was free */
    /* total time by which the nodes of stream_overlaps are shorter than the operations */
    uint64_t stream_overlaps_ns;
    /* GPU operations that began more than 20 us after the end of all parents */
    uint64_t unexplained;
    uint64_t unexplained_ns; /* total time by which these operations exceed the 20 us */
    uint64_t rows_cut;       /* CPU rows that were shortened because earlier rows of the thread
                              * cover part of their time */
    uint64_t rows_late;      /* CPU rows left out because earlier rows of the thread cover their
                              * whole time */
    uint64_t rows_full;      /* CPU rows left out because there were too many busy threads */
    /* CPU rows that are nested too deeply to be stored; part of their time is added to the
     * innermost enclosing row that is stored */
    uint64_t rows_deep;
    /* rows left out because they have no time, or end before they start */
    uint64_t rows_invalid;
    /* GPU operations that arrived after a later operation of their stream was written */
    uint64_t gpu_late;
    /* number of times that nodes were written early because there was no memory to hold them */
    uint64_t forced;
    uint64_t lanes_forgotten; /* idle threads and streams removed from the tables; they may become
                               * active again */
};

struct sl_chakra;

/* Returns 0, -ENOMEM, or -EINVAL if cap_bytes is too small. */
int sl_chakra_create(struct sl_chakra **out, const struct sl_chakra_options *opt);
void sl_chakra_destroy(struct sl_chakra *c); /* accepts NULL; no file may be open */

/* Begins a file. Returns -EBUSY if a file is already open. The caller keeps the ownership of `sink`
 * and *meta. */
int sl_chakra_begin(struct sl_chakra *c, struct sl_sink *sink, const struct sl_trace_meta *meta);

/* Adds assembled events, in any order. Events that are not slices are skipped. Returns 0 or the
 * sticky error of this file. */
int sl_chakra_events(struct sl_chakra *c, const struct sl_event *ev, size_t count);

/* Adds edges that the edge engine has found. The caller may add an edge before or after the events
 * that the edge connects. */
int sl_chakra_edges(struct sl_chakra *c, const struct sl_edge *edge, size_t count);

/* The caller guarantees that it has added all events that ended at or before `complete_ns`, their
 * edges, and every operator and range that began by then. */
int sl_chakra_advance(struct sl_chakra *c, uint64_t complete_ns);

/* Passes all nodes that were written so far to the sink. The caller then syncs the sink. */
int sl_chakra_flush(struct sl_chakra *c);

/* Writes all held rows and ends the file. */
int sl_chakra_end(struct sl_chakra *c);

/* Returns the number of held rows, which the file does not have yet. */
size_t sl_chakra_held(const struct sl_chakra *c);

void sl_chakra_get_counts(const struct sl_chakra *c, struct sl_chakra_counts *out);

#endif
