/*
 * unknown_deps.c - what streams came behind that nobody knows, or hold that nobody saw: from when
 * on it counts, and until when.
 *
 * Entered by its owner alone. It has a moment as all that is enqueued: who asked for a stream's
 * tail before is not concerned, nor is who asks after a wait for all of it has returned. What one
 * stream came behind is marked in its sets. What a whole context was made to wait for, and a graph
 * launched nobody knows where, is noted once for all streams, since those that are first used later
 * may come behind it too: who asks compares its moment with those of the tail.
 */
#include "sync/stream_state_impl.h"

/* ---- from when on ---- */

static uint64_t later(uint64_t a_ns, uint64_t b_ns)
{
    return a_ns > b_ns ? a_ns : b_ns;
}

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

    if (!before || sl_moment_precedes(by, &extra->lost_by))
        extra->lost_by = *by;
    if (sl_moment_precedes(&stream->last_lost, by))
        stream->last_lost = *by;
    stream->lost_ns = lost_at(s, by);
}

/* In order: one that comes late goes before those that came in its stead. */
static void lose_anywhere(struct sl_streams *s, struct sl_anywhere *a, const struct sl_moment *by,
                          uint64_t ended_ns)
{
    uint64_t at = a->count++;
    uint64_t first = at < SL_ANYWHERE_KEPT ? 0 : at - SL_ANYWHERE_KEPT + 1;

    for (; at > first && sl_moment_precedes(by, &a->by[(at - 1) % SL_ANYWHERE_KEPT]); at--) {
        a->by[at % SL_ANYWHERE_KEPT] = a->by[(at - 1) % SL_ANYWHERE_KEPT];
        a->ended_ns[at % SL_ANYWHERE_KEPT] = a->ended_ns[(at - 1) % SL_ANYWHERE_KEPT];
    }
    a->by[at % SL_ANYWHERE_KEPT] = *by;
    a->ended_ns[at % SL_ANYWHERE_KEPT] = ended_ns;
    (void)lost_at(s, by);
}

void sl_streams_follow_unknown(struct sl_streams *s, const struct sl_moment *by)
{
    lose_anywhere(s, &s->whole, by, 0);
}

void sl_streams_follow_graph(struct sl_streams *s, const struct sl_moment *by, uint64_t ended_ns)
{
    lose_anywhere(s, &s->launched, by, ended_ns);
}

void sl_streams_follow_untold(struct sl_streams *s, const struct sl_moment *by)
{
    lose_anywhere(s, &s->untold, by, 0);
}

void sl_streams_miss(struct sl_streams *s, const struct sl_moment *by)
{
    lose_anywhere(s, &s->missing, by, 0);
}

/* Of calls that overlap the one that entered first: when what is lost ended, is not known. */
static int is_before(const struct sl_moment *lost_by, const struct sl_moment *when, int *overlaps)
{
    if (sl_moment_precedes(lost_by, when))
        return 1;
    *overlaps |= lost_by->from_ns != 0 && lost_by->from_ns < when->to_ns;
    return 0;
}

/* Where the last of the calls stands, and those `back` before it. */
static uint64_t place(const struct sl_anywhere *a, uint64_t back)
{
    return (a->count - 1 - back) % SL_ANYWHERE_KEPT;
}

/* The calls overlap, and what was lost went on after the wait: it was not waited for. */
static int is_outlasted(const struct sl_anywhere *a, uint64_t at, const struct sl_moment *when)
{
    return when->waits && a->ended_ns[at] > when->to_ns && sl_moments_overlap(&a->by[at], when);
}

/* The last one before `when`; NULL: there was none. Of those before all that are kept, the first
 * that is kept: it stands for them. */
static const struct sl_moment *last_before(const struct sl_anywhere *a,
                                           const struct sl_moment *when, int *overlaps)
{
    const struct sl_moment *by = NULL;

    for (uint64_t i = 0; i < a->count && i < SL_ANYWHERE_KEPT; i++) {
        by = &a->by[place(a, i)];
        if (!is_outlasted(a, place(a, i), when) && is_before(by, when, overlaps))
            return by;
    }
    return a->count > SL_ANYWHERE_KEPT ? by : NULL;
}

void sl_streams_follow_told(const struct sl_streams *s, struct sl_stream *stream,
                            const struct sl_moment *by)
{
    struct sl_context *context = stream->context;

    stream->told = 1;
    if (context->told)
        return;
    context->told = by->correlation;
    if (s->untold.count)
        context->untold = s->untold.by[place(&s->untold, 0)];
}

