/*
 * stream_state.c - keeps the operations and waits of each stream, so that the stream's tail can be
 * found for any time that a later wait may need.
 *
 * A stream's operations form a list from the newest to the oldest. Each operation stores the set of
 * operations that the stream was made to wait for right before the operation. So the engine finds
 * the stream's tail (the operations that new work on the stream must wait for) at an earlier time
 * by going back in the list.
 *
 * Threads: only the thread that owns the engine (edge.h). Memory: a stream's list holds a reference
 * to each operation.
 */
#include <errno.h>
#include <string.h>

#include "sync/stream_state_impl.h"

enum {
    /* maximum number of operations to examine that the GPU ran before operations with lower
     * correlation ids; a file may have more */
    OVERTAKEN_MOST = 64
};

enum found {
    OUT,
    IN,
    OVERLAPS
};

/* ---- lists ---- */

void sl_ops_drop(struct sl_streams *s, struct sl_op *rest)
{
    while (rest) {
        struct sl_op *gone = rest;

        rest = gone->older;
        gone->older = NULL;
        sl_set_clear(s, &gone->behind);
        sl_op_unref(s, gone);
    }
}

/* Returns 1 if the stream is blocking, that is, if it is ordered with the legacy default stream. */
static int is_blocking(const struct sl_stream *stream)
{
    return stream->flags && stream->flags != SL_STREAM_FLAG_NON_BLOCKING &&
           stream->flags != SL_STREAM_FLAG_LEGACY;
}

int sl_streams_are_ordered(const struct sl_stream *a, const struct sl_stream *b)
{
    const struct sl_stream *legacy = a->context->legacy;

    return a == b || (a->context == b->context &&
                      ((a == legacy && is_blocking(b)) || (b == legacy && is_blocking(a))));
}

int sl_moment_precedes(const struct sl_moment *a, const struct sl_moment *b)
{
    if (a->thread != b->thread && a->to_ns && b->to_ns) {
        if (a->to_ns <= b->from_ns)
            return 1;
        if (b->to_ns <= a->from_ns)
            return 0;
    }
    return a->correlation < b->correlation;
}

int sl_moments_overlap(const struct sl_moment *a, const struct sl_moment *b)
{
    return a->thread != b->thread && a->to_ns && b->to_ns && a->to_ns > b->from_ns &&
           a->from_ns < b->to_ns;
}

/* ---- finding tails ---- */

/* Finds out whether the work of call `by` was enqueued before call `when` acted. If the calls
 * overlap, a wait includes the work if the work ended before the wait. In all other cases the order
 * of API entry decides. */
static enum found find(const struct sl_moment *by, uint64_t end_ns, const struct sl_moment *when,
                       int *overlaps)
{
    if (by->correlation == when->correlation)
        return OUT;
    if (!sl_moments_overlap(by, when))
        return sl_moment_precedes(by, when) ? IN : OUT;
    if (when->waits)
        return end_ns <= when->to_ns ? OVERLAPS : OUT;
    *overlaps = 1;
    return by->correlation < when->correlation ? OVERLAPS : OUT;
}

static struct sl_op *look_back(const struct sl_stream *stream, const struct sl_moment *when,
                               const struct sl_set **extra, int *overlaps)
{
    struct sl_op *op = stream->newest;
    enum found found = OUT;

    *extra = &stream->extra;
    while (op && (found = find(&op->by, sl_op_all_ended_ns(op), when, overlaps)) == OUT) {
        *extra = &op->behind;
        op = op->older && !op->older->apart ? op->older : NULL;
    }
    *overlaps |= found == OVERLAPS;
    return op;
}

/* Returns 1 if the work was enqueued before `last`. If so, every wait for `last` is also a wait for
 * this work. */
static int is_behind(const struct sl_op *last, const struct sl_moment *by, uint64_t end_ns)
{
    int unsure = 0;

    return last && find(by, end_ns, &last->by, &unsure) == IN;
}

