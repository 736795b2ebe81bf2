/*
 * enact.c - what each call did, in order of correlation id.
 *
 * Entered by its owner alone. A call that came too late, after others with a higher id, is told
 * all the same: streams find its place by the order in which the GPU ran, and waits look back.
 */
#include "sync/enact_impl.h"

#include <errno.h>

enum {
    LOOKS = 1024,        /* at records of later calls */
    CONTEXTS_SHARE = 32, /* of the store, half full */
    HTOD = 1,            /* CUpti_ActivityMemcpyKind */
    DTOH = 2,
    HTOA = 3,
    ATOH = 4,
    HTOH = 9,
    PAGEABLE = 1, /* CUpti_ActivityMemoryKind */
    DEVICE = 3,
    ARRAY = 4
};

/* A call's record is made when it returns. One that is not there at the end of a window leaves open
 * when the call began to wait. */
static int has_not_returned(const struct sl_call *c)
{
    return c->e->closing && c->e->calls_seen && !c->cpu;
}

/* ---- who calls ---- */

static void look_at_call(struct sl_call *c)
{
    const struct sl_item *when;

    for (size_t i = 0; i < c->count; i++) {
        const struct sl_item *item = &c->item[i];

        if (item->kind == SL_EV_RUNTIME || item->kind == SL_EV_DRIVER)
            c->cpu = item;
        else if (item->kind == SL_EV_SYNC)
            c->sync = item;
    }
    when = c->cpu ? c->cpu : c->sync;
    c->by.correlation = c->item->correlation;
    if (when) {
        c->by.from_ns = when->start_ns;
        c->by.to_ns = when->end_ns;
    }
    if (c->cpu) {
        c->by.thread = c->cpu->where;
        c->class = sl_call_class_of((enum sl_event_kind)c->cpu->kind, c->cpu->what);
    }
}

/* Files of torch.profiler's do not say which operations are nodes. One launch's on several streams
 * are; those on one stream have its order whatever they are. */
static int is_graph(const struct sl_call *c)
{
    const struct sl_item *first = NULL;
    int branches = 0;

    for (size_t i = 0; i < c->count; i++) {
        if (sl_item_is_node(&c->item[i]))
            return 1;
        if (!sl_item_is_operation(&c->item[i]) || c->item[i].kind == SL_EV_GRAPH)
            continue;
        first = first ? first : &c->item[i];
        branches |= c->item[i].where != first->where;
    }
    return branches && c->class == SL_CALL_GRAPH_LAUNCH;
}

/* A record of an event, in a file that does not say in which context it was made. */
static int is_anywhere(const struct sl_call *c, const struct sl_item *item)
{
    return item->kind == SL_EV_CUDA_EVENT && sl_call_stream(c, item)->id == SL_STREAM_NONE;
}

/* Only these need their context to be the thread's: waits name streams and events of any. */
static int is_in_own_context(const struct sl_call *c, const struct sl_item *item)
{
    return sl_item_is_operation(item) ||
           (item->kind == SL_EV_CUDA_EVENT && !is_anywhere(c, item)) ||
           (item->kind == SL_EV_SYNC && item->more == SL_SYNC_CONTEXT);
}

/* Calls that name neither stream nor context act on the one that their thread used last. */
static void use_context(struct sl_enact *e, uint32_t thread, const struct sl_context *context)
{
    uint64_t *place;

    if (thread == e->used_by && context == e->used) /* as nearly always */
        return;
    /* Threads come and go: those that are forgotten tell it by their next operation. */
    if (e->context_of.used * sizeof *e->context_of.slot >
        e->streams->store->cap_bytes / CONTEXTS_SHARE)
        sl_map_free(&e->context_of);
    place = sl_map_put(&e->context_of, thread);
    if (!place)
        return;
    *place = (uintptr_t)context;
    e->used_by = thread;
    e->used = context;
}

static void remember_context(struct sl_call *c)
{
    for (size_t i = 0; i < c->count && c->by.thread; i++) {
        if (!is_in_own_context(c, &c->item[i]))
            continue;
        use_context(c->e, c->by.thread, sl_call_stream(c, &c->item[i])->context);
        return;
    }
}

