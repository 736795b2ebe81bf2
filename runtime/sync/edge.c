/*
 * edge.c - which GPU work each wait was waiting for: events in, edges out.
 *
 * Entered by its owner alone, which owns what sl_edges_create() gave. An event becomes an item
 * (order.h); when all records of a call may be expected to be there, what it did is told in order
 * (enact.h) to the streams (stream_state.h), events (event_state.h) and waits (wait.h).
 */
#include "sync/edge.h"

#include <errno.h>
#include <stdlib.h>

#include "sync/enact.h"

#define DEFAULT_CAP  ((size_t)16 << 20)
#define DEFAULT_HOLD 2000000000u

struct sl_edges {
    struct sl_edges_options opt;
    struct sl_store store;
    struct sl_order order;
    struct sl_streams streams;
    struct sl_records records;
    struct sl_waits waits;
    struct sl_enact enact;
};

int sl_edges_create(struct sl_edges **out, const struct sl_edges_options *opt)
{
    struct sl_edges *e;

    if (!opt || !opt->sink || !opt->shapes)
        return -EINVAL;
    e = calloc(1, sizeof *e);
    if (!e)
        return -ENOMEM;
    e->opt = *opt;
    if (e->opt.hold_ns == 0)
        e->opt.hold_ns = DEFAULT_HOLD;
    e->store.cap_bytes = opt->cap_bytes ? opt->cap_bytes : DEFAULT_CAP;
    sl_order_init(&e->order, &e->store);
    sl_streams_init(&e->streams, &e->store);
    e->streams.unseen = opt->recording_since_ns != 0;
    sl_records_init(&e->records, &e->streams);
    sl_waits_init(&e->waits, &e->opt, &e->streams);
    e->enact = (struct sl_enact){
        .opt = &e->opt, .streams = &e->streams, .records = &e->records, .waits = &e->waits};
    sl_map_init(&e->enact.context_of, &e->store);
    *out = e;
    return 0;
}

void sl_edges_destroy(struct sl_edges *e)
{
    if (!e)
        return;
    sl_order_free(&e->order);
    sl_records_free(&e->records);
    sl_waits_free(&e->waits);
    sl_map_free(&e->enact.context_of);
    sl_streams_free(&e->streams);
    free(e);
}

/* ---- events in ---- */

static uint16_t saturate(uint32_t value)
{
    return value < UINT16_MAX ? (uint16_t)value : UINT16_MAX;
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
    if (ev->kind == SL_EV_RUNTIME || ev->kind == SL_EV_DRIVER) {
        item->id = ev->u.call.pid;
        item->what = ev->u.call.cbid;
        item->where = ev->thread;
        item->more = saturate(ev->u.call.result);
        return 0;
    }
    stream = sl_streams_get(&e->streams, ev->device, ev->context, ev->stream);
    if (!stream)
        return -ENOMEM;
    item->where = stream->number;
    if (ev->kind == SL_EV_SYNC || ev->kind == SL_EV_CUDA_EVENT) {
        item->id = ev->u.sync.event_sync_id;
        item->name = ev->u.sync.event_id;
        item->what = ev->u.sync.result;
        item->more = ev->u.sync.type;
        e->enact.syncs_seen |= ev->kind == SL_EV_SYNC;
    } else {
        item->id = ev->u.op.graph_node;
        item->what = ev->shape;
        item->more = ev->graph != 0 && ev->kind != SL_EV_GRAPH;
    }
    return 0;
}

static void enact_first(struct sl_edges *e, const struct sl_item *item, size_t count)
{
    sl_enact_call(&e->enact, item, count);
    sl_order_take(&e->order, count);
}

/* No room for what comes: half of what waits goes on as it is. */
static void give_way(struct sl_edges *e)
{
    size_t count, most = (e->order.count - e->order.first) / 2 + 1, done = 0;
    const struct sl_item *item;

    sl_order_sort(&e->order);
    while (done < most && (item = sl_order_peek(&e->order, 0, &count))) {
        done += count;
        enact_first(e, item, count);
    }
    e->waits.lost[SL_EDGE_LOST_MEMORY]++;
}