static void add_last_to_end(struct sl_streams *s, struct sl_op *op, enum sl_via via, int overlaps,
                            struct sl_set *set)
{
    struct sl_op *ends = sl_op_last_to_end(op);

    if (ends)
        sl_set_add(
            s, set,
            &(struct sl_link){
                .op = ends, .by = ends->by, .via = (uint8_t)via, .overlapping = (uint8_t)overlaps});
    else
        set->lost |= 1u << SL_EDGE_LOST_GAVE_UP;
}

/* Returns a loss reason if the link was made by a call that overlaps this call, and the GPU's order
 * shows that the link was made later. The link replaced a member that was valid for this call, and
 * that member is not stored any more. */
static uint32_t lost_behind(const struct sl_link *link, const struct sl_moment *when)
{
    return link->hides && sl_moments_overlap(&link->by, when) ? 1u << SL_EDGE_LOST_AMBIGUOUS : 0;
}

/* Returns 1 if a late call, which is ordered after `op`, may have waited for members or operations
 * of the stream that are forgotten. */
static int lacks(const struct sl_stream *stream, const struct sl_op *op,
                 const struct sl_moment *when)
{
    return sl_moment_is_late(when, stream->dropped_ns) ||
           (!op && sl_moment_is_late(when, stream->context->gone_ns));
}

/* Adds the stream's tail, except for the work that must complete before `last`. If `last` is NULL,
 * adds the whole tail. */
static struct sl_op *add_tail(struct sl_streams *s, struct sl_stream *stream,
                              const struct sl_moment *when, const struct sl_op *last,
                              enum sl_via via, struct sl_set *set)
{
    const struct sl_set *extra;
    struct sl_look look = sl_look_at(stream, NULL, when);
    struct sl_op *op = look_back(stream, when, &extra, &look.overlaps);

    look.op = op;
    look.last = last;
    if (lacks(stream, op, when))
        set->lost |= 1u << SL_EDGE_LOST_GAVE_UP;
    set->lost |= sl_look_lost(&look, extra);
    set->lost |= sl_look_unknown(s, SL_UNKNOWN_CONTEXT_WAIT, &look);
    if (op && is_behind(last, &op->by, op->pub.end_ns))
        look.overlaps = 0;
    else if (op)
        add_last_to_end(s, op, via, look.overlaps, set);
    if (!op && stream->trimmed)
        set->lost |= 1u << SL_EDGE_LOST_GAVE_UP;
    else if (sl_look_unseen(s, &look))
        set->lost |= 1u << SL_EDGE_LOST_BEFORE_WINDOW;
    set->misses |= (uint32_t)sl_look_misses(s, &look);
    for (const struct sl_link *at = extra->first; at; at = at->next) {
        struct sl_link link = *at;
        int unsure = look.overlaps;
        enum found found = find(&at->by, at->op->pub.end_ns, when, &unsure);

        if (is_behind(last, &at->by, at->op->pub.end_ns))
            continue;
        if (found == OUT) {
            set->lost |= lost_behind(at, when);
            continue;
        }
        link.overlapping |= (uint8_t)(unsure || found == OVERLAPS);
        if (via != SL_VIA_STREAM) {
            link.via = (uint8_t)via;
            link.by = (struct sl_moment){0};
        }
        sl_set_add(s, set, &link);
    }
    return op;
}

void sl_stream_tail(struct sl_streams *s, struct sl_stream *stream, const struct sl_moment *when,
                    enum sl_via via, struct sl_set *set)
{
    add_tail(s, stream, when, NULL, via, set);
}

/* Adds the work that the order of the legacy default stream puts between the stream's operation
 * `last` and the stream's next operation. */
