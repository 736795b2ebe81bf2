/*
 * wait_guess.h - which operation let a wait go on of which no record says?
 *
 * Of torch.profiler's files without rows of synchronization: a stream's or an event's wait ended
 * some microseconds after what it was for.
 *
 * Threads: one owner. Memory: none of its own.
 */
#ifndef SL_WAIT_GUESS_H
#define SL_WAIT_GUESS_H

#include "sync/wait.h"

/* It ended while the call was there, and not long before its return. */
int sl_guess_fits(const struct sl_wait *wait, const struct sl_op *op);

/* More than one fits of those that the wait may have been for: the last of each stream (`set`),
 * and, as an event may have been recorded behind any, those before it if the wait was for an event.
 */
int sl_guess_has_two(const struct sl_wait *wait, const struct sl_set *set);

#endif
