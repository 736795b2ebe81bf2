/*
 * concurrent_calls.c - what other threads did during a call: calls that began after it, and before
 * it returned.
 *
 * Entered by its owner alone. They are not applied yet, but in order behind the call. Which of them
 * got to a stream first no record says: what they may have changed is marked, or counted.
 */
#include "sync/apply_impl.h"

enum {
    LOOKS = 1024,              /* at records of later calls, for each operation */
    LOOKS_FOR_WAITS = 1 << 13, /* a launch into a full stream may take long */
    RECORDED_MOST = 64
};

/* Behind this call's, items are in order: calls as they began, each before what it did. But for
 * those that were stopped between their id and their stamp: they may come sooner. */
const struct sl_item *sl_call_meanwhile(const struct sl_call *c, struct sl_meanwhile *m)
{
    const struct sl_item *first = c->item + c->count;

    /* Without a record of its own: what overlaps it is not known. */
    if (c->by.to_ns == 0)
        return NULL;
    while (first + m->looked < c->e->held && m->looked++ < m->most) {
        const struct sl_item *at = first + m->looked - 1;

        if (at->kind == SL_EV_RUNTIME || at->kind == SL_EV_DRIVER) {
            if (at->start_ns >= c->by.to_ns && at->correlation > c->by.correlation)
                return NULL;
            m->call = at->start_ns < c->by.to_ns && at->end_ns > c->by.from_ns ? at : NULL;
        } else if (m->call && m->call->where != c->by.thread &&
                   at->correlation == m->call->correlation) {
            return at;
        }
    }
    return NULL;
}

static int is_stream_wait(const struct sl_item *item)
{
    return item->kind == SL_EV_SYNC && item->more == SL_SYNC_STREAM_WAIT;
}

/* ---- operations ---- */

int sl_call_is_overtaken(const struct sl_call *c, const struct sl_item *op,
                         uint64_t *previous_end_ns)
{
    struct sl_meanwhile m = {.most = LOOKS};
    const struct sl_item *at;
    int found = 0;

    while ((at = sl_call_meanwhile(c, &m))) {
        if (!sl_item_is_operation(at) || at->where != op->where || at->start_ns >= op->start_ns)
            continue;
        found = 1;
        if (at->end_ns > *previous_end_ns)
            *previous_end_ns = at->end_ns;
    }
    return found || m.looked > m.most;
}

int sl_call_is_joined(const struct sl_call *c, const struct sl_stream *stream)
{
    struct sl_meanwhile m = {.most = LOOKS};
    const struct sl_item *at;

    while ((at = sl_call_meanwhile(c, &m)))
        if ((sl_item_is_operation(at) || is_stream_wait(at)) &&
            sl_streams_are_ordered(sl_call_stream(c, at), stream))
            return 1;
    return m.looked > m.most;
}

/* ---- waits of streams ---- */

/* By its record's id, below CUPTI 12.8 by its own. */
static int is_same_event(const struct sl_call *c, const struct sl_item *record,
                         const struct sl_item *wait)
{
    if (wait->id)
        return record->id == wait->id;
    return record->name == wait->name &&
           sl_call_stream(c, record)->context == sl_call_stream(c, wait)->context;
}

/* Events that were recorded during the call: what they stand for is not known yet. */
struct recorded {
    const struct sl_item *item[RECORDED_MOST]; /* the first */
    size_t count;
};

static int is_recorded(const struct sl_call *c, const struct recorded *r,
                       const struct sl_item *wait)
{
    if (r->count > RECORDED_MOST)
        return 1;
    for (size_t i = 0; i < r->count; i++)
        if (is_same_event(c, r->item[i], wait))
            return 1;
    return 0;
}

static void add_set(const struct sl_call *c, const struct sl_call *other, const struct sl_set *set,
                    const struct sl_op *op, struct sl_set *before)
{
    int is_own = sl_call_stream(c, other->sync) == op->stream;

    for (const struct sl_link *at = set->first; at; at = at->next) {
        struct sl_link link = *at;

        if (at->op->stream == op->stream || at->op->pub.end_ns > op->pub.start_ns)
            continue; /* it began before that had ended: it did not wait for it */
        link.via = is_own ? SL_VIA_STREAM_WAIT : SL_VIA_LEGACY;
        link.by = is_own ? other->by : (struct sl_moment){0};
        link.overlapping = 1;
        link.inferred |= (uint8_t)set->misses;
        sl_set_add(c->e->streams, before, &link);
    }
}

/* Why it is not known what `wait`, of the call `cpu`, was for: bits of enum sl_edge_loss. */
static uint32_t add_wait(const struct sl_call *c, const struct sl_item *cpu,
                         const struct sl_item *wait, const struct sl_op *op, struct sl_set *before)
{
    struct sl_call other = {.e = c->e,
                            .item = cpu,
                            .count = (size_t)(wait - cpu) + 1,
                            .sync = wait,
                            .by = {.correlation = cpu->correlation,
                                   .thread = cpu->where,
                                   .from_ns = cpu->start_ns,
                                   .to_ns = cpu->end_ns}};
    const struct sl_record *record;
    uint32_t lost;
    int overlaps;

    record = sl_call_record(&other, &lost, &overlaps);
    if (!record)
        return lost;
    add_set(c, &other, &record->set, op, before);
    return record->set.lost;
}

void sl_call_waits_meanwhile(const struct sl_call *c, const struct sl_op *op, struct sl_set *before)
{
    struct sl_meanwhile m = {.most = LOOKS_FOR_WAITS};
    struct recorded recorded = {.count = 0};
    const struct sl_item *at;
    uint32_t lost = 0;

    if (c->e->stream_waits_ns < c->by.from_ns) /* no stream was made to wait since, as mostly */
        return;
    while ((at = sl_call_meanwhile(c, &m))) {
        if (at->kind == SL_EV_CUDA_EVENT && recorded.count++ < RECORDED_MOST)
            recorded.item[recorded.count - 1] = at;
        if (!is_stream_wait(at) || at->what != 0 || m.call->more != 0 ||
            !sl_streams_are_ordered(sl_call_stream(c, at), op->stream))
            continue;
        lost |= is_recorded(c, &recorded, at) ? 1u << SL_EDGE_LOST_AMBIGUOUS
                                              : add_wait(c, m.call, at, op, before);
    }
    if (m.looked > m.most)
        lost |= 1u << SL_EDGE_LOST_AMBIGUOUS;
    if (!lost)
        return;
    /* What is not known may have ended last. */
    for (struct sl_link *link = before->first; link; link = link->next)
        link->overlapping = 1;
    sl_waits_lose(c->e->waits, lost);
}