static void add_legacy(struct sl_streams *s, struct sl_stream *stream, const struct sl_op *last,
                       uint64_t over_ns, const struct sl_moment *when, struct sl_set *set)
{
    struct sl_context *context = stream->context;
    struct sl_stream *legacy = context->legacy, *at;
    const struct sl_look look = sl_look_at(stream, last, when);
    uint64_t since_ns = last ? sl_later(last->by.from_ns, over_ns) : over_ns;
    struct sl_walk walk = {s, context, when, since_ns, .next = context->recent};
    int takes_part = stream == legacy || is_blocking(stream);

    /* Work of other streams that was not recorded may be ordered before the first recorded
     * operation of this stream. */
    if (takes_part && sl_look_unseen(s, &look))
        set->lost |= 1u << SL_EDGE_LOST_BEFORE_WINDOW;
    if (stream == legacy) {
        if (sl_moment_is_late(when, context->gone_ns))
            set->lost |= 1u << SL_EDGE_LOST_GAVE_UP;
        while ((at = sl_walk_next(&walk)))
            if (is_blocking(at))
                add_tail(s, at, when, last, SL_VIA_LEGACY, set);
    } else if (legacy && takes_part && legacy->active_ns > since_ns) {
        add_tail(s, legacy, when, last, SL_VIA_LEGACY, set);
    }
}

void sl_stream_collect(struct sl_streams *s, struct sl_stream *stream, uint64_t over_ns,
                       const struct sl_moment *when, int enqueues, struct sl_set *set)
{
    struct sl_op *op = add_tail(s, stream, when, NULL, SL_VIA_STREAM, set);
    struct sl_look look = sl_look_at(stream, op, when);

    if (enqueues || stream == stream->context->legacy)
        add_legacy(s, stream, op, over_ns, when, set);
    /* The unknown call may also concern another stream that is ordered with the legacy default
     * stream. Later work on this stream was ordered after that other stream, so this case is
     * covered here, too. */
    set->lost |= sl_look_unknown(s, SL_UNKNOWN_GRAPH, &look);
    set->lost |= sl_look_unknown(s, SL_UNKNOWN_STREAM_WAIT, &look);
    if (look.overlaps)
        sl_set_mark(set);
}

void sl_context_collect(struct sl_streams *s, struct sl_context *context, uint64_t since_ns,
                        const struct sl_moment *when, struct sl_set *set)
{
    struct sl_look look = {.context = context, .when = when, .since_ns = since_ns};
    struct sl_walk walk = {s, context, when, since_ns, .next = context->recent};
    struct sl_stream *at;
    int tells = 0;

    if (sl_moment_is_late(when, context->gone_ns))
        set->lost |= 1u << SL_EDGE_LOST_GAVE_UP;
    if (sl_look_unseen(s, &look))
        set->lost |= 1u << SL_EDGE_LOST_BEFORE_WINDOW;
    set->misses |= (uint32_t)sl_look_misses(s, &look);
    while ((at = sl_walk_next(&walk))) {
        add_tail(s, at, when, NULL, SL_VIA_STREAM, set);
        tells |= at->plain; /* the stream's tail includes the waits of the whole context */
    }
    if (walk.next || context->left || !tells)
        set->lost |= sl_look_unknown(s, SL_UNKNOWN_CONTEXT_WAIT, &look);
}

/* ---- adding operations and waits ---- */

void sl_streams_forget(struct sl_streams *s)
{
    uint32_t in_use = 0; /* not 0: a set still holds an operation of some stream */

    s->unseen = 1;
    memset(s->unknown, 0, sizeof s->unknown);
    for (size_t i = 0; i < s->count; i++) {
        sl_stream_empty(s, s->numbered[i], UINT64_MAX);
        s->numbered[i]->held = 0;
    }
    for (size_t i = 0; i < s->count; i++)
        in_use |= s->numbered[i]->ops;
    for (struct sl_context *at = s->all_contexts; at; at = at->next)
        at->seen_ns = UINT64_MAX;
    if (in_use)
        return;
    /* Returns the memory of the operations to the store for other uses. */
    sl_pool_free(&s->ops);
    sl_pool_free(&s->links);
}

