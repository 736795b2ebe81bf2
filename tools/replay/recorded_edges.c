/*
 * recorded_edges.c - joins edges that the job recorded with their operations and calls.
 *
 * Threads, memory: see recorded_edges.h.
 */
#include "replay/recorded_edges.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/pages.h"
#include "read/trace_events.h"

enum {
    ROWS = 1 << 17, /* ROWS and the other table sizes are powers of two */
    STREAMS = 1 << 14,
    PROBES = 4
};

/* An edge that is stored in the bytes of a struct sl_event, so that it can be sorted as an event.
 * The sort reads the kind and the correlation id, so these two members have the same offsets as in
 * struct sl_event. */
struct packed {
    uint64_t first; /* the lower correlation id of source and destination */
    uint64_t wait_ns;
    uint64_t last; /* the higher correlation id of source and destination; the sort key */
    uint64_t dst_node;
    uint8_t event_kind; /* always SL_TRACE_EDGE */
    uint8_t src_device;
    uint16_t none;
    uint8_t kind, basis, flags, none_either;
    uint32_t src_stream, dst_stream;
    uint64_t wake_ns;
    uint64_t src_node;
};

/* Flags of a packed edge. */
enum {
    RELEASED = 1 << 0,
    AT_START = 1 << 1,
    SOURCE_LAST = 1 << 2 /* set if `last` is the correlation id of the source */
};

_Static_assert(sizeof(struct packed) == sizeof(struct sl_event) &&
                   offsetof(struct packed, last) == offsetof(struct sl_event, correlation) &&
                   offsetof(struct packed, event_kind) == offsetof(struct sl_event, kind),
               "the sort takes an edge for an event");

/* The ids and the times of a row of the file. */
struct row {
    uint64_t correlation, graph_node, start_ns, end_ns;
    uint32_t context, stream, name, shape;
    uint32_t thread; /* thread of a call */
    uint32_t cbid;
    uint8_t device;
    uint8_t kind;
};

struct sl_recorded_edges {
    struct row row[ROWS];
    /* The last operation of each stream is kept, because a wait for all streams may be for an old
     * operation. The table is indexed by device and stream, because an edge does not state a
     * context. */
    struct row last[STREAMS];
};

int sl_recorded_edges_create(struct sl_recorded_edges **out)
{
    struct sl_recorded_edges *f = sl_pages_map(sizeof(*f));

    if (!f)
        return -ENOMEM;
    *out = f;
    return 0;
}

void sl_recorded_edges_destroy(struct sl_recorded_edges *f)
{
    if (f)
        sl_pages_unmap(f, sizeof(*f));
}

/* ---- packing of edges into events for the sort ---- */

struct sl_event sl_recorded_edges_event(const struct sl_edge *edge)
{
    uint64_t source = edge->source.correlation, destination = edge->dst_correlation;
    int source_last = source > destination;
    const struct packed p = {.first = source_last ? destination : source,
                             .wait_ns = edge->wait_ns,
                             .last = source_last ? source : destination,
                             .dst_node = edge->dst_op.graph_node,
                             .event_kind = SL_TRACE_EDGE,
                             .src_device = edge->source.device,
                             .kind = edge->kind,
                             .basis = edge->basis,
                             .flags = (uint8_t)((edge->released ? RELEASED : 0) |
                                                (edge->at_start ? AT_START : 0) |
                                                (source_last ? SOURCE_LAST : 0)),
                             .src_stream = edge->source.stream,
                             .dst_stream = edge->dst_op.stream,
                             .wake_ns = edge->wake_ns,
                             .src_node = edge->source.graph_node};
    struct sl_event ev;

    memcpy(&ev, &p, sizeof(ev));
    return ev;
}

static struct sl_edge unpacked(const struct sl_event *ev)
{
    struct packed p;
    struct sl_edge edge;

    memcpy(&p, ev, sizeof(p));
    edge = (struct sl_edge){.kind = p.kind,
                            .basis = p.basis,
                            .released = (p.flags & RELEASED) != 0,
                            .at_start = (p.flags & AT_START) != 0,
                            .wait_ns = p.wait_ns,
                            .wake_ns = p.wake_ns,
                            .dst_correlation = p.flags & SOURCE_LAST ? p.first : p.last};
    edge.source.correlation = p.flags & SOURCE_LAST ? p.last : p.first;
    edge.source.graph_node = p.src_node;
    edge.source.device = p.src_device;
    edge.source.stream = p.src_stream;
    edge.dst_op.correlation = edge.dst_correlation;
    edge.dst_op.graph_node = p.dst_node;
    edge.dst_op.stream = p.dst_stream;
    return edge;
}

/* ---- table of calls and operations ---- */

static size_t place_of(uint64_t correlation, uint64_t graph_node)
{
    return (size_t)(correlation * PROBES + graph_node * 0x9e3779b97f4a7c15u);
}

static size_t stream_place(uint8_t device, uint32_t stream)
{
    return ((uint64_t)device << 32 | stream) * 0x9e3779b97f4a7c15u >> 32;
}

