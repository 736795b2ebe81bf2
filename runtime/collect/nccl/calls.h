/*
 * calls.h - the calls of NCCL that the program has made, from NCCL's profiler and its NVTX ranges.
 *
 * NCCL's profiler reports AlltoAll, Gather and Scatter only as their sends and receives, and no
 * reduction. The NVTX range around a call has both. NCCL 2.27 reports no calls at all, so there the
 * range is the call.
 *
 * Threads: one owner, the recorder thread. Memory: part of the owner's mapping.
 */
#ifndef SL_NCCL_CALLS_H
#define SL_NCCL_CALLS_H

#include <stdint.h>

#include "collect/nccl/order.h"
#include "collect/nccl/plugin.h"
#include "collect/nccl/ranges.h"

enum {
    SL_NCCL_CALLS_KEPT = 4096, /* calls that are kept, a power of two */
    SL_NCCL_CALLS_LOOK = 1024, /* calls among which the calls of a group are looked for */
};

struct sl_nccl_call {
    /* the event, with the name and root of the range. Its stamp is the call's time in ns. */
    struct sl_nccl_event event;
    uint64_t whole;     /* the same for all messages of one AlltoAll, Gather or Scatter */
    uint32_t reduction; /* number of a text; 0: not known */
    int is_of_messages; /* 1: the event is a message of an AlltoAll, Gather or Scatter */
};

/* All zero: no call. */
struct sl_nccl_calls {
    struct sl_nccl_call call[SL_NCCL_CALLS_KEPT];
    uint64_t count; /* calls so far */
    uint64_t odd;   /* calls that the profiler and the range describe differently */
};

void sl_nccl_calls_add(struct sl_nccl_calls *c, const struct sl_nccl_ordered *it);

/* Returns the call with this handle, or NULL if it is not known. */
const struct sl_nccl_call *sl_nccl_calls_find(const struct sl_nccl_calls *c, uint64_t handle);

/* Returns the call `back` calls ago (1: the last), or NULL if it is not looked at. */
const struct sl_nccl_call *sl_nccl_calls_back(const struct sl_nccl_calls *c, uint64_t back);

/* Returns the call of a collective or message of NCCL 2.27: the range that is open, or in a group
 * an earlier range of the thread with the same function, communicator and size. */
struct sl_nccl_call sl_nccl_calls_by_range(struct sl_nccl_calls *c, struct sl_nccl_ranges *ranges,
                                           const struct sl_nccl_ordered *it);

#endif
