/*
 * wait_blame.c - keeps recent operations. An operation has up to two predecessors: the previous
 * operation on its stream, and the source of an edge.
 *
 * A ring holds the operations, numbered from 1. An operation is forgotten when a newer operation
 * overwrites its entry. Operations whose correlation ids hash to one slot form a chain, latest
 * first, so a search ends at the first forgotten operation. The table of streams holds only
 * operation numbers, because each operation states its stream.
 *
 * Threads, memory: see wait_blame.h.
 */
#include "edges/wait_blame.h"

#include <errno.h>

#include "base/pages.h"

enum {
    OPERATIONS = 1 << 17, /* OPERATIONS and the other table sizes are powers of two */
    BY_ID = 1 << 18,
    BY_STREAM = 1 << 14,
    PROBES = 4,
    LINKS_MOST = 64, /* most links of a chain that are followed; only damaged or hostile files have
                        longer chains */
    LATE_MOST = 1024 /* a late row is ignored if this number of newer operations of its stream have
                        come before */
};

struct operation {
    uint64_t correlation, graph_node, start_ns, end_ns;
    uint32_t name, context, stream;
    uint32_t number; /* number of the operation; 0 if the entry was never used */
    uint32_t chained;
    uint32_t before; /* previous operation on its stream */
    uint32_t last;   /* number of the operation that ends last, out of this operation and all
                        earlier operations on the stream */
    uint32_t source; /* source of an edge to this operation. If there are several, the source that
                        ended last. */
    uint8_t device;
    uint8_t kind;
};

struct sl_wait_blame {
    struct operation operation[OPERATIONS]; /* indexed by the low bits of the operation's number */
    uint32_t by_id[BY_ID], by_stream[BY_STREAM];
    uint32_t newest;
};

int sl_wait_blame_create(struct sl_wait_blame **out)
{
    struct sl_wait_blame *s = sl_pages_map(sizeof(*s));

    if (!s)
        return -ENOMEM;
    *out = s;
    return 0;
}

void sl_wait_blame_destroy(struct sl_wait_blame *s)
{
    if (s)
        sl_pages_unmap(s, sizeof(*s));
}

/* ---- lookup of operations ---- */

/* Returns the operation with this number. Returns NULL if the number is 0 or the operation has been
 * overwritten. */
static const struct operation *numbered(const struct sl_wait_blame *s, uint32_t number)
{
    const struct operation *o = &s->operation[number % OPERATIONS];

    return number && o->number == number ? o : NULL;
}

static struct operation *numbered_mutable(struct sl_wait_blame *s, uint32_t number)
{
    return numbered(s, number) ? &s->operation[number % OPERATIONS] : NULL;
}

static uint32_t scattered(uint64_t a, uint64_t b)
{
    return (uint32_t)((a * 0x9e3779b97f4a7c15u + b * 0xc2b2ae3d27d4eb4fu) >> 32);
}

static uint32_t place_of_id(uint64_t correlation, uint64_t graph_node, uint32_t stream)
{
    return scattered(correlation + ((uint64_t)stream << 40), graph_node) % BY_ID;
}

static uint32_t place_of_stream(const struct operation *o)
{
    return scattered((uint64_t)o->device << 32 | o->context, o->stream) % BY_STREAM;
}

static int is_same_stream(const struct operation *a, const struct operation *b)
{
    return a->stream == b->stream && a->context == b->context && a->device == b->device;
}

/* Returns the number of the operation at one end of an edge, or 0 if that operation has no row. If
 * several operations match, because graph nodes may lack ids, the latest match is returned. */
static uint32_t find(const struct sl_wait_blame *s, const struct sl_edge_op *op)
{
    uint32_t at = place_of_id(op->correlation, op->graph_node, op->stream);
    const struct operation *o = numbered(s, s->by_id[at]);

    for (int i = 0; o && i < LINKS_MOST; i++, o = numbered(s, o->chained))
        if (o->correlation == op->correlation && o->graph_node == op->graph_node &&
            o->stream == op->stream && o->device == op->device)
            return o->number;
    return 0;
}

/* ---- adding of operations and edges ---- */

static void enter_id(struct sl_wait_blame *s, struct operation *o)
{
    uint32_t at = place_of_id(o->correlation, o->graph_node, o->stream);

    o->chained = s->by_id[at];
    s->by_id[at] = o->number;
}

/* Finds the table entry of a stream, which holds the number of the stream's last operation. A new
 * stream takes the entry of a forgotten stream, else the least recently used entry. */
static uint32_t *last_of_stream(struct sl_wait_blame *s, const struct operation *o)
{
    uint32_t at = place_of_stream(o), *oldest = NULL;

    for (uint32_t i = 0; i < PROBES; i++) {
        uint32_t *here = &s->by_stream[(at + i) % BY_STREAM];
        const struct operation *other = numbered(s, *here);

        if (other && is_same_stream(other, o))
            return here;
        if (!other)
            *here = 0;
        if (!oldest || *here < *oldest)
            oldest = here;
    }
    return oldest;
}

