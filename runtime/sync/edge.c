/*
 * edge.c - finds the GPU work that each wait was waiting for. The input is events, and the output
 * is edges.
 *
 * An event becomes an item (order.h). Once all records of a call should have arrived, the engine
 * applies the call (apply.h) to streams, events, graphs and waits. If there is no memory for a
 * record, the engine drops the state of all streams and all held records, which are the records of
 * calls that were not applied yet.
 *
 * Threads: only the thread that owns the engine (edge.h). Memory: struct sl_edges, which the caller
 * of sl_edges_create() owns.
 */
#include "sync/edge.h"

#include <errno.h>

#include "base/pages.h"
#include "sync/apply.h"
#include "sync/call_class.h"
#include "sync/foreign.h"

#define DEFAULT_CAP ((size_t)16 << 20)
/* How long a call may take to return after the awaited work (or its own operation) has ended,
 * because its thread must first get a processor. 100 ms were too short on a machine with many more
 * threads than processors. */
#define RETURN_NS 1000000000u
/* like RETURN_NS, but used when the held records occupy much of the memory */
#define RETURN_LOW_NS 100000000u

int sl_edges_create(struct sl_edges **out, const struct sl_edges_options *opt)
{
    struct sl_edges *e;

    if (!opt || !opt->sink || !opt->shapes)
        return -EINVAL;
    e = sl_pages_map(sizeof *e);
    if (!e)
        return -ENOMEM;
    e->opt = *opt;
    e->store.cap_bytes = opt->cap_bytes ? opt->cap_bytes : DEFAULT_CAP;
    sl_order_init(&e->order, &e->store);
    sl_streams_init(&e->streams, &e->store);
    e->loads_told = !opt->foreign;
    e->streams.unseen = opt->recording_since_ns != 0;
    sl_foreign_init(opt, &e->streams);
    sl_records_init(&e->records, &e->streams);
    sl_waits_init(&e->waits, &e->opt, &e->streams);
    sl_execs_init(&e->execs, &e->streams);
    sl_nodes_init(&e->nodes, &e->store);
    sl_map_init(&e->context_of, &e->store);
    sl_map_init(&e->launched, &e->store);
    *out = e;
    return 0;
}

void sl_edges_destroy(struct sl_edges *e)
{
    if (!e)
        return;
    sl_order_free(&e->order);
    sl_records_free(&e->records);
    sl_execs_free(&e->execs);
    sl_nodes_free(&e->nodes);
    sl_waits_free(&e->waits);
    sl_map_free(&e->context_of);
    sl_map_free(&e->launched);
    sl_streams_free(&e->streams);
    sl_pages_unmap(e, sizeof *e);
}

/* ---- input of events ---- */

static int is_call(const struct sl_event *ev)
{
    return ev->kind == SL_EV_RUNTIME || ev->kind == SL_EV_DRIVER;
}

static int to_item(struct sl_edges *e, const struct sl_event *ev, struct sl_item *item)
{
    struct sl_stream *stream;

    *item = (struct sl_item){.correlation = ev->correlation,
                             .start_ns = ev->start_ns,
                             .end_ns = ev->end_ns,
                             .name = ev->name,
                             .kind = ev->kind,
                             .flags = ev->flags};
    if (is_call(ev)) {
        e->calls_seen = 1;
        item->what = ev->u.call.cbid;
        item->where = ev->thread;
        item->more = ev->u.call.result != 0;
        return 0;
    }
    if (ev->kind == SL_EV_OVERHEAD) {
        item->what = ev->u.overhead.type;
        return 0;
    }
    stream = sl_streams_get(&e->streams, ev->device, ev->context, ev->stream);
    if (!stream)
        return -ENOMEM;
    item->where = stream->number;
    stream->held++;
    if (ev->kind == SL_EV_SYNC || ev->kind == SL_EV_CUDA_EVENT) {
        item->id = ev->u.sync.event_sync_id;
        item->name = ev->u.sync.event_id;
        item->what = ev->u.sync.result;
        item->more = ev->u.sync.type;
    } else {
        stream->context->device = ev->device;
        item->id = ev->u.op.graph_node;
        item->what = ev->shape;
        item->more = (uint8_t)(ev->graph != 0 && ev->kind != SL_EV_GRAPH ? SL_ITEM_NODE : 0);
        if (ev->kind == SL_EV_MEMCPY && ev->u.op.bytes > SL_ITEM_LARGE_BYTES)
            item->more |= SL_ITEM_LARGE;
    }
    return 0;
}

