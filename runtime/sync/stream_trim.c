/*
 * stream_trim.c - forgets operations and set members that no later wait can need.
 *
 * - The operation of a stream that ends last is usually the operation that began last. But a kernel
 *   may begin while the previous kernel runs (programmatic dependent launch), and end before the
 *   previous kernel. So each operation stores the latest end of the operations before it.
 * - Each stream keeps the newest operation that had ended before all later waits began. The
 *   operations that are older than this operation are forgotten.
 * - If each request has its own stream, the sets that streams wait for and the lists of streams
 *   would grow with every request. So members of long sets and lists are dropped if they had ended
 *   before every call began that is still to be applied, and if some thread has waited for them.
 *   The edges of dropped members would have no waiting time. A call whose record arrives late still
 *   finds the removed streams. If a set may lack dropped members, the loss is counted.
 *
 * Threads: only the thread that owns the engine (edge.h). Memory: dropped objects return to the
 * pools of the engine's store (base/store.h).
 */
#include "sync/stream_state_impl.h"

#include <errno.h>

/* ---- the operation that ends last ---- */

enum {
    /* maximum number of steps back in the list, in the search for an operation that ends after
     * later operations */
    LOOKS = 4096
};

struct sl_op *sl_op_last_to_end(struct sl_op *op)
{
    struct sl_op *last = op;

    for (int looks = LOOKS; !last->no_time && op->older_end_ns > last->pub.end_ns; looks--) {
        op = op->older;
        if (!op || looks == 0)
            return NULL;
        if (op->pub.end_ns > last->pub.end_ns)
            last = op;
    }
    return last;
}

void sl_op_note_ends(struct sl_op *op, struct sl_op *above)
{
    const struct sl_op *older = op->older;
    struct sl_op *from = op->stream->newest;

    /* If `older` has no time, its position is not certain, so the ends of the operations before it
     * are not used. */
    op->older_end_ns =
        older && !older->no_time ? sl_later(older->pub.end_ns, older->older_end_ns) : 0;
    /* If the operation had ended when the next operation began, all later operations end after the
     * operation. */
    if (!above || op->pub.end_ns <= above->pub.start_ns)
        return;
    for (struct sl_op *at = from; at != op; at = at->older)
        if (at->no_time)
            from = at;
    for (struct sl_op *at = from; at != op; at = at->older)
        at->older_end_ns = sl_later(at->older_end_ns, op->pub.end_ns);
}

/* ---- operations ---- */

struct sl_op *sl_stream_oldest_pending(struct sl_stream *stream, uint64_t ns, uint32_t *pending)
{
    struct sl_op *op = stream->oldest;

    /* After sl_stream_trim(), the search begins at the newest operation. While a queue is full,
     * sl_stream_trim() is called once for as many operations as the queue holds. */
    if (!op || ns < stream->oldest_ns) {
        stream->ended = stream->kept - 1;
        for (op = stream->newest; op && op->older && op->older->pub.end_ns > ns; op = op->older)
            stream->ended--;
    }
    for (; op && op->newer && op->pub.end_ns <= ns; op = op->newer)
        stream->ended++;
    stream->oldest = op;
    stream->oldest_ns = ns;
    *pending = stream->kept - stream->ended;
    return op && op->pub.end_ns > ns && !(op->older && op->older->no_time) ? op : NULL;
}

/* Drops the operations that are older than `op`. If one of these operations ends after `op`, it is
 * kept. */
static void drop_behind(struct sl_streams *s, struct sl_stream *stream, struct sl_op *op)
{
    struct sl_op *last = sl_op_last_to_end(op);

    while (op->older && op->older != last) {
        struct sl_op *gone = op->older;

        op->older = gone->older;
        gone->older = NULL;
        sl_ops_drop(s, gone);
        stream->trimmed = 1;
        if (last && last != op)
            last->apart = 1;
    }
    if (!op->older)
        return;
    last->newer = op;
    stream->kept++;
    stream->trimmed |= last->older != NULL;
    sl_ops_drop(s, last->older);
    last->older = NULL;
}

static int may_be_asked_for(const struct sl_streams *s, const struct sl_op *op)
{
    return op->pub.end_ns > s->horizon_ns || s->horizon_ns - op->pub.end_ns < s->keep_ns;
}

