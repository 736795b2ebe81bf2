/*
 * edge.c - holds edges until their destination is written, and finds the node of each source.
 *
 * Threads: one owner. Memory: areas mapped at creation. The table of operations holds about the
 * last SL_CHAKRA_OPS operations. The last operation of each stream is stored separately, even if it
 * is older, because it is the source of later waits for an idle stream.
 */
#include <string.h>

#include "write/chakra/chakra_internal.h"

#define PROBES 4

/* A tolerance of one microsecond, because GPU and CPU clocks differ by about this time. */
#define TICK_NS 1000

static uint32_t *bucket_of(const struct sl_chakra *c, uint64_t correlation, uint64_t which,
                           int at_start)
{
    uint64_t h = (correlation * 2 + (unsigned)at_start) * 0x9e3779b97f4a7c15u;

    h ^= which * 0xff51afd7ed558ccdu;
    return &c->edge_bucket[(h ^ h >> 32) >> 20 & (SL_CHAKRA_EDGE_BUCKETS - 1)];
}

static void link_edge(struct sl_chakra *c, uint32_t index)
{
    struct sl_chakra_edge *e = &c->edge[index];
    uint32_t *bucket = bucket_of(c, e->dst_correlation, e->dst_which, e->at_start);

    e->next = *bucket;
    *bucket = index + 1;
}

int sl_chakra_edges(struct sl_chakra *c, const struct sl_edge *edge, size_t count)
{
    size_t i;

    for (i = 0; c->sink && i < count; i++) {
        const struct sl_edge *from = &edge[i];
        uint64_t limit = from->at_start ? from->dst_op.start_ns : from->dst_end_ns;
        struct sl_chakra_edge *e = &c->edge[c->edges];

        if (limit == 0) { /* the destination has no row */
            c->count.edges_no_destination++;
            continue;
        }
        /* The destination cannot have waited for a source that ends after the destination. Such an
         * edge might close a cycle with other edges. */
        if (from->source.end_ns > limit + TICK_NS) {
            c->count.edges_cycle++;
            continue;
        }
        if (c->edges == c->edges_max) {
            c->count.edges_full++;
            continue;
        }
        e->src_correlation = from->source.correlation;
        e->src_which = sl_chakra_which(from->source.graph_node, from->source.stream);
        e->src_end_ns = from->source.end_ns;
        e->src_device = from->source.device;
        e->src_context = from->source.context;
        e->src_stream = from->source.stream;
        e->dst_correlation = from->dst_correlation;
        e->dst_which =
            from->at_start ? sl_chakra_which(from->dst_op.graph_node, from->dst_op.stream) : 0;
        e->dst_end_ns = from->dst_end_ns;
        e->at_start = from->at_start;
        e->used = 0;
        e->late = from->dst_end_ns <= c->done_ns;
        link_edge(c, (uint32_t)c->edges++);
    }
    return c->error;
}

/* Searches the list of edges from `at` (an index + 1) on. Returns the first edge to this
 * destination that is not written yet. */
static struct sl_chakra_edge *find_edge(const struct sl_chakra *c, uint32_t at,
                                        uint64_t correlation, uint64_t which, int at_start)
{
    for (; at; at = c->edge[at - 1].next) {
        struct sl_chakra_edge *e = &c->edge[at - 1];

        if (!e->used && e->dst_correlation == correlation && e->dst_which == which &&
            e->at_start == at_start)
            return e;
    }
    return NULL;
}

static struct sl_chakra_edge *first_edge(const struct sl_chakra *c, uint64_t correlation,
                                         uint64_t which, int at_start)
{
    uint32_t at = c->edges ? *bucket_of(c, correlation, which, at_start) : 0;

    return find_edge(c, at, correlation, which, at_start);
}

static struct sl_chakra_edge *next_edge(const struct sl_chakra *c, const struct sl_chakra_edge *e)
{
    return find_edge(c, e->next, e->dst_correlation, e->dst_which, e->at_start);
}

int sl_chakra_waits(const struct sl_chakra *c, uint64_t correlation)
{
    return first_edge(c, correlation, 0, 0) != NULL;
}