static int is_call(uint8_t kind)
{
    return kind == SL_EV_RUNTIME || kind == SL_EV_DRIVER;
}

/* Returns the table entry of the operation's stream. If the stream has no entry, returns the least
 * recent entry, which the stream may overwrite. */
static struct row *last_of(struct sl_recorded_edges *f, const struct row *op)
{
    size_t at = stream_place(op->device, op->stream);
    struct row *place = &f->last[at % STREAMS];

    for (size_t i = 0; i < PROBES; i++) {
        struct row *here = &f->last[(at + i) % STREAMS];

        if (here->correlation && here->device == op->device && here->context == op->context &&
            here->stream == op->stream)
            return here;
        if (here->correlation < place->correlation)
            place = here;
    }
    return place;
}

void sl_recorded_edges_row(struct sl_recorded_edges *f, const struct sl_event *ev)
{
    uint64_t node = is_call(ev->kind) ? 0 : ev->u.op.graph_node;
    size_t at = place_of(ev->correlation, node);
    struct row *oldest = &f->row[at % ROWS];

    if (!is_call(ev->kind) && ev->kind != SL_EV_KERNEL && ev->kind != SL_EV_MEMCPY &&
        ev->kind != SL_EV_MEMSET)
        return;
    for (size_t i = 1; i < PROBES && oldest->correlation; i++) {
        struct row *here = &f->row[(at + i) % ROWS];

        if (here->correlation < oldest->correlation)
            oldest = here;
    }
    *oldest = (struct row){.correlation = ev->correlation,
                           .graph_node = node,
                           .start_ns = ev->start_ns,
                           .end_ns = ev->end_ns,
                           .name = ev->name,
                           .kind = ev->kind};
    if (is_call(ev->kind)) {
        oldest->thread = ev->thread;
        oldest->cbid = ev->u.call.cbid;
    } else {
        oldest->context = ev->context;
        oldest->stream = ev->stream;
        oldest->shape = ev->shape;
        oldest->device = ev->device;
        *last_of(f, oldest) = *oldest;
    }
}

static const struct row *find_row(const struct sl_recorded_edges *f, uint64_t correlation,
                                  uint64_t node, uint32_t stream, int call)
{
    size_t at = place_of(correlation, node);

    for (size_t i = 0; i < PROBES; i++) {
        const struct row *r = &f->row[(at + i) % ROWS];

        if (r->correlation == correlation && r->graph_node == node && is_call(r->kind) == call &&
            (call || r->stream == stream))
            return r;
    }
    return NULL;
}

/* Finds the source of an edge if no later operation of its stream has been read. Returns NULL
 * otherwise. */
static const struct row *find_last(const struct sl_recorded_edges *f, const struct sl_edge_op *op)
{
    size_t at = stream_place(op->device, op->stream);

    for (size_t i = 0; i < PROBES; i++) {
        const struct row *r = &f->last[(at + i) % STREAMS];

        if (r->correlation == op->correlation && r->graph_node == op->graph_node &&
            r->stream == op->stream)
            return r;
    }
    return NULL;
}

static void join_operation(const struct sl_recorded_edges *f, struct sl_edge_op *op)
{
    const struct row *r = find_row(f, op->correlation, op->graph_node, op->stream, 0);

    if (!r)
        r = find_last(f, op);
    if (!r)
        return;
    op->start_ns = r->start_ns;
    op->end_ns = r->end_ns;
    op->name = r->name;
    op->shape = r->shape;
    op->context = r->context;
    op->device = r->device;
    op->kind = r->kind;
}

static void join_destination(const struct sl_recorded_edges *f, struct sl_edge *edge)
{
    const struct row *call = edge->at_start ? NULL : find_row(f, edge->dst_correlation, 0, 0, 1);

    if (edge->at_start) {
        join_operation(f, &edge->dst_op);
        edge->dst_start_ns = edge->dst_op.start_ns;
        edge->dst_end_ns = edge->dst_op.end_ns;
    } else if (call) {
        edge->dst_start_ns = call->start_ns;
        edge->dst_end_ns = call->end_ns;
        edge->dst_thread = call->thread;
        edge->dst_domain = call->kind;
        edge->dst_name = call->name;
        edge->dst_cbid = call->cbid;
    }
}

struct sl_edge sl_recorded_edges_edge(const struct sl_recorded_edges *f, const struct sl_event *ev)
{
    struct sl_edge edge = unpacked(ev);
    uint64_t went_on_ns;

    join_operation(f, &edge.source);
    join_destination(f, &edge);
    went_on_ns = edge.at_start ? edge.dst_start_ns : edge.dst_end_ns;
    /* The end of the source is computed only if the edge has a wait. Without a wait the source had
     * ended earlier, at an unknown time. */
    if (!edge.source.end_ns && edge.wait_ns && went_on_ns > edge.wake_ns)
        edge.source.end_ns = went_on_ns - edge.wake_ns;
    return edge;
}
