/*
 * stream_lost.c - what streams came behind that nobody knows: from when on it counts, and until
 * when.
 *
 * Entered by its owner alone. It has a moment as all that is enqueued: who asked for a stream's
 * tail before is not concerned, nor is who asks after a wait for all of it has returned. What one
 * stream came behind is marked in its sets. What a whole context was made to wait for is noted once
 * for all streams, since those that are first used later come behind it too: who asks compares its
 * moment with those of the tail.
 */
#include "sync/stream_state_impl.h"

/* ---- from when on ---- */

/* A call without a record came after those that were told before it. */
static uint64_t lost_at(struct sl_streams *s, const struct sl_moment *by)
{
    uint64_t ns = by->to_ns ? by->to_ns : s->horizon_ns + 1;

    if (s->lost_ns < ns)
        s->lost_ns = ns;
    return ns;
}

void sl_stream_lose(struct sl_streams *s, struct sl_stream *stream, uint32_t before,
                    const struct sl_moment *by)
{
    struct sl_set *extra = &stream->extra;

    if (!before || by->correlation < extra->lost_by) {
        extra->lost_by = by->correlation;
        extra->lost_from_ns = by->from_ns;
    }
    if (stream->last_lost < by->correlation)
        stream->last_lost = by->correlation;
    stream->lost_ns = lost_at(s, by);
}

static struct sl_moment *whole_at(struct sl_streams *s, uint64_t number)
{
    return &s->whole.by[number % SL_WHOLE_KEPT];
}

/* In order of their ids: one that comes late goes before those that came in its stead. */
void sl_streams_follow_unknown(struct sl_streams *s, const struct sl_moment *by)
{
    uint64_t at = s->whole.count++;
    uint64_t first = at < SL_WHOLE_KEPT ? 0 : at - SL_WHOLE_KEPT + 1;

    for (; at > first && whole_at(s, at - 1)->correlation > by->correlation; at--)
        *whole_at(s, at) = *whole_at(s, at - 1);
    *whole_at(s, at) = *by;
    (void)lost_at(s, by);
}

/* Of calls that overlap the one that entered first: when what is lost ended, is not known. */
static int is_before(uint64_t lost_by, uint64_t lost_from_ns, const struct sl_moment *when,
                     int *overlaps)
{
    if (lost_by < when->correlation)
        return 1;
    *overlaps |= lost_from_ns != 0 && lost_from_ns < when->to_ns;
    return 0;
}

/* The last call that made a whole context wait, and those `back` before it. */
static const struct sl_moment *newest_whole(const struct sl_streams *s, uint64_t back)
{
    return &s->whole.by[(s->whole.count - 1 - back) % SL_WHOLE_KEPT];
}

/* The last one before `when`; NULL: there was none. Of those before all that are kept, the first
 * that is kept: it stands for them. */
static const struct sl_moment *last_whole(const struct sl_streams *s, const struct sl_moment *when,
                                          int *overlaps)
{
    const struct sl_moment *at = NULL;

    for (uint64_t i = 0; i < s->whole.count && i < SL_WHOLE_KEPT; i++) {
        at = newest_whole(s, i);
        if (is_before(at->correlation, at->from_ns, when, overlaps))
            return at;
    }
    return s->whole.count > SL_WHOLE_KEPT ? at : NULL;
}

/* ---- until when ---- */

static uint64_t over_at(const struct sl_over *over, uint64_t ns)
{
    return ns <= over->from_ns ? over->to_ns : UINT64_MAX;
}

/* When what a call enqueued here that returned at `ns` is known to be over. */
static uint64_t over_on(const struct sl_stream *stream, uint64_t ns)
{
    uint64_t own_ns = over_at(&stream->over, ns), all_ns = over_at(&stream->context->over, ns);

    return own_ns < all_ns ? own_ns : all_ns;
}

uint64_t sl_stream_lost_until(const struct sl_stream *stream)
{
    return over_on(stream, stream->lost_ns);
}

