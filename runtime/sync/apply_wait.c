/*
 * apply_wait.c - applies the waits of a call, and the stream waits that the call made.
 *
 * Most waits have a synchronization record. Copies and memsets have no such record. The kind of
 * memory says whether their call returned only after its own operation had ended. Frees have no
 * such record either. The engine assumes that a free waited for the work that ended during the
 * call. A call that enqueues waits if its queue is full, or if it loads a module. CUPTI's records
 * of overhead tell this; without them, the engine concludes it from times.
 *
 * Threads: only the thread that owns the engine (edge.h). Memory: none; wait.c takes over the sets
 * of the waits.
 */
#include "sync/apply.h"
#include "sync/foreign.h"

enum {
    HTOD = 1, /* a value of CUpti_ActivityMemcpyKind */
    DTOH = 2,
    HTOA = 3,
    ATOH = 4,
    HTOH = 9,
    PTOP = 10,
    PAGEABLE = 1, /* a value of CUpti_ActivityMemoryKind */
    PINNED = 2,
    MANAGED = 5,
    MANAGED_STATIC = 7
};

/* As measured on real GPUs. With QUEUE_LENGTH operations pending on its stream, a call that
 * enqueues took a kernel's length (6 us and more) instead of 2 us, and returned 2.2 to 5 us (in 99
 * of 100 calls up to 10.7 us) after the oldest of these operations had ended. Launches that loaded
 * a module took more than LOAD_NS; work that was pending for LOAD_PENDING_NS or more had always
 * ended when they returned. If a function was loaded behind pending work, CUPTI's record of the
 * loading began 26 to 103 us after the work had ended, so less than LOAD_BEHIND_NS; else 2 to 8 us
 * after the call. */
enum {
    QUEUE_LENGTH = 1022,
    QUEUE_CALL_NS = 5000,
    QUEUE_WAKE_NS = 10000,
    LOAD_NS = 100000,
    LOAD_PENDING_NS = 20000,
    LOAD_BEHIND_NS = 200000,
    LAUNCHED_SHARE = 32 /* the map of launched kernels may use 1/LAUNCHED_SHARE of the store */
};

static struct sl_wait new_wait(const struct sl_call *c, struct sl_stream *stream,
                               enum sl_wait_scope scope, enum sl_edge_kind kind)
{
    struct sl_wait wait = {
        .when = c->by, .stream = stream, .scope = (uint8_t)scope, .kind = (uint8_t)kind};

    /* A foreign file (a file of torch.profiler) does not say whether a query succeeded, so it is
     * only inferred that the query waited. */
    wait.inferred = sl_edge_is_query(kind) && c->e->opt.foreign;
    wait.when.waits = 1;
    if (c->cpu) {
        wait.domain = c->cpu->kind;
        wait.name = c->cpu->name;
        wait.cbid = c->cpu->what;
    }
    return wait;
}

void sl_call_wait_for(struct sl_call *c, struct sl_stream *stream, enum sl_wait_scope scope,
                      enum sl_edge_kind kind, int inferred)
{
    struct sl_wait wait = new_wait(c, stream, scope, kind);

    wait.inferred |= (uint8_t)inferred;
    sl_waits_add(&c->e->waits, &wait);
}

static void wait_for_op(struct sl_call *c, struct sl_op *op, enum sl_edge_kind kind, int inferred)
{
    struct sl_wait wait = new_wait(c, op->stream, SL_WAIT_SET, kind);

    wait.inferred = (uint8_t)inferred;
    sl_set_open(&c->e->streams, &wait.set);
    sl_set_add(&c->e->streams, &wait.set, &(struct sl_link){.op = op, .by = op->by});
    sl_waits_add(&c->e->waits, &wait);
}

/* ---- full queues ---- */

/* Returns CUPTI's record of such an overhead of the call, or NULL. */
static const struct sl_item *overhead_of(const struct sl_call *c, enum sl_overhead_type type)
{
    for (size_t i = 0; c->count > 2 && i < c->count; i++)
        if (c->item[i].kind == SL_EV_OVERHEAD && c->item[i].what == type)
            return &c->item[i];
    return NULL;
}

/* Returns the operation whose end made room in the full queue of the stream: the oldest operation
 * that was pending when the call began to wait. Returns NULL if the queue was not full. */
static struct sl_op *made_room(const struct sl_call *c, struct sl_stream *stream)
{
    const struct sl_item *told = overhead_of(c, SL_OVERHEAD_QUEUE_FULL);
    uint64_t from_ns = told ? told->start_ns : c->by.from_ns;
    uint64_t to_ns = told ? told->end_ns : c->by.to_ns;
    struct sl_op *op;
    uint32_t pending;

