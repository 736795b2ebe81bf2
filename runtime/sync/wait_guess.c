/*
 * wait_guess.c - which operation let a wait go on of which no record says?
 *
 * Entered by its owner alone.
 */
#include "sync/wait_guess.h"

static int ended_just_before(const struct sl_wait *wait, const struct sl_op *op)
{
    return op->pub.end_ns > wait->when.from_ns &&
           op->pub.end_ns + SL_WAKE_MOST_NS >= wait->when.to_ns;
}

int sl_guess_fits(const struct sl_wait *wait, const struct sl_op *op)
{
    return op->pub.end_ns <= wait->when.to_ns && ended_just_before(wait, op);
}

int sl_guess_has_two(const struct sl_wait *wait, const struct sl_set *set)
{
    unsigned found = 0;

    for (const struct sl_link *at = set->first; at && found < 2; at = at->next) {
        const struct sl_op *op = at->op;

        found += sl_guess_fits(wait, op) != 0;
        while (wait->kind == SL_EDGE_EVENT_SYNC && found < 2 && (op = op->older) &&
               ended_just_before(wait, op))
            found += sl_guess_fits(wait, op) != 0;
    }
    return found > 1;
}
