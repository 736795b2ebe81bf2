/*
 * ops_read.h - turns the PyTorch records in the lanes (collect/lane/lane.h) into operators and user
 * ranges.
 *
 * Threads: the recorder thread. Memory: fixed tables. Names are interned, up to a limit, in the
 * table that all sources share. Details have a table of their own.
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
    struct sl_intern *details; /* table for operators' details (event/op_detail.h) */
    struct sl_ops *ops;
    struct sl_ranges *ranges;
    size_t names_bytes; /* maximum bytes of names that this reader interns */
};

struct sl_torch_ops_lost {
    uint64_t names;  /* number of operators without a name */
    uint64_t inputs; /* number of operators that lack some or all of their inputs */
};

/* Returns 0 or -ENOMEM. */
int sl_torch_ops_read_create(struct sl_torch_ops_read **out,
                             const struct sl_torch_ops_read_options *opt);
void sl_torch_ops_read_destroy(struct sl_torch_ops_read *r); /* NULL is fine */

/* Call with each record of a thread (collect/lane/lane_read.h). Skips records of other sources. */
void sl_torch_ops_read_record(struct sl_torch_ops_read *r, uint32_t thread,
                              const struct sl_lane_record *record, uint64_t ns);
/* Call after each pass over all lanes. */
void sl_torch_ops_read_done(struct sl_torch_ops_read *r);

void sl_torch_ops_read_get_lost(const struct sl_torch_ops_read *r, struct sl_torch_ops_lost *out);

#endif
