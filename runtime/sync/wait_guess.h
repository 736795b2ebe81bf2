/*
 * wait_guess.h - which operation let a wait go on of which no record says?
 *
 * In torch.profiler's files without rows of synchronization a stream's or an event's wait ended
 * some microseconds after what it was for. Of a free, and of a wait for all of a context in such
 * files, no record says which context it was for: the one that its thread used last, if no other
 * fits.
 *
 * Threads: one owner. Memory: none of its own.
 */
#ifndef SL_WAIT_GUESS_H
#define SL_WAIT_GUESS_H

#include "sync/wait.h"

static inline int sl_guess_is_for_some_context(const struct sl_wait *wait)
{
    return wait->scope == SL_WAIT_CONTEXT && wait->inferred;
}

/* Of a wait for some context: the operation can have let it go on, since it ended while the call
 * was there. */
int sl_guess_fits(const struct sl_wait *wait, const struct sl_op *op);
/* All in the set had ended when the call returned. */
int sl_guess_has_ended(const struct sl_wait *wait, const struct sl_set *set);
/* It may have been for a context that is not its stream's. */
int sl_guess_fits_elsewhere(struct sl_streams *s, const struct sl_wait *wait);

/* One that ended while the call was there, and not long before its return, of those that the wait
 * may have been for: the last of each stream (`set`), and, as an event may have been recorded
 * behind any, those before it if the wait was for an event. `*found`: how many there are, 2 if
 * more. */
struct sl_op *sl_guess(const struct sl_wait *wait, const struct sl_set *set, unsigned *found);

#endif
