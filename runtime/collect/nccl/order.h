/*
 * order.h - puts the events that NCCL sent on several threads in the order of time.
 *
 * The lanes of the threads are read one after the other. A call, the launch of its kernel and the
 * collective in that kernel can be reported on three threads.
 *
 * Threads: one owner, the recorder thread. Memory: part of the owner's mapping.
 */
#ifndef SL_NCCL_ORDER_H
#define SL_NCCL_ORDER_H

#include <stdint.h>

#include "collect/nccl/plugin.h"
#include "collect/nccl/ranges.h"

enum {
    SL_NCCL_ORDER = 2048, /* events that are put in order at one time */
};

/* An event with the range that was open on its thread. */
struct sl_nccl_ordered {
    uint64_t ns;
    uint32_t thread;
    struct sl_nccl_event event;
    struct sl_nccl_range range;
};

/* All zero: empty. */
struct sl_nccl_order {
    unsigned count;
    uint16_t place[SL_NCCL_ORDER]; /* indexes of the entries, in the order of time */
    struct sl_nccl_ordered entry[SL_NCCL_ORDER];
};

/* Returns an entry at the given time for the caller to fill, after the entries of the same time.
 * There must be room. */
struct sl_nccl_ordered *sl_nccl_order_add(struct sl_nccl_order *o, uint64_t ns);

#endif
