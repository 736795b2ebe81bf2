/*
 * stream_state_impl.h - between stream_state.c and stream_set.c alone.
 */
#ifndef SL_STREAM_STATE_IMPL_H
#define SL_STREAM_STATE_IMPL_H

#include "sync/stream_state.h"

/* Of two operations of one stream: a was enqueued after b. Ties of times rounded to microseconds
 * are decided by correlation id. */
int sl_op_later(const struct sl_edge_op *a, const struct sl_edge_op *b);
void sl_op_unref(struct sl_streams *s, struct sl_op *op);

#endif
