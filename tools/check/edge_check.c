/*
 * edge_check.c - checks that the edges in a syncline file agree with its rows.
 *
 * Threads, memory: see edge_check.h.
 */
#include "check/edge_check.h"

#include <inttypes.h>
#include <string.h>

#include "read/edge_row.h"

#define TICK_NS 1000

/* ---- table of the calls and operations that edges connect ---- */

/* Returns the table entry for the span with these ids. Sets *is_there to whether the entry holds
 * this span already. */
static struct sl_edge_span *place(struct sl_edge_span *spans, uint64_t correlation, uint64_t node,
                                  uint32_t stream, int *is_there)
{
    struct sl_edge_span *s = &spans[(correlation * 31 + node * 7 + stream) % SL_EDGE_SPANS];

    *is_there = s->correlation == correlation && s->node == node && s->stream == stream;
    return s;
}

static void keep(struct sl_edge_span *spans, const struct sl_trace_row *row, uint32_t stream)
{
    uint64_t correlation = (uint64_t)row->correlation;
    uint64_t node = row->has & SL_HAS_GRAPH_NODE ? (uint64_t)row->graph_node : 0;
    int again;
    struct sl_edge_span *s = place(spans, correlation, node, stream, &again);

    *s = (struct sl_edge_span){correlation, node,       stream,
                               again,       row->ts_ns, row->ts_ns + row->dur_ns};
}

static const struct sl_edge_span *find(struct sl_edge_span *spans, uint64_t correlation,
                                       uint64_t node, uint32_t stream)
{
    int is_there;
    const struct sl_edge_span *s = place(spans, correlation, node, stream, &is_there);

    return is_there && !s->several ? s : NULL;
}

static const struct sl_edge_span *find_op(struct sl_edge_check *c, uint64_t correlation,
                                          const struct sl_edge_op *op)
{
    return find(c->op, correlation, op->graph_node, op->stream);
}

/* ---- checks of edges ---- */

static void end_call(struct sl_edge_check *c)
{
    if (c->call_id && c->released > (c->waited > 0))
        sl_finding_add(c->findings, SL_FIND_EDGE_RELEASED, 1, c->call_at,
                       "call %" PRIu64 ": %u edges released it, %u were waited for", c->call_id,
                       c->released, c->waited);
    if (c->call_id && c->waited && !c->released && c->unreleased++ == 0) {
        c->unreleased_id = c->call_id;
        c->unreleased_at = c->call_at;
    }
    c->call_id = 0;
    c->waited = c->released = 0;
}

static void count_call(struct sl_edge_check *c, const struct sl_edge *edge, uint64_t at)
{
    if (edge->at_start || edge->dst_correlation != c->call_id)
        end_call(c);
    if (edge->at_start)
        return;
    if (!c->call_id)
        c->call_at = at;
    c->call_id = edge->dst_correlation;
    c->waited += edge->wait_ns > 0;
    c->released += edge->released != 0;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Checks the numbers of an edge. For an operation that did not wait, wake_ns depends only on the
 * launch and on the previous operation, so this function does not check wake_ns. */
static int times_agree(const struct sl_edge *edge, const struct sl_edge_span *source,
                       const struct sl_edge_span *to)
{
    int64_t until = edge->at_start ? to->start_ns : to->end_ns;
    int64_t from = edge->at_start ? source->end_ns : later(source->end_ns, to->start_ns);
    int64_t wait = (int64_t)edge->wait_ns;

    if (!edge->at_start)
        wait = sl_edge_is_query(edge->kind) ? 0 : from - to->start_ns;
    if (source->end_ns > until + TICK_NS || wait != (int64_t)edge->wait_ns)
        return 0;
    return (edge->at_start && !wait) || (int64_t)edge->wake_ns == later(0, until - from);
}

static void check_edge(struct sl_edge_check *c, const struct sl_trace_row *row, size_t i,
                       uint64_t at)
{
    const struct sl_edge_span *tail;
    struct sl_edge edge;

    if (sl_edge_row_read(row, i, NULL, &edge) != 0) {
        sl_finding_add(c->findings, SL_FIND_EDGE_INVALID, 1, at, "sync_edge");
        return;
    }
    count_call(c, &edge, at);
    tail = find_op(c, edge.source.correlation, &edge.source);
    c->head = edge.at_start ? find_op(c, edge.dst_correlation, &edge.dst_op)
                            : find(c->call, edge.dst_correlation, 0, SL_STREAM_NONE);
    if (edge.wait_ns > 0) {
        if (c->pending < SL_EDGE_ARROWS)
            c->tail[c->pending] = tail;
        c->pending++;
    }
    if (tail && c->head && !times_agree(&edge, tail, c->head))
        sl_finding_add(c->findings, SL_FIND_EDGE_TIMES, 1, at,
                       "from %" PRIu64 " to %" PRIu64 ": wait_ns %" PRIu64 ", wake_ns %" PRIu64,
                       edge.source.correlation, edge.dst_correlation, edge.wait_ns, edge.wake_ns);
}

/* ---- checks of arrows ---- */

static int is_inside(const struct sl_edge_span *s, int64_t ns)
{
    return !s || (ns >= s->start_ns && (ns < s->end_ns || s->start_ns == s->end_ns));
}

/* Finds the next edge that this tail may belong to. An edge has no arrow if its source began
 * outside of the window. */
static int find_tail(struct sl_edge_check *c, int64_t ns)
{
    while (c->pointed < c->pending) {
        unsigned i = c->pointed++;

        if (i >= SL_EDGE_ARROWS || is_inside(c->tail[i], ns))
            return 1;
    }
    return 0;
}

static void check_arrow(struct sl_edge_check *c, const struct sl_trace_row *row, uint64_t at)
{
    int is_tail = row->phase == 's', follows = c->pointed < c->pending, fits;

    if (is_tail) {
        fits = !c->is_open && find_tail(c, row->ts_ns);
    } else {
        follows = c->is_open && row->id == c->arrow;
        fits = follows && is_inside(c->head, row->ts_ns);
    }
    if (!fits)
        sl_finding_add(c->findings, SL_FIND_EDGE_ARROW, 1, at, "arrow %" PRId64 " %s", row->id,
                       follows ? "ends outside of its event" : "does not follow a wait's edge");
    c->arrow = row->id;
    c->is_open = is_tail;
}

/* Forgets the edges of the row before. */
static void begin_row(struct sl_edge_check *c)
{
    c->pending = c->pointed = 0;
    c->is_open = 0;
}

void sl_edge_check_row(struct sl_edge_check *c, const struct sl_trace_row *row, uint64_t at)
{
    if ((row->phase == 's' || row->phase == 'f') && sl_text_is(row->category_text, "sync")) {
        check_arrow(c, row, at);
        return;
    }
    if (row->phase == 'X' && row->correlation > 0) {
        begin_row(c);
        if (sl_row_is_call(row))
            keep(c->call, row, SL_STREAM_NONE);
        else if (sl_row_is_gpu(row))
            keep(c->op, row, (uint32_t)row->stream);
    } else if (row->edge) {
        begin_row(c);
    }
    for (size_t i = 0; i < row->edges; i++)
        check_edge(c, row, i, at);
}

void sl_edge_check_end(struct sl_edge_check *c, uint64_t unknown)
{
    end_call(c);
    if (c->unreleased > unknown)
        sl_finding_add(
            c->findings, SL_FIND_EDGE_RELEASED, c->unreleased - unknown, c->unreleased_at,
            "call %" PRIu64 ": no edge released it, although it waited", c->unreleased_id);
}
