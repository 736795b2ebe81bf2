/*
 * parts.h - divides the time of each device in each step into parts that add up to the step.
 *
 * At each moment a device is in one part, the first that holds: it computes; it communicates; it
 * copies; it is idle. Idle time is divided further by what the CPU did (idle.h).
 *
 * A GPU operation belongs to the step in which its launch began. The interval of a step on a device
 * runs from the latest end of the operations of earlier steps to the latest end of its own. What
 * was launched between two steps has an interval of its own, without a step. The first interval of
 * a device begins with its first operation. So all intervals together are the time from the first
 * operation's start to the last end, without gaps.
 *
 * Threads: one owner. Memory: 40 bytes for each operation while a recording is divided, and 160
 * bytes for each step and device of the result.
 */
#ifndef SL_REPORT_PARTS_H
#define SL_REPORT_PARTS_H

#include "report/recording.h"

enum sl_part {
    SL_PART_COMPUTE,  /* a kernel that is not communication runs */
    SL_PART_TRANSFER, /* only communication runs, and all ranks have begun it, as far as is known */
    SL_PART_WAITING,  /* only communication runs, and waits for the last rank to begin */
    SL_PART_COPY,     /* only copies and memsets run */
    /* Idle time, by what kept the next operation from starting earlier. */
    SL_PART_SYNC,   /* the launching thread was in a call that waited for the GPU */
    SL_PART_CPU,    /* the launching thread did other work */
    SL_PART_LOADER, /* the launching thread fetched a batch of data */
    SL_PART_LAUNCH, /* the launch was under way */
    SL_PART_QUEUED, /* the launch was over, so the GPU waited for other GPU work, or for itself */
    SL_PART_UNKNOWN,
    SL_PART_COUNT
};

/* Returns a name such as "compute". */
const char *sl_part_name(enum sl_part part);

/* The interval of a step on one device. The parts add up to end_ns - begin_ns. */
struct sl_interval {
    uint64_t begin_ns, end_ns;
    uint64_t part_ns[SL_PART_COUNT];
    uint64_t after_sync_ns; /* the part of SL_PART_CPU in which the thread came out of a wait */
    uint64_t between_ns;    /* the part of SL_PART_LAUNCH in gaps between queued operations */
    uint64_t ops;           /* number of operations that were launched in the step */
    uint32_t step;          /* index of the step + 1; 0: between steps */
    uint8_t device;
};

/* A time in which a device was idle, divided by its causes. */
struct sl_gap {
    uint64_t begin_ns, end_ns;
    uint64_t part_ns[SL_PART_COUNT];   /* of the idle parts; they add up to end_ns - begin_ns */
    const struct sl_report_op *next;   /* the operation that ended the gap */
    const struct sl_report_wait *wait; /* the wait that took most of SL_PART_SYNC; NULL if none */
    /* The CUDA call in which the launching thread spent most of SL_PART_CPU, and that time; NULL if
     * it was in no long one. */
    const struct sl_report_launch *call;
    uint64_t call_ns;
    uint32_t interval; /* index into sl_parts.interval */
    int is_after_sync; /* 1: the launching thread was in a wait when the gap began */
    int is_between; /* 1: SL_PART_LAUNCH, though the launch had ended before the gap began: `next`
                       was queued, so the CPU was early enough */
};

struct sl_parts {
    struct sl_interval *interval; /* by device and time */
    size_t intervals;
    struct sl_gap *gap; /* by device and time */
    size_t gaps;
};

/* The moment at which the last rank began a collective, for each operation of the recording, in the
 * same order. 0: not known. NULL: not known for any. */
struct sl_peers {
    uint64_t *last_start_ns;
    int64_t *last_rank; /* the rank that began last */
};

void sl_peers_free(struct sl_peers *p);

/* Divides a recording. Returns 0 or -ENOMEM. */
int sl_parts_make(struct sl_parts *out, const struct sl_recording *r, const struct sl_peers *peers);
void sl_parts_free(struct sl_parts *p);

#endif
