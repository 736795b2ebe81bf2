/*
 * stream_state.c - what each stream holds, at any moment that may still be asked for.
 *
 * Entered by its owner alone. A stream's operations hang together from the newest to the oldest;
 * each has what the stream was made to wait for right before it, so that going back one operation
 * gives the tail as it was then.
 */
#include <errno.h>
#include <string.h>

#include "sync/stream_state_impl.h"

enum {
    FIRST_NUMBERS = 256,
    TRIM_AT = 4,
    SHARE = 2,       /* of all memory */
    LOOKS = 8,       /* for a stream to forget, at one that is made */
    SLOTS_USUAL = 4, /* of a map, for one key */
    SKEW_NS =
        100000000 /* calls begin in the order of their ids, but for a thread without a processor */
};

enum found {
    OUT,
    IN,
    OVERLAPS
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

/* CUPTI numbers contexts in the process; a file may have several processes' devices. */
static struct sl_context *get_context(struct sl_streams *s, uint16_t device, uint32_t id)
{
    uint64_t apart = s->one_process ? 0 : (uint64_t)device << 32;
    uint64_t *place = sl_map_put(&s->context_by_id, (apart | id) + 1);
    struct sl_context *context;

    if (!place)
        return NULL;
    if (*place)
        return (struct sl_context *)(uintptr_t)*place;
    context = sl_pool_get(&s->contexts);
    if (!context)
        return NULL;
    *context = (struct sl_context){.id = id,
                                   .number = s->context_count++,
                                   .next = s->all_contexts,
                                   .device = device,
                                   .unseen = (uint8_t)(s->unseen != 0)};
    s->all_contexts = context;
    *place = (uintptr_t)context;
    return context;
}

static uint64_t key_of(const struct sl_context *context, uint32_t stream)
{
    return (uint64_t)(context->number + 1) << 32 | stream;
}

/* These and all older ones. */
static void drop_operations(struct sl_streams *s, struct sl_op *rest)
{
    while (rest) {
        struct sl_op *gone = rest;

        rest = gone->older;
        gone->older = NULL;
        sl_set_clear(s, &gone->behind);
        sl_op_unref(s, gone);
    }
}

static void leave_list(struct sl_stream *stream)
{
    if (stream->used_after)
        stream->used_after->used_before = stream->used_before;
    else
        stream->context->recent = stream->used_before;
    if (stream->used_before)
        stream->used_before->used_after = stream->used_after;
}

static int had_ended(const struct sl_streams *s, const struct sl_op *op)
{
    return !op->no_time && op->pub.end_ns + SKEW_NS <= s->horizon_ns &&
           op->pub.end_ns <= s->waits_since_ns;
}

/* It has run dry, and whatever is still to come of it is known without it. */
static int can_go(const struct sl_streams *s, const struct sl_stream *stream)
{
    int is_known = stream->flags ? stream->flags != SL_STREAM_FLAG_LEGACY : !stream->plain;

    if (stream->held || !is_known || stream == stream->context->legacy ||
        stream == stream->context->any || stream->extra.lost)
        return 0;
    for (const struct sl_link *at = stream->extra.first; at; at = at->next)
        if (!had_ended(s, at->op))
            return 0;
    return !stream->newest || had_ended(s, stream->newest);
}

/* 0, or -EBUSY: some set holds an operation of it. */
static int forget_stream(struct sl_streams *s, struct sl_stream *stream)
{
    drop_operations(s, stream->newest);
    sl_set_clear(s, &stream->extra);
    stream->newest = NULL;
    stream->kept = 0;
    stream->trim_at = TRIM_AT;
    stream->unseen = stream->trimmed = 0;
    if (stream->active_ns)
        leave_list(stream);
    stream->active_ns = 0;
    stream->used_before = stream->used_after = NULL;
    if (stream->ops)
        return -EBUSY;
    sl_map_drop(&s->by_id, key_of(stream->context, stream->id));
    sl_pool_put(&s->streams, stream);
    return 0;
}

/* The number of one that was forgotten, which goes to another. The hand goes round all streams and
 * passes over those that were used since it came by, once for each use at most. */
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
    if (s->count >= s->most && take_place(s, &stream->number) == 0) {
        s->numbered[stream->number] = stream;
        return 0;
    }
    if (s->count == s->numbered_slots) {
        size_t slots = s->count ? s->count * 2 : FIRST_NUMBERS;
        struct sl_stream **all = sl_store_map(s->store, slots * sizeof *all);

        if (!all)
            return -ENOMEM;
        if (s->count)
            memcpy(all, s->numbered, s->count * sizeof *all);
        sl_store_unmap(s->store, s->numbered, s->numbered_slots * sizeof *all);
        s->numbered = all;
        s->numbered_slots = slots;
    }
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
    struct sl_stream *made = sl_pool_get(&s->streams);
    int lost;