/* Returns 1 if the link was added before the operation. If the two calls overlap, the GPU's order
 * may decide, because a source that the operation did not wait for was added later. */
static int is_before(const struct sl_link *link, const struct sl_op *op)
{
    return sl_moment_precedes(&link->by, &op->by) &&
           !(sl_moments_overlap(&link->by, &op->by) && op->pub.start_ns &&
             link->op->pub.end_ns > op->pub.start_ns + SL_TICK_NS);
}

/* Moves the waits that were added before the operation's call from a set to the operation. Loss
 * reasons may stay in both sets, because only the first and the last call (`last_lost`) that caused
 * the reasons are known. */
static void split(struct sl_set *from, const struct sl_moment *last_lost, struct sl_op *op)
{
    struct sl_link **at = &from->first;

    if (from->lost && sl_moment_precedes(&from->lost_by, &op->by)) {
        op->behind.lost |= from->lost;
        op->behind.lost_by = from->lost_by;
        if (sl_moment_precedes(last_lost, &op->by))
            from->lost = 0;
    }
    while (*at) {
        struct sl_link *link = *at;

        if (!is_before(link, op)) {
            op->behind.lost |= lost_behind(link, &op->by);
            at = &link->next;
            continue;
        }
        *at = link->next;
        link->next = op->behind.first;
        op->behind.first = link;
    }
}

/* Moves the waits that were added before the operation to the operation. Operations that the GPU
 * ran later may have been launched earlier, because the launching calls of other threads took a
 * long time. So the sets of these operations are split, too. */
static void take_waits(struct sl_stream *stream, struct sl_op *op, struct sl_op *above)
{
    int looks = OVERTAKEN_MOST;

    split(&stream->extra, &stream->last_lost, op);
    for (struct sl_op *at = stream->newest; above && at != above && looks; at = at->older, looks--)
        split(&at->behind, &at->by, op);
    if (above)
        split(&above->behind, &above->by, op);
}

static void came_behind(struct sl_streams *s, struct sl_op *op, struct sl_op *above,
                        struct sl_set *before)
{
    struct sl_look look = sl_look_at(op->stream, op->older, &op->by);

    look.overlaps = (op->older && sl_moments_overlap(&op->older->by, &op->by)) ||
                    (above && sl_moments_overlap(&above->by, &op->by));
    sl_set_open(s, before);
    before->lost |= op->behind.lost;
    if (lacks(op->stream, op->older, &op->by))
        before->lost |= 1u << SL_EDGE_LOST_GAVE_UP;
    before->lost |= sl_look_unknown(s, SL_UNKNOWN_CONTEXT_WAIT, &look);
    before->lost |= sl_look_unknown(s, SL_UNKNOWN_GRAPH, &look);
    /* If no member is known, no edge is left out here, because the unknown call itself was counted.
     */
    if (op->behind.first)
        before->lost |= sl_look_unknown(s, SL_UNKNOWN_STREAM_WAIT, &look);
    for (const struct sl_link *at = op->behind.first; at; at = at->next) {
        struct sl_link link = *at;

        link.overlapping |= (uint8_t)(look.overlaps || sl_moments_overlap(&at->by, &op->by));
        sl_set_add(s, before, &link);
    }
    add_legacy(s, op->stream, op->older, 0, &op->by, before);
}

static struct sl_op *new_op(struct sl_streams *s)
{
    struct sl_op *op = sl_pool_get(&s->ops);

    return op || sl_streams_make_room(s) != 0 ? op : sl_pool_get(&s->ops);
}

/* Finds the two operations between which the new operation belongs. Returns 0, or -EEXIST if the
 * stream has the operation already, or if the operation is too old for any wait. */
static int find_place(const struct sl_stream *stream, const struct sl_edge_op *pub,
                      struct sl_op **above, struct sl_op **below)
{
    struct sl_op *at = stream->newest;