/* Releases the item's stream, because the item is about to be removed. */
static void let_go(struct sl_edges *e, const struct sl_item *item)
{
    if (!sl_item_is_call(item) && item->kind != SL_EV_OVERHEAD)
        sl_streams_at(&e->streams, item->where)->held--;
}

/* Returns 1 if the record belongs to a call that waited or made a stream wait. A query that found
 * work pending did not wait. */
static int is_wait(const struct sl_edges *e, const struct sl_item *item)
{
    const struct sl_shape *shape;
    enum sl_call_class class;

    switch (item->kind) {
    case SL_EV_SYNC:
        return item->what == 0;
    case SL_EV_MEMCPY:
        shape = sl_shape_get(e->opt.shapes, item->what);
        return shape && !sl_item_is_node(item) && sl_apply_waits_for_itself(item, shape, 0);
    case SL_EV_RUNTIME:
    case SL_EV_DRIVER:
        class = sl_call_class_of((enum sl_event_kind)item->kind, item->what);
        return item->more == 0 && (class == SL_CALL_BLOCKING_COPY || class == SL_CALL_FREE ||
                                   class == SL_CALL_UNLOAD || class == SL_CALL_CONTEXT_WAIT);
    default:
        return 0;
    }
}

/* Counts a call as lost, because its records are dropped. The call is counted once, because its
 * records are adjacent in the sorted items. Between windows, calls are recorded, but the work that
 * they waited for is not. So a wait between windows is counted only if it has a synchronization
 * record. */
static void lose(struct sl_edges *e, const struct sl_item *item)
{
    if (item->correlation == e->last_lost || !is_wait(e, item) ||
        (e->reason == SL_EDGE_LOST_BEFORE_WINDOW && item->kind != SL_EV_SYNC))
        return;
    e->waits.lost[e->reason]++;
    e->last_lost = item->correlation;
}

void sl_edges_forget(struct sl_edges *e, enum sl_edge_loss reason)
{
    e->reason = reason;
    /* if there is no memory for the sort, a call may be counted twice */
    (void)sl_order_sort(&e->order);
    for (size_t i = e->order.first; i < e->order.count; i++)
        lose(e, &e->order.item[i]);
    sl_order_take(&e->order, e->order.count - e->order.first);
    sl_waits_forget(&e->waits, reason);
    sl_records_forget(&e->records);
    sl_execs_forget(&e->execs);
    sl_streams_forget(&e->streams);
    sl_streams_ignore_call(&e->streams, e->returned_ns);
    if (!e->opt.recording_since_ns)
        /* not 0, because the recording no longer covers the whole run */
        e->opt.recording_since_ns = 1;
    e->forgotten = e->newest;
}

void sl_edges_begin(struct sl_edges *e, uint64_t begin_ns)
{
    e->begin_ns = begin_ns;
}

/* Drops all state because there is no memory for a record. The missing record may be the tail of
 * any stream. Dropping the state visits all streams. To bound the cost per event, the engine then
 * ignores as many events as there are streams. */
static void give_way(struct sl_edges *e)
{
    e->waits.lost[SL_EDGE_LOST_MEMORY]++;
    sl_edges_forget(e, SL_EDGE_LOST_MEMORY);
    e->blind = e->streams.count;
}

/* Counts a record as lost, because it arrives after the other records of its call were dropped. The
 * record may be the only record of a wait. */
static void come_too_late(struct sl_edges *e, const struct sl_event *ev)
{
    struct sl_item item;

    if (to_item(e, ev, &item) != 0) {
        e->waits.lost[SL_EDGE_LOST_MEMORY]++;
        return;
    }
    if (sl_item_is_operation(&item) && item.correlation != 0)
        sl_stream_ignore_op(&e->streams, sl_streams_at(&e->streams, item.where), item.start_ns);
    lose(e, &item);
    let_go(e, &item);
}

/* Stores the time at which an ignored call returned, because the call may have enqueued unknown
 * work until then. The call's id is lower than the ids of known calls. Nevertheless, its operation
 * may run after the operations of known calls, because the ignored call may have waited first. */