    if (!told &&
        (c->e->queues_told || to_ns - from_ns < QUEUE_CALL_NS || stream->kept < QUEUE_LENGTH))
        return NULL;
    /* if the call's records are late, its operation is not the newest of the stream */
    if (stream->newest != c->last_op &&
        (c->last_op || !stream->newest || stream->newest->pub.correlation > c->by.correlation))
        return NULL;
    op = sl_stream_oldest_pending(stream, from_ns, &pending);
    pending -= c->last_op != NULL;
    if (!op || op->pub.correlation == c->by.correlation || op->after_unseen ||
        op->pub.end_ns > to_ns)
        return NULL;
    /* An operation may also have ended by chance while the thread was not scheduled. */
    if (!told && (pending < QUEUE_LENGTH || to_ns - op->pub.end_ns > QUEUE_WAKE_NS ||
                  op->pub.end_ns - from_ns < QUEUE_CALL_NS))
        return NULL;
    return op;
}

/* ---- copies ---- */

/* Returns 1 if the host can access the memory. A memset of host-accessible memory blocks. Returns 0
 * if the kind of memory is not known. */
static int is_of_host(uint32_t memory)
{
    return memory == PAGEABLE || memory == PINNED || memory == MANAGED || memory == MANAGED_STATIC;
}

