/*
 * recording.h - the facts of one trace file that the metrics of a report need, in arrays.
 *
 * A recording is read once, through the same code that finds edges (replay/replay.h). All metrics
 * work on the arrays, so a further metric costs no further reading. Names of all recordings of a
 * report are interned in one table, so equal names have equal ids on all ranks.
 *
 * Threads: one owner; helper threads read the file. Memory: 64 bytes for each GPU operation, 40 for
 * each launch and each long call, and 48 for each wait. If a metric needs them, 32 bytes for each
 * operator and range with a CUDA call inside, 24 for each range of the user, 32 for each sequence
 * number and 40 for each send and receive. With SL_NEED_PATH, 40 bytes for each call, operator and
 * range, and 48 for each sync edge. While a file is read, also the memory that replay.h states.
 */
#ifndef SL_REPORT_RECORDING_H
#define SL_REPORT_RECORDING_H

#include <stddef.h>
#include <stdint.h>

#include "base/intern.h"
#include "read/header.h"
#include "read/trace_events.h"
#include "read/work.h"
#include "report/spill.h"
#include "sync/edge.h"

#define SL_REPORT_ORIGIN_NS SL_TRACE_EVENTS_ORIGIN_NS

struct sl_report_op {
    uint64_t start_ns, end_ns;
    uint64_t correlation;
    uint64_t bytes;  /* of a copy or memset, or this rank's bytes of a collective; 0: not known */
    uint32_t launch; /* index into `launch` + 1; 0: the file has no call that launched this */
    uint32_t name;   /* intern id in sl_recordings.names */
    uint32_t stream;
    uint32_t graph; /* CUDA graph id; 0: not from a graph */
    uint32_t part;  /* the step, or the time between two steps, in which the launch began; see
                       sl_recording_part() */
    uint32_t
        awaited;    /* name of the operation on another stream that this one waited for; 0: none */
    uint32_t group; /* number of the group of ranks of a collective, plus 1; 0: not known */
    uint8_t device; /* SL_DEVICE_NONE: not known */
    uint8_t work : 4;       /* enum sl_work */
    uint8_t is_node : 1;    /* 1: a node of a CUDA graph that has its own row */
    uint8_t has_waited : 1; /* 1: the operation began later because of `awaited` */
    uint8_t is_shared : 1;  /* 1: a kernel that several collectives share */
    uint8_t collective;     /* enum sl_collective_type, if `group` is not 0 */
    uint8_t dtype;          /* of a collective: see sl_collective_dtype(); 0: not known */
};

struct sl_report_launch {
    uint64_t start_ns, end_ns;
    uint32_t thread;
    uint32_t name;
    uint32_t place; /* the innermost operator or range around the call; 0: none */
    uint32_t line;  /* the user's line of code; 0: not known */
    uint32_t range; /* index into `range` + 1 of the innermost operator or range around the call; 0:
                       none, or not needed */
};

/* A call that lasts as long can be why the next launch is late. */
#define SL_REPORT_LONG_CALL_NS 10000u

/* An operator, or a range of the user, in which a CUDA call was made. */
struct sl_report_range {
    uint64_t start_ns, end_ns;
    uint32_t thread, name;
    uint32_t around;     /* index into `range` + 1 of the next outer one, which comes earlier */
    uint8_t is_step;     /* 1: a step of torch.profiler */
    uint8_t is_operator; /* 1: an operator; else a range of the user or a step */
};

/* A call that waited for the GPU, or that waits by its nature (cudaStreamSynchronize). */
struct sl_report_wait {
    uint64_t start_ns, end_ns; /* of the call */
    uint64_t correlation;
    uint64_t wait_ns; /* time that the call waited for GPU work; 0: none, or not known */
    uint32_t thread;
    uint32_t name, place, line;
    uint32_t source; /* name of the awaited operation; 0: not known */
    uint8_t kind;    /* enum sl_edge_kind; SL_EDGE_KIND_COUNT: the call has no edge */
    uint8_t basis;   /* enum sl_edge_basis */
};

/* What a thread did: a call of CUDA, an operator, or a range of the user. */
enum sl_report_cpu_kind {
    SL_CPU_CALL,
    SL_CPU_OPERATOR,
    SL_CPU_RANGE
};

struct sl_report_cpu {
    uint64_t start_ns, end_ns;
    uint64_t correlation; /* of a call; else 0 */
    uint32_t thread, name;
    uint32_t line; /* the user's line of code around a call; 0: not known */
    uint8_t kind;  /* enum sl_report_cpu_kind */
    uint8_t waits; /* 1: a call that waits by its nature (cudaStreamSynchronize) */
    uint8_t is_step;
};

/* A sync edge (sync/edge.h). */
struct sl_report_edge {
    uint64_t source_correlation, source_start_ns, source_end_ns;
    uint64_t dst_correlation;
    uint64_t dst_start_ns; /* of a GPU operation that waited */
    uint8_t at_start;      /* 1: a GPU operation waited; 0: a call */
    uint8_t kind;          /* enum sl_edge_kind */
    uint8_t basis;         /* enum sl_edge_basis */
};

/* A time during which a thread fetched the next batch of data. */
struct sl_report_load {
    uint64_t start_ns, end_ns;
    uint32_t thread;
};

/* A matrix product or convolution (product.h). */
struct sl_report_product {
    uint64_t start_ns, end_ns;
    uint32_t thread, name;
    uint32_t sizes, values; /* "Input Dims" and "Concrete Inputs": names of their JSON text */
    uint32_t around;        /* index into `product` + 1 of the next outer one; 0: none */
};

