/*
 * foreign.c - infers from times the facts that are missing in files of torch.profiler, or counts
 * them as unknown.
 *
 * Threads: only the thread that owns the engine (edge.h). Memory: none.
 */
#include "sync/foreign.h"

#include "sync/apply.h"
#include "sync/stream_state_impl.h"

enum {
    /* a call that copies 0 bytes returns within this time; a call that enqueues work takes 4 us or
     * more */
    NOTHING_NS = 2000
};

void sl_foreign_init(const struct sl_edges_options *opt, struct sl_streams *streams)
{
    streams->one_process = !opt->foreign;
    streams->keep_ns = opt->foreign ? SL_WAKE_MOST_NS : 0;
}

/* ---- functions that are called when a call is applied ---- */

void sl_foreign_operation(struct sl_call *c, const struct sl_item *item)
{
    const struct sl_stream *stream = sl_call_stream(c, item), *recent = stream->context->recent;

    if (c->e->opt.foreign && !stream->flags && stream->id == SL_STREAM_LEGACY && recent &&
        recent != stream)
        sl_call_lose(c, SL_EDGE_LOST_FLAG_UNKNOWN);
}

static int has_operation(const struct sl_call *c)
{
    for (size_t i = 0; i < c->count; i++)
        if (sl_item_is_operation(&c->item[i]))
            return 1;
    return 0;
}

/* Returns 1 if the call enqueued an operation that the file does not list. Two sorts of calls
 * enqueue no operation: a captured launch, which becomes a node of a graph, and a copy or memset of
 * 0 bytes. */
static int is_missing(const struct sl_call *c)
{
    int is_launch = c->class == SL_CALL_KERNEL_LAUNCH || c->class == SL_CALL_GRAPH_LAUNCH;

    return c->cpu && (c->cpu->flags & SL_EVF_LAUNCH) && !c->e->captures &&
           (is_launch || c->by.to_ns - c->by.from_ns > NOTHING_NS) && !has_operation(c);
}

void sl_foreign_find_missing(struct sl_call *c)
{
    if (!c->e->opt.foreign)
        return;
    if (is_missing(c)) {
        sl_streams_note_unknown(&c->e->streams, SL_UNKNOWN_OPERATION, &c->by, 0);
        /* The call may have waited for its own operation. */
        if (c->class == SL_CALL_BLOCKING_COPY || c->class == SL_CALL_ASYNC_COPY)
            sl_call_lose(c, SL_EDGE_LOST_NO_RECORD);
    }
    if (c->class == SL_CALL_CAPTURE_BEGIN)
        c->e->captures++;
    else if (c->class == SL_CALL_CAPTURE_END && c->e->captures)
        c->e->captures--;
}

void sl_foreign_wait(struct sl_call *c, struct sl_stream *any, int known)
{
    enum sl_wait_scope scope = SL_WAIT_GUESS;
    enum sl_edge_kind kind = SL_EDGE_EVENT_SYNC;

    if (!c->e->opt.foreign)
        return;
    switch (c->class) {
    case SL_CALL_DEVICE_SYNC:
    case SL_CALL_CONTEXT_SYNC:
        scope = SL_WAIT_CONTEXT;
        kind = c->class == SL_CALL_DEVICE_SYNC ? SL_EDGE_DEVICE_SYNC : SL_EDGE_CONTEXT_SYNC;
        break;
    case SL_CALL_STREAM_SYNC:
        kind = SL_EDGE_STREAM_SYNC;
        break;
    case SL_CALL_EVENT_SYNC:
        break;
    case SL_CALL_STREAM_WAIT:
        sl_streams_note_unknown(&c->e->streams, SL_UNKNOWN_STREAM_WAIT, &c->by, 0);
        sl_call_lose(c, SL_EDGE_LOST_NO_RECORD);
        return;
    case SL_CALL_STREAM_QUERY:
    case SL_CALL_EVENT_QUERY:
        sl_call_lose(c, SL_EDGE_LOST_NO_RECORD);
        return;
    default:
        return;
    }
    if (known)
        sl_call_wait_for(c, any, scope, kind,
                         scope == SL_WAIT_GUESS || c->e->streams.context_count > 1);
    else
        sl_call_lose(c, any ? SL_EDGE_LOST_AMBIGUOUS : SL_EDGE_LOST_BEFORE_WINDOW);
}

/* ---- stream waits that have no row in the file ---- */

void sl_foreign_stream_waits(const struct sl_edges_options *opt, const struct sl_streams *s,
                             struct sl_stream *stream, const struct sl_moment *by)
{
    struct sl_context *context = stream->context;

    if (!opt->foreign)
        return;
    stream->has_row = 1;
    if (context->first_row)
        return;
    context->first_row = by->correlation;
    context->rowless = sl_streams_last_unknown(s, SL_UNKNOWN_STREAM_WAIT);
}

