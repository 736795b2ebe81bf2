/*
 * wait_blame.c - sorts operations, edges and waits by time, and searches backward from each wait.
 *
 * At the end, operations come in order of start. A ring holds them as the nodes of a forest: the
 * parent of a node is its predecessor. A node holds the sum of the times on its path to the root,
 * so the sum over a part of the path is a difference. The part of the path that lies in a wait ends
 * where the nodes begin before the wait. Jump pointers find this place in O(log n) steps: Myers,
 * "An applicative random-access stack", Information Processing Letters 17 (1983).
 *
 * Threads, memory: see wait_blame.h.
 */
#include "edges/wait_blame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/pages.h"
#include "edges/recent_ops.h"
#include "read/event_sort.h"

enum {
    NODES = 1 << 19, /* NODES and the other table sizes are powers of two */
    BY_NUMBER = 1 << 20,
    BY_STREAM = 1 << 14,
    PROBES = 4,
    LINKS_MOST = 64, /* most links of a chain that are followed; only damaged or hostile files have
                        longer chains */
    SORTED_RUN = 1 << 17
};

/* The order of records with equal times: an operation comes after the edges that end at it, and
 * before the waits that it released. */
enum record_type {
    LINK,
    OPERATION,
    WAIT
};

/* What is sorted, in the bytes of a struct sl_event. */
struct record {
    uint64_t at_ns; /* start of the operation, or of the edge's destination; end of a call's wait;
                       start of an operation that waited */
    uint64_t correlation; /* of the operation, the destination, or the operation that released */
    uint32_t number;      /* number of that operation; 0: not known */
    uint8_t type;         /* enum record_type */
    uint8_t kind;         /* enum sl_event_kind; wait: enum sl_edge_kind */
    uint8_t device, at_start;
    union {
        struct {
            uint64_t end_ns;
            uint32_t name, context, stream;
        } op;
        uint32_t source; /* number of an edge's source */
        struct {
            uint64_t wait_ns, call_ns, dst_correlation;
            uint32_t name, who, place, line;
        } wait;
    } u;
};

_Static_assert(sizeof(struct record) == sizeof(struct sl_event), "records are sorted as events");

/* An operation in the forest. Nodes are numbered from 1 in order of start. */
struct node {
    uint64_t start_ns, end_ns;
    int64_t lead_ns; /* on the path to the root: time of kernels minus time of copies and memsets */
    uint32_t index;  /* number of the node; 0: the entry was never used */
    uint32_t number; /* number of the operation in the file */
    uint32_t chained, before, jump, depth;
    uint32_t longest; /* the kernel that ran longest on the path to `jump`; 0: none */
    int64_t longest_ns;
    uint32_t name, context, stream;
    uint8_t device, kind;
};

struct forest {
    struct node node[NODES];
    uint32_t by_number[BY_NUMBER];
    uint32_t by_stream[BY_STREAM]; /* of each stream, the operation that ended last */
    uint32_t newest;
    /* The edge to the next operation whose source ended last. */
    uint32_t linked, linked_from;
};

struct sl_wait_blame {
    struct sl_recent_ops *recent; /* gives each end of an edge its number and times */
    struct sl_event_sort *sort;
    int error;             /* of the sort; 0 or -errno */
    struct forest *forest; /* NULL before the end */
};

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int order_by_time(const void *x, const void *y)
{
    const struct record *a = x, *b = y;
    int c = compare(a->at_ns, b->at_ns);

    if (c == 0)
        c = compare(a->correlation, b->correlation);
    if (c == 0)
        c = compare(a->number, b->number);
    if (c == 0)
        c = compare(a->type, b->type);
    if (c == 0 && a->type == WAIT)
        c = compare(a->u.wait.dst_correlation, b->u.wait.dst_correlation);
    return c;
}