static void note_return(struct sl_edges *e, const struct sl_event *ev)
{
    if (!is_call(ev) || ev->correlation == 0 ||
        !sl_call_may_enqueue(sl_call_class_of((enum sl_event_kind)ev->kind, ev->u.call.cbid)))
        return;
    if (ev->correlation <= e->forgotten || ev->start_ns < e->begin_ns)
        sl_streams_ignore_call(&e->streams, ev->end_ns);
    else if (e->returned_ns < ev->end_ns)
        e->returned_ns = ev->end_ns;
}

static void hold(struct sl_edges *e, const struct sl_event *ev)
{
    struct sl_item *item = sl_order_next(&e->order);

    if (item && to_item(e, ev, item) == 0)
        sl_order_put(&e->order);
    else
        give_way(e);
}

void sl_edges_event(struct sl_edges *e, const struct sl_event *ev)
{
    switch (ev->kind) {
    case SL_EV_META_STREAM:
        sl_streams_flags(&e->streams, ev->device, ev->context, ev->stream, ev->u.meta.flags);
        return;
    case SL_EV_META_NODE:
        sl_nodes_tell(&e->nodes, ev);
        return;
    case SL_EV_OVERHEAD:
        if (ev->correlation == 0 || ev->u.overhead.type == SL_OVERHEAD_OTHER)
            return;
        e->loads_told |= ev->u.overhead.type == SL_OVERHEAD_MODULE_LOAD ||
                         ev->u.overhead.type == SL_OVERHEAD_FUNCTION_LOAD;
        e->queues_told |= ev->u.overhead.type == SL_OVERHEAD_QUEUE_FULL;
        break;
    case SL_EV_KERNEL:
    case SL_EV_MEMCPY:
    case SL_EV_MEMSET:
    case SL_EV_GRAPH:
    case SL_EV_RUNTIME:
    case SL_EV_DRIVER:
    case SL_EV_SYNC:
    case SL_EV_CUDA_EVENT:
        break;
    default:
        return;
    }
    if (ev->correlation > e->newest)
        e->newest = ev->correlation;
    if (e->blind) {
        e->blind--;
        e->forgotten = e->newest;
    }
    note_return(e, ev);
    /* also true for events without a correlation id, whose id is 0 */
    if (ev->correlation <= e->forgotten)
        come_too_late(e, ev);
    else
        hold(e, ev);
}

/* ---- emitting edges ---- */

static void apply_first(struct sl_edges *e, size_t skip, size_t count)
{
    const struct sl_item *item = sl_order_bring(&e->order, skip, count);

    sl_apply_call(e, item, count);
    for (size_t i = 0; i < count; i++)
        let_go(e, &item[i]);
    sl_order_take(&e->order, count);
    if (!e->starved)
        return;
    e->starved = 0;
    give_way(e);
}

static uint64_t time_to_return(const struct sl_edges *e)
{
    size_t held = e->order.count - e->order.first;

    return held * sizeof *e->order.item < e->store.cap_bytes / 8 ? RETURN_NS : RETURN_LOW_NS;
}

/* Returns the time at which CUPTI made the last record of a call, or 0 if no record has a time.
 * CUPTI makes the call's own record when the call returns, so this record may not have arrived yet.
 */
static uint64_t made(const struct sl_edges *e, const struct sl_item *item, size_t count)
{
    uint64_t ns = 0;
    int returned = 0;

    for (size_t i = 0; i < count; i++) {
        if (item[i].end_ns > ns)
            ns = item[i].end_ns;
        returned |= sl_item_is_call(&item[i]);
    }
    return ns && !returned && e->opt.online ? ns + time_to_return(e) : ns;
}

/* Returns made() of the call that must be applied first. If only the event record of that call has
 * arrived, the call has no time. Then the function returns made() of the next call that has a
 * time. */
static uint64_t latest(const struct sl_edges *e, size_t skip)
{
    const struct sl_item *item;
    size_t count;
    uint64_t ns = 0;

    for (; ns == 0 && (item = sl_order_peek(&e->order, skip, &count)); skip += count)
        ns = made(e, item, count);
    return ns ? ns : UINT64_MAX;
}

/* Returns the time at which the call began, or 0 if no record has this time. */
static uint64_t begun(const struct sl_item *item, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (sl_item_is_call(&item[i]) || item[i].kind == SL_EV_SYNC)
            return item[i].start_ns;
    return 0;
}

/* Finds the sources of each open wait that ended by `ns`, and before the first call began whose
 * records are still held. Waits that ended later stay open, because such a call may have enqueued
 * work that they waited for. */
