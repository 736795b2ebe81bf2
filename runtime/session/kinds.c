/*
 * kinds.c - turns the kinds of records on and off that need not be on between windows.
 *
 * Recorder thread. They go off only once CUPTI has shown that it works for us: it has requested a
 * buffer of ours since, or given one back. If another client had taken CUPTI without a word,
 * turning kinds off would end that client's recording. If CUPTI is ours, nothing is recorded in
 * between: there is no record without a buffer. Memory: session.h.
 */
#include "session/session.h"

#include <errno.h>

void sl_kinds_await_sign(struct sl_session *s)
{
    s->awaited = sl_ownership_holding();
}

/* Kinds of a subscriber of our own are nobody else's. */
static int has_sign(const struct sl_session *s)
{
    return s->opt.cupti->is_v2 || !sl_ownership_is_same(s->awaited, sl_ownership_holding());
}

int sl_kinds_set(struct sl_session *s, int on)
{
    uint32_t set = s->opt.kinds & ~SL_KINDS_ALWAYS, done = set;
    int filter;

    if (!set || s->handed_over || s->taken_over)
        return 0;
    if (sl_session_enter(s))
        return -ECANCELED;
    if (on)
        done = sl_cupti_enable(s->opt.cupti, set, s->opt.config->api_all, &filter);
    else
        sl_cupti_disable(s->opt.cupti, set);
    if (sl_session_leave(s))
        return -ECANCELED;
    return done ? 0 : -EIO;
}

int sl_kinds_turn_off_due(struct sl_session *s)
{
    if (!s->is_off_due || s->handed_over || s->taken_over || !has_sign(s))
        return 0;
    /* Another client may have taken CUPTI since the last flush. */
    if (sl_session_check_clock(s))
        return -ECANCELED;
    if (s->taken_over)
        return 0;
    s->is_off_due = 0;
    sl_pipeline_kinds_off(s->pipeline);
    return sl_kinds_set(s, 0);
}

int sl_kinds_want(struct sl_session *s, int on)
{
    int was_off_due = s->is_off_due, err;

    s->are_kinds_wanted = on;
    s->is_off_due = !on && !s->handed_over;
    if (!on)
        return sl_kinds_turn_off_due(s);
    if (was_off_due)
        return 0; /* they are still on */
    sl_kinds_await_sign(s);
    err = sl_kinds_set(s, 1);
    if (!err && !s->handed_over)
        sl_pipeline_kinds_on(s->pipeline, 1);
    return err;
}