/* A range of the user, whether or not a CUDA call was made in it. */
struct sl_report_annotation {
    uint64_t start_ns, end_ns;
    uint32_t thread, name;
};

/* An operator of autograd or one that autograd recorded, with PyTorch's sequence number: the
 * backward operator has that of its forward operator. */
struct sl_report_sequence {
    uint64_t start_ns, end_ns;
    int64_t number;
    uint32_t thread;
};

/* A kernel that sends to one rank or receives from one. */
struct sl_report_pair {
    uint64_t correlation; /* of the operation */
    uint64_t start_ns, end_ns;
    uint32_t group; /* as in struct sl_report_op */
    int32_t peer;   /* a rank of the job */
    uint8_t device;
    uint8_t is_send;
};

/* A call that waited, or a collective, with its line of code. */
struct sl_report_site {
    uint64_t start_ns, end_ns;
    uint32_t thread, line;
};

/* A time that CUPTI or the driver spent on something else than the program's calls. */
struct sl_report_overhead {
    uint64_t start_ns, end_ns;
    uint32_t name;
};

struct sl_report_step {
    uint64_t start_ns, end_ns; /* on the CPU */
    uint64_t number;           /* 12 of "ProfilerStep#12" */
};

/* A group of ranks that is not all ranks. */
struct sl_report_group {
    uint32_t number;
    size_t ranks;
};

/* Times are the file's, in ns, plus SL_REPORT_ORIGIN_NS. */
struct sl_recording {
    const char *path; /* borrowed */
    struct sl_header header;
    struct sl_report_op *op; /* by device, start and correlation */
    struct sl_report_launch *launch;
    /* Long calls that do not wait by their nature, also such without GPU work; by thread and start,
     * none inside another. */
    struct sl_report_launch *call;
    struct sl_report_wait *wait; /* by thread and start */
    struct sl_report_load *load; /* by thread and start */
    struct sl_report_step *step; /* by start */
    struct sl_report_group *group;
    struct sl_report_range *range;     /* by thread and start; none unless SL_NEED_RANGES */
    struct sl_report_product *product; /* by thread and start; none unless SL_NEED_PRODUCTS */
    struct sl_report_overhead *overhead;
    struct sl_report_site *site;             /* by thread and start */
    struct sl_report_annotation *annotation; /* by thread and start, outer ones first; none unless
                                                SL_NEED_PHASES; also the next two */
    struct sl_report_sequence *sequence;     /* by number and start */
    struct sl_report_pair *pair;             /* in the order of enqueue */
    struct sl_report_cpu *cpu;               /* in no order; none unless SL_NEED_PATH */
    struct sl_report_edge *edge;             /* in order of enqueue; none unless SL_NEED_PATH */
    size_t ops, launches, calls, waits, loads, steps, groups, ranges, products, overheads, sites,
        annotations, sequences, pairs, cpus, edges;
    uint64_t lost_edges[SL_EDGE_LOST_COUNT];
    int has_sync_rows; /* 1: the file has rows of CUDA's synchronization, or edges of waits */
    int status;        /* 1: only a part of the file was read; the command has said so */
    int is_truncated;  /* 1: the file is truncated or damaged, and was read up to there */
    uint64_t left_out; /* events with impossible ids or times */
};

/* Facts that are kept only if a wanted metric needs them. */
enum sl_need {
    SL_NEED_RANGES = 1 << 0,   /* operators, and ranges of the user */
    SL_NEED_PRODUCTS = 1 << 1, /* matrix products and convolutions, with the sizes of their inputs
                                */
    SL_NEED_PHASES = 1 << 2,   /* ranges of the user, sequence numbers, and sends and receives */
    SL_NEED_PATH = 1 << 3      /* all calls, operators and ranges, and all sync edges */
};

struct sl_recordings {
    struct sl_intern *names;
    struct sl_spill spill; /* has all arrays whose size depends on the number of events */
    struct sl_recording *of;
    size_t count;
    uint32_t needs; /* flags of enum sl_need, set before the first file is read */
};

#define SL_RECORDINGS_MEMORY (2ull << 30) /* in bytes, the default */

/* Makes room for `most` recordings. What does not fit into `memory_bytes` goes to temporary files.
 * Returns 0 or -ENOMEM. */
int sl_recordings_create(struct sl_recordings *r, size_t most, uint64_t memory_bytes);
void sl_recordings_free(struct sl_recordings *r);
void sl_recording_free(struct sl_recordings *all, struct sl_recording *r);

struct sl_command;

/* Reads the file at `path` (borrowed) and adds it. Returns an exit status (args/args.h); of a file
 * that cannot be read, nothing is added. What is wrong is said in one line on stderr. */
int sl_recordings_read(struct sl_recordings *r, const struct sl_command *command, const char *path);

/* Times of the CPU are divided into parts, numbered in order: 2 i + 1 is step i, 2 i is the time
 * before step i and after the step before. Returns the part that holds `ns`. */
uint32_t sl_recording_part(const struct sl_recording *r, uint64_t ns);

/* Returns the index of the first site of the thread that begins at `ns` or later, or of a later
 * thread. */
size_t sl_recording_site(const struct sl_recording *r, uint32_t thread, uint64_t ns);

/* Returns the number of ranks of the group of an operation (sl_report_op.group), or 0 if it is not
 * known. */
size_t sl_recording_group_size(const struct sl_recording *r, uint32_t group);

#endif
