/*
 * stream_set.c - implements sets of operations, and counts the references to operations.
 *
 * A set is a list. While members are added to a set, each stream points to its member in the set.
 * So the time to build a set grows only linearly, even with 10^4 streams.
 *
 * Threads: only the thread that owns the engine (edge.h). Memory: a link holds a reference to its
 * operation. The operation returns to its pool with the last reference.
 */
#include "sync/stream_state_impl.h"
#include "sync/wait.h"

int sl_op_later(const struct sl_edge_op *a, const struct sl_edge_op *b)
{
    if (a->start_ns != b->start_ns && a->start_ns && b->start_ns)
        return a->start_ns > b->start_ns;
    if (a->correlation != b->correlation)
        return a->correlation > b->correlation;
    return a->start_ns == 0 && b->start_ns != 0;
}

void sl_op_unref(struct sl_streams *s, struct sl_op *op)
{
    if (--op->refs)
        return;
    sl_set_clear(s, &op->behind);
    op->stream->ops--;
    sl_pool_put(&s->ops, op);
}

void sl_link_drop(struct sl_streams *s, struct sl_link *link)
{
    if (link->op->stream->mark == link)
        link->op->stream->mark_set = 0;
    sl_op_unref(s, link->op);
    sl_pool_put(&s->links, link);
}

static void mark(struct sl_streams *s, struct sl_link *link)
{
    link->op->stream->mark = link;
    link->op->stream->mark_set = s->set_number;
}

void sl_set_open(struct sl_streams *s, struct sl_set *set)
{
    s->set_number++;
    for (struct sl_link *link = set->first; link; link = link->next)
        /* the stream's first member is the one that ends last */
        if (link->op->stream->mark_set != s->set_number)
            mark(s, link);
}

static void replace(struct sl_streams *s, struct sl_link *link, const struct sl_link *with)
{
    struct sl_link *next = link->next;
    struct sl_op *old = link->op;

    with->op->refs++;
    *link = *with;
    link->next = next;
    sl_op_unref(s, old);
}

/* Returns 1 if `link` leads to the same operation as `own`, and is more certain. */
static int is_surer(const struct sl_link *link, const struct sl_link *own)
{
    return link->op == own->op && link->overlapping < own->overlapping &&
           link->inferred <= own->inferred;
}

/* Returns 1 if `a` ends after `b`. Both are operations of one stream. If an end is not known, the
 * later operation counts as ending last. */
static int outlasts(const struct sl_edge_op *a, const struct sl_edge_op *b)
{
    if (a->end_ns != b->end_ns && a->end_ns && b->end_ns)
        return a->end_ns > b->end_ns;
    return sl_op_later(a, b);
}

static void add(struct sl_streams *s, struct sl_set *set, const struct sl_link *link, int is_beside)
{
    struct sl_stream *stream = link->op->stream;
    struct sl_link *own = stream->mark_set == s->set_number ? stream->mark : NULL;

    if (own && !is_beside) {
        int hides = own->hides || own->op != link->op;

        if (outlasts(&link->op->pub, &own->op->pub) || is_surer(link, own)) {
            replace(s, own, link);
            own->hides = (uint8_t)hides;
        }
        return;
    }
    own = sl_pool_get(&s->links);
    if (!own) {
        set->lost |= 1u << SL_EDGE_LOST_MEMORY;
        return;
    }
    *own = *link;
    own->op->refs++;
    own->next = set->first;
    set->first = own;
    mark(s, own);
}

void sl_set_add(struct sl_streams *s, struct sl_set *set, const struct sl_link *link)
{
    add(s, set, link, 0);
}

/* Returns 1 if `first` must be kept although the set has `second`, a member of the same stream that
 * ends later. This is the case if an open wait may need `first`. */
static int is_needed(const struct sl_streams *s, const struct sl_link *first,
                     const struct sl_link *second)
{
    return s->open && sl_open_between(s->open, second->by.to_ns, first->op->pub.end_ns,
                                      second->op->pub.end_ns);
}

void sl_set_open_beside(struct sl_streams *s, struct sl_set *set)
{
    struct sl_link **at = &set->first;

    s->set_number++;
    while (*at) {
        struct sl_link *link = *at;

        if (link->op->stream->mark_set != s->set_number ||
            is_needed(s, link, link->op->stream->mark)) {
            mark(s, link);
            at = &link->next;
            continue;
        }
        link->op->stream->mark->hides = 1;
        *at = link->next;
        sl_link_drop(s, link);
    }
    sl_set_open(s, set);
}

void sl_set_add_beside(struct sl_streams *s, struct sl_set *set, const struct sl_link *link)
{
    const struct sl_stream *stream = link->op->stream;
    const struct sl_link *own = stream->mark_set == s->set_number ? stream->mark : NULL;

    add(s, set, link, own && outlasts(&link->op->pub, &own->op->pub) && is_needed(s, own, link));
}

int sl_set_misses(const struct sl_streams *s, const struct sl_set *set)
{
    int misses = set->misses != 0;

    for (const struct sl_link *at = set->first; at && s->unknown[SL_UNKNOWN_OPERATION].count;
         at = at->next)
        misses |= at->inferred;
    return misses;
}

void sl_set_mark(struct sl_set *set)
{
    for (struct sl_link *at = set->first; at; at = at->next)
        at->overlapping = 1;
}

void sl_set_clear(struct sl_streams *s, struct sl_set *set)
{
    while (set->first) {
        struct sl_link *link = set->first;

        set->first = link->next;
        sl_link_drop(s, link);
    }
    set->lost = 0;
    set->misses = 0;
}