int sl_foreign_last_rowless(const struct sl_look *look, const struct sl_moment **by)
{
    const struct sl_context *context = look->context;

    if (!look->stream || !(look->stream->newest || look->stream->has_row) || !context->first_row ||
        context->first_row >= look->when->correlation)
        return 0;
    *by = context->rowless.correlation ? &context->rowless : NULL;
    return 1;
}

int sl_foreign_is_for_more(const struct sl_streams *s, const struct sl_wait *wait)
{
    struct sl_look look = {.context = wait->stream->context, .when = &wait->when};

    return s->context_count > 1 && sl_look_unknown(s, SL_UNKNOWN_STREAM_WAIT, &look);
}

/* ---- the operation that released a wait ---- */

static int is_just_before(const struct sl_wait *wait, uint64_t end_ns)
{
    return end_ns > wait->when.from_ns && end_ns + SL_WAKE_MOST_NS >= wait->when.to_ns;
}

/* Searches the stream for the operation that released the wait. A wait for an event may be for any
 * operation of the stream, because the event may have been recorded after any operation. */
static void look_at_stream(const struct sl_wait *wait, const struct sl_link *tail,
                           struct sl_op **guess, unsigned *found)
{
    int is_any = wait->kind == SL_EDGE_EVENT_SYNC;
    struct sl_op *op = is_any ? tail->op->stream->newest : tail->op;

    for (; op && *found < 2; op = is_any ? op->older : NULL) {
        int fits = is_just_before(wait, op->pub.end_ns);

        /* Neither this operation nor an earlier operation of the stream ended shortly before the
         * wait returned. */
        if (is_any && !fits && !is_just_before(wait, op->older_end_ns))
            return;
        if (fits && op->pub.end_ns <= wait->when.to_ns) {
            *guess = op;
            ++*found;
        }
    }
}

/* PyTorch copies from or to pageable memory by an asynchronous copy and a synchronization of the
 * copy's stream. Returns the copy if the wait directly follows the copy's call, and if the copy
 * ended during the wait. Otherwise returns NULL. */
static struct sl_op *own_copy(const struct sl_wait *wait, const struct sl_set *set)
{
    struct sl_op *last = NULL;

    if (wait->kind != SL_EDGE_STREAM_SYNC)
        return NULL;
    for (const struct sl_link *at = set->first; at; at = at->next)
        if (at->op->by.thread == wait->when.thread &&
            (!last || at->op->by.correlation > last->by.correlation))
            last = at->op;
    if (!last || last->pub.kind != SL_EV_MEMCPY ||
        wait->when.from_ns > last->by.to_ns + SL_WAKE_MOST_NS)
        return NULL;
    return last->pub.end_ns > wait->when.from_ns && last->pub.end_ns <= wait->when.to_ns ? last
                                                                                         : NULL;
}

struct sl_op *sl_foreign_guess(const struct sl_wait *wait, const struct sl_set *set,
                               unsigned *found)
{
    struct sl_op *guess = own_copy(wait, set);

    *found = guess != NULL;
    if (guess)
        return guess;
    for (const struct sl_link *at = set->first; at && *found < 2; at = at->next)
        look_at_stream(wait, at, &guess, found);
    return guess;
}

/* ---- the legacy default stream, if blocking streams are not known ---- */

/* Returns 1 if the operation shows that its stream is non-blocking. An operation of a blocking
 * stream cannot run at the same time as `own`, which is an operation of the legacy default stream.
 * An operation of a blocking stream cannot run after `own` if it was enqueued before `own`. */
static int is_non_blocking(const struct sl_op *op, const struct sl_op *own)
{
    for (; op && own && op->pub.end_ns > own->pub.start_ns; op = op->older)
        if (op->pub.start_ns < own->pub.end_ns || (op->by.to_ns && op->by.to_ns <= own->by.from_ns))
            return 1;
    return 0;
}

int sl_foreign_is_for_another(const struct sl_edges_options *opt, struct sl_streams *s,
                              const struct sl_wait *wait, const struct sl_set *own)
{
    const struct sl_op *own_op = NULL;
    uint64_t since_ns = wait->when.from_ns;
    struct sl_set all = {0};
    int found = 0;

    if (!opt->foreign || wait->kind != SL_EDGE_STREAM_SYNC ||
        wait->stream->id != SL_STREAM_LEGACY || wait->stream->flags)
        return 0;
    for (const struct sl_link *at = own->first; at; at = at->next) {
        since_ns = sl_later(since_ns, at->op->pub.end_ns);
        if (!own_op && at->op->stream == wait->stream)
            own_op = at->op;
    }
    if (wait->when.to_ns <= since_ns + SL_WAKE_MOST_NS)
        return 0;
    sl_set_open(s, &all);
    sl_context_collect(s, wait->stream->context, 0, &wait->when, &all);
    for (const struct sl_link *at = all.first; at && !found; at = at->next)
        found = at->op->pub.end_ns > since_ns && at->op->pub.end_ns <= wait->when.to_ns &&
                is_just_before(wait, at->op->pub.end_ns) && !is_non_blocking(at->op, own_op);
    sl_set_clear(s, &all);
    return found;
}
