/*
 * ranges.h - the calls of NCCL that are open on each thread, as NCCL's NVTX ranges describe them.
 *
 * NCCL opens a range of the NVTX domain "NCCL" in each function of its API. The range names the
 * function, and its payload has the reduction, which NCCL's profiler events lack. Events of the
 * profiler that arrive inside a range belong to its call.
 *
 * Threads: one owner, the recorder thread. Memory: part of the owner's mapping.
 */
#ifndef SL_NCCL_RANGES_H
#define SL_NCCL_RANGES_H

#include <stdint.h>

#include "collect/lane/lane.h"

enum {
    SL_NCCL_RANGE_THREADS = 64, /* threads whose ranges are known at one time */
    SL_NCCL_RANGE_DEPTH = 8,    /* deeper ranges are ignored; NCCL nests two or three */
    SL_NCCL_RANGE_PAST = 256,   /* ranges that are kept after their end; a power of two */
};

#define SL_NCCL_RANGE_DOMAIN "NCCL" /* name of the NVTX domain */

/* A call. Texts are numbers of base/text_table.h. */
struct sl_nccl_range {
    uint64_t id; /* different for each range; 0: no range */
    uint64_t start_ns;
    uint64_t hash, bytes; /* communicator and message size; 0: not in the payload */
    uint32_t func;        /* the function's name without "nccl" */
    uint32_t reduction;   /* 0: none */
    int32_t root, peer;   /* -1: none */
};

struct sl_nccl_range_thread {
    uint32_t thread; /* 0: free */
    uint32_t depth;
    struct sl_nccl_range range[SL_NCCL_RANGE_DEPTH];
};

/* All zero: no range is open. */
struct sl_nccl_ranges {
    uint64_t count; /* number of ranges so far */
    struct {
        uint32_t thread; /* 0: free, or the call was found */
        struct sl_nccl_range range;
    } past[SL_NCCL_RANGE_PAST]; /* calls with a communicator */
    uint64_t pasts;
    struct sl_nccl_range_thread thread[SL_NCCL_RANGE_THREADS];
};

/* Call with each record of a thread. `is_ours`: the record belongs to the NVTX domain of NCCL. */
void sl_nccl_ranges_record(struct sl_nccl_ranges *r, uint32_t thread,
                           const struct sl_lane_record *record, uint64_t ns, int is_ours);

/* Finds the thread's last call of a function before `ns`, with this communicator and size. A call
 * is found once. Returns 0 or -ENOENT. */
int sl_nccl_ranges_take(struct sl_nccl_ranges *r, uint32_t thread, uint64_t ns,
                        const struct sl_nccl_range *like, struct sl_nccl_range *out);

/* Returns the innermost range that is open on the thread, or NULL. */
const struct sl_nccl_range *sl_nccl_ranges_open(const struct sl_nccl_ranges *r, uint32_t thread);

#endif