int sl_chakra_waited_by(const struct sl_chakra *c, uint64_t correlation, uint64_t start_ns)
{
    const struct sl_chakra_edge *e = first_edge(c, correlation, 0, 0);

    for (; e; e = next_edge(c, e))
        if (e->src_correlation == correlation || e->src_end_ns > start_ns + TICK_NS)
            return 0;
    return 1;
}

/* ---- sources ---- */

static size_t place_of(uint64_t correlation, uint64_t which)
{
    /* Correlation ids count up, so operations that are close in time have neighbouring entries. */
    return (size_t)(correlation + (which & SL_CHAKRA_ON_STREAM ? 0 : which * 0x9e3779b97f4a7c15u));
}

static int is_op(const struct sl_chakra_op *op, uint64_t correlation, uint64_t which)
{
    return op->id && op->correlation == correlation && op->which == which;
}

void sl_chakra_remember_op(struct sl_chakra *c, const struct sl_chakra_op *op)
{
    size_t at = place_of(op->correlation, op->which), i;
    struct sl_chakra_op *place = &c->op[at & (SL_CHAKRA_OPS - 1)];

    for (i = 1; i < PROBES && !is_op(place, op->correlation, op->which); i++) {
        struct sl_chakra_op *here = &c->op[(at + i) & (SL_CHAKRA_OPS - 1)];

        if (here->id < place->id || is_op(here, op->correlation, op->which))
            place = here;
    }
    *place = *op;
}

/* Returns the operation of a source, or NULL if the operation has no node or is no longer stored.
 */
static const struct sl_chakra_op *op_of(const struct sl_chakra *c, const struct sl_chakra_edge *e)
{
    size_t at = place_of(e->src_correlation, e->src_which), i;
    const struct sl_chakra_stream *s;

    for (i = 0; i < PROBES; i++) {
        const struct sl_chakra_op *op = &c->op[(at + i) & (SL_CHAKRA_OPS - 1)];

        if (is_op(op, e->src_correlation, e->src_which))
            return op;
    }
    s = sl_chakra_find_stream(c, e->src_device, e->src_context, e->src_stream);
    return s && is_op(&s->last, e->src_correlation, e->src_which) ? &s->last : NULL;
}

void sl_chakra_add_sources(struct sl_chakra *c, uint64_t correlation, uint64_t which, int at_start,
                           uint64_t *latest_ns)
{
    struct sl_chakra_edge *e = first_edge(c, correlation, which, at_start);

    for (; e; e = next_edge(c, e)) {
        const struct sl_chakra_op *op = op_of(c, e);

        e->used = 1;
        if (!op) {
            c->count.edges_no_source++;
        } else if (c->deps == SL_CHAKRA_DEPS) {
            c->count.edges_full++;
        } else {
            sl_chakra_add_dep(c, op->id);
            c->count.edges++;
            if (e->src_end_ns + op->late_ns > *latest_ns)
                *latest_ns = e->src_end_ns + op->late_ns;
        }
    }
}

uint64_t sl_chakra_sources_end(const struct sl_chakra *c, uint64_t correlation, uint64_t which,
                               int at_start)
{
    const struct sl_chakra_edge *e = first_edge(c, correlation, which, at_start);
    uint64_t end_ns = 0;

    for (; e; e = next_edge(c, e))
        end_ns = e->src_end_ns > end_ns ? e->src_end_ns : end_ns;
    return end_ns;
}

void sl_chakra_sweep_edges(struct sl_chakra *c, uint64_t complete_ns)
{
    size_t i, kept = 0;

    if (!c->edges)
        return;
    memset(c->edge_bucket, 0, SL_CHAKRA_EDGE_BUCKETS * sizeof(*c->edge_bucket));
    for (i = 0; i < c->edges; i++) {
        const struct sl_chakra_edge *e = &c->edge[i];

        if (e->used)
            continue;
        if (e->dst_end_ns <= complete_ns) {
            c->count.edges_late += e->late;
            c->count.edges_no_destination += !e->late;
            continue;
        }
        c->edge[kept] = *e;
        link_edge(c, (uint32_t)kept++);
    }
    c->edges = kept;
}