int sl_wait_blame_create(struct sl_wait_blame **out)
{
    struct sl_wait_blame *s = calloc(1, sizeof(*s));

    if (!s)
        return -ENOMEM;
    if (sl_event_sort_create(&s->sort, SORTED_RUN, order_by_time) != 0 ||
        sl_recent_ops_create(&s->recent) != 0) {
        sl_wait_blame_destroy(s);
        return -ENOMEM;
    }
    *out = s;
    return 0;
}

void sl_wait_blame_destroy(struct sl_wait_blame *s)
{
    if (!s)
        return;
    if (s->forest)
        sl_pages_unmap(s->forest, sizeof(*s->forest));
    sl_recent_ops_destroy(s->recent);
    sl_event_sort_destroy(s->sort);
    free(s);
}

/* ---- the rows of the file ---- */

static void put(struct sl_wait_blame *s, const struct record *record)
{
    struct sl_event ev;

    memcpy(&ev, record, sizeof(ev));
    if (!s->error)
        s->error = sl_event_sort_put(s->sort, &ev);
}

void sl_wait_blame_event(struct sl_wait_blame *s, const struct sl_event *ev)
{
    struct record record = {.at_ns = ev->start_ns, .correlation = ev->correlation};

    record.number = sl_recent_ops_add(s->recent, ev);
    if (!record.number)
        return;
    record.type = OPERATION;
    record.kind = ev->kind;
    record.device = ev->device;
    record.u.op.end_ns = ev->end_ns;
    record.u.op.name = ev->name;
    record.u.op.context = ev->context;
    record.u.op.stream = ev->stream;
    put(s, &record);
}

void sl_wait_blame_edge(struct sl_wait_blame *s, const struct sl_edge *edge)
{
    struct record record = {.type = LINK};
    const struct sl_recent_op *source, *end;

    if (!edge->at_start)
        return;
    source = sl_recent_ops_find(s->recent, &edge->source);
    end = sl_recent_ops_find(s->recent, &edge->dst_op);
    if (!source || !end)
        return;
    record.at_ns = end->start_ns;
    record.correlation = end->correlation;
    record.number = end->number;
    record.u.source = source->number;
    put(s, &record);
}

void sl_wait_blame_wait(struct sl_wait_blame *s, const struct sl_edge *edge,
                        const struct sl_edge_where *where)
{
    struct record record = {.correlation = edge->source.correlation,
                            .type = WAIT,
                            .kind = edge->kind,
                            .at_start = edge->at_start};
    const struct sl_recent_op *op =
        sl_recent_ops_find(s->recent, edge->at_start ? &edge->dst_op : &edge->source);

    record.at_ns = where->at_ns;
    if (op && edge->at_start) {
        record.at_ns = op->start_ns;
    } else if (op && edge->wait_ns <= op->end_ns) {
        record.number = op->number;
        record.at_ns = op->end_ns;
    }
    record.u.wait.wait_ns = edge->wait_ns;
    record.u.wait.call_ns = where->call_ns;
    record.u.wait.dst_correlation = edge->dst_correlation;
    record.u.wait.name = edge->source.name;
    record.u.wait.who = where->who;
    record.u.wait.place = where->place;
    record.u.wait.line = where->line;
    put(s, &record);
}

/* ---- the forest ---- */

/* Returns the node with this number. Returns NULL if the number is 0 or the node has been
 * overwritten. */
static const struct node *node_at(const struct forest *f, uint32_t index)
{
    const struct node *n = &f->node[index % NODES];

    return index && n->index == index ? n : NULL;
}

static const struct node *node_of(const struct forest *f, uint32_t number)
{
    const struct node *n = node_at(f, f->by_number[number % BY_NUMBER]);

    for (int i = 0; n && i < LINKS_MOST; i++, n = node_at(f, n->chained))
        if (n->number == number)
            return n;
    return NULL;
}

static int is_same_stream(const struct node *a, const struct node *b)
{
    return a->stream == b->stream && a->context == b->context && a->device == b->device;
}