/* What stands for it if `*known`, else for any. NULL: there is none. */
static struct sl_stream *guess_context(struct sl_call *c, int *known)
{
    struct sl_streams *streams = c->e->streams;
    const uint64_t *place = c->by.thread ? sl_map_find(&c->e->context_of, c->by.thread) : NULL;

    *known = place || streams->context_count == 1;
    if (place)
        return sl_context_any(streams, (struct sl_context *)(uintptr_t)*place);
    return streams->all_contexts ? sl_context_any(streams, streams->all_contexts) : NULL;
}

/* ---- waits ---- */

static struct sl_wait new_wait(const struct sl_call *c, struct sl_stream *stream,
                               enum sl_wait_scope scope, enum sl_edge_kind kind)
{
    struct sl_wait wait = {.record = c->sync ? *c->sync : *c->cpu,
                           .when = c->by,
                           .stream = stream,
                           .scope = (uint8_t)scope,
                           .kind = (uint8_t)kind};

    wait.when.waits = 1;
    if (c->cpu) {
        wait.domain = c->cpu->kind;
        wait.name = c->cpu->name;
        wait.cbid = c->cpu->what;
    }
    return wait;
}

static void wait_for(struct sl_call *c, struct sl_stream *stream, enum sl_wait_scope scope,
                     enum sl_edge_kind kind, int inferred)
{
    struct sl_wait wait = new_wait(c, stream, scope, kind);

    wait.inferred = (uint8_t)inferred;
    sl_waits_add(c->e->waits, &wait);
}

static const struct sl_record *find_record(const struct sl_call *c)
{
    const struct sl_item *sync = c->sync;

    /* torch.profiler's files have those records alone that some wait names: the event may have been
     * recorded anew since. */
    if (c->e->opt->foreign && sync->id == 0)
        return NULL;
    return sl_records_find(c->e->records, sl_call_stream(c, sync)->context->id, sync->name,
                           sync->id, sync->correlation);
}

/* An event that was never recorded orders nothing; but was it? Of one whose records are all
 * younger, older ones may have been forgotten. */
static int may_have_been_recorded(const struct sl_call *c, enum sl_edge_loss *reason)
{
    const struct sl_item *sync = c->sync;
    int unseen = c->e->opt->recording_since_ns != 0;

    *reason = unseen && !c->e->opt->foreign ? SL_EDGE_LOST_BEFORE_WINDOW : SL_EDGE_LOST_NO_RECORD;
    return sync->id != 0 || unseen ||
           sl_records_has(c->e->records, sl_call_stream(c, sync)->context->id, sync->name) ||
           sl_records_elsewhere(c->e->records, sl_call_stream(c, sync)->context->id, sync->name);
}

/* Some event was recorded since, nobody knows which. */
static int may_be_outdated(const struct sl_call *c, const struct sl_record *record)
{
    uint64_t unnamed = c->e->records->unnamed;

    /* Of several the last is known: a wait from before it may come behind another of them. */
    return unnamed != 0 && (!record || record->correlation < unnamed);
}

/* What the call's event stood for. NULL: nothing, or, if `*lost` has a reason, it is not known. */
static const struct sl_record *record_of(const struct sl_call *c, uint32_t *lost)
{
    const struct sl_record *record = find_record(c);
    enum sl_edge_loss reason;

    *lost = 0;
    if (may_be_outdated(c, record)) {
        *lost = 1u << SL_EDGE_LOST_NO_RECORD;
        return NULL;
    }
    if (!record && may_have_been_recorded(c, &reason))
        *lost = 1u << reason;
    return record;
}

static void wait_for_event(struct sl_call *c)
{
    int query = c->class == SL_CALL_EVENT_QUERY;
    struct sl_wait wait = new_wait(c, sl_call_stream(c, c->sync), SL_WAIT_SET,
                                   query ? SL_EDGE_EVENT_QUERY : SL_EDGE_EVENT_SYNC);
    uint32_t lost;
    const struct sl_record *record = record_of(c, &lost);

    sl_waits_lose(c->e->waits, lost);
    if (!record)
        return;
    /* Whether a foreign file's query succeeded stands nowhere. */
    wait.inferred = (uint8_t)(query && c->e->opt->foreign);
    sl_set_open(c->e->streams, &wait.set);
    wait.set.lost = record->set.lost;
    for (const struct sl_link *at = record->set.first; at; at = at->next)
        sl_set_add(c->e->streams, &wait.set, at);
    sl_waits_add(c->e->waits, &wait);
}

