/*
 * stream_table.c - the table of streams and contexts. A record that names a new stream or context
 * adds this stream or context to the table. The table finds streams and contexts by id or number,
 * and lists them in order of use. When there are many streams, the table forgets streams whose work
 * has completed.
 *
 * Threads: only the thread that owns the engine (edge.h). Memory: the streams, the contexts and the
 * table.
 */
#include <errno.h>

#include "sync/stream_state_impl.h"

enum {
    SHARE = 2, /* streams may use 1/SHARE of the store */
    /* number of streams considered for replacement each time a stream is created */
    LOOKS = 8,
    SLOTS_USUAL = 4,   /* number of map slots that are reserved for one key */
    SKEW_NS = 10000000 /* calls whose starts differ by more than this have ids in the order of their
                        * starts */
};

void sl_streams_init(struct sl_streams *s, struct sl_store *store)
{
    *s = (struct sl_streams){.store = store, .waits_since_ns = UINT64_MAX};
    s->most = store->cap_bytes / SHARE /
              (sizeof(struct sl_stream) + sizeof(struct sl_op) + 2 * sizeof(struct sl_stream *) +
               SLOTS_USUAL * sizeof(struct sl_map_slot));
    sl_flags_init(&s->flags, store);
    sl_pool_init(&s->ops, store, sizeof(struct sl_op));
    sl_pool_init(&s->links, store, sizeof(struct sl_link));
    sl_pool_init(&s->streams, store, sizeof(struct sl_stream));
    sl_pool_init(&s->contexts, store, sizeof(struct sl_context));
    sl_map_init(&s->by_id, store);
    sl_map_init(&s->context_by_id, store);
}

void sl_streams_free(struct sl_streams *s)
{
    sl_pool_free(&s->ops);
    sl_pool_free(&s->links);
    sl_pool_free(&s->streams);
    sl_pool_free(&s->contexts);
    sl_map_free(&s->by_id);
    sl_map_free(&s->context_by_id);
    sl_flags_free(&s->flags);
    sl_store_unmap(s->store, s->numbered, s->numbered_slots * sizeof *s->numbered);
}

/* ---- streams and contexts ---- */

/* CUPTI numbers contexts within a process, but a file may have devices of several processes. */
static struct sl_context *get_context(struct sl_streams *s, uint8_t device, uint32_t id)
{
    uint64_t key = ((s->one_process ? 0 : (uint64_t)device << 32) | id) + 1;
    struct sl_context *context = sl_map_get(&s->context_by_id, key);

    if (context)
        return context;
    context = sl_map_make(&s->context_by_id, &s->contexts, key);
    if (!context)
        return NULL;
    *context = (struct sl_context){.id = id,
                                   .number = s->context_count++,
                                   .next = s->all_contexts,
                                   .device = device,
                                   .over.to_ns = UINT64_MAX,
                                   .seen_ns = s->unseen ? UINT64_MAX : 0};
    s->all_contexts = context;
    return context;
}

static uint64_t key_of(const struct sl_context *context, uint32_t stream)
{
    return (uint64_t)(context->number + 1) << 32 | stream;
}

/* ---- a context's list ---- */

void sl_stream_leave_list(struct sl_stream *stream)
{
    if (stream->used_after)
        stream->used_after->used_before = stream->used_before;
    else
        stream->context->recent = stream->used_before;
    if (stream->used_before)
        stream->used_before->used_after = stream->used_after;
    stream->used_before = stream->used_after = NULL;
    stream->listed = 0;
}

/* Removes the stream from the list of its context. If the stream was removed before, subtracts the
 * stream from the count of removed streams. */
static void leave(struct sl_stream *stream)
{
    if (stream->listed)
        sl_stream_leave_list(stream);
    else if (stream->active_ns)
        stream->context->left--;
}

/* Moves the stream to its new position in the context's list, which is sorted by last use. In most
 * cases the stream becomes the first of the list. */
void sl_stream_use(struct sl_stream *stream, uint64_t ns)
{
    struct sl_stream **head = &stream->context->recent, *at, *before = NULL;

    if (stream->listed && stream->active_ns >= ns)
        return;
    leave(stream);
    stream->listed = 1;
    stream->active_ns = sl_later(stream->active_ns, ns);
    for (at = *head; at && at->active_ns > stream->active_ns; at = at->used_before)
        before = at;
    stream->used_before = at;
    stream->used_after = before;
    if (at)
        at->used_after = stream;
    if (before)
        before->used_before = stream;
    else
        *head = stream;
}

/* ---- numbers of streams ---- */

/* Returns 1 if work that had ended at `ns` had ended before every wait began that is open or still
 * to come. UINT64_MAX (never) must not wrap around. */
static int is_over_for_all(const struct sl_streams *s, uint64_t ns)
{
    return ns <= s->waits_since_ns && ns < s->horizon_ns && ns + SKEW_NS <= s->horizon_ns;
}

static int had_ended(const struct sl_streams *s, const struct sl_op *op)
{
    return !op->no_time && is_over_for_all(s, sl_op_all_ended_ns(op));
}

/* Returns 1 if the stream may be forgotten. This is the case if all work of the stream has
 * completed, and if later records of the stream can be handled without the stream's state. */
