/*
 * build.h - the graph of a critical path while it is built (threads.c, streams.c, critical.c).
 *
 * Threads: one owner. Memory: see critical.h.
 */
#ifndef SL_CRITICAL_BUILD_H
#define SL_CRITICAL_BUILD_H

#include "base/store.h"
#include "critical/critical.h"

/* A call, operator or range of the chosen time. */
struct sl_build_cpu {
    const struct sl_report_cpu *row;
    uint32_t start, end; /* nodes */
    float factor;        /* of --scale, with that of the operators around */
    uint8_t launches;    /* 1: a GPU operation has its correlation id */
    uint8_t is_removed;  /* 1: all operations that it launched are removed */
    /* The latest end of GPU work for which the call waited, while it was under way; 0: none. */
    uint64_t awaited_ns;
};

/* A GPU operation that was launched in the chosen time. */
struct sl_build_op {
    const struct sl_report_op *row;
    uint32_t start, end; /* nodes */
    uint32_t launch;     /* index into `cpu` + 1 of the call; 0: not recorded */
    float factor;
    /* The latest end for which a sync edge says that the operation waited; 0: none. */
    uint64_t awaited_ns;
    uint32_t awaited; /* its node; SL_GRAPH_NONE: the source was launched before the chosen time */
    /* The same for the operation before it on its stream, and before it in its CUDA graph. */
    uint64_t previous_ns, inside_ns;
    uint32_t previous, inside;
    uint64_t next_launch_ns; /* begin of the launch of the next operation of the stream; 0: none */
};

struct sl_build {
    struct sl_critical *out;
    const struct sl_critical_options *options;
    struct sl_build_cpu *cpu; /* by thread and start, outer ones first */
    struct sl_build_op *op;   /* by device and start */
    size_t cpus, ops;
    struct sl_store store;
    struct sl_map calls;  /* correlation id + 1 -> index into `cpu` + 1 */
    struct sl_map starts; /* hash of correlation id and start -> index into `op` + 1 */
    uint32_t source;      /* the node at which the chosen time begins; none with --hta */
    uint32_t last_cpu;    /* the node of the last end on a thread, or `source` */
};

/* Selects calls, operators and GPU operations. Returns 0, -ENOMEM or -EFBIG. */
int sl_build_select(struct sl_build *b);

/* Returns the call with this correlation id, or NULL. */
struct sl_build_cpu *sl_build_call(const struct sl_build *b, uint64_t correlation);
/* Returns the operation with this correlation id and start, or NULL. */
struct sl_build_op *sl_build_op(const struct sl_build *b, uint64_t correlation, uint64_t start_ns);

/* Adds an edge of this kind. A weight is not more than the time between the nodes. */
struct sl_graph_edge *sl_build_edge(struct sl_build *b, uint32_t from, uint32_t to, uint64_t ns,
                                    enum sl_critical_kind kind, uint32_t name, uint32_t lane);

/* Finds what calls and operations waited for by sync edges. Adds the nodes of all GPU operations
 * (syncs.c). Called before the next two. */
int sl_build_awaited(struct sl_build *b);
/* Adds the nodes and edges of all threads (threads.c). */
int sl_build_threads(struct sl_build *b);
/* Adds the edges of all GPU operations to each other, and from their launches (streams.c). */
int sl_build_streams(struct sl_build *b);
/* Adds the sync edges (syncs.c). */
int sl_build_syncs(struct sl_build *b);

/* Returns the node of a source that was launched before the chosen time and ended at `ns`. */
uint32_t sl_build_earlier(struct sl_build *b, uint64_t ns);

#endif