static void stream_waits(struct sl_call *c)
{
    struct sl_set unknown = {0};
    const struct sl_record *record = record_of(c, &unknown.lost);

    sl_stream_follow(c->e->streams, sl_call_stream(c, c->sync), record ? &record->set : &unknown,
                     SL_VIA_STREAM_WAIT, &c->by);
}

/* Its event and context stand in its arguments, which no record has: the next operation of any
 * stream may come behind something. Counted by itself too: some may be used no more. */
static void context_waits(struct sl_call *c)
{
    sl_call_lose(c, SL_EDGE_LOST_NO_RECORD);
    sl_streams_follow_unknown(c->e->streams, &c->by);
}

static void synchronization(struct sl_call *c)
{
    struct sl_stream *stream = sl_call_stream(c, c->sync);
    int query = c->class == SL_CALL_STREAM_QUERY;

    /* It failed, or was not ready; below CUPTI 12.8 the call's record alone tells. */
    if (c->sync->what != 0 || (c->cpu && c->cpu->more != 0))
        return;
    if (has_not_returned(c) && c->sync->more != SL_SYNC_STREAM_WAIT) {
        sl_call_lose(c, SL_EDGE_LOST_GAVE_UP);
        return;
    }
    switch (c->sync->more) {
    case SL_SYNC_EVENT:
        wait_for_event(c);
        break;
    case SL_SYNC_STREAM_WAIT:
        stream_waits(c);
        break;
    case SL_SYNC_STREAM:
        if (!c->last_op)
            wait_for(c, stream, SL_WAIT_STREAM, query ? SL_EDGE_STREAM_QUERY : SL_EDGE_STREAM_SYNC,
                     query && c->e->opt->foreign);
        break;
    case SL_SYNC_CONTEXT:
        wait_for(
            c, stream, SL_WAIT_CONTEXT,
            c->cpu && c->cpu->kind == SL_EV_DRIVER ? SL_EDGE_CONTEXT_SYNC : SL_EDGE_DEVICE_SYNC, 0);
        break;
    default:
        break;
    }
}

static void wait_for_free(struct sl_call *c, struct sl_stream *any, enum sl_edge_kind kind,
                          int known)
{
    struct sl_wait wait = new_wait(c, any, SL_WAIT_CONTEXT, kind);

    wait.inferred = 1;
    wait.anywhere = (uint8_t)!known;
    sl_waits_add(c->e->waits, &wait);
}

/* No synchronization record: frees never have one, others lack it in files of jobs that did not
 * ask for them. */
static void unrecorded_wait(struct sl_call *c)
{
    int known, guess = c->e->opt->foreign && !c->e->syncs_seen;
    struct sl_stream *any = guess_context(c, &known);

    if (any && c->class == SL_CALL_FREE)
        wait_for_free(c, any, SL_EDGE_FREE, known);
    else if (any && c->class == SL_CALL_UNLOAD)
        wait_for_free(c, any, SL_EDGE_IMPLICIT, known);
    if (!known)
        return;
    switch (c->class) {
    case SL_CALL_DEVICE_SYNC:
    case SL_CALL_CONTEXT_SYNC:
        if (guess)
            wait_for(c, any, SL_WAIT_CONTEXT,
                     c->class == SL_CALL_DEVICE_SYNC ? SL_EDGE_DEVICE_SYNC : SL_EDGE_CONTEXT_SYNC,
                     c->e->streams->context_count > 1);
        break;
    case SL_CALL_STREAM_SYNC:
        if (guess)
            wait_for(c, any, SL_WAIT_GUESS, SL_EDGE_STREAM_SYNC, 1);
        break;
    case SL_CALL_EVENT_SYNC:
        if (guess)
            wait_for(c, any, SL_WAIT_GUESS, SL_EDGE_EVENT_SYNC, 1);
        break;
    case SL_CALL_STREAM_QUERY:
    case SL_CALL_EVENT_QUERY:
    case SL_CALL_STREAM_WAIT:
        if (guess)
            sl_call_lose(c, SL_EDGE_LOST_NO_RECORD);
        break;
    default:
        break;
    }
}