/* The last wait without a row that may have been this stream's. */
static const struct sl_moment *last_untold(const struct sl_streams *s,
                                           const struct sl_stream *stream,
                                           const struct sl_moment *when, int *overlaps)
{
    const struct sl_context *context = stream->context;

    if ((stream->newest || stream->told) && context->told && context->told < when->correlation)
        return context->untold.correlation ? &context->untold : NULL;
    return s->untold.count ? last_before(&s->untold, when, overlaps) : NULL;
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

/* When the last of the calls had returned, or later. */
static uint64_t anywhere_until(const struct sl_anywhere *a, uint64_t ns)
{
    for (uint64_t i = 0; i < a->count && i < SL_ANYWHERE_KEPT; i++)
        if (a->by[i].to_ns > ns)
            ns = a->by[i].to_ns;
    return ns;
}

void sl_stream_covered(const struct sl_streams *s, struct sl_stream *stream,
                       const struct sl_moment *wait)
{
    uint64_t lost_ns = anywhere_until(&s->whole, stream->lost_ns);

    over_by(&stream->seen_ns, wait->to_ns);
    lost_ns = later(lost_ns, later(s->unseen_ns, stream->ignored_ns));
    lost_ns = anywhere_until(&s->launched, lost_ns);
    lost_ns = anywhere_until(&s->missing, lost_ns);
    covered(&stream->over, anywhere_until(&s->untold, lost_ns), wait);
}

void sl_context_covered(const struct sl_streams *s, struct sl_context *context,
                        const struct sl_moment *wait)
{
    over_by(&context->seen_ns, wait->to_ns);
    covered(&context->over, s->lost_ns, wait);
}

/* ---- what was not seen ---- */

void sl_streams_ignore_call(struct sl_streams *s, uint64_t returned_ns)
{
    s->unseen_ns = later(s->unseen_ns, returned_ns);
    s->lost_ns = later(s->lost_ns, returned_ns);
}

void sl_stream_ignore_op(struct sl_streams *s, struct sl_stream *stream, uint64_t start_ns)
{
    stream->ignored_ns = later(stream->ignored_ns, start_ns);
    if (stream->active_ns && !stream->listed)
        sl_stream_use(stream, stream->active_ns);
    s->lost_ns = later(s->lost_ns, start_ns);
}

/* It was enqueued after all that the ignored calls did. */
static int is_behind_calls(const struct sl_streams *s, const struct sl_op *op)
{
    return op && op->by.from_ns >= s->unseen_ns;
}

static int may_be_last_of_calls(const struct sl_streams *s, const struct sl_stream *stream,
                                const struct sl_op *op, const struct sl_op *last,
                                const struct sl_moment *when)
{
    return s->unseen_ns && !is_behind_calls(s, op) && !is_behind_calls(s, last) &&
           !sl_moment_is_after(when, over_on(stream, s->unseen_ns));
}

/* It began after `op`, and order of start is that of enqueue: its call was on its way when that was
 * launched. A wait that returned before it began was not for it; `last` that began later is behind
 * it. */
static int is_last_ignored(const struct sl_stream *stream, const struct sl_op *op,
                           const struct sl_op *last, const struct sl_moment *when)
{
    uint64_t ns = stream->ignored_ns;

    return op && op->pub.start_ns < ns && !(when->waits && when->to_ns <= ns) &&
           !(last && last->pub.start_ns >= ns) && !sl_moment_is_after(when, over_on(stream, ns));
}

int sl_stream_has_unseen(const struct sl_streams *s, const struct sl_stream *stream,
                         const struct sl_op *op, const struct sl_op *last,
                         const struct sl_moment *when)
{
    if (!op && !sl_moment_is_after(when, stream->seen_ns) &&
        !sl_moment_is_after(when, stream->context->seen_ns))
        return 1;
    return may_be_last_of_calls(s, stream, op, last, when) ||
           is_last_ignored(stream, op, last, when);
}

int sl_context_has_unseen(const struct sl_streams *s, const struct sl_context *context,
                          const struct sl_moment *when)
{
    return !sl_moment_is_after(when, context->seen_ns) ||
           (s->unseen_ns && !sl_moment_is_after(when, over_at(&context->over, s->unseen_ns)));
}

/* ---- asking ---- */

uint32_t sl_stream_lost(const struct sl_stream *stream, const struct sl_set *extra,
                        const struct sl_moment *when, int *overlaps)
{
    if (!extra->lost || !is_before(&extra->lost_by, when, overlaps))
        return 0;
    if (extra == &stream->extra && sl_moment_is_after(when, sl_stream_lost_until(stream)))
        return 0;
    return extra->lost;
}

static int is_behind(const struct sl_op *op, const struct sl_moment *by)
{
    return op && sl_moment_precedes(by, &op->by);
}

/* `by` made a stream come behind something, maybe this one; NULL: there is no such call. */
static uint32_t lost_since(const struct sl_moment *by, const struct sl_stream *stream,
                           const struct sl_op *op, const struct sl_op *last,
                           const struct sl_moment *when, int *overlaps)
{
    /* A branch of a graph comes behind what its launch came behind. One that was never used may be
     * any stream. */
    if (!by || (op && !stream->plain))
        return 0;
    *overlaps |= op && sl_moments_overlap(by, &op->by);
    if (is_behind(op, by) || is_behind(last, by) ||
        sl_moment_is_after(when, over_on(stream, by->to_ns)))
        return 0;
    return 1u << SL_EDGE_LOST_NO_RECORD;
}

static uint32_t lost_anywhere(const struct sl_anywhere *a, const struct sl_stream *stream,
                              const struct sl_op *op, const struct sl_op *last,
                              const struct sl_moment *when, int *overlaps)
{
    const struct sl_moment *by = a->count ? last_before(a, when, overlaps) : NULL;

    return lost_since(by, stream, op, last, when, overlaps);
}

uint32_t sl_stream_lost_whole(const struct sl_streams *s, const struct sl_stream *stream,
                              const struct sl_op *op, const struct sl_op *last,
                              const struct sl_moment *when, int *overlaps)
{
    return lost_anywhere(&s->whole, stream, op, last, when, overlaps);
}

uint32_t sl_stream_lost_graph(const struct sl_streams *s, const struct sl_stream *stream,
                              const struct sl_op *op, const struct sl_moment *when, int *overlaps)
{
    return lost_anywhere(&s->launched, stream, op, NULL, when, overlaps);
}

uint32_t sl_stream_lost_untold(const struct sl_streams *s, const struct sl_stream *stream,
                               const struct sl_op *op, const struct sl_moment *when, int *overlaps)
{
    const struct sl_moment *by = last_untold(s, stream, when, overlaps);

    return lost_since(by, stream, op, NULL, when, overlaps);
}

int sl_context_has_untold(const struct sl_streams *s, const struct sl_context *context,
                          const struct sl_moment *when)
{
    int overlaps = 0;
    const struct sl_moment *by =
        s->context_count > 1 && s->untold.count ? last_before(&s->untold, when, &overlaps) : NULL;

    return by && !sl_moment_is_after(when, over_at(&context->over, by->to_ns));
}

uint32_t sl_context_lost_whole(const struct sl_streams *s, const struct sl_context *context,
                               uint64_t since_ns, const struct sl_moment *when)
{
    int overlaps = 0;
    const struct sl_moment *whole = s->whole.count ? last_before(&s->whole, when, &overlaps) : NULL;

    if (!whole || whole->to_ns <= since_ns ||
        sl_moment_is_after(when, over_at(&context->over, whole->to_ns)))
        return 0;
    return 1u << SL_EDGE_LOST_NO_RECORD;
}

/* ---- operations without a row ---- */

static int may_precede(const struct sl_moment *a, const struct sl_moment *b)
{
    return sl_moment_precedes(a, b) || sl_moments_overlap(a, b);
}

static int is_behind_missing(const struct sl_op *op, const struct sl_moment *by)
{
    return op && !may_precede(&op->by, by);
}

int sl_stream_misses(const struct sl_streams *s, const struct sl_stream *stream,
                     const struct sl_op *op, const struct sl_op *last, const struct sl_moment *when)
{
    const struct sl_anywhere *a = &s->missing;

    if (op && !stream->plain) /* nothing is launched on a branch of a graph */
        return 0;
    for (uint64_t i = 0; i < a->count && i < SL_ANYWHERE_KEPT; i++) {
        const struct sl_moment *by = &a->by[place(a, i)];

        if (may_precede(by, when) && !is_behind_missing(op, by) && !is_behind_missing(last, by) &&
            !sl_moment_is_after(when, over_on(stream, by->to_ns)))
            return 1;
    }
    return 0;
}

int sl_context_misses(const struct sl_streams *s, const struct sl_context *context,
                      const struct sl_moment *when)
{
    const struct sl_anywhere *a = &s->missing;

    for (uint64_t i = 0; i < a->count && i < SL_ANYWHERE_KEPT; i++) {
        const struct sl_moment *by = &a->by[place(a, i)];

        if (may_precede(by, when) && !sl_moment_is_after(when, over_at(&context->over, by->to_ns)))
            return 1;
    }
    return 0;
}