int sl_apply_waits_for_itself(const struct sl_item *op, const struct sl_shape *shape, int blocking)
{
    if (op->kind == SL_EV_MEMSET)
        return blocking && is_of_host(shape->dst_memory);
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

/* Returns 1 for a copy from pageable memory to a device. A blocking copy of this sort synchronizes
 * its stream first, and may return before its own transfer ends. An asynchronous one may do the
 * same. */
static int is_from_pageable(const struct sl_item *op, const struct sl_shape *shape)
{
    return op->kind == SL_EV_MEMCPY && shape->src_memory == PAGEABLE &&
           (shape->copy_kind == HTOD || shape->copy_kind == HTOA);
}

/* Returns 1 if the copy call returned only after it had staged the data. No record says whether an
 * asynchronous copy did so. On real GPUs, copies of up to 64 KiB never do. A larger copy did not if
 * its transfer began after the call's return. If the call waited for a full queue, that explains
 * why it returned late. */
static int has_staged(const struct sl_call *c, const struct sl_item *op)
{
    return c->class == SL_CALL_BLOCKING_COPY ||
           (op->more & SL_ITEM_LARGE && op->start_ns && op->start_ns < c->by.to_ns &&
            !made_room(c, sl_call_stream(c, op)));
}

/* Returns the kind of a copy, or 0 (unknown) for other operations. */
static uint32_t copy_kind(const struct sl_call *c, const struct sl_item *item)
{
    const struct sl_shape *shape =
        item->kind == SL_EV_MEMCPY ? sl_shape_get(c->e->opt.shapes, item->what) : NULL;

    return shape ? shape->copy_kind : 0;
}

int sl_call_is_host_copy(const struct sl_call *c, const struct sl_item *item)
{
    return copy_kind(c, item) == HTOH;
}

int sl_call_is_serialized(const struct sl_call *c, const struct sl_item *item)
{
    return c->class == SL_CALL_BLOCKING_COPY && copy_kind(c, item) == PTOP;
}

static void remember_unreturned(struct sl_call *c, const struct sl_item *item,
                                const struct sl_shape *shape)
{
    int waits = sl_apply_waits_for_itself(item, shape, 0);

    if (!c->e->opt.online ||
        !(waits || sl_apply_waits_for_itself(item, shape, 1) || is_from_pageable(item, shape)))
        return;
    c->e->unreturned[c->e->unreturned_next++ % SL_APPLY_UNRETURNED] =
        (struct sl_unreturned){item->correlation, !waits};
}

/* Counts the wait of a call as lost if the call's record has arrived, but too late for finding what
 * the call waited for. */
static void lose_unreturned(struct sl_call *c)
{
    for (size_t i = 0; i < SL_APPLY_UNRETURNED; i++) {
        struct sl_unreturned *u = &c->e->unreturned[i];

        if (u->correlation != c->by.correlation || c->by.correlation == 0)
            continue;
        if (!u->by_name || c->class == SL_CALL_BLOCKING_COPY)
            sl_call_lose(c, SL_EDGE_LOST_GAVE_UP);
        u->correlation = 0;
    }
}

void sl_call_copy_waits(struct sl_call *c, const struct sl_item *item, struct sl_op *op)
{
    const struct sl_shape *shape = sl_shape_get(c->e->opt.shapes, item->what);
    int blocking = c->class == SL_CALL_BLOCKING_COPY;
    enum sl_edge_kind kind = item->kind == SL_EV_MEMSET ? SL_EDGE_MEMSET : SL_EDGE_COPY;
    struct sl_wait wait;

    /* A graph launch waits for none of its nodes. If all nodes are on one stream, files of
     * torch.profiler do not distinguish the nodes from other operations. */
    if (!shape || sl_call_is_node(c, item) || c->class == SL_CALL_GRAPH_LAUNCH)
        return;
    if (!c->cpu)
        remember_unreturned(c, item, shape);
    if (!c->cpu || c->cpu->more != 0)
        return;
    c->waited = 1;
    if (sl_apply_waits_for_itself(item, shape, blocking)) {
        wait_for_op(c, op, kind, 0);
    } else if (is_from_pageable(item, shape) && has_staged(c, item)) {
        wait = new_wait(c, op->stream, SL_WAIT_STREAM, kind);
        wait.inferred = wait.if_pending = (uint8_t)!blocking;
        wait.over_ns = op->pub.start_ns;
        sl_waits_add(&c->e->waits, &wait);
    } else {
        c->waited = 0;
    }
}

/* ---- events ---- */

static const struct sl_record *find_record(const struct sl_call *c, int *overlaps)
{
    const struct sl_item *sync = c->sync;

    /* A file of torch.profiler has a record of an event only if some wait names the record. So the
     * event may have been recorded again later. */
    if (c->e->opt.foreign && sync->id == 0)
        return NULL;
    return sl_records_find(&c->e->records, sl_call_stream(c, sync)->context->id, sync->name,
                           sync->id, &c->by, overlaps);
}

/* Returns 1 if the event may have been recorded before the wait, although no such record is known.
 * The record may not have been seen. If all known records are newer than the wait, the earlier
 * record may also have been forgotten. (A wait for an event that was never recorded waits for
 * nothing.) */
static int may_have_been_recorded(const struct sl_call *c, enum sl_edge_loss *reason)
{
    const struct sl_item *sync = c->sync;
    /* a foreign file may lack event records */
    int unseen = c->e->opt.recording_since_ns != 0 || c->e->opt.foreign;

    *reason = unseen && !c->e->opt.foreign ? SL_EDGE_LOST_BEFORE_WINDOW : SL_EDGE_LOST_NO_RECORD;
    return sync->id != 0 || unseen || c->e->records.forgot ||
           sl_records_has(&c->e->records, sl_call_stream(c, sync)->context->id, sync->name) ||
           sl_records_elsewhere(&c->e->records, sl_call_stream(c, sync)->context->id, sync->name);
}

/* Returns 1 if the event may have been recorded again, that is, if a later call recorded an event
 * that no record names. */
static int may_be_outdated(const struct sl_call *c, const struct sl_record *record)
{
    uint64_t unnamed = c->e->records.unnamed;

    /* Only the last call that recorded an unnamed event is stored. So another such call may have
     * been made before the wait. */
    return unnamed != 0 && (!record || record->by.correlation < unnamed);
}

/* Returns the record that the call's wait refers to. Returns NULL if the event was never recorded.
 * Returns NULL and writes the reason to *lost if the record is not known. Sets *overlaps if calls
 * overlap, so that the wait may refer to another record. */
static const struct sl_record *record_of(const struct sl_call *c, uint32_t *lost, int *overlaps)
{
    int unsure = 0;
    const struct sl_record *record = find_record(c, &unsure);
    enum sl_edge_loss reason;

    *lost = 0;
    *overlaps = 0;
    if (may_be_outdated(c, record)) {
        *lost = 1u << SL_EDGE_LOST_NO_RECORD;
        return NULL;
    }
    if (!record && may_have_been_recorded(c, &reason))
        *lost = 1u << reason;
    *overlaps = record && (unsure || (c->sync->id == 0 && sl_call_is_joined(c, c->sync)));
    return record;
}

static void copy_set(const struct sl_call *c, const struct sl_set *from, int overlaps,
                     struct sl_set *to)
{
    sl_set_open(&c->e->streams, to);
    to->lost = from->lost;
    to->misses = from->misses;
    for (const struct sl_link *at = from->first; at; at = at->next) {
        struct sl_link link = *at;

        link.overlapping |= (uint8_t)overlaps;
        sl_set_add(&c->e->streams, to, &link);
    }
}

static void wait_for_event(struct sl_call *c)
{
    int query = c->class == SL_CALL_EVENT_QUERY;
    struct sl_wait wait = new_wait(c, sl_call_stream(c, c->sync), SL_WAIT_SET,
                                   query ? SL_EDGE_EVENT_QUERY : SL_EDGE_EVENT_SYNC);
    int overlaps;
    uint32_t lost;
    const struct sl_record *record = record_of(c, &lost, &overlaps);

    sl_waits_lose(&c->e->waits, lost);
    if (!record)
        return;
    wait.inferred |= (c->sync->flags & SL_EVF_GUESSED) != 0;
    copy_set(c, &record->set, overlaps, &wait.set);
    sl_waits_add(&c->e->waits, &wait);
}

static void stream_waits(struct sl_call *c)
{
    struct sl_set marked = {0}, unknown = {0};
    int overlaps;
    const struct sl_record *record = record_of(c, &unknown.lost, &overlaps);
    const struct sl_set *set = record ? &record->set : &unknown;

    if (overlaps) {
        copy_set(c, set, 1, &marked);
        set = &marked;
    }
    sl_call_stream(c, c->sync)->plain = 1;
    sl_foreign_stream_waits(&c->e->opt, &c->e->streams, sl_call_stream(c, c->sync), &c->by);
    sl_stream_follow(&c->e->streams, sl_call_stream(c, c->sync), set, SL_VIA_STREAM_WAIT, &c->by);
    sl_set_clear(&c->e->streams, &marked);
}

/* Handles a call that makes all streams of a context wait for an event. No record contains the
 * call's arguments, which name the event and the context. So the next operation of any stream may
 * have an unknown wait. The call itself is counted as lost, too, because some streams may never be
 * used again. */
static void context_waits(struct sl_call *c)
{
    sl_call_lose(c, SL_EDGE_LOST_NO_RECORD);
    sl_streams_note_unknown(&c->e->streams, SL_UNKNOWN_CONTEXT_WAIT, &c->by, 0);
}

/* ---- synchronization records ---- */

/* Returns 1 if the call had not returned when the window (the recorded interval) ended. CUPTI makes
 * a call's record when the call returns. Without this record, it is not known when the call began
 * to wait. */
static int has_not_returned(const struct sl_call *c)
{
    return c->e->closing && c->e->calls_seen && !c->cpu;
}

static void synchronization(struct sl_call *c)
{
    struct sl_stream *stream = sl_call_stream(c, c->sync);
    int query = c->class == SL_CALL_STREAM_QUERY;

    /* The call did not wait if it failed, or if it was a query that found work pending. Before
     * CUPTI 12.8, only the call's record has the result. */
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
        /* the application created this stream, because no call can name a branch of a graph */
        stream->plain = 1;
        if (!c->last_op)
            sl_call_wait_for(c, stream, SL_WAIT_STREAM,
                             query ? SL_EDGE_STREAM_QUERY : SL_EDGE_STREAM_SYNC, 0);
        break;
    case SL_SYNC_CONTEXT:
        sl_call_wait_for(
            c, stream, SL_WAIT_CONTEXT,
            c->cpu && c->cpu->kind == SL_EV_DRIVER ? SL_EDGE_CONTEXT_SYNC : SL_EDGE_DEVICE_SYNC, 0);
        break;
    default:
        break;
    }
}

