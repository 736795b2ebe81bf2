/*
 * wait_legacy.h - may a wait for the legacy default stream have been for another stream's work?
 *
 * It covers all blocking streams. Files of torch.profiler's do not say which those are, and they
 * are taken as non-blocking, as PyTorch's own are.
 *
 * Threads: one owner. Memory: the store's, given back.
 */
#ifndef SL_WAIT_LEGACY_H
#define SL_WAIT_LEGACY_H

#include "sync/wait.h"

/* The wait went on long after its stream's work (`own`) had ended, but just after another's had,
 * which may be a blocking one for all that the records say. */
int sl_wait_may_be_for_another(struct sl_streams *s, const struct sl_wait *wait,
                               const struct sl_set *own);

#endif