static void close_waits(struct sl_edges *e, uint64_t ns)
{
    size_t skip, count;
    const struct sl_item *item = sl_order_first(&e->order, &skip, &count);
    uint64_t first_ns = item ? begun(item, count) : UINT64_MAX;

    sl_waits_close(&e->waits, first_ns < ns ? first_ns : ns);
}

void sl_edges_delivered(struct sl_edges *e, uint64_t complete_ns)
{
    size_t skip, count;

    if (sl_order_sort(&e->order) != 0) {
        give_way(e);
        return;
    }
    while (sl_order_first(&e->order, &skip, &count) && latest(e, skip) < complete_ns)
        apply_first(e, skip, count);
    close_waits(e, complete_ns ? complete_ns - 1 : 0);
}

void sl_edges_close(struct sl_edges *e, uint64_t before_ns)
{
    const struct sl_item *item;
    size_t skip, count;

    if (sl_order_sort(&e->order) != 0) {
        give_way(e);
        return;
    }
    e->closing = e->opt.online;
    while ((item = sl_order_first(&e->order, &skip, &count)) && begun(item, count) < before_ns)
        apply_first(e, skip, count);
    e->closing = 0;
    /* All open waits began before the calls whose records are still held. So the sources of all
     * open waits can be found. */
    sl_waits_close(&e->waits, UINT64_MAX);
}

void sl_edges_flush(struct sl_edges *e)
{
    sl_edges_close(e, UINT64_MAX);
}

uint64_t sl_edges_undecided(const struct sl_edges *e)
{
    size_t count;
    const struct sl_item *item = sl_order_peek(&e->order, 0, &count);
    uint64_t lowest = item ? item->correlation : UINT64_MAX;

    for (size_t i = 0; i < e->waits.open.count; i++)
        if (e->waits.open.wait[i].when.correlation < lowest)
            lowest = e->waits.open.wait[i].when.correlation;
    return lowest;
}

uint64_t sl_edges_decided_ns(const struct sl_edges *e)
{
    uint64_t ns = 0;
    const struct sl_item *item;
    size_t count, skip = 0;

    (void)sl_order_first(&e->order, &skip, &count);
    /* If only operations of a call have arrived, the call's start is not known. The code then uses
     * the start of the next call, because calls begin nearly in the order of their ids. */
    for (; ns == 0 && (item = sl_order_peek(&e->order, skip, &count)); skip += count)
        ns = begun(item, count);
    if (ns == 0)
        ns = UINT64_MAX;
    for (size_t i = 0; i < e->waits.open.count; i++)
        if (e->waits.open.wait[i].when.from_ns < ns)
            ns = e->waits.open.wait[i].when.from_ns;
    return ns;
}

/* ---- counts and names ---- */

uint64_t sl_edges_lost(const struct sl_edges *e, enum sl_edge_loss reason)
{
    return e->waits.lost[reason] +
           (reason == SL_EDGE_LOST_FLAG_UNKNOWN ? e->streams.flags_lost : 0);
}

static const char *const kinds[] = {"device_sync", "context_sync", "stream_sync", "event_sync",
                                    "event_query", "stream_query", "copy",        "memset",
                                    "free",        "alloc",        "stream_wait", "legacy_default",
                                    "graph",       "queue_full",   "module_load", "implicit"};
static const char *const bases[] = {"exact", "overlapping", "inferred"};
static const char *const losses[] = {"before_window", "gave_up",   "ambiguous", "flag_unknown",
                                     "graph_inside",  "no_record", "memory",    "cycle"};

_Static_assert(sizeof kinds / sizeof *kinds == SL_EDGE_KIND_COUNT, "a name for each kind");
_Static_assert(sizeof losses / sizeof *losses == SL_EDGE_LOST_COUNT, "a name for each reason");

static const char *name_of(const char *const *names, size_t count, unsigned i)
{
    return i < count ? names[i] : "unknown";
}

const char *sl_edge_kind_name(enum sl_edge_kind kind)
{
    return name_of(kinds, sizeof kinds / sizeof *kinds, (unsigned)kind);
}

const char *sl_edge_basis_name(enum sl_edge_basis basis)
{
    return name_of(bases, sizeof bases / sizeof *bases, (unsigned)basis);
}

const char *sl_edge_loss_name(enum sl_edge_loss reason)
{
    return name_of(losses, sizeof losses / sizeof *losses, (unsigned)reason);
}