/* ---- waits without a record ---- */

/* If the thread's last context is known, returns the stream object that stands for that context and
 * sets *known. Otherwise returns the stream object that stands for any context. Returns NULL if
 * there is no context. */
static struct sl_stream *guess_context(struct sl_call *c, int *known)
{
    struct sl_streams *streams = &c->e->streams;
    const uint64_t *place = c->by.thread ? sl_map_find(&c->e->context_of, c->by.thread) : NULL;

    *known = place || streams->context_count == 1;
    if (place)
        return sl_context_any(streams, (struct sl_context *)(uintptr_t)*place);
    return streams->all_contexts ? sl_context_any(streams, streams->all_contexts) : NULL;
}

static void wait_for_free(struct sl_call *c, struct sl_stream *any, enum sl_edge_kind kind,
                          int known)
{
    struct sl_wait wait = new_wait(c, any, SL_WAIT_CONTEXT, kind);

    wait.inferred = 1;
    wait.anywhere = (uint8_t)!known;
    sl_waits_add(&c->e->waits, &wait);
}

/* Returns the stream on which the call enqueued an operation or recorded an event. Returns NULL if
 * there is none, or if its number is not known. */
static struct sl_stream *enqueued_on(const struct sl_call *c)
{
    if (c->last_op)
        return c->last_op->stream;
    for (size_t i = 0; i < c->count; i++)
        if (c->item[i].kind == SL_EV_CUDA_EVENT &&
            sl_call_stream(c, &c->item[i])->id != SL_STREAM_NONE)
            return sl_call_stream(c, &c->item[i]);
    return NULL;
}