static int came_before(const struct operation *a, const struct operation *b)
{
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns;
    return a->correlation <= b->correlation;
}

/* Kernels of one stream may overlap. Returns the latest operation, or an earlier operation of the
 * stream that ends later. */
static uint32_t last_to_end(const struct sl_wait_blame *s, const struct operation *o)
{
    const struct operation *before = numbered(s, o->before);
    const struct operation *last = before ? numbered(s, before->last) : NULL;

    return last && last->end_ns > o->end_ns ? last->number : o->number;
}

static void enter_stream(struct sl_wait_blame *s, struct operation *o)
{
    uint32_t *last = last_of_stream(s, o);
    struct operation *later = numbered_mutable(s, *last), *before;

    if (later && !is_same_stream(later, o)) /* the operation is forgotten */
        later = NULL;
    if (!later || came_before(later, o)) {
        o->before = later ? later->number : 0;
        o->last = last_to_end(s, o);
        *last = o->number;
        return;
    }
    /* The row came late, so it is put before the newer operations of its stream. */
    for (int i = 0; i < LATE_MOST; i++) {
        const struct operation *ends = numbered(s, later->last);

        if (ends && ends->end_ns < o->end_ns)
            later->last = o->number;
        before = numbered_mutable(s, later->before);
        if (!before || came_before(before, o)) {
            o->before = later->before;
            o->last = last_to_end(s, o);
            later->before = o->number;
            return;
        }
        later = before;
    }
}

void sl_wait_blame_event(struct sl_wait_blame *s, const struct sl_event *ev)
{
    struct operation *o;

    if (ev->kind != SL_EV_KERNEL && ev->kind != SL_EV_MEMCPY && ev->kind != SL_EV_MEMSET)
        return;
    if (++s->newest == 0) /* the number wraps after 2^32 operations, and must not be 0, which means
                             no operation */
        s->newest = 1;
    o = &s->operation[s->newest % OPERATIONS];
    *o = (struct operation){.correlation = ev->correlation,
                            .graph_node = ev->u.op.graph_node,
                            .start_ns = ev->start_ns,
                            .end_ns = ev->end_ns,
                            .name = ev->name,
                            .context = ev->context,
                            .stream = ev->stream,
                            .number = s->newest,
                            .device = ev->device,
                            .kind = ev->kind};
    enter_id(s, o);
    enter_stream(s, o);
}

void sl_wait_blame_edge(struct sl_wait_blame *s, const struct sl_edge *edge)
{
    const struct operation *source, *known;
    struct operation *end;

    if (!edge->at_start)
        return;
    source = numbered(s, find(s, &edge->source));
    end = numbered_mutable(s, find(s, &edge->dst_op));
    if (!source || !end)
        return;
    known = numbered(s, end->source);
    if (!known || known->end_ns < source->end_ns)
        end->source = source->number;
}

/* ---- backward search from a wait ---- */

/* Returns the predecessor that ended last. */
static const struct operation *behind(const struct sl_wait_blame *s, const struct operation *o)
{
    const struct operation *before = numbered(s, o->before), *source = numbered(s, o->source);
    const struct operation *last = before ? numbered(s, before->last) : NULL;

    before = last ? last : before;
    if (!before || !source)
        return before ? before : source;
    return source->end_ns > before->end_ns ? source : before;
}

uint32_t sl_wait_blame_on(const struct sl_wait_blame *s, const struct sl_edge *edge)
{
    const struct operation *at = numbered(s, find(s, &edge->source)), *kernel = NULL;
    uint64_t since_ns, until_ns, kernels_ns = 0, copies_ns = 0;

    if (edge->at_start || !at || at->kind == SL_EV_KERNEL || edge->wait_ns > at->end_ns)
        return edge->source.name;
    until_ns = at->end_ns;
    since_ns = until_ns - edge->wait_ns;
    for (unsigned i = 0; at && at->end_ns > since_ns && i < SL_WAIT_BLAME_MOST; i++) {
        uint64_t from_ns = at->start_ns > since_ns ? at->start_ns : since_ns;
        uint64_t to_ns = at->end_ns < until_ns ? at->end_ns : until_ns;
        uint64_t ran_ns = to_ns > from_ns ? to_ns - from_ns : 0;

        if (at->kind == SL_EV_KERNEL) {
            kernels_ns += ran_ns;
            kernel = kernel || ran_ns == 0 ? kernel : at;
        } else {
            copies_ns += ran_ns;
        }
        until_ns = from_ns < until_ns ? from_ns : until_ns;
        at = behind(s, at);
    }
    return kernel && kernels_ns > copies_ns ? kernel->name : edge->source.name;
}