void sl_edges_event(struct sl_edges *e, const struct sl_event *ev)
{
    struct sl_stream *stream;
    struct sl_item item;

    switch (ev->kind) {
    case SL_EV_META_STREAM:
        stream = sl_streams_get(&e->streams, ev->device, ev->context, ev->stream);
        if (stream)
            sl_stream_flags(stream, ev->u.meta.flags);
        return;
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
    if (ev->correlation == 0)
        return;
    if (to_item(e, ev, &item) != 0) {
        e->waits.lost[SL_EDGE_LOST_MEMORY]++;
        return;
    }
    if (sl_order_put(&e->order, &item) != 0) {
        give_way(e);
        if (sl_order_put(&e->order, &item) != 0)
            e->waits.lost[SL_EDGE_LOST_MEMORY]++;
    }
}

/* ---- edges out ---- */

/* When the last record of the first call was made. An event record alone has no time: it goes with
 * the next call that has one. */
static uint64_t latest(const struct sl_edges *e)
{
    const struct sl_item *item;
    size_t count, skip = 0;
    uint64_t ns = 0;

    for (; ns == 0 && (item = sl_order_peek(&e->order, skip, &count)); skip += count)
        for (size_t i = 0; i < count; i++)
            if (item[i].end_ns > ns)
                ns = item[i].end_ns;
    return ns ? ns : UINT64_MAX;
}

void sl_edges_delivered(struct sl_edges *e, uint64_t now_ns)
{
    uint64_t ripe_ns = now_ns > e->opt.hold_ns ? now_ns - e->opt.hold_ns : 0;
    const struct sl_item *item;
    size_t count;

    if (sl_order_sort(&e->order) != 0) {
        give_way(e);
        return;
    }
    while (latest(e) <= ripe_ns && (item = sl_order_peek(&e->order, 0, &count)))
        enact_first(e, item, count);
    sl_waits_close(&e->waits, ripe_ns);
}

void sl_edges_flush(struct sl_edges *e)
{
    const struct sl_item *item;
    size_t count;

    sl_order_sort(&e->order);
    while ((item = sl_order_peek(&e->order, 0, &count)))
        enact_first(e, item, count);
    sl_waits_close(&e->waits, UINT64_MAX);
}

/* ---- counts and names ---- */

uint64_t sl_edges_lost(const struct sl_edges *e, enum sl_edge_loss reason)
{
    return e->waits.lost[reason];
}

const char *sl_edge_kind_name(enum sl_edge_kind kind)
{
    static const char *const names[SL_EDGE_KIND_COUNT] = {
        [SL_EDGE_DEVICE_SYNC] = "device_sync",
        [SL_EDGE_CONTEXT_SYNC] = "context_sync",
        [SL_EDGE_STREAM_SYNC] = "stream_sync",
        [SL_EDGE_EVENT_SYNC] = "event_sync",
        [SL_EDGE_EVENT_QUERY] = "event_query",
        [SL_EDGE_STREAM_QUERY] = "stream_query",
        [SL_EDGE_COPY] = "copy",
        [SL_EDGE_MEMSET] = "memset",
        [SL_EDGE_FREE] = "free",
        [SL_EDGE_ALLOC] = "alloc",
        [SL_EDGE_STREAM_WAIT] = "stream_wait",
        [SL_EDGE_LEGACY_DEFAULT] = "legacy_default",
        [SL_EDGE_GRAPH] = "graph",
        [SL_EDGE_IMPLICIT] = "implicit",
    };

    return (unsigned)kind < SL_EDGE_KIND_COUNT ? names[kind] : "unknown";
}

const char *sl_edge_basis_name(enum sl_edge_basis basis)
{
    static const char *const names[] = {"exact", "overlapping", "inferred"};

    return (unsigned)basis < sizeof names / sizeof *names ? names[basis] : "unknown";
}

const char *sl_edge_loss_name(enum sl_edge_loss reason)
{
    static const char *const names[SL_EDGE_LOST_COUNT] = {
        [SL_EDGE_LOST_BEFORE_WINDOW] = "before_window",
        [SL_EDGE_LOST_GAVE_UP] = "gave_up",
        [SL_EDGE_LOST_AMBIGUOUS] = "ambiguous",
        [SL_EDGE_LOST_FLAG_UNKNOWN] = "flag_unknown",
        [SL_EDGE_LOST_GRAPH_INSIDE] = "graph_inside",
        [SL_EDGE_LOST_NO_RECORD] = "no_record",
        [SL_EDGE_LOST_MEMORY] = "memory",
        [SL_EDGE_LOST_CYCLE] = "cycle",
    };

    return (unsigned)reason < SL_EDGE_LOST_COUNT ? names[reason] : "unknown";
}
