/*
 * stream_state_impl.h - for those that hold operations without a set, and the files of streams.
 */
#ifndef SL_STREAM_STATE_IMPL_H
#define SL_STREAM_STATE_IMPL_H

#include "sync/stream_state.h"

/* Of two operations of one stream: a was enqueued after b. Ties of times rounded to microseconds
 * are decided by correlation id; a node of a graph that has no time goes behind those that have. */
int sl_op_later(const struct sl_edge_op *a, const struct sl_edge_op *b);
void sl_op_unref(struct sl_streams *s, struct sl_op *op);

/* These and all older ones leave their stream. */
void sl_ops_drop(struct sl_streams *s, struct sl_op *rest);
/* Out of its context's list of streams that were used. */
void sl_stream_leave_list(struct sl_stream *stream);

enum {
    SL_STREAM_TRIM_AT = 4 /* operations on a new stream at which to look for those not needed */
};

#endif
