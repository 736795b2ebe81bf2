/*
 * wait_guess.h - in which context was a wait that names none?
 *
 * No record says it of a free, nor, in torch.profiler's files, of a synchronize without a row. It
 * was the context that the thread used last, unless work of another one fits, too.
 *
 * Threads: the engine's owner alone. Memory: none of its own.
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

#endif
