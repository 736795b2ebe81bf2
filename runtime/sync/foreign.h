/*
 * foreign.h - infers facts that are missing in files of torch.profiler.
 *
 * Kineto, the library that writes these files, leaves out some rows (events of the file) of stream
 * waits, operations and synchronizations. The files say neither which streams are blocking nor
 * whether a query succeeded. Each function below infers such facts. In a job, where
 * sl_edges_options.foreign is 0, each function does nothing.
 *
 * Threads: only the thread that owns the engine (edge.h). Memory: the functions allocate sets from
 * the engine's store (base/store.h) and free them.
 */
#ifndef SL_FOREIGN_H
#define SL_FOREIGN_H

#include "sync/wait.h"

struct sl_call;
struct sl_look;

void sl_foreign_init(const struct sl_edges_options *opt, struct sl_streams *streams);

/* ---- functions that are called when a call is applied ---- */

/* `item` is an operation of the call. Counts an edge of the operation as lost if the order of the
 * legacy default stream may have ordered the operation after other operations. */
void sl_foreign_operation(struct sl_call *c, const struct sl_item *item);
/* If the call launched an operation that has no row in the file, stores that such an operation
 * exists. */
void sl_foreign_find_missing(struct sl_call *c);
/* Handles a call that waited for work, but has no row that says for which work. `any` stands for
 * the call's context if `known` is set. */
void sl_foreign_wait(struct sl_call *c, struct sl_stream *any, int known);

/* ---- stream waits that have no row in the file ---- */

/* Kineto writes the row of a cudaStreamWaitEvent only if it already knows the context's device and
 * if the stream has an operation. So after the first such row of a context, a cudaStreamWaitEvent
 * without a row can only be for a stream that has neither an operation nor an earlier row of a
 * cudaStreamWaitEvent. */
void sl_foreign_stream_waits(const struct sl_edges_options *opt, const struct sl_streams *s,
                             struct sl_stream *stream, const struct sl_moment *by);
/* Searches for the last stream wait without a row that may concern the stream. Returns 1 if the
 * search succeeds, and writes the wait to *by, or NULL if there was no such wait. Returns 0 if the
 * last such wait is not known. */
int sl_foreign_last_rowless(const struct sl_look *look, const struct sl_moment **by);

/* ---- functions that are called when the sources of a wait are searched ---- */

/* Returns 1 if a stream of the awaited context may also have had to wait for another context,
 * because of a stream wait that has no row. */
int sl_foreign_is_for_more(const struct sl_streams *s, const struct sl_wait *wait);

/* Returns the operation that ended during the call, shortly before the call returned. If the
 * thread's last operation is a copy that ended during the call, this is the copy. Otherwise the
 * candidates are the last operation of each stream in `set`. For a wait for an event, the
 * candidates are all operations of these streams. Writes the number of candidates that ended at
 * such a time to *found; 2 stands for two or more. */
struct sl_op *sl_foreign_guess(const struct sl_wait *wait, const struct sl_set *set,
                               unsigned *found);
/* Returns 1 if a wait for the legacy default stream returned long after that stream's own work
 * (`own`) had ended, but just after the work of another stream. The other stream may be a blocking
 * stream. */
int sl_foreign_is_for_another(const struct sl_edges_options *opt, struct sl_streams *s,
                              const struct sl_wait *wait, const struct sl_set *own);

#endif