    if (!made)
        return NULL;
    *made =
        (struct sl_stream){.context = owner, .id = id, .unseen = owner->unseen, .trim_at = TRIM_AT};
    if (!sl_map_put(&s->by_id, key_of(owner, id)))
        goto fail_key;
    if (number(s, made) != 0)
        goto fail_number;
    *sl_map_find(&s->by_id, key_of(owner, id)) = (uintptr_t)made;
    set_flags(made, sl_flags_get(&s->flags, owner->number, id, &lost));
    s->flags_lost += (uint64_t)lost;
    /* Its flag comes with its first row, but others may have come behind it by then. */
    if (id == SL_STREAM_LEGACY && !owner->legacy)
        owner->legacy = made;
    if (id == SL_STREAM_NONE)
        owner->any = made;
    return made;

fail_number:
    sl_map_drop(&s->by_id, key_of(owner, id));
fail_key:
    sl_pool_put(&s->streams, made);
    return NULL;
}

struct sl_stream *sl_streams_get(struct sl_streams *s, uint16_t device, uint32_t context,
                                 uint32_t stream)
{
    struct sl_context *owner = get_context(s, device, context);
    uint64_t *place = owner ? sl_map_find(&s->by_id, key_of(owner, stream)) : NULL;
    struct sl_stream *found;

    if (!owner)
        return NULL;
    found = place ? (struct sl_stream *)(uintptr_t)*place : make_stream(s, owner, stream);
    if (found)
        found->touched = 1;
    return found;
}

struct sl_stream *sl_context_any(struct sl_streams *s, struct sl_context *context)
{
    return context->any ? context->any
                        : sl_streams_get(s, context->device, context->id, SL_STREAM_NONE);
}

void sl_streams_flags(struct sl_streams *s, uint16_t device, uint32_t context, uint32_t stream,
                      uint32_t flags)
{
    struct sl_context *owner = get_context(s, device, context);
    uint64_t *place = owner ? sl_map_find(&s->by_id, key_of(owner, stream)) : NULL;

    if (!owner || flags == 0 || flags > SL_STREAM_FLAG_LEGACY)
        return;
    sl_flags_put(&s->flags, owner->number, stream, flags);
    if (place)
        set_flags((struct sl_stream *)(uintptr_t)*place, flags);
}

/* Blocking: takes part in the order of the legacy default stream. */
static int is_blocking(const struct sl_stream *stream)
{
    return stream->flags && stream->flags != SL_STREAM_FLAG_NON_BLOCKING &&
           stream->flags != SL_STREAM_FLAG_LEGACY;
}

