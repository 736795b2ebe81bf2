/*
 * stream_past.c - what is over before all that may still be asked, and known to be.
 *
 * Entered by its owner alone. Where each request has a stream of its own, what a stream was made to
 * wait for, and the streams of a context, would grow with every request, and with them the time of
 * each call that looks at all of them. An edge from what is past has no wait, and the thread that
 * looks may know already; so a long set and a long list go without it.
 *
 * A call whose record comes late may have begun before that was over. It looks at the streams that
 * left, too; what a set has lost is counted where it would be the call's.
 */
#include "sync/stream_state_impl.h"

enum {
    MEMBERS_KEPT = 16 /* past or not */
};

/* But for those whose records come late, no call that was on its way by then is still to be looked
 * at. */
static uint64_t past_ns(const struct sl_streams *s)
{
    return s->horizon_ns < s->waits_since_ns ? s->horizon_ns : s->waits_since_ns;
}

/* Some thread waited for it. Of files that others wrote no thread is asked for. */
static int is_known(const struct sl_op *op)
{
    uint64_t ns = sl_op_enqueued_ns(op);

    return ns <= op->stream->covered_ns || ns <= op->stream->context->covered_ns;
}

static int is_past(const struct sl_streams *s, const struct sl_op *op)
{
    return !op->no_time && sl_op_all_ended_ns(op) <= past_ns(s) && is_known(op);
}

static int is_link_past(const struct sl_streams *s, const struct sl_link *link)
{
    return link->by.to_ns <= past_ns(s) && is_past(s, link->op);
}

void sl_stream_drop_past(struct sl_streams *s, struct sl_stream *stream)
{
    struct sl_link **at = &stream->extra.first;

    for (int kept = 0; *at; kept++) {
        struct sl_link *link = *at;

        if (kept < MEMBERS_KEPT || !is_link_past(s, link)) {
            at = &link->next;
            continue;
        }
        *at = link->next;
        sl_no_earlier(&stream->dropped_ns, sl_op_all_ended_ns(link->op));
        sl_link_drop(s, link);
    }
}

static int is_stream_past(const struct sl_streams *s, const struct sl_stream *stream)
{
    const struct sl_moment now = {.from_ns = past_ns(s)};
    const struct sl_op *newest = stream->newest;

    /* What whole contexts were made to wait for is compared with each stream's own operations. */
    if (stream->extra.lost || s->whole.count || (newest ? !is_past(s, newest) : stream->trimmed) ||
        sl_stream_has_unseen(s, stream, newest, NULL, &now))
        return 0;
    for (const struct sl_link *at = stream->extra.first; at; at = at->next)
        if (!is_link_past(s, at))
            return 0;
    return 1;
}

void sl_stream_leave_if_past(const struct sl_streams *s, struct sl_stream *stream)
{
    struct sl_context *context = stream->context;

    if (!is_stream_past(s, stream))
        return;
    sl_stream_leave_list(stream);
    context->left++;
    sl_no_earlier(&context->left_ns, sl_stream_over_ns(stream));
}

struct sl_stream *sl_stream_next_left(const struct sl_streams *s, const struct sl_context *context,
                                      const struct sl_moment *when, uint64_t since_ns, size_t *at)
{
    if (!context->left || !sl_moment_is_late(when, context->left_ns))
        return NULL;
    while (*at < s->count) {
        struct sl_stream *stream = s->numbered[(*at)++];

        if (stream->context == context && !stream->listed && stream->active_ns > since_ns)
            return stream;
    }
    return NULL;
}
