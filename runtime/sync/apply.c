/*
 * apply.c - applies one call to the engine's state (apply.h). This file handles the call's thread,
 * the call's operations, and the CUDA events that the call recorded.
 *
 * If the records of a call arrive after later calls were applied, the call is applied nevertheless.
 * The operations of a late call are inserted into their streams in the order in which the GPU ran
 * them. The waits of a late call use the state that the streams had at the time of the wait.
 *
 * Threads: only the thread that owns the engine (edge.h). Memory: the map from threads to contexts,
 * which the engine's store (base/store.h) provides.
 */
#include "sync/apply.h"

#include <errno.h>

#include "sync/foreign.h"

enum {
    CONTEXTS_SHARE = 32 /* the map may use 1/CONTEXTS_SHARE of the store */
};

/* ---- the call and its thread ---- */

static void look_at_call(struct sl_call *c)
{
    const struct sl_item *when;

    for (size_t i = 0; i < c->count; i++) {
        const struct sl_item *item = &c->item[i];

        if (sl_item_is_call(item))
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

/* Files of torch.profiler do not say which operations are graph nodes. If the operations of one
 * launch are on several streams, the operations are graph nodes. If all operations of the launch
 * are on one stream, the stream orders the operations in any case. */
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

/* Returns 1 if the item is an event record in a file that does not name the record's context. */
static int is_anywhere(const struct sl_call *c, const struct sl_item *item)
{
    return item->kind == SL_EV_CUDA_EVENT && sl_call_stream(c, item)->id == SL_STREAM_NONE;
}

/* Returns 1 if the record must belong to the thread's current context. Only operations and event
 * records must belong to that context. A wait may name streams and events of any context. */
static int is_in_own_context(const struct sl_call *c, const struct sl_item *item)
{
    return sl_item_is_operation(item) ||
           (item->kind == SL_EV_CUDA_EVENT && !is_anywhere(c, item)) ||
           (item->kind == SL_EV_SYNC && item->more == SL_SYNC_CONTEXT);
}

/* Stores the context that a thread uses. A call that names neither a stream nor a context acts on
 * the context that its thread used last. */
static void use_context(struct sl_edges *e, uint32_t thread, const struct sl_context *context)
{
    uint64_t *place;

    if (thread == e->used_by && context == e->used) /* true for nearly all calls */
        return;
    /* Jobs create and end threads, so the map is emptied when it is large. The next operation of a
     * thread stores the thread's context again. */
    if (e->context_of.used * sizeof *e->context_of.slot >
        e->streams.store->cap_bytes / CONTEXTS_SHARE)
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

/* ---- operations ---- */

/* Returns 1 if calls with higher correlation ids were applied before this call. */
static int is_late(const struct sl_call *c)
{
    return c->item->correlation < c->e->last_correlation &&
           c->by.from_ns < c->e->streams.horizon_ns;
}

struct sl_op *sl_call_enqueue(struct sl_call *c, const struct sl_item *item)
{
    struct sl_streams *streams = &c->e->streams;
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
        if (before.first && sl_call_is_joined(c, item))
            sl_set_mark(&before);
        if (!sl_call_is_host_copy(c, item))
            sl_waits_operation(&c->e->waits, op, &before, previous_end_ns);
        c->last_op = op;
        if (is_late(c) && op->pub.end_ns <= c->e->waits.closed_ns)
            sl_call_lose(c, SL_EDGE_LOST_GAVE_UP);
    }
    sl_set_clear(streams, &before);
    return op;
}

/* Enqueues a copy that runs after all earlier and before all later work of two devices. No record
 * names the streams of these devices. So any stream of any context, also one that is created later,
 * may have work that is ordered before or after the copy. */
static struct sl_op *enqueue_serialized(struct sl_call *c, const struct sl_item *item)
{
    struct sl_set unknown = {.lost = 1u << SL_EDGE_LOST_NO_RECORD};
    struct sl_moment earlier = c->by;
    struct sl_op *op;

    earlier.correlation--;
    sl_stream_follow(&c->e->streams, sl_call_stream(c, item), &unknown, SL_VIA_LEGACY, &earlier);
    op = sl_call_enqueue(c, item);
    sl_streams_note_unknown(&c->e->streams, SL_UNKNOWN_CONTEXT_WAIT, &c->by, 0);
    return op;
}

static void operations(struct sl_call *c)
{
    for (size_t i = 0; i < c->count; i++) {
        const struct sl_item *item = &c->item[i];
        struct sl_op *op;

        if (!sl_item_is_operation(item) || sl_call_is_node(c, item))
            continue;
        sl_call_stream(c, item)->plain = 1;
        sl_foreign_operation(c, item);
        op =
            sl_call_is_serialized(c, item) ? enqueue_serialized(c, item) : sl_call_enqueue(c, item);
        if (op && item->kind != SL_EV_KERNEL) /* a launch never waits for its own kernel */
            sl_call_copy_waits(c, item, op);
    }
}

/* ---- events ---- */

/* Records an event. If the call records the event for a whole context, the streams are not known,
 * because records do not distinguish the streams of a green context. */
static void record_event(struct sl_call *c, const struct sl_item *item, struct sl_set *set)
{
    struct sl_streams *streams = &c->e->streams;
    struct sl_stream *stream = sl_call_stream(c, item);

    sl_set_open(streams, set);
    if (c->class == SL_CALL_CONTEXT_RECORD)
        set->lost = 1u << SL_EDGE_LOST_NO_RECORD;
    else if (is_anywhere(c, item))
        set->lost = 1u << SL_EDGE_LOST_AMBIGUOUS;
    else {
        /* the application created this stream, because no call can record an event on a branch of a
         * graph */
        stream->plain = 1;
        sl_stream_collect(streams, stream, 0, &c->by, 1, set);
        if (sl_call_is_joined(c, item)) {
            sl_set_mark(set);
            if (!set->first) /* the event may stand for work that was not recorded */
                set->lost |= 1u << SL_EDGE_LOST_AMBIGUOUS;
        }
    }
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
        err = sl_records_put(&c->e->records, sl_call_stream(c, item)->context->id, item->name,
                             item->id, &c->by, &record);
        c->e->starved |= err == -ENOMEM;
        if (err)
            continue;
        record_event(c, item, &set);
        sl_records_fill(&c->e->records, record, &set);
    }
    if (c->class == SL_CALL_CONTEXT_RECORD && c->cpu->more == 0 && !is_named &&
        c->e->records.unnamed < c->by.correlation)
        c->e->records.unnamed = c->by.correlation;
}

void sl_apply_call(struct sl_edges *e, const struct sl_item *item, size_t count)
{
    struct sl_call c = {.e = e, .item = item, .count = count};

    look_at_call(&c);
    c.is_graph = is_graph(&c);
    if (c.by.from_ns && c.by.from_ns < e->begin_ns)
        return;
    sl_waits_close(&e->waits, c.by.from_ns);
    if (c.by.from_ns > e->streams.horizon_ns)
        e->streams.horizon_ns = c.by.from_ns;
    remember_context(&c);
    if (c.is_graph)
        sl_call_graph(&c);
    else
        operations(&c);
    sl_foreign_find_missing(&c);
    record_events(&c);
    sl_call_waits(&c);
    if (item->correlation > e->last_correlation)
        e->last_correlation = item->correlation;
}
