/*
 * critical.h - the critical path of a step: which work had to become shorter for the step to become
 * shorter.
 *
 * The moments of a step (begin and end of each call, operator and GPU operation) are nodes of a
 * graph (graph.h). Its edges are what one moment had to wait for:
 *   - a thread does one thing after the other;
 *   - an operation begins after its launch, and after the operation before it on its stream;
 *   - an operation or a call waits for the source of a sync edge;
 *   - a node of a CUDA graph begins after the node of the same replay that ended last before it
 *     (inferred, because recordings do not have the dependencies of nodes);
 *   - a thread that did nothing goes on after what another thread did meanwhile (inferred; so the
 *     backward pass, which runs on a thread of its own, follows the forward pass).
 * The edge that held a moment back last has all the time until that moment, and the others have
 * the least that they need. So the longest path to the last moment is as long as the step was. With
 * other lengths of kernels or operators, the same graph gives the length of the step that would be.
 *
 *   sl_critical_choose(&window, ...);  sl_critical_make(&path, ...);  print;  sl_critical_free();
 *
 * Threads: one owner. Memory: about 250 bytes for each event of the chosen time, at most
 * SL_CRITICAL_EVENTS of them.
 */
#ifndef SL_CRITICAL_H
#define SL_CRITICAL_H

#include <stddef.h>
#include <stdint.h>

#include "critical/graph.h"
#include "report/recording.h"

/* A shorter call that waits by its nature (cudaStreamSynchronize) may have waited for nothing. */
#define SL_CRITICAL_LONG_WAIT_NS 10000u

/* The largest number of calls, operators and GPU operations of the chosen time. */
#define SL_CRITICAL_EVENTS (8u << 20)

/* What the time of an edge was spent on. */
enum sl_critical_kind {
    SL_CRITICAL_OPERATOR, /* the CPU in an operator */
    SL_CRITICAL_CALL,     /* the CPU in a call of CUDA */
    SL_CRITICAL_OUTSIDE,  /* the CPU outside of operators and calls, such as Python */
    SL_CRITICAL_LAUNCH, /* from the begin of a launch to that of its operation, on a free stream */
    SL_CRITICAL_KERNEL,
    SL_CRITICAL_COMMUNICATION,
    SL_CRITICAL_COPY,    /* a copy or memset */
    SL_CRITICAL_QUEUE,   /* between two operations of a stream, the second of which was queued */
    SL_CRITICAL_SYNC,    /* from the awaited end to the call's return or the operation's begin */
    SL_CRITICAL_WAIT,    /* the CPU in a call that waits, for what is not known */
    SL_CRITICAL_EARLIER, /* GPU work that was launched before the chosen time */
    SL_CRITICAL_UNKNOWN, /* before an operation whose launch was not recorded */
    SL_CRITICAL_KINDS
};

/* Returns a word for programs, such as "launch". */
const char *sl_critical_kind_name(enum sl_critical_kind kind);

/* ---- the chosen time ---- */

enum sl_critical_what {
    SL_CRITICAL_STEP,
    SL_CRITICAL_RANGE,
    SL_CRITICAL_ALL
};

struct sl_critical_window {
    uint64_t begin_ns, end_ns; /* on the CPU */
    uint64_t number;           /* of the step, or of the range among those of its name, from 0 */
    uint32_t name;             /* of the range */
    size_t candidates;         /* number of full steps, or of ranges, from which it was chosen */
    enum sl_critical_what what;
    int is_middle; /* 1: the one with the median length was taken, because none was named */
};

/* Chooses the step `*step`, or the range of this name (sl_critical_matches()), or all of the
 * recording. Without any, the step of median length is taken, or all if there is none. Returns 0,
 * -ENOENT if there is no such step or range, or -ENOMEM. */
int sl_critical_choose(struct sl_critical_window *out, const struct sl_recordings *all,
                       const struct sl_recording *r, const uint64_t *step, const char *range,
                       int is_all);

/* ---- other lengths ---- */

/* The kernels, copies and operators of this name take `factor` times as long. */
struct sl_critical_scale {
    const char *name; /* not terminated; * stands for any text */
    size_t size;
    double factor;           /* 0: the work is removed, with its launch */
    uint64_t ops, operators; /* how many have the name */
};

/* Returns 1 if the name is the pattern's, in which * stands for any text. */
int sl_critical_matches(const char *pattern, size_t size, const char *name);

/* Reads "NAME=FACTOR" (borrowed). Returns 0 or -EINVAL. */
int sl_critical_scale_read(struct sl_critical_scale *out, const char *text);

/* ---- the path ---- */

struct sl_critical_options {
    int hta; /* 1: the edges and weights of HolisticTraceAnalysis 0.5.0 (docs/critical-path.md) */
    struct sl_critical_scale *scale;
    size_t scales;
};

struct sl_critical {
    const struct sl_recordings *all;
    const struct sl_recording *recording;
    struct sl_critical_window window;
    struct sl_graph graph;
    uint32_t *path; /* edges, in the order of time */
    size_t path_edges;
    uint64_t total_ns; /* length of the path */
    uint64_t kind_ns[SL_CRITICAL_KINDS];
    uint64_t kind_edges[SL_CRITICAL_KINDS];
    uint64_t last_gpu_ns; /* end of the last GPU operation that was launched; 0: there is none */
    size_t ops, cpus;     /* in the chosen time */
    size_t sync_edges;    /* that were used */
    size_t no_launch;     /* operations whose launch was not recorded */
    size_t unexplained_waits; /* calls that wait by their nature, of which no edge is known */
    size_t circles;           /* edges that were left out, because they close a circle */
};

/* Finds the critical path of the chosen time. Returns 0, -ENOMEM, or -EFBIG if it has more than
 * SL_CRITICAL_EVENTS events. The caller calls sl_critical_free() in each case. */
int sl_critical_make(struct sl_critical *out, const struct sl_recordings *all,
                     const struct sl_recording *r, const struct sl_critical_window *window,
                     const struct sl_critical_options *options);
void sl_critical_free(struct sl_critical *c);

/* Returns an edge of the path. */
static inline const struct sl_graph_edge *sl_critical_edge(const struct sl_critical *c, size_t i)
{
    return &c->graph.edge[c->path[i]];
}

#endif