void sl_stream_forget_lost(const struct sl_streams *s, struct sl_stream *stream,
                           const struct sl_moment *by)
{
    uint64_t ns = stream->extra.lost ? sl_stream_lost_until(stream) : UINT64_MAX;

    if (sl_moment_is_after(by, ns) && ns <= s->waits_since_ns)
        stream->extra.lost = 0;
}

static void over_by(uint64_t *ns, uint64_t by_ns)
{
    if (by_ns < *ns)
        *ns = by_ns;
}

/* The first wait to return of those that began when all was lost, at `lost_ns`; until there is one,
 * the last to begin. */
static void covered(struct sl_over *over, uint64_t lost_ns, const struct sl_moment *wait)
{
    int is_all = lost_ns <= over->from_ns;

    if (is_all ? wait->from_ns >= lost_ns && wait->to_ns < over->to_ns
               : wait->from_ns >= over->from_ns)
        *over = (struct sl_over){.from_ns = wait->from_ns, .to_ns = wait->to_ns};
}

/* When the last of the calls that made a whole context wait had returned. */
static uint64_t whole_until(const struct sl_streams *s)
{
    uint64_t ns = 0;

    for (uint64_t i = 0; i < s->whole.count && i < SL_WHOLE_KEPT; i++)
        if (newest_whole(s, i)->to_ns > ns)
            ns = newest_whole(s, i)->to_ns;
    return ns;
}

void sl_stream_covered(const struct sl_streams *s, struct sl_stream *stream,
                       const struct sl_moment *wait)
{
    uint64_t whole_ns = whole_until(s);

    over_by(&stream->seen_ns, wait->to_ns);
    covered(&stream->over, stream->lost_ns > whole_ns ? stream->lost_ns : whole_ns, wait);
}

void sl_context_covered(const struct sl_streams *s, struct sl_context *context,
                        const struct sl_moment *wait)
{
    over_by(&context->seen_ns, wait->to_ns);
    covered(&context->over, s->lost_ns, wait);
}

/* ---- asking ---- */

uint32_t sl_stream_lost(const struct sl_stream *stream, const struct sl_set *extra,
                        const struct sl_moment *when, int *overlaps)
{
    if (!extra->lost || !is_before(extra->lost_by, extra->lost_from_ns, when, overlaps))
        return 0;
    if (extra == &stream->extra && sl_moment_is_after(when, sl_stream_lost_until(stream)))
        return 0;
    return extra->lost;
}

static int is_behind(const struct sl_op *op, const struct sl_moment *whole)
{
    return op && whole->correlation < op->by.correlation;
}

uint32_t sl_stream_lost_whole(const struct sl_streams *s, const struct sl_stream *stream,
                              const struct sl_op *op, const struct sl_op *last,
                              const struct sl_moment *when, int *overlaps)
{
    const struct sl_moment *whole = s->whole.count ? last_whole(s, when, overlaps) : NULL;

    /* A branch of a graph comes behind what its launch came behind. One that was never used may be
     * any stream. */
    if (!whole || (op && !stream->plain))
        return 0;
    *overlaps |= op && sl_moments_overlap(whole, &op->by);
    if (is_behind(op, whole) || is_behind(last, whole) ||
        sl_moment_is_after(when, over_on(stream, whole->to_ns)))
        return 0;
    return 1u << SL_EDGE_LOST_NO_RECORD;
}

uint32_t sl_context_lost_whole(const struct sl_streams *s, const struct sl_context *context,
                               uint64_t since_ns, const struct sl_moment *when)
{
    int overlaps = 0;
    const struct sl_moment *whole = s->whole.count ? last_whole(s, when, &overlaps) : NULL;

    if (!whole || whole->to_ns <= since_ns ||
        sl_moment_is_after(when, over_at(&context->over, whole->to_ns)))
        return 0;
    return 1u << SL_EDGE_LOST_NO_RECORD;
}
