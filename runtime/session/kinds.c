/*
 * kinds.c - turns on and off the kinds of CUPTI records that are not needed between windows.
 *
 * Threads: the recorder thread. The ownership machine (ownership.c) decides when kinds may be
 * turned off. Memory: see session.h.
 */
#include "session/session.h"

#include <errno.h>

int sl_kinds_want(struct sl_session *s, int on)
{
    return sl_handover_step(s, on ? SL_OWN_EV_KINDS_WANTED : SL_OWN_EV_KINDS_UNWANTED);
}

/* ---- actions of the machine ---- */

int sl_kinds_turn_on(struct sl_session *s)
{
    uint32_t set = s->opt.kinds & ~SL_KINDS_ALWAYS, done;
    int filter;

    if (!set)
        return 0;
    if (sl_session_enter(s))
        return -ECANCELED;
    done = sl_cupti_enable(s->opt.cupti, set, s->opt.config->api_all, &filter);
    if (sl_session_leave(s))
        return -ECANCELED;
    return done ? 0 : -EIO;
}

int sl_kinds_turn_back_on(struct sl_session *s)
{
    /* sl_cupti_enable() has logged any other error, and recording continues without the refused
     * kinds. */
    return sl_kinds_turn_on(s) == -ECANCELED ? -ECANCELED : 0;
}

int sl_kinds_turn_off(struct sl_session *s)
{
    uint32_t set = s->opt.kinds & ~SL_KINDS_ALWAYS;

    sl_pipeline_kinds_off(s->pipeline);
    if (!set)
        return 0;
    if (sl_session_enter(s))
        return -ECANCELED;
    sl_cupti_disable(s->opt.cupti, set);
    return sl_session_leave(s);
}

int sl_kinds_check_clock(struct sl_session *s)
{
    if (sl_session_check_clock(s))
        return -ECANCELED;
    return sl_handover_step(s, SL_OWN_EV_CLOCK_CHECKED);
}

int sl_kinds_tell_on(struct sl_session *s)
{
    sl_pipeline_kinds_on(s->pipeline, 1);
    return 0;
}
