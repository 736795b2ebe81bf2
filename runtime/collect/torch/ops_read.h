/*
 * ops_read.h - what PyTorch's operators left in the lanes -> operators, and ranges of the
 * user's.
 *
 * Threads: the collector. Memory: fixed tables; names are interned beside all others up to a bound,
 * details in a table of their own.
 */
#ifndef SL_TORCH_OPS_READ_H
#define SL_TORCH_OPS_READ_H

#include <stdint.h>

#include "base/intern.h"
#include "collect/lane/lane.h"
#include "event/ops.h"
#include "event/range.h"

struct sl_torch_ops_read;

struct sl_torch_ops_read_options {
    struct sl_intern *names;
    struct sl_intern *details; /* event/op_detail.h */
    struct sl_ops *ops;
    struct sl_ranges *ranges;
    size_t names_bytes; /* most of the interned names that are made here */
};

struct sl_torch_ops_lost {
    uint64_t names;  /* without a name */
    uint64_t inputs; /* without inputs, or without all of them */
};

/* 0 or -ENOMEM. */
int sl_torch_ops_read_create(struct sl_torch_ops_read **out,
                             const struct sl_torch_ops_read_options *opt);
void sl_torch_ops_read_destroy(struct sl_torch_ops_read *r); /* NULL is fine */

/* A record of a thread (collect/lane/lane_read.h); those that are no operator's are passed over. */
void sl_torch_ops_read_record(struct sl_torch_ops_read *r, uint32_t thread,
                              const struct sl_lane_record *record, uint64_t ns);
/* All lanes have been read, up to some time. */
void sl_torch_ops_read_done(struct sl_torch_ops_read *r);

void sl_torch_ops_read_get_lost(const struct sl_torch_ops_read *r, struct sl_torch_ops_lost *out);

#endif