/* ---- copies ---- */

int sl_enact_waits_for_itself(const struct sl_item *op, const struct sl_shape *shape, int blocking)
{
    if (op->kind == SL_EV_MEMSET)
        return blocking && shape->dst_memory != DEVICE && shape->dst_memory != ARRAY;
    switch (shape->copy_kind) {
    case DTOH:
    case ATOH:
        return blocking || shape->dst_memory == PAGEABLE;
    case HTOH:
        return 1;
    case HTOD:
    case HTOA:
        return blocking && shape->src_memory != PAGEABLE;
    default:
        return 0;
    }
}

/* From pageable memory the call synchronizes its stream first, and may return before its own
 * transfer ends. */
static int waits_before(const struct sl_item *op, const struct sl_shape *shape, int blocking)
{
    return op->kind == SL_EV_MEMCPY && blocking && shape->src_memory == PAGEABLE &&
           (shape->copy_kind == HTOD || shape->copy_kind == HTOA);
}

static void copy_waits(struct sl_call *c, const struct sl_item *item, struct sl_op *op)
{
    const struct sl_shape *shape = sl_shape_get(c->e->opt->shapes, item->what);
    int blocking = c->class == SL_CALL_BLOCKING_COPY;
    enum sl_edge_kind kind = item->kind == SL_EV_MEMSET ? SL_EDGE_MEMSET : SL_EDGE_COPY;
    struct sl_wait wait;

    if (!c->cpu || c->cpu->more != 0 || !shape || sl_call_is_node(c, item))
        return;
    if (sl_enact_waits_for_itself(item, shape, blocking)) {
        wait = new_wait(c, op->stream, SL_WAIT_SET, kind);
        sl_set_open(c->e->streams, &wait.set);
        sl_set_add(c->e->streams, &wait.set, &(struct sl_link){.op = op, .by = op->by});
        sl_waits_add(c->e->waits, &wait);
    } else if (waits_before(item, shape, blocking)) {
        wait_for(c, op->stream, SL_WAIT_STREAM, kind, 0);
    }
}

/* ---- operations ---- */

/* Another thread's call, made during this one, got onto the stream first: what the stream was made
 * to wait for, that call's operation may have waited for. Calls stand before their operations,
 * those behind this one in order. */
static int is_overtaken(const struct sl_call *c, const struct sl_item *op)
{
    const struct sl_item *at = c->item + c->count, *call = NULL;
    const struct sl_item *end = c->e->held - at < LOOKS ? c->e->held : at + LOOKS;

    for (; at < end; at++) {
        if (at->kind == SL_EV_RUNTIME || at->kind == SL_EV_DRIVER)
            call = at;
        if (call == at && at->start_ns >= c->by.to_ns)
            return 0;
        if (call && call->where != c->by.thread && sl_item_is_operation(at) &&
            at->correlation == call->correlation && at->where == op->where &&
            at->start_ns < op->start_ns)
            return 1;
    }
    return end < c->e->held;
}

static void mark_overlapping(struct sl_set *set)
{
    for (struct sl_link *at = set->first; at; at = at->next)
        at->overlapping = 1;
}

struct sl_op *sl_call_enqueue(struct sl_call *c, const struct sl_item *item)
{
    struct sl_streams *streams = c->e->streams;
    struct sl_stream *stream = sl_call_stream(c, item);
    struct sl_edge_op pub = {.correlation = item->correlation,
                             .graph_node = item->id,
                             .start_ns = item->start_ns,
                             .end_ns = item->end_ns,
                             .name = item->name,
                             .shape = item->what,
                             .context = stream->context->id,
                             .stream = stream->id,
                             .device = stream->context->device,
                             .kind = item->kind};
    struct sl_set before = {0};
    uint64_t previous_end_ns;
    struct sl_op *op;