/* Returns 1 if the launch is the first of its kernel in a recording of the whole process, and took
 * long. Then it has probably loaded its module. */
static int is_long_first_launch(const struct sl_call *c)
{
    struct sl_edges *e = c->e;
    const struct sl_op *op = c->last_op;
    uint64_t *place;

    if (e->loads_told || e->opt.recording_since_ns || op->pub.name == 0 ||
        e->launched.used * sizeof *e->launched.slot > e->store.cap_bytes / LAUNCHED_SHARE)
        return 0;
    place =
        sl_map_put(&e->launched, (uint64_t)(op->stream->context->number + 1) << 32 | op->pub.name);
    return place && (*place)++ == 0 && c->by.to_ns - c->by.from_ns > LOAD_NS;
}

/* Adds the wait of a launch that loaded its module or its function. Returns 0 if the launch did
 * not. */
static int wait_for_load(struct sl_call *c)
{
    const struct sl_item *told = overhead_of(c, SL_OVERHEAD_MODULE_LOAD);
    const struct sl_item *loaded = told ? NULL : overhead_of(c, SL_OVERHEAD_FUNCTION_LOAD);
    struct sl_wait wait;

    if (!told && !loaded && !is_long_first_launch(c))
        return 0;
    /* a full queue explains better why the loading began late */
    if (loaded && overhead_of(c, SL_OVERHEAD_QUEUE_FULL))
        return 0;
    wait = new_wait(c, c->last_op->stream, SL_WAIT_CONTEXT, SL_EDGE_MODULE_LOAD);
    wait.inferred = wait.if_pending = 1;
    wait.pending_ns = (told ? told->start_ns : c->by.from_ns) + LOAD_PENDING_NS;
    if (loaded) {
        wait.until_ns = loaded->start_ns;
        if (wait.until_ns <= wait.pending_ns)
            return 0;
        wait.pending_ns = sl_later(wait.pending_ns, wait.until_ns - LOAD_BEHIND_NS);
    }
    sl_waits_add(&c->e->waits, &wait);
    return 1;
}

/* Handles a call that enqueued work and has no other wait. */
static void wait_of_enqueue(struct sl_call *c)
{
    struct sl_stream *stream;
    struct sl_op *op;

    /* true for nearly all calls: there is no record of overhead, and the call was short */
    if (c->count < 3 && c->by.to_ns - c->by.from_ns < QUEUE_CALL_NS && c->e->loads_told)
        return;
    stream = enqueued_on(c);
    if (!stream || c->waited || c->is_graph || c->class == SL_CALL_GRAPH_LAUNCH)
        return;
    if (c->class == SL_CALL_KERNEL_LAUNCH && c->last_op && wait_for_load(c))
        return;
    op = made_room(c, stream);
    if (op)
        wait_for_op(c, op, SL_EDGE_QUEUE_FULL, 1);
}

/* Handles a wait without a synchronization record. Frees never have such a record. */
static void unrecorded_wait(struct sl_call *c)
{
    int known;
    struct sl_stream *any;

    if (c->last_op || c->class == SL_CALL_OTHER) {
        wait_of_enqueue(c);
        return;
    }
    any = guess_context(c, &known);
    if (any && c->class == SL_CALL_FREE)
        wait_for_free(c, any, SL_EDGE_FREE, known);
    else if (any && c->class == SL_CALL_UNLOAD)
        wait_for_free(c, any, SL_EDGE_IMPLICIT, known);
    else
        sl_foreign_wait(c, any, known);
}

void sl_call_waits(struct sl_call *c)
{
    if (c->class == SL_CALL_CONTEXT_WAIT && c->cpu->more == 0)
        context_waits(c);
    else if (c->sync)
        synchronization(c);
    else if (c->cpu && c->cpu->more == 0)
        unrecorded_wait(c);
    if (c->e->unreturned_next && c->cpu && !c->last_op)
        lose_unreturned(c);
}