static int can_go(const struct sl_streams *s, const struct sl_stream *stream)
{
    int is_known = stream->flags ? stream->flags != SL_STREAM_FLAG_LEGACY : !stream->plain;

    if (stream->held || !is_known || stream == stream->context->legacy ||
        stream == stream->context->any ||
        (stream->extra.lost && !is_over_for_all(s, sl_stream_lost_until(stream))))
        return 0;
    for (const struct sl_link *at = stream->extra.first; at; at = at->next)
        if (!had_ended(s, at->op))
            return 0;
    return !stream->newest || had_ended(s, stream->newest);
}

void sl_stream_empty(struct sl_streams *s, struct sl_stream *stream, uint64_t seen_ns)
{
    sl_ops_drop(s, stream->newest);
    sl_set_clear(s, &stream->extra);
    stream->newest = stream->pushed = stream->oldest = NULL;
    stream->kept = 0;
    stream->trim_at = SL_STREAM_TRIM_AT;
    stream->seen_ns = seen_ns;
    stream->trimmed = 0;
    leave(stream);
    stream->active_ns = 0;
}

/* Returns 0, or -EBUSY if a set holds one of the stream's operations. */
static int forget_stream(struct sl_streams *s, struct sl_stream *stream)
{
    stream->context->gone_ns = sl_later(stream->context->gone_ns, sl_stream_over_ns(stream));
    sl_stream_empty(s, stream, 0);
    if (stream->ops)
        return -EBUSY;
    sl_map_drop(&s->by_id, key_of(stream->context, stream->id));
    sl_pool_put(&s->streams, stream);
    return 0;
}

/* Finds a stream to forget, and writes the stream's number, which a new stream can then use. The
 * search is the CLOCK algorithm. It visits all streams in turn, and skips a stream once if the
 * stream was used since the last visit. */
static int take_place(struct sl_streams *s, uint32_t *number)
{
    int looks = 0;

    for (size_t i = 0; i < s->count && looks < LOOKS; i++) {
        struct sl_stream *stream = s->numbered[s->hand];
        uint32_t place = stream->number;

        s->hand = (s->hand + 1) % s->count;
        if (stream->touched) {
            stream->touched = 0;
            continue;
        }
        looks++;
        if (can_go(s, stream) && forget_stream(s, stream) == 0) {
            *number = place;
            return 0;
        }
    }
    return -ENOSPC;
}

static int number(struct sl_streams *s, struct sl_stream *stream)
{
    struct sl_stream **all;

    if (s->count >= s->most && take_place(s, &stream->number) == 0) {
        s->numbered[stream->number] = stream;
        return 0;
    }
    all = sl_store_more(s->store, s->numbered, &s->numbered_slots, s->count + 1, sizeof *all);
    if (!all)
        return -ENOMEM;
    s->numbered = all;
    stream->number = (uint32_t)s->count;
    s->numbered[s->count++] = stream;
    return 0;
}

static void set_flags(struct sl_stream *stream, uint32_t flags)
{
    if (flags == 0)
        return;
    stream->flags = flags;
    stream->plain = 1;
    if (flags == SL_STREAM_FLAG_LEGACY)
        stream->context->legacy = stream;
}

static struct sl_stream *make_stream(struct sl_streams *s, struct sl_context *owner, uint32_t id)
{
    struct sl_stream *made = sl_map_make(&s->by_id, &s->streams, key_of(owner, id));
    int lost;

    if (!made)
        return NULL;
    *made = (struct sl_stream){.context = owner,
                               .id = id,
                               .plain = id == SL_STREAM_LEGACY,
                               .over.to_ns = UINT64_MAX,
                               .seen_ns = owner->seen_ns,
                               .trim_at = SL_STREAM_TRIM_AT};
    if (number(s, made) != 0) {
        sl_map_drop(&s->by_id, key_of(owner, id));
        sl_pool_put(&s->streams, made);
        return NULL;
    }
    set_flags(made, sl_flags_get(&s->flags, owner->number, id, &lost));
    s->flags_lost += (uint64_t)lost;
    /* The legacy default stream is recognised by its id. The flags of the legacy default stream
     * arrive with its first event, but other streams may have been ordered after this stream before
     * that event. */
    if (id == SL_STREAM_LEGACY && !owner->legacy)
        owner->legacy = made;
    if (id == SL_STREAM_NONE)
        owner->any = made;
    return made;
}

struct sl_stream *sl_streams_get(struct sl_streams *s, uint8_t device, uint32_t context,
                                 uint32_t stream)
{
    struct sl_context *owner = get_context(s, device, context);
    struct sl_stream *found = owner ? sl_map_get(&s->by_id, key_of(owner, stream)) : NULL;

    if (owner && !found)
        found = make_stream(s, owner, stream);
    if (found)
        found->touched = 1;
    return found;
}

struct sl_stream *sl_context_any(struct sl_streams *s, struct sl_context *context)
{
    return context->any ? context->any
                        : sl_streams_get(s, context->device, context->id, SL_STREAM_NONE);
}

void sl_streams_flags(struct sl_streams *s, uint8_t device, uint32_t context, uint32_t stream,
                      uint32_t flags)
{
    struct sl_context *owner = get_context(s, device, context);
    struct sl_stream *found = owner ? sl_map_get(&s->by_id, key_of(owner, stream)) : NULL;

    if (!owner || flags == 0 || flags > SL_STREAM_FLAG_LEGACY)
        return;
    sl_flags_put(&s->flags, owner->number, stream, flags);
    if (found)
        set_flags(found, flags);
}
