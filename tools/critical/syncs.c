/*
 * syncs.c - what calls and GPU operations waited for, by the sync edges of the recording.
 *
 * Threads, memory: see build.h.
 */
#include <errno.h>

#include "critical/build.h"
#include "sync/edge.h"

/* An edge between what belongs to the chosen time. */
struct sync {
    const struct sl_report_edge *row;
    const struct sl_build_op *source; /* NULL: launched before the chosen time */
    uint64_t source_ns;               /* its end */
    struct sl_build_cpu *call;        /* that waited; else NULL */
    struct sl_build_op *op;           /* that waited; else NULL */
};

static uint64_t at_ns(const struct sl_build *b, uint32_t node)
{
    return b->out->graph.node[node].at_ns;
}

/* HTA knows fewer kinds of edges. */
static int is_in_hta(const struct sl_report_edge *row)
{
    switch ((enum sl_edge_kind)row->kind) {
    case SL_EDGE_DEVICE_SYNC:
    case SL_EDGE_CONTEXT_SYNC:
    case SL_EDGE_STREAM_SYNC:
    case SL_EDGE_EVENT_SYNC:
    case SL_EDGE_EVENT_QUERY:
        return !row->at_start;
    case SL_EDGE_STREAM_WAIT:
        return row->at_start;
    default:
        return 0;
    }
}

/* Finds both ends of an edge. Returns 0 if one of them does not belong to the chosen time. */
static int find_ends(const struct sl_build *b, const struct sl_report_edge *row, struct sync *out)
{
    *out = (struct sync){.row = row,
                         .source = sl_build_op(b, row->source_correlation, row->source_start_ns)};
    out->source_ns = out->source ? at_ns(b, out->source->end) : row->source_end_ns;
    if (b->options->hta && (!out->source || !is_in_hta(row)))
        return 0;
    if (!out->source && out->source_ns <= b->out->window.begin_ns)
        return 0;
    if (row->at_start)
        out->op = sl_build_op(b, row->dst_correlation, row->dst_start_ns);
    else
        out->call = sl_build_call(b, row->dst_correlation);
    return out->op ? out->source_ns <= at_ns(b, out->op->start) : out->call != NULL;
}

static int add_nodes(struct sl_build *b)
{
    const uint64_t begin_ns = b->out->window.begin_ns;

    for (size_t i = 0; i < b->ops; i++) {
        struct sl_build_op *op = &b->op[i];
        uint64_t start_ns = op->row->start_ns, end_ns = op->row->end_ns;

        start_ns = start_ns > begin_ns ? start_ns : begin_ns; /* the clocks may differ */
        op->start = sl_graph_node(&b->out->graph, start_ns);
        op->end = sl_graph_node(&b->out->graph, end_ns > start_ns ? end_ns : start_ns);
        if (end_ns > b->out->last_gpu_ns)
            b->out->last_gpu_ns = end_ns;
    }
    return b->out->graph.failed ? -ENOMEM : 0;
}

int sl_build_awaited(struct sl_build *b)
{
    const struct sl_recording *r = b->out->recording;
    struct sync s;

    if (add_nodes(b) != 0)
        return -ENOMEM;
    for (size_t i = 0; i < r->edges; i++) {
        if (!find_ends(b, &r->edge[i], &s))
            continue;
        if (s.op && s.source_ns > s.op->awaited_ns) {
            s.op->awaited_ns = s.source_ns;
            s.op->awaited = s.source ? s.source->end : SL_GRAPH_NONE;
        } else if (s.call && !sl_edge_is_query((enum sl_edge_kind)r->edge[i].kind) &&
                   s.source_ns > s.call->row->start_ns && s.source_ns <= s.call->row->end_ns &&
                   s.source_ns > s.call->awaited_ns) {
            s.call->awaited_ns = s.source_ns;
        }
    }
    return 0;
}

uint32_t sl_build_earlier(struct sl_build *b, uint64_t ns)
{
    uint64_t begin_ns = b->out->window.begin_ns;
    uint32_t node = sl_graph_node(&b->out->graph, ns);

    sl_build_edge(b, b->source, node, ns - begin_ns, SL_CRITICAL_EARLIER, 0, 0);
    return node;
}

/* An operation's last source has its edge from streams.c. The others only have to come first. */
static void add_sync(struct sl_build *b, const struct sync *s)
{
    uint64_t wake_ns = 0;
    uint32_t from, to = s->op ? s->op->start : s->call->end;
    struct sl_graph_edge *edge;

    if (s->call && s->source_ns > at_ns(b, to))
        return; /* the clocks differ, or the row of the call is cut */
    if (s->call && s->source_ns == s->call->awaited_ns)
        wake_ns = at_ns(b, to) - s->source_ns;
    if (!s->source && !wake_ns)
        return;
    from = s->source ? s->source->end : sl_build_earlier(b, s->source_ns);
    edge = sl_build_edge(b, from, to, b->options->hta ? 0 : wake_ns, SL_CRITICAL_SYNC,
                         s->call ? s->call->row->name : s->op->row->name,
                         s->call ? s->call->row->thread : s->op->row->stream);
    if (!edge)
        return;
    b->out->sync_edges++;
    edge->device = s->op ? s->op->row->device : 0;
    if (s->call)
        edge->line = s->call->row->line;
}

int sl_build_syncs(struct sl_build *b)
{
    const struct sl_recording *r = b->out->recording;
    struct sync s;

    for (size_t i = 0; i < r->edges; i++)
        if (find_ends(b, &r->edge[i], &s))
            add_sync(b, &s);
    return b->out->graph.failed ? -ENOMEM : 0;
}
