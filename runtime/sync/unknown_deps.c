/*
 * unknown_deps.c - tracks waits and work of streams that no record names.
 *
 * The time of the call that made an unknown wait or operation is known. The unknown wait or
 * operation does not affect earlier calls. Nor does it affect calls that began after a wait for the
 * whole stream had returned.
 * - If the stream is known, the stream's set is marked as incomplete.
 * - If the stream is not known, the call is put into a ring. Calls in the ring may concern every
 *   stream, even a stream that is first used later. Examples of such calls are a wait of a whole
 *   context, a graph launch on a stream that no record names, and a call that a foreign file does
 *   not list. A later call compares its own time with the calls in the ring.
 *
 * Threads: only the thread that owns the engine (edge.h). Memory: none; all state is in struct
 * sl_streams.
 */
#include "sync/foreign.h"
#include "sync/stream_state_impl.h"

/* ---- loss reasons of a stream ---- */

/* Stores that a call made a stream's tail incomplete, and returns the time of the call. A call
 * without a record counts as later than the calls that were applied before it. */
static uint64_t note_lost(struct sl_streams *s, const struct sl_moment *by)
{
    uint64_t ns = by->to_ns ? by->to_ns : s->horizon_ns + 1;

    s->lost_ns = sl_later(s->lost_ns, ns);
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
    stream->lost_ns = note_lost(s, by);
}

/* ---- the rings ---- */

static uint64_t kept(const struct sl_unknown_calls *calls)
{
    return calls->count < SL_UNKNOWN_KEPT ? calls->count : SL_UNKNOWN_KEPT;
}

/* Returns the call that is `i` entries before the last call in the ring. */
static const struct sl_unknown_call *back(const struct sl_unknown_calls *calls, uint64_t i)
{
    return &calls->call[(calls->count - 1 - i) % SL_UNKNOWN_KEPT];
}

/* Inserts a late call before the calls that began later, so that the ring stays in order. */
void sl_streams_note_unknown(struct sl_streams *s, enum sl_unknown what, const struct sl_moment *by,
                             uint64_t ended_ns)
{
    struct sl_unknown_calls *calls = &s->unknown[what];
    struct sl_unknown_call *call = calls->call;
    uint64_t at = calls->count++, first = calls->count - kept(calls);

    for (; at > first && sl_moment_precedes(by, &call[(at - 1) % SL_UNKNOWN_KEPT].by); at--)
        call[at % SL_UNKNOWN_KEPT] = call[(at - 1) % SL_UNKNOWN_KEPT];
    call[at % SL_UNKNOWN_KEPT] = (struct sl_unknown_call){*by, ended_ns};
    (void)note_lost(s, by);
}

struct sl_moment sl_streams_last_unknown(const struct sl_streams *s, enum sl_unknown what)
{
    return s->unknown[what].count ? back(&s->unknown[what], 0)->by : (struct sl_moment){0};
}

/* Returns 1 if the first call is earlier. If the calls overlap, the call that entered first counts
 * as earlier, because the end of the unknown work is not known. */
static int is_before(const struct sl_moment *by, const struct sl_moment *when, int *overlaps)
{
    if (sl_moment_precedes(by, when))
        return 1;
    *overlaps |= by->from_ns != 0 && by->from_ns < when->to_ns;
    return 0;
}

/* Returns 1 if the calls overlap and the unknown work ended after the wait. Then the wait was not
 * for that work. */
static int is_outlasted(const struct sl_unknown_call *call, const struct sl_moment *when)
{
    return when->waits && call->ended_ns > when->to_ns && sl_moments_overlap(&call->by, when);
}

/* Returns the last call in the ring before `when`, or NULL if there is none. The oldest call in the
 * ring also stands for all calls that were overwritten. */
static const struct sl_moment *last_before(const struct sl_unknown_calls *calls,
                                           const struct sl_moment *when, int *overlaps)
{
    const struct sl_unknown_call *call = NULL;

    for (uint64_t i = 0; i < kept(calls); i++) {
        call = back(calls, i);
        if (!is_outlasted(call, when) && is_before(&call->by, when, overlaps))
            return &call->by;
    }
    return calls->count > SL_UNKNOWN_KEPT ? &call->by : NULL;
}

/* ---- when unknown work is over ---- */

static uint64_t over_at(const struct sl_over *over, uint64_t ns)
{
    return ns <= over->from_ns ? over->to_ns : UINT64_MAX;
}

/* Returns the time by which the work of a call that returned at `ns` has certainly ended. Returns
 * UINT64_MAX if the work may be pending. If `stream` is NULL, the work may be on any stream of the
 * context. */
static uint64_t over_on(const struct sl_context *context, const struct sl_stream *stream,
                        uint64_t ns)
{
    uint64_t all_ns = over_at(&context->over, ns);
    uint64_t own_ns = stream ? over_at(&stream->over, ns) : UINT64_MAX;

    return own_ns < all_ns ? own_ns : all_ns;
}

static int may_be_pending(const struct sl_look *look, uint64_t ns)
{
    return !sl_moment_is_after(look->when, over_on(look->context, look->stream, ns));
}

uint64_t sl_stream_lost_until(const struct sl_stream *stream)
{
    return over_on(stream->context, stream, stream->lost_ns);
}

void sl_stream_forget_lost(const struct sl_streams *s, struct sl_stream *stream,
                           const struct sl_moment *by)
{
    uint64_t ns = stream->extra.lost ? sl_stream_lost_until(stream) : UINT64_MAX;

    if (sl_moment_is_after(by, ns) && ns <= s->waits_since_ns)
        stream->extra.lost = 0;
}