    *above = NULL;
    /* A file may list its events in any order, even from last to first. */
    if (stream->pushed && sl_op_later(&stream->pushed->pub, pub)) {
        *above = stream->pushed;
        at = stream->pushed->older;
    }
    while (at && sl_op_later(&at->pub, pub)) {
        *above = at;
        at = at->older;
    }
    *below = at;
    if (at && at->pub.correlation == pub->correlation && at->pub.start_ns == pub->start_ns &&
        at->pub.graph_node == pub->graph_node)
        return -EEXIST;
    return *above && (at ? at->apart : stream->trimmed) ? -EEXIST : 0;
}

/* Returns 1 if it is certain which operation precedes this operation on the stream. An operation
 * without a time is placed by the time of its call. If two such calls overlap, the order of their
 * operations is not known. */
static int is_previous_known(const struct sl_op *op)
{
    const struct sl_stream *stream = op->stream;
    const struct sl_op *at = op->older;

    return stream->unordered != op->pub.correlation &&
           !sl_moments_overlap(&stream->untimed, &op->by) &&
           (!at || (!at->no_time && !sl_moments_overlap(&stream->untimed, &at->by)));
}

int sl_stream_push(struct sl_streams *s, struct sl_stream *stream, const struct sl_edge_op *pub,
                   const struct sl_moment *by, struct sl_set *before, uint64_t *previous_end_ns,
                   struct sl_op **out)
{
    struct sl_op *above, *at, *op = new_op(s);
    struct sl_look look;

    *out = NULL;
    if (!op)
        return -ENOMEM;
    if (find_place(stream, pub, &above, &at) != 0) {
        sl_pool_put(&s->ops, op);
        return 0;
    }
    op->pub = *pub;
    op->by = *by;
    op->stream = stream;
    op->older = at;
    op->newer = above;
    op->refs = 1;
    op->no_time = pub->end_ns == 0;
    look = sl_look_at(stream, at, by);
    op->after_unseen = (uint8_t)sl_look_unseen(s, &look);
    op->after_missing = (uint8_t)sl_look_misses(s, &look);
    stream->ops++;
    sl_stream_forget_lost(s, stream, by);
    *(above ? &above->older : &stream->newest) = op;
    if (at)
        at->newer = op;
    take_waits(stream, op, above);
    sl_op_note_ends(op, above);
    *previous_end_ns = at ? sl_op_all_ended_ns(at) : 0;
    if (!is_previous_known(op))
        *previous_end_ns = UINT64_MAX;
    if (pub->start_ns == 0 && stream->untimed.to_ns < by->to_ns)
        stream->untimed = *by;
    stream->pushed = op;
    came_behind(s, op, above, before);
    sl_stream_use(stream, by->to_ns ? by->to_ns : pub->start_ns);
    if (++stream->kept >= stream->trim_at)
        sl_stream_trim(s, stream, op);
    *out = op;
    return 0;
}

void sl_stream_follow(struct sl_streams *s, struct sl_stream *stream, const struct sl_set *set,
                      enum sl_via via, const struct sl_moment *by)
{
    uint32_t lost_before;

    sl_stream_drop_past(s, stream);
    sl_set_open_beside(s, &stream->extra);
    sl_stream_forget_lost(s, stream, by);
    lost_before = stream->extra.lost;
    stream->extra.lost = set->lost;
    if (set->misses && !set->first)
        stream->extra.lost |= 1u << SL_EDGE_LOST_NO_RECORD;
    for (const struct sl_link *at = set->first; at; at = at->next) {
        struct sl_link link = *at;

        if (at->op->stream == stream)
            continue;
        link.via = (uint8_t)via;
        link.by = *by;
        link.hides = 0;
        link.inferred |= (uint8_t)set->misses;
        sl_set_add_beside(s, &stream->extra, &link);
    }
    if (stream->extra.lost) /* `lost` is also set if memory ran out */
        sl_stream_lose(s, stream, lost_before, by);
    stream->extra.lost |= lost_before;
    if (set->first || set->lost || set->misses)
        sl_stream_use(stream, by->to_ns);
}