/* The context's list stays in order of use; nearly always the stream goes to its head. */
static void used(struct sl_stream *stream, uint64_t ns)
{
    struct sl_stream **head = &stream->context->recent, *at, *before = NULL;

    if (stream->active_ns >= ns)
        return;
    if (stream->active_ns)
        leave_list(stream);
    stream->active_ns = ns;
    for (at = *head; at && at->active_ns > ns; at = at->used_before)
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

/* ---- asking ---- */

/* Was what `by` enqueued there when `when` looked? Between threads calls may truly overlap: then a
 * wait was for it if it ended before the wait did, and anything else goes by order of entry. */
static enum found find(const struct sl_moment *by, uint64_t end_ns, const struct sl_moment *when,
                       int *overlaps)
{
    int entered_before = by->correlation < when->correlation;

    if (by->correlation == when->correlation)
        return OUT;
    if (by->thread == when->thread || by->to_ns == 0 || when->to_ns == 0)
        return entered_before ? IN : OUT;
    if (by->to_ns <= when->from_ns)
        return IN;
    if (by->from_ns >= when->to_ns)
        return OUT;
    if (when->waits)
        return end_ns <= when->to_ns ? OVERLAPS : OUT;
    *overlaps = 1;
    return entered_before ? OVERLAPS : OUT;
}

static struct sl_op *look_back(const struct sl_stream *stream, const struct sl_moment *when,
                               const struct sl_set **extra, int *overlaps)
{
    struct sl_op *op = stream->newest;
    enum found found = OUT;

    *extra = &stream->extra;
    while (op && (found = find(&op->by, op->pub.end_ns, when, overlaps)) == OUT) {
        *extra = &op->behind;
        op = op->older;
    }
    *overlaps |= found == OVERLAPS;
    return op;
}

/* Enqueued before `last` was, so that what waits for that waits for this. */
static int is_behind(const struct sl_op *last, const struct sl_moment *by, uint64_t end_ns)
{
    int unsure = 0;

    return last && find(by, end_ns, &last->by, &unsure) == IN;
}

/* Without what `last` came behind already; NULL: all of it. */
static struct sl_op *add_tail(struct sl_streams *s, struct sl_stream *stream,
                              const struct sl_moment *when, const struct sl_op *last,
                              enum sl_via via, struct sl_set *set)
{
    const struct sl_set *extra;
    int overlaps = 0;
    struct sl_op *op = look_back(stream, when, &extra, &overlaps);

    if (op && is_behind(last, &op->by, op->pub.end_ns))
        overlaps = 0;
    else if (op)
        sl_set_add(
            s, set,
            &(struct sl_link){
                .op = op, .by = op->by, .via = (uint8_t)via, .overlapping = (uint8_t)overlaps});
    else if (stream->trimmed)
        set->lost |= 1u << SL_EDGE_LOST_GAVE_UP;
    else if (stream->unseen && stream->context->unseen)
        set->lost |= 1u << SL_EDGE_LOST_BEFORE_WINDOW;
    set->lost |= extra->lost;
    for (const struct sl_link *at = extra->first; at; at = at->next) {
        struct sl_link link = *at;
        int unsure = overlaps;

        if (find(&at->by, at->op->pub.end_ns, when, &unsure) == OUT ||
            is_behind(last, &at->by, at->op->pub.end_ns))
            continue;
        link.overlapping |= (uint8_t)unsure;
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

/* What legacy order puts before whatever comes on the stream after its operation `last`. */
static void add_legacy(struct sl_streams *s, struct sl_stream *stream, const struct sl_op *last,
                       const struct sl_moment *when, struct sl_set *set)
{
    struct sl_stream *legacy = stream->context->legacy;
    uint64_t since_ns = last ? last->by.from_ns : 0;
    int takes_part = stream == legacy || is_blocking(stream);

    /* Its first operation that was seen may come behind others that were not. */
    if (takes_part && !last && stream->unseen && stream->context->unseen)
        set->lost |= 1u << SL_EDGE_LOST_BEFORE_WINDOW;
    if (stream == legacy) {
        for (struct sl_stream *at = stream->context->recent; at && at->active_ns > since_ns;
             at = at->used_before)
            if (is_blocking(at))
                add_tail(s, at, when, last, SL_VIA_LEGACY, set);
    } else if (legacy && takes_part && legacy->active_ns > since_ns) {
        add_tail(s, legacy, when, last, SL_VIA_LEGACY, set);
    }
}

void sl_stream_collect(struct sl_streams *s, struct sl_stream *stream, const struct sl_moment *when,
                       struct sl_set *set)
{
    struct sl_op *op = add_tail(s, stream, when, NULL, SL_VIA_STREAM, set);

    add_legacy(s, stream, op, when, set);
}

void sl_context_collect(struct sl_streams *s, struct sl_context *context, uint64_t since_ns,
                        const struct sl_moment *when, struct sl_set *set)
{
    if (context->unseen)
        set->lost |= 1u << SL_EDGE_LOST_BEFORE_WINDOW;
    for (struct sl_stream *at = context->recent; at && at->active_ns > since_ns;
         at = at->used_before)
        add_tail(s, at, when, NULL, SL_VIA_STREAM, set);
}

/* ---- telling ---- */

void sl_streams_forget(struct sl_streams *s)
{
    s->unseen = 1;
    for (size_t i = 0; i < s->count; i++) {
        struct sl_stream *stream = s->numbered[i];

        drop_operations(s, stream->newest);
        sl_set_clear(s, &stream->extra);
        stream->newest = NULL;
        stream->used_before = stream->used_after = NULL;
        stream->active_ns = 0;
        stream->unseen = 1;
        stream->trimmed = 0;
        stream->kept = 0;
        stream->held = 0;
        stream->trim_at = TRIM_AT;
        stream->context->recent = NULL;
        stream->context->unseen = 1;
    }
}

/* Operations behind the first that had ended before the horizon are nobody's tail any more. */
static void trim(struct sl_streams *s, struct sl_stream *stream)
{
    struct sl_op *op = stream->newest, *rest;
    uint32_t kept = 1;

    while (op->pub.end_ns > s->horizon_ns && op->older) {
        op = op->older;
        kept++;
    }
    rest = op->older;
    op->older = NULL;
    stream->trimmed |= rest != NULL;
    stream->kept = kept;
    stream->trim_at = kept * 2 > TRIM_AT ? kept * 2 : TRIM_AT;
    drop_operations(s, rest);
}

/* What the stream was made to wait for before the call `by` belongs to that call's operation. */
static void split(struct sl_set *from, const struct sl_moment *by, struct sl_set *to)
{
    struct sl_link **at = &from->first;

    to->lost = from->lost;
    from->lost = 0;
    while (*at) {
        struct sl_link *link = *at;

        if (link->by.correlation >= by->correlation) {
            at = &link->next;
            continue;
        }
        *at = link->next;
        from->count--;
        link->next = to->first;
        to->first = link;
        to->count++;
    }
}

int sl_moments_overlap(const struct sl_moment *a, const struct sl_moment *b)
{
    return a->thread != b->thread && a->to_ns && b->to_ns && a->to_ns > b->from_ns &&
           a->from_ns < b->to_ns;
}

static void came_behind(struct sl_streams *s, struct sl_op *op, struct sl_op *above,
                        struct sl_set *before)
{
    int unsure = (op->older && sl_moments_overlap(&op->older->by, &op->by)) ||
                 (above && sl_moments_overlap(&above->by, &op->by));

    sl_set_open(s, before);
    before->lost |= op->behind.lost;
    for (const struct sl_link *at = op->behind.first; at; at = at->next) {
        struct sl_link link = *at;

        link.overlapping |= (uint8_t)unsure;
        sl_set_add(s, before, &link);
    }
    add_legacy(s, op->stream, op->older, &op->by, before);
}

int sl_stream_push(struct sl_streams *s, struct sl_stream *stream, const struct sl_edge_op *pub,
                   const struct sl_moment *by, struct sl_set *before, uint64_t *previous_end_ns,
                   struct sl_op **out)
{
    struct sl_op *above = NULL, *at = stream->newest, *op;

    *out = NULL;
    while (at && sl_op_later(&at->pub, pub)) {
        above = at;
        at = at->older;
    }
    if (at && at->pub.correlation == pub->correlation && at->pub.start_ns == pub->start_ns &&
        at->pub.graph_node == pub->graph_node)
        return 0;
    if (!at && above && stream->trimmed)
        return 0;
    op = sl_pool_get(&s->ops);
    if (!op)
        return -ENOMEM;
    *op = (struct sl_op){.pub = *pub, .by = *by, .stream = stream, .older = at, .refs = 1};
    op->no_time = pub->end_ns == 0;
    stream->ops++;
    split(above ? &above->behind : &stream->extra, by, &op->behind);
    *(above ? &above->older : &stream->newest) = op;
    *previous_end_ns = !at ? 0 : at->no_time ? UINT64_MAX : at->pub.end_ns;
    came_behind(s, op, above, before);
    used(stream, by->to_ns ? by->to_ns : pub->start_ns);
    if (++stream->kept >= stream->trim_at)
        trim(s, stream);
    *out = op;
    return 0;
}

void sl_stream_follow(struct sl_streams *s, struct sl_stream *stream, const struct sl_set *set,
                      enum sl_via via, const struct sl_moment *by)
{
    sl_set_open(s, &stream->extra);
    stream->extra.lost |= set->lost;
    for (const struct sl_link *at = set->first; at; at = at->next) {
        struct sl_link link = *at;

        if (at->op->stream == stream)
            continue;
        link.via = (uint8_t)via;
        link.by = *by;
        sl_set_add(s, &stream->extra, &link);
    }
    if (set->first || set->lost)
        used(stream, by->to_ns);
}

void sl_stream_covered(struct sl_stream *stream)
{
    stream->unseen = 0;
    stream->extra.lost = 0;
}

void sl_context_covered(struct sl_context *context)
{
    if (!context->unseen)
        return;
    context->unseen = 0;
    for (struct sl_stream *at = context->recent; at; at = at->used_before)
        sl_stream_covered(at);
}
