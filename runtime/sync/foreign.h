/*
 * foreign.h - infers facts that are missing in files of torch.profiler.
 *
 * Kineto leaves out rows of stream waits, operations and synchronizations. Its files say neither
 * which streams are blocking nor whether a query succeeded. Each function below infers such facts.
 * In a job, where sl_edges_options.foreign is 0, it does nothing.
 *
 * Threads: the engine's owner alone. Memory: sets are from the store and are returned to it.
 */
#ifndef SL_FOREIGN_H
#define SL_FOREIGN_H

#include "sync/wait.h"

struct sl_call;
struct sl_look;

void sl_foreign_init(const struct sl_edges_options *opt, struct sl_streams *streams);

/* ---- while calls are applied ---- */

/* `item` is an operation of the call. Counts it as lost if the order of the legacy default stream
 * may have ordered it after other operations. */
void sl_foreign_operation(struct sl_call *c, const struct sl_item *item);
/* Notes the call if the operation that it launched has no row. */
void sl_foreign_find_missing(struct sl_call *c);
/* Handles a call that waited for work that no row names. `any` stands for the call's context if
 * `known` is set. */
void sl_foreign_wait(struct sl_call *c, struct sl_stream *any, int known);

/* ---- waits of streams without a row ---- */

/* Kineto writes the row of a cudaStreamWaitEvent only if it already knows the context's device and
 * if the stream has an operation. So after the first such row of a context, a call without a row
 * was for a stream that has no operation and no such row. */
void sl_foreign_stream_waits(const struct sl_edges_options *opt, const struct sl_streams *s,
                             struct sl_stream *stream, const struct sl_moment *by);
/* Returns 1 if the last stream wait without a row that may concern the stream is known: `*by`
 * receives it, or NULL if there is none. Returns 0 if it is not known. */
int sl_foreign_last_rowless(const struct sl_look *look, const struct sl_moment **by);

/* ---- while waits are decided ---- */

/* Returns 1 if a stream wait without a row may have made a stream of the awaited context wait for
 * another context. */
int sl_foreign_is_for_more(const struct sl_streams *s, const struct sl_wait *wait);

/* Returns the operation that ended during the call, shortly before the call returned. Candidates
 * are the last operation of each stream in `set`, or for a wait for an event, all operations of
 * these streams. Writes to *found how many fit, at most 2. */
struct sl_op *sl_foreign_guess(const struct sl_wait *wait, const struct sl_set *set,
                               unsigned *found);
/* Returns 1 if a wait for the legacy default stream returned long after that stream's own work
 * (`own`) had ended, but just after the work of another stream. That stream may be a blocking one.
 */
int sl_foreign_is_for_another(const struct sl_edges_options *opt, struct sl_streams *s,
                              const struct sl_wait *wait, const struct sl_set *own);

#endif
