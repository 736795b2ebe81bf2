/*
 * wait_guess.c - in which context was a wait that names none?
 *
 * Entered by the engine's owner alone. Memory: its set is the store's, and given back.
 */
#include "sync/wait_guess.h"

enum {
    CONTEXTS_LOOKED_AT = 64 /* a process has one a GPU; a hostile file as many as it likes */
};

int sl_guess_fits(const struct sl_wait *wait, const struct sl_op *op)
{
    return op->pub.end_ns > wait->when.from_ns && op->pub.end_ns <= wait->when.to_ns;
}

int sl_guess_has_ended(const struct sl_wait *wait, const struct sl_set *set)
{
    for (const struct sl_link *at = set->first; at; at = at->next)
        if (at->op->pub.end_ns > wait->when.to_ns)
            return 0;
    return 1;
}

/* May it have been this one? */
static int context_fits(struct sl_streams *s, const struct sl_wait *wait,
                        struct sl_context *context)
{
    struct sl_set set = {0};
    int found = 0;

    sl_set_open(s, &set);
    sl_context_collect(s, context, 0, &wait->when, &set);
    for (const struct sl_link *at = set.first; at; at = at->next)
        found |= sl_guess_fits(wait, at->op);
    found = found && sl_guess_has_ended(wait, &set);
    sl_set_clear(s, &set);
    return found;
}

int sl_guess_fits_elsewhere(struct sl_streams *s, const struct sl_wait *wait)
{
    if (s->context_count > CONTEXTS_LOOKED_AT)
        return 1;
    for (struct sl_context *at = s->all_contexts; at; at = at->next)
        if ((wait->anywhere || at != wait->stream->context) && context_fits(s, wait, at))
            return 1;
    return 0;
}