static uint32_t scattered(uint64_t a, uint64_t b)
{
    return (uint32_t)((a * 0x9e3779b97f4a7c15u + b * 0xc2b2ae3d27d4eb4fu) >> 32);
}

/* Finds the table entry of a stream. A new stream takes the entry of a forgotten stream, else the
 * least recently used entry. */
static uint32_t *last_of_stream(struct forest *f, const struct node *n)
{
    uint32_t at = scattered((uint64_t)n->device << 32 | n->context, n->stream), *oldest = NULL;

    for (uint32_t i = 0; i < PROBES; i++) {
        uint32_t *here = &f->by_stream[(at + i) % BY_STREAM];
        const struct node *other = node_at(f, *here);

        if (other && is_same_stream(other, n))
            return here;
        if (!other)
            *here = 0;
        if (!oldest || *here < *oldest)
            oldest = here;
    }
    return oldest;
}

/* Returns how long a predecessor ran before the start of the operation and after `since_ns`. */
static int64_t ran_ns(const struct node *before, const struct node *n, uint64_t since_ns)
{
    uint64_t from_ns = before->start_ns > since_ns ? before->start_ns : since_ns;
    uint64_t to_ns = before->end_ns < n->start_ns ? before->end_ns : n->start_ns;
    int64_t ran_ns = to_ns > from_ns ? (int64_t)(to_ns - from_ns) : 0;

    return before->kind == SL_EV_KERNEL ? ran_ns : -ran_ns;
}

/* A kernel, and how long it ran; number 0: none. */
struct longest {
    uint32_t index;
    int64_t ns;
};

static struct longest longer(struct longest a, struct longest b)
{
    return b.ns > a.ns ? b : a;
}

static struct longest on_jump(const struct node *n)
{
    return (struct longest){n->longest, n->longest_ns};
}

static struct longest on_step(const struct node *before, const struct node *n, uint64_t since_ns)
{
    int64_t ran = ran_ns(before, n, since_ns);

    return ran > 0 ? (struct longest){before->index, ran} : (struct longest){0, 0};
}

/* Adds the predecessor, which begins before the node, and everything that follows from it. */
static void join(const struct forest *f, struct node *n, const struct node *before)
{
    const struct node *jump = node_at(f, before->jump);
    const struct node *far = jump ? node_at(f, jump->jump) : NULL;
    struct longest longest = on_step(before, n, 0);

    n->before = before->index;
    n->depth = before->depth + 1;
    n->jump = jump && far && before->depth - jump->depth == jump->depth - far->depth
                  ? far->index
                  : before->index;
    n->lead_ns = before->lead_ns + ran_ns(before, n, 0);
    if (n->jump != before->index)
        longest = longer(longer(longest, on_jump(before)), on_jump(jump));
    n->longest = longest.index;
    n->longest_ns = longest.ns;
}

static void add_operation(struct forest *f, const struct record *record)
{
    struct node new = {.start_ns = record->at_ns,
                       .end_ns = record->u.op.end_ns,
                       .number = record->number,
                       .name = record->u.op.name,
                       .context = record->u.op.context,
                       .stream = record->u.op.stream,
                       .device = record->device,
                       .kind = record->kind};
    uint32_t *last = last_of_stream(f, &new), *place = &f->by_number[new.number % BY_NUMBER];
    const struct node *on_stream = node_at(f, *last), *before;
    const struct node *source = f->linked == new.number ? node_at(f, f->linked_from) : NULL;

    if (on_stream && !is_same_stream(on_stream, &new))
        on_stream = NULL; /* the entry is that of another stream, which is forgotten now */
    before = source && (!on_stream || source->end_ns > on_stream->end_ns) ? source : on_stream;
    if (before)
        join(f, &new, before);
    if (++f->newest == 0)
        f->newest = 1;
    new.index = f->newest;
    new.chained = *place;
    *place = new.index;
    /* Kernels of one stream may overlap, so an earlier operation may end later. */
    if (!on_stream || on_stream->end_ns <= new.end_ns)
        *last = new.index;
    f->node[new.index % NODES] = new;
}