/* Stores a wait that has returned. The last loss was at `lost_ns`. If some waits began after that
 * loss, the function keeps the first of these waits that returned. If no wait began after that
 * loss, the function keeps the wait that began last. */
static void covered(struct sl_over *over, uint64_t *seen_ns, uint64_t lost_ns,
                    const struct sl_moment *wait)
{
    int is_all = lost_ns <= over->from_ns;

    if (is_all ? wait->from_ns >= lost_ns && wait->to_ns < over->to_ns
               : wait->from_ns >= over->from_ns)
        *over = (struct sl_over){.from_ns = wait->from_ns, .to_ns = wait->to_ns};
    if (wait->to_ns < *seen_ns)
        *seen_ns = wait->to_ns;
}

void sl_stream_covered(const struct sl_streams *s, struct sl_stream *stream,
                       const struct sl_moment *wait)
{
    uint64_t lost_ns = sl_later(stream->lost_ns, sl_later(s->unseen_ns, stream->ignored_ns));

    for (int what = 0; what < SL_UNKNOWN_COUNT; what++)
        for (uint64_t i = 0; i < kept(&s->unknown[what]); i++)
            lost_ns = sl_later(lost_ns, s->unknown[what].call[i].by.to_ns);
    covered(&stream->over, &stream->seen_ns, lost_ns, wait);
}

void sl_context_covered(const struct sl_streams *s, struct sl_context *context,
                        const struct sl_moment *wait)
{
    covered(&context->over, &context->seen_ns, s->lost_ns, wait);
}

/* ---- calls and operations that were not seen ---- */

void sl_streams_ignore_call(struct sl_streams *s, uint64_t returned_ns)
{
    s->unseen_ns = sl_later(s->unseen_ns, returned_ns);
    s->lost_ns = sl_later(s->lost_ns, returned_ns);
}

void sl_stream_ignore_op(struct sl_streams *s, struct sl_stream *stream, uint64_t start_ns)
{
    stream->ignored_ns = sl_later(stream->ignored_ns, start_ns);
    if (stream->active_ns && !stream->listed)
        sl_stream_use(stream, stream->active_ns);
    s->lost_ns = sl_later(s->lost_ns, start_ns);
}

/* Returns 1 if the operation was enqueued after all work of the ignored calls. */
static int is_behind_calls(const struct sl_streams *s, const struct sl_op *op)
{
    return op && op->by.from_ns >= s->unseen_ns;
}

/* Returns 1 if the stream's last operation is an operation X whose call is not known, and if the
 * wait may have been for X. X began after `op`, so X was launched after `op`, too. A wait that
 * returned before X began was not for X. If `last` began after X, `last` is ordered after X. */
static int is_last_ignored(const struct sl_look *look)
{
    uint64_t ns = look->op ? look->stream->ignored_ns : 0;

    return ns && look->op->pub.start_ns < ns && !(look->when->waits && look->when->to_ns <= ns) &&
           !(look->last && look->last->pub.start_ns >= ns) && may_be_pending(look, ns);
}

int sl_look_unseen(const struct sl_streams *s, const struct sl_look *look)
{
    if (!look->op && !sl_moment_is_after(look->when, look->context->seen_ns) &&
        !(look->stream && sl_moment_is_after(look->when, look->stream->seen_ns)))
        return 1;
    return (s->unseen_ns && !is_behind_calls(s, look->op) && !is_behind_calls(s, look->last) &&
            may_be_pending(look, s->unseen_ns)) ||
           is_last_ignored(look);
}

/* ---- the search for unknown work ---- */

uint32_t sl_look_lost(struct sl_look *look, const struct sl_set *extra)
{
    if (!extra->lost || !is_before(&extra->lost_by, look->when, &look->overlaps))
        return 0;
    if (extra == &look->stream->extra && !may_be_pending(look, look->stream->lost_ns))
        return 0;
    return extra->lost;
}

static int is_behind(const struct sl_op *op, const struct sl_moment *by)
{
    return op && sl_moment_precedes(by, &op->by);
}

/* Returns 1 if the stream is a branch of a graph. A branch is ordered after the work that its
 * launch was ordered after, and no call enqueues work on a branch. A stream that was never used may
 * be any stream. */
static int is_branch(const struct sl_look *look)
{
    return look->op && !look->stream->plain;
}

uint32_t sl_look_at_ring(const struct sl_streams *s, enum sl_unknown what, struct sl_look *look)
{
    const struct sl_moment *by;

    if (what != SL_UNKNOWN_STREAM_WAIT || !sl_foreign_last_rowless(look, &by))
        by = last_before(&s->unknown[what], look->when, &look->overlaps);
    if (!by || is_branch(look))
        return 0;
    look->overlaps |= look->op && sl_moments_overlap(by, &look->op->by);
    if (is_behind(look->op, by) || is_behind(look->last, by) ||
        (!look->stream && by->to_ns <= look->since_ns) || !may_be_pending(look, by->to_ns))
        return 0;
    return 1u << SL_EDGE_LOST_NO_RECORD;
}

static int may_precede(const struct sl_moment *a, const struct sl_moment *b)
{
    return sl_moment_precedes(a, b) || sl_moments_overlap(a, b);
}

int sl_look_for_missing(const struct sl_streams *s, const struct sl_look *look)
{
    const struct sl_unknown_calls *calls = &s->unknown[SL_UNKNOWN_OPERATION];

    for (uint64_t i = 0; i < kept(calls) && !is_branch(look); i++) {
        const struct sl_moment *by = &back(calls, i)->by;

        if (may_precede(by, look->when) && (!look->op || may_precede(&look->op->by, by)) &&
            (!look->last || may_precede(&look->last->by, by)) && may_be_pending(look, by->to_ns))
            return 1;
    }
    return 0;
}
