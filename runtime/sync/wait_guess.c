/*
 * wait_guess.c - which operation let a wait go on of which no record says?
 *
 * Entered by its owner alone.
 */
#include "sync/wait_guess.h"

enum {
    CONTEXTS_LOOKED_AT = 64 /* a process has one a GPU; a hostile file as many as it likes */
};

/* ---- which context ---- */

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

/* ---- which operation ---- */

static int is_just_before(const struct sl_wait *wait, uint64_t end_ns)
{
    return end_ns > wait->when.from_ns && end_ns + SL_WAKE_MOST_NS >= wait->when.to_ns;
}

static int let_go(const struct sl_wait *wait, const struct sl_op *op)
{
    return op->pub.end_ns <= wait->when.to_ns && is_just_before(wait, op->pub.end_ns);
}

/* This one or one before it on its stream ended just before the wait did, or later. */
static int may_have_let_go(const struct sl_wait *wait, const struct sl_op *op)
{
    return is_just_before(wait, op->pub.end_ns) || is_just_before(wait, op->older_end_ns);
}

/* An event may have been recorded behind any operation. */
static void look_at_stream(const struct sl_wait *wait, const struct sl_link *tail,
                           struct sl_op **guess, unsigned *found)
{
    int is_any = wait->kind == SL_EDGE_EVENT_SYNC;
    struct sl_op *op = is_any ? tail->op->stream->newest : tail->op;

    for (; op && *found < 2 && (!is_any || may_have_let_go(wait, op)); op = op->older) {
        if (let_go(wait, op)) {
            *guess = op;
            ++*found;
        }
        if (!is_any)
            break;
    }
}

struct sl_op *sl_guess(const struct sl_wait *wait, const struct sl_set *set, unsigned *found)
{
    struct sl_op *guess = NULL;

    *found = 0;
    for (const struct sl_link *at = set->first; at && *found < 2; at = at->next)
        look_at_stream(wait, at, &guess, found);
    return guess;
}