    if (item->flags & SL_EVF_STILL_RUNNING)
        pub.end_ns = 0;
    if (sl_stream_push(streams, stream, &pub, &c->by, &before, &previous_end_ns, &op) != 0)
        c->e->starved = 1;
    if (op) {
        if (before.first && is_overtaken(c, item))
            mark_overlapping(&before);
        sl_waits_operation(c->e->waits, op, &before, previous_end_ns);
        c->last_op = op;
        if (item->correlation < c->e->last_correlation && op->pub.end_ns <= c->e->waits->closed_ns)
            sl_call_lose(c, SL_EDGE_LOST_GAVE_UP);
    }
    sl_set_clear(streams, &before);
    return op;
}

/* Foreign files do not say which streams are blocking: what the legacy default stream came behind
 * is left out. */
static void count_flag_unknown(struct sl_call *c, const struct sl_stream *stream)
{
    const struct sl_stream *recent = stream->context->recent;

    if (c->e->opt->foreign && !stream->flags && stream->id == SL_STREAM_LEGACY && recent &&
        recent != stream)
        sl_call_lose(c, SL_EDGE_LOST_FLAG_UNKNOWN);
}

static void operations(struct sl_call *c)
{
    for (size_t i = 0; i < c->count; i++) {
        const struct sl_item *item = &c->item[i];
        struct sl_op *op;

        if (!sl_item_is_operation(item) || sl_call_is_node(c, item))
            continue;
        sl_call_stream(c, item)->plain = 1;
        count_flag_unknown(c, sl_call_stream(c, item));
        op = sl_call_enqueue(c, item);
        if (op)
            copy_waits(c, item, op);
    }
}

/* ---- events ---- */

/* Of a whole context nobody knows which streams it has: a green context's are no others by their
 * records. */
static void record_event(struct sl_call *c, const struct sl_item *item, struct sl_set *set)
{
    struct sl_streams *streams = c->e->streams;

    sl_set_open(streams, set);
    if (c->class == SL_CALL_CONTEXT_RECORD)
        set->lost = 1u << SL_EDGE_LOST_NO_RECORD;
    else if (is_anywhere(c, item))
        set->lost = 1u << SL_EDGE_LOST_AMBIGUOUS;
    else
        sl_stream_collect(streams, sl_call_stream(c, item), &c->by, set);
}

static void record_events(struct sl_call *c)
{
    int is_named = 0, err;

    for (size_t i = 0; i < c->count; i++) {
        const struct sl_item *item = &c->item[i];
        struct sl_record *record;
        struct sl_set set = {0};

        if (item->kind != SL_EV_CUDA_EVENT)
            continue;
        is_named = 1;
        err = sl_records_put(c->e->records, sl_call_stream(c, item)->context->id, item->name,
                             item->id, item->correlation, &record);
        c->e->starved |= err == -ENOMEM;
        if (err)
            continue;
        record_event(c, item, &set);
        record->set = set;
    }
    if (c->class == SL_CALL_CONTEXT_RECORD && c->cpu->more == 0 && !is_named &&
        c->e->records->unnamed < c->by.correlation)
        c->e->records->unnamed = c->by.correlation;
}

void sl_enact_call(struct sl_enact *e, const struct sl_item *item, size_t count)
{
    struct sl_call c = {.e = e, .item = item, .count = count};

    look_at_call(&c);
    c.is_graph = is_graph(&c);
    if (c.by.from_ns && c.by.from_ns < e->begin_ns)
        return;
    sl_waits_close(e->waits, c.by.from_ns);
    if (c.by.from_ns > e->streams->horizon_ns)
        e->streams->horizon_ns = c.by.from_ns;
    remember_context(&c);
    if (c.is_graph)
        sl_call_graph(&c);
    else
        operations(&c);
    record_events(&c);
    if (c.class == SL_CALL_CONTEXT_WAIT && c.cpu->more == 0)
        context_waits(&c);
    else if (c.sync)
        synchronization(&c);
    else if (c.cpu && c.cpu->more == 0)
        unrecorded_wait(&c);
    if (item->correlation > e->last_correlation)
        e->last_correlation = item->correlation;
}