void sl_stream_trim(struct sl_streams *s, struct sl_stream *stream, const struct sl_op *pushed)
{
    struct sl_op *op = stream->newest;
    int is_passed = op == pushed;

    stream->oldest = NULL;
    stream->kept = 1;
    while ((may_be_asked_for(s, op) || !is_passed) && op->older) {
        op = op->older;
        is_passed |= op == pushed;
        stream->kept++;
    }
    drop_behind(s, stream, op);
    stream->trim_at = stream->kept * 2 > SL_STREAM_TRIM_AT ? stream->kept * 2 : SL_STREAM_TRIM_AT;
}

static int is_same_call(const struct sl_op *a, const struct sl_op *b)
{
    return a && b && a->by.correlation == b->by.correlation;
}

/* Drops the operations in the middle of graph launches. The last node of a launch is the tail, and
 * the first node has the set that the launch was ordered after. The nodes between the first and the
 * last can be a tail only for calls that overlap the launch. */
static void thin(struct sl_streams *s, struct sl_stream *stream)
{
    for (struct sl_op *op = stream->newest; op; op = op->older) {
        const struct sl_op *last = sl_op_last_to_end(op);
        struct sl_op *between = op->older;

        while (last && between && between != stream->pushed && between != last &&
               is_same_call(op, between) && is_same_call(between, between->older)) {
            op->older = between->older;
            op->older->newer = op;
            between->older = NULL;
            sl_ops_drop(s, between);
            stream->kept--;
            between = op->older;
        }
    }
}

int sl_streams_make_room(struct sl_streams *s)
{
    uint64_t before = 0, after = 0;

    for (size_t i = 0; i < s->count; i++) {
        struct sl_stream *stream = s->numbered[i];

        if (!stream->newest)
            continue;
        before += stream->kept;
        sl_stream_trim(s, stream, stream->pushed ? stream->pushed : stream->newest);
        thin(s, stream);
        after += stream->kept;
    }
    return (before - after) * 8 >= before ? 0 : -ENOMEM;
}

/* ---- members of sets, and streams of a list ---- */

enum {
    MEMBERS_KEPT = 16, /* number of members that a set keeps, even if their operations have ended */
    /* number of streams that a list keeps, even if their work has ended; few jobs have more streams
     */
    STREAMS_KEPT = 64
};

/* Returns a time. All calls that were under way at that time have been applied, except for calls
 * whose records arrive late. */
static uint64_t past_ns(const struct sl_streams *s)
{
    return s->horizon_ns < s->waits_since_ns ? s->horizon_ns : s->waits_since_ns;
}

/* Returns 1 if some thread has waited for the operation. In files written by other tools, the waits
 * of threads are not tracked. */
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
        stream->dropped_ns = sl_later(stream->dropped_ns, sl_op_all_ended_ns(link->op));
        sl_link_drop(s, link);
    }
}

static int is_stream_past(const struct sl_streams *s, const struct sl_stream *stream)
{
    const struct sl_moment now = {.from_ns = past_ns(s)};
    const struct sl_op *newest = stream->newest;
    const struct sl_look look = sl_look_at(stream, newest, &now);

    /* The waits of a whole context are compared with the operations of each stream, so the stream
     * must stay in the list. */
    if (stream->extra.lost || s->unknown[SL_UNKNOWN_CONTEXT_WAIT].count ||
        (newest ? !is_past(s, newest) : stream->trimmed) || sl_look_unseen(s, &look))
        return 0;
    for (const struct sl_link *at = stream->extra.first; at; at = at->next)
        if (!is_link_past(s, at))
            return 0;
    return 1;
}

static void leave_if_past(const struct sl_streams *s, struct sl_stream *stream)
{
    struct sl_context *context = stream->context;

    if (!is_stream_past(s, stream))
        return;
    sl_stream_leave_list(stream);
    context->left++;
    context->left_ns = sl_later(context->left_ns, sl_stream_over_ns(stream));
}

struct sl_stream *sl_walk_next(struct sl_walk *w)
{
    if (w->at && ++w->passed > STREAMS_KEPT)
        leave_if_past(w->s, w->at);
    w->at = w->next && w->next->active_ns > w->since_ns ? w->next : NULL;
    if (w->at) {
        w->next = w->at->used_before;
        return w->at;
    }
    if (!w->context->left || !sl_moment_is_late(w->when, w->context->left_ns))
        return NULL;
    while (w->left < w->s->count) {
        struct sl_stream *stream = w->s->numbered[w->left++];

        if (stream->context == w->context && !stream->listed && stream->active_ns > w->since_ns)
            return stream;
    }
    return NULL;
}