static void add_link(struct forest *f, const struct record *record)
{
    const struct node *source = node_of(f, record->u.source), *known;

    if (!source)
        return;
    known = f->linked == record->number ? node_at(f, f->linked_from) : NULL;
    if (known && known->end_ns >= source->end_ns)
        return;
    f->linked = record->number;
    f->linked_from = source->index;
}

/* Returns the last node on the path from `n` that begins after `since_ns`, as `n` does. Sets
 * *longest to the kernel that ran longest on the path to it. */
static const struct node *first_inside(const struct forest *f, const struct node *n,
                                       uint64_t since_ns, struct longest *longest)
{
    *longest = (struct longest){0, 0};
    for (;;) {
        const struct node *next = node_at(f, n->jump), *before = node_at(f, n->before);

        if (next && next->start_ns > since_ns) {
            *longest = longer(*longest, on_jump(n));
        } else {
            next = before;
            if (!next || next->start_ns <= since_ns)
                return n;
            *longest = longer(*longest, on_step(next, n, 0));
        }
        n = next;
    }
}

/* Returns the kernel on which the time of a wait was spent. Returns NULL if it was spent on the
 * operation that released the wait. */
static const struct node *spent_on(const struct forest *f, const struct record *wait)
{
    uint64_t since_ns = wait->at_ns - wait->u.wait.wait_ns;
    const struct node *n = node_of(f, wait->number), *first, *before;
    struct longest longest;
    int64_t lead_ns;

    if (!n || n->kind == SL_EV_KERNEL || n->start_ns <= since_ns)
        return NULL;
    first = first_inside(f, n, since_ns, &longest);
    before = node_at(f, first->before);
    lead_ns = n->lead_ns - first->lead_ns - (int64_t)(n->end_ns - n->start_ns);
    if (before) {
        lead_ns += ran_ns(before, first, since_ns);
        longest = longer(longest, on_step(before, first, since_ns));
    }
    return lead_ns > 0 ? node_at(f, longest.index) : NULL;
}

static void report_wait(const struct forest *f, const struct record *wait, sl_wait_blame_fn report,
                        void *user)
{
    const struct node *kernel = spent_on(f, wait);
    struct sl_edge edge = {.kind = wait->kind,
                           .at_start = wait->at_start,
                           .wait_ns = wait->u.wait.wait_ns,
                           .dst_correlation = wait->u.wait.dst_correlation};
    const struct sl_edge_where where = {.who = wait->u.wait.who,
                                        .place = wait->u.wait.place,
                                        .line = wait->u.wait.line,
                                        .call_ns = wait->u.wait.call_ns,
                                        .at_ns =
                                            wait->at_start ? wait->at_ns : wait->u.wait.call_ns,
                                        .spent_on = kernel ? kernel->name : wait->u.wait.name};

    edge.source.correlation = wait->correlation;
    edge.source.name = wait->u.wait.name;
    report(user, &edge, &where);
}

int sl_wait_blame_end(struct sl_wait_blame *s, sl_wait_blame_fn report, void *user)
{
    int rc = s->error ? s->error : sl_event_sort_end(s->sort);
    struct record record;
    struct sl_event ev;

    sl_recent_ops_destroy(s->recent); /* its memory is needed now */
    s->recent = NULL;
    s->forest = sl_pages_map(sizeof(*s->forest));
    if (!s->forest)
        return -ENOMEM;
    while (rc == 0 && (rc = sl_event_sort_next(s->sort, &ev)) == 1) {
        rc = 0;
        memcpy(&record, &ev, sizeof(record));
        if (record.type == OPERATION)
            add_operation(s->forest, &record);
        else if (record.type == LINK)
            add_link(s->forest, &record);
        else
            report_wait(s->forest, &record, report, user);
    }
    return rc;
}
