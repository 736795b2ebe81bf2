/*
 * foreign.h - what is different in files that torch.profiler wrote.
 *
 * Kineto leaves out rows: of calls that made a stream wait, of operations, of synchronizations. Its
 * files say neither which streams are blocking nor whether a query succeeded. Each function below
 * answers for such files, and does nothing for the records of a job (sl_edges_options.foreign).
 *
 * Threads: the engine's owner alone. Memory: sets are the store's and are given back.
 */
#ifndef SL_FOREIGN_H
#define SL_FOREIGN_H

#include "sync/wait.h"

struct sl_call;
struct sl_look;

void sl_foreign_init(const struct sl_edges_options *opt, struct sl_streams *streams);

/* ---- while calls are applied ---- */

/* `item` is an operation of the call. Counts it if legacy order may have put it behind others. */
void sl_foreign_operation(struct sl_call *c, const struct sl_item *item);
/* Notes the call if it launched something of which there is no row. */
void sl_foreign_find_missing(struct sl_call *c);
/* The call waited, and no row says for what. `any` is of its context if that is `known`. */
void sl_foreign_wait(struct sl_call *c, struct sl_stream *any, int known);

/* ---- waits of streams without a row ---- */

/* Kineto writes no row of a cudaStreamWaitEvent before it knows the context's device, nor for a
 * stream without an operation. So a context's first such row tells that later calls without one
 * were for other streams than those that have operations or such rows. */
void sl_foreign_stream_waits(const struct sl_edges_options *opt, const struct sl_streams *s,
                             struct sl_stream *stream, const struct sl_moment *by);
/* 1: the last call without a row that may have been for the stream is `*by`, NULL if none may. */
int sl_foreign_last_rowless(const struct sl_look *look, const struct sl_moment **by);

/* ---- while waits are decided ---- */

/* Such a call may have made a stream of the context that was waited for wait for another context.
 */
int sl_foreign_is_for_more(const struct sl_streams *s, const struct sl_wait *wait);

/* The operation that ended while the call waited, and not long before its return. It is the last
 * one of some stream in `set`, or any of its operations if the wait was for an event. `*found`: how
 * many fit, 2 if more. */
struct sl_op *sl_foreign_guess(const struct sl_wait *wait, const struct sl_set *set,
                               unsigned *found);
/* The legacy default stream's wait returned long after that stream's work (`own`) had ended, but
 * just after the work of another stream, which may be a blocking one. */
int sl_foreign_is_for_another(const struct sl_edges_options *opt, struct sl_streams *s,
                              const struct sl_wait *wait, const struct sl_set *own);

#endif
