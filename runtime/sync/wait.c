/*
 * wait.c - decides waits: finds the set of operations that a wait waited for, and emits the edges.
 *
 * Threads: only the thread that owns the engine (edge.h). Memory: the engine's store (base/store.h)
 * provides the array of edges, the heap of open waits, and the map of the work that each thread has
 * waited for.
 */
#include "sync/wait.h"

#include "sync/foreign.h"

enum {
    COVERED_SHARE = 16, /* the map of covered work may use 1/COVERED_SHARE of the store */
    /* maximum number of contexts to examine; a process has one context for each GPU, but a damaged
     * file may have any number */
    CONTEXTS_LOOKED_AT = 64,
    /* a free that waits takes longer, in ns; cudaFree(NULL) takes 200 to 2300 ns on real GPUs */
    FREE_NS = 5000
};

void sl_waits_init(struct sl_waits *w, const struct sl_edges_options *opt,
                   struct sl_streams *streams)
{
    w->opt = opt;
    w->streams = streams;
    streams->open = &w->open;
    sl_map_init(&w->covered, streams->store);
}

void sl_waits_free(struct sl_waits *w)
{
    sl_map_free(&w->covered);
    sl_store_unmap(w->streams->store, w->edge, w->edge_slots * sizeof *w->edge);
    sl_open_forget(&w->open, w->streams->store);
}

void sl_waits_lose(struct sl_waits *w, uint32_t reasons)
{
    for (int i = 0; i < SL_EDGE_LOST_COUNT; i++)
        w->lost[i] += reasons >> i & 1;
}

/* ---- work that a thread has waited for (covered); used only in jobs ---- */

enum cover {
    COVER_STREAM,
    COVER_CONTEXT,
    /* the work of a context that a free waited for; the context of a free is inferred */
    COVER_FREED,
    /* the work that is ordered before the next operation of the legacy default stream */
    COVER_BLOCKING
};

static uint64_t cover_key(uint32_t thread, uint32_t number, enum cover what)
{
    return (uint64_t)thread << 32 | (uint32_t)what << 30 | (number + 1);
}

static uint64_t covered_until(const struct sl_waits *w, uint32_t thread, uint32_t number,
                              enum cover what)
{
    const uint64_t *ns =
        w->opt->online ? sl_map_find(&w->covered, cover_key(thread, number, what)) : NULL;

    return ns ? *ns : 0;
}

/* Stores that the thread has waited for all work enqueued by `ns` (the work is covered). `*any_ns`
 * is the latest such time for any thread. `any_ns` may be NULL. */
static void cover(struct sl_waits *w, uint32_t thread, uint32_t number, enum cover what,
                  uint64_t ns, uint64_t *any_ns)
{
    uint64_t *place;

    if (!w->opt->online)
        return;
    /* Jobs create and end threads, so the map is emptied when it is large. After that, some edges
     * without waiting time are emitted again. */
    if (w->covered.used * sizeof *w->covered.slot > w->covered.store->cap_bytes / COVERED_SHARE)
        sl_map_free(&w->covered);
    place = sl_map_put(&w->covered, cover_key(thread, number, what));
    if (place)
        *place = sl_later(*place, ns);
    if (any_ns)
        *any_ns = sl_later(*any_ns, ns);
}

/* Returns 1 if the thread has waited for the operation before. The latest time for any thread is
 * checked first, because with 10^4 streams no thread has waited for most of the work. */
static int is_covered(const struct sl_waits *w, uint32_t thread, const struct sl_op *op)
{
    const struct sl_stream *stream = op->stream;
    uint64_t ns = sl_op_enqueued_ns(op);

    return (ns <= stream->context->covered_ns &&
            ns <= covered_until(w, thread, stream->context->number, COVER_CONTEXT)) ||
           (ns <= stream->covered_ns &&
            ns <= covered_until(w, thread, stream->number, COVER_STREAM));
}

/* ---- edges ---- */

static struct sl_edge *next_edge(struct sl_waits *w)
{
    struct sl_edge *edge =
        sl_store_more(w->streams->store, w->edge, &w->edge_slots, w->edges + 1, sizeof *edge);

    if (!edge) {
        w->lost[SL_EDGE_LOST_MEMORY]++;
        return NULL;
    }
    w->edge = edge;
    return &edge[w->edges++];
}

static enum sl_edge_basis basis_of(const struct sl_link *link, int inferred)
{
    if (link->inferred || inferred)
        return SL_BASIS_INFERRED;
    return link->overlapping ? SL_BASIS_OVERLAPPING : SL_BASIS_EXACT;
}

/* Adds an edge. From `free_ns` on, the destination waited only for the source. At `end_ns` the
 * destination continued. */
static struct sl_edge *add_edge(struct sl_waits *w, const struct sl_link *link, uint64_t free_ns,
                                uint64_t end_ns, int inferred)
{
    uint64_t from = sl_later(link->op->pub.end_ns, free_ns);
    struct sl_edge *edge = next_edge(w);

    if (edge)
        *edge = (struct sl_edge){.source = link->op->pub,
                                 .basis = (uint8_t)basis_of(link, inferred),
                                 .wait_ns = from - free_ns,
                                 .wake_ns = end_ns > from ? end_ns - from : 0};
    return edge;
}

/* If the wait took time, marks the source that ended last. This source released the destination. If
 * some of the awaited work is not known (`is_whole` is 0), that work may have ended later, so no
 * source is marked. */
static void mark_released(struct sl_waits *w, int is_whole)
{
    struct sl_edge *best = NULL;

    for (size_t i = 0; i < w->edges && is_whole; i++)
        if (w->edge[i].wait_ns && (!best || w->edge[i].source.end_ns > best->source.end_ns))
            best = &w->edge[i];
    if (best)
        best->released = 1;
}

/* Returns the reasons why edges of a set are left out, as bits of enum sl_edge_loss. The edges of
 * the other members are facts in any case. */
static uint32_t why_not(const struct sl_set *set)
{
    uint32_t lost = set->lost;

    for (const struct sl_link *at = set->first; at; at = at->next)
        if (at->op->no_time)
            lost |= 1u << SL_EDGE_LOST_GAVE_UP;
    return lost;
}

/* ---- GPU operations ---- */

static enum sl_edge_kind kind_of(enum sl_via via)
{
    if (via == SL_VIA_LEGACY)
        return SL_EDGE_LEGACY_DEFAULT;
    return via == SL_VIA_GRAPH ? SL_EDGE_GRAPH : SL_EDGE_STREAM_WAIT;
}

void sl_waits_operation(struct sl_waits *w, const struct sl_op *op, const struct sl_set *before,
                        uint64_t previous_end_ns)
{
    uint64_t free_ns = sl_later(op->by.to_ns, previous_end_ns);
    uint32_t lost = why_not(before), untimed = 0;
    int misses = before->first && (op->after_missing || sl_set_misses(w->streams, before));
    int inferred = misses || (before->first && op->after_unseen);

    /* If the previous operation's end is not known, it is not known when this operation began to
     * wait. */
    if (previous_end_ns == UINT64_MAX && before->first)
        untimed |= 1u << SL_EDGE_LOST_GAVE_UP;
    if (op->by.to_ns == 0 && before->first)
        untimed |= 1u << SL_EDGE_LOST_NO_RECORD;
    sl_waits_lose(w, lost | untimed);
    /* If one dependency of a graph contradicts the times, the others are no facts, either. */
    if (untimed || op->no_time || lost & 1u << SL_EDGE_LOST_CYCLE)
        return;
    w->edges = 0;
    for (const struct sl_link *at = before->first; at; at = at->next) {
        struct sl_edge *edge;

        if (at->op->stream == op->stream || at->op->no_time)
            continue;
        if (at->op->pub.end_ns > op->pub.start_ns + SL_TICK_NS) {
            w->lost[SL_EDGE_LOST_CYCLE]++;
            continue;
        }
        edge = add_edge(w, at, free_ns, op->pub.start_ns, inferred | w->opt->clocks_apart);
        if (!edge)
            return;
        edge->kind = (uint8_t)kind_of(at->via);
        edge->at_start = 1;
        edge->dst_correlation = op->pub.correlation;
        edge->dst_start_ns = op->pub.start_ns;
        edge->dst_end_ns = op->pub.end_ns;
        edge->dst_thread = op->by.thread;
        edge->dst_op = op->pub;
    }
    mark_released(w, !lost && !misses);
    if (w->edges == 0)
        return;
    /* The operation was certainly ordered after these sources. But earlier work of its stream may
     * have ended later. */
    w->lost[SL_EDGE_LOST_BEFORE_WINDOW] += op->after_unseen;
    w->lost[SL_EDGE_LOST_NO_RECORD] += inferred && !op->after_unseen;
    w->opt->sink(w->opt->sink_user, w->edge, w->edges);
}

/* ---- the context of a wait whose records name no context ---- */

/* Returns 1 if the wait's context is a guess. No record names the context of a free. In files of
 * torch.profiler, no record names the context of a synchronizing call without a row, either. The
 * engine assumes the context that the thread used last, unless work of another context fits, too.
 */
static int is_for_some_context(const struct sl_wait *wait)
{
    return wait->scope == SL_WAIT_CONTEXT && wait->inferred && !wait->if_pending;
}

/* Returns 1 if the operation may have released the wait, that is, if it ended during the call. */
static int fits(const struct sl_wait *wait, const struct sl_op *op)
{
    return op->pub.end_ns > sl_later(wait->when.from_ns, wait->pending_ns) &&
           op->pub.end_ns <= (wait->until_ns ? wait->until_ns : wait->when.to_ns);
}

/* Returns 1 if all operations in the set had ended when the call returned. */
static int has_ended(const struct sl_wait *wait, const struct sl_set *set)
{
    for (const struct sl_link *at = set->first; at; at = at->next)
        if (at->op->pub.end_ns > wait->when.to_ns)
            return 0;
    return 1;
}

/* Returns 1 if the wait may have been for this context. */
static int context_fits(struct sl_streams *s, const struct sl_wait *wait,
                        struct sl_context *context)
{
    struct sl_set set = {0};
    int found = 0;

    sl_set_open(s, &set);
    sl_context_collect(s, context, 0, &wait->when, &set);
    for (const struct sl_link *at = set.first; at; at = at->next)
        found |= fits(wait, at->op);
    found = found && has_ended(wait, &set);
    sl_set_clear(s, &set);
    return found;
}

static int fits_elsewhere(struct sl_streams *s, const struct sl_wait *wait)
{
    if (s->context_count > CONTEXTS_LOOKED_AT)
        return 1;
    for (struct sl_context *at = s->all_contexts; at; at = at->next)
        if ((wait->anywhere || at != wait->stream->context) && context_fits(s, wait, at))
            return 1;
    return 0;
}

/* ---- calls ---- */

static int covers_context(const struct sl_wait *wait)
{
    return wait->scope == SL_WAIT_CONTEXT && !wait->inferred;
}

/* Sets the destination of an edge to the call that waited. */
static void set_call(struct sl_edge *edge, const struct sl_wait *wait)
{
    if (sl_edge_is_query(wait->kind))
        edge->wait_ns = 0;
    edge->kind = wait->kind;
    edge->dst_correlation = wait->when.correlation;
    edge->dst_start_ns = wait->when.from_ns;
    edge->dst_end_ns = wait->when.to_ns;
    edge->dst_thread = wait->when.thread;
    edge->dst_name = wait->name;
    edge->dst_cbid = wait->cbid;
    edge->dst_domain = wait->domain;
}

/* Returns 1 if the source certainly ended before the call returned, although its time is later. In
 * files of other profilers, the clocks of CPU and GPU may differ by a few us. If several sources
 * are late, they were probably not awaited. */
static int is_clock_noise(const struct sl_waits *w, const struct sl_wait *wait,
                          const struct sl_set *set, const struct sl_link *link)
{
    if (!w->opt->foreign || wait->inferred || link->inferred || link->overlapping ||
        link->op->pub.end_ns > wait->when.to_ns + SL_WAKE_MOST_NS)
        return 0;
    for (const struct sl_link *at = set->first; at; at = at->next)
        if (at != link && at->op->pub.end_ns > wait->when.to_ns + SL_TICK_NS)
            return 0;
    return 1;
}

/* Adds the edge of a source that ends after the call. The wait then ends with the call. */
static void add_late_edge(struct sl_waits *w, const struct sl_wait *wait, const struct sl_set *set,
                          const struct sl_link *link)
{
    const struct sl_moment *when = &wait->when;
    struct sl_edge *edge;

    if (!is_clock_noise(w, wait, set, link)) {
        w->lost[SL_EDGE_LOST_CYCLE]++;
        return;
    }
    edge = add_edge(w, link, when->from_ns, when->to_ns, 1);
    if (!edge)
        return;
    edge->source.end_ns = when->to_ns;
    edge->wait_ns = when->to_ns - when->from_ns;
    set_call(edge, wait);
}

static void add_call_edge(struct sl_waits *w, const struct sl_wait *wait, const struct sl_set *set,
                          const struct sl_link *link, int inferred)
{
    const struct sl_moment *when = &wait->when;
    struct sl_edge *edge;

    if (link->op->no_time ||
        ((is_for_some_context(wait) || wait->if_pending) && !fits(wait, link->op)))
        return;
    if (link->op->pub.end_ns > when->to_ns + SL_TICK_NS) {
        add_late_edge(w, wait, set, link);
        return;
    }
    if (link->op->pub.end_ns <= when->from_ns && w->opt->online &&
        is_covered(w, when->thread, link->op))
        return;
    edge = add_edge(w, link, when->from_ns, when->to_ns, inferred);
    if (edge)
        set_call(edge, wait);
}

/* Stores that the wait's thread has waited for the sources of the wait. Called when all edges of
 * the wait are known. In any case, a wait for a context covers all work that was enqueued before
 * the wait began. */
static void cover_set(struct sl_waits *w, const struct sl_wait *wait, const struct sl_set *set)
{
    struct sl_stream *stream = wait->stream;
    uint32_t thread = wait->when.thread;
    uint64_t anyway_ns = covers_context(wait) ? wait->when.from_ns : 0;

    for (const struct sl_link *at = set->first; at && w->opt->online; at = at->next) {
        struct sl_stream *own = at->op->stream;
        uint64_t ns = sl_op_enqueued_ns(at->op);

        if (ns > anyway_ns || own->context != stream->context)
            cover(w, thread, own->number, COVER_STREAM, ns, &own->covered_ns);
    }
    if (wait->scope == SL_WAIT_CONTEXT && wait->inferred && !wait->anywhere)
        cover(w, thread, stream->context->number, COVER_FREED, wait->when.from_ns, NULL);
    else if (wait->scope == SL_WAIT_STREAM && stream == stream->context->legacy)
        cover(w, thread, stream->number, COVER_BLOCKING, wait->when.from_ns, NULL);
}

/* Emits an inferred edge if exactly one operation may have released the wait. */
static int guess(struct sl_waits *w, const struct sl_wait *wait, const struct sl_set *set)
{
    unsigned found;
    struct sl_link link = {.op = sl_foreign_guess(wait, set, &found)};

    if (found != 1) {
        w->lost[found ? SL_EDGE_LOST_AMBIGUOUS : SL_EDGE_LOST_NO_RECORD]++;
        return 0;
    }
    add_call_edge(w, wait, set, &link, 1);
    return 1;
}

/* Returns 1 if no awaited operation ended during the call, for a call that then waited for nothing.
 * One such call is a free that returns sooner than a free that waits, as cudaFree(NULL) does. */
static int is_empty(const struct sl_wait *wait, const struct sl_set *set)
{
    if (!wait->if_pending &&
        (wait->kind != SL_EDGE_FREE || wait->when.to_ns - wait->when.from_ns >= FREE_NS))
        return 0;
    for (const struct sl_link *at = set->first; at; at = at->next)
        if (fits(wait, at->op))
            return 0;
    return 1;
}

static void tell(struct sl_waits *w, const struct sl_wait *wait, const struct sl_set *set)
{
    const uint32_t unseen = 1u << SL_EDGE_LOST_BEFORE_WINDOW;
    uint32_t lost = why_not(set);
    /* an inferred wait is marked as inferred in any case */
    int misses = !wait->inferred && sl_set_misses(w->streams, set);
    int inferred = wait->inferred || misses || w->opt->clocks_apart;

    if (is_empty(wait, set))
        return;
    if (wait->scope == SL_WAIT_GUESS)
        lost &= ~unseen;
    sl_waits_lose(w, misses ? lost | 1u << SL_EDGE_LOST_NO_RECORD : lost);
    /* A conclusion from times needs the whole set. Work from before the recording is an exception,
     * because a wait for a context certainly waited for the recorded work of the context. */
    if (wait->inferred && (wait->scope == SL_WAIT_GUESS ? lost : lost & ~unseen))
        return;
    inferred |= wait->scope == SL_WAIT_CONTEXT && sl_foreign_is_for_more(w->streams, wait);
    if (wait->inferred && wait->scope != SL_WAIT_GUESS && !has_ended(wait, set)) {
        /* The event record was guessed, and it was another one. */
        w->lost[SL_EDGE_LOST_NO_RECORD] += wait->kind == SL_EDGE_EVENT_SYNC;
        return;
    }
    if (sl_foreign_is_for_another(w->opt, w->streams, wait, set)) {
        w->lost[SL_EDGE_LOST_FLAG_UNKNOWN]++;
        inferred = 1;
    }
    w->edges = 0;
    if (wait->scope == SL_WAIT_GUESS && !guess(w, wait, set))
        return;
    for (const struct sl_link *at = set->first; at && wait->scope != SL_WAIT_GUESS; at = at->next)
        add_call_edge(w, wait, set, at, inferred);
    cover_set(w, wait, set);
    mark_released(w, !lost && !misses);
    if (w->edges)
        w->opt->sink(w->opt->sink_user, w->edge, w->edges);
}

/* Returns the time up to which the thread had already waited for the awaited work. */
static uint64_t since(const struct sl_waits *w, const struct sl_wait *wait)
{
    const struct sl_stream *stream = wait->stream;
    uint32_t thread = wait->when.thread, context = stream->context->number;
    uint64_t ns;

    if (wait->scope == SL_WAIT_STREAM)
        return stream == stream->context->legacy
                   ? covered_until(w, thread, stream->number, COVER_BLOCKING)
                   : 0;
    ns = covered_until(w, thread, context, COVER_CONTEXT);
    return wait->inferred ? sl_later(ns, covered_until(w, thread, context, COVER_FREED)) : ns;
}

static void decide(struct sl_waits *w, struct sl_wait *wait)
{
    struct sl_streams *streams = w->streams;
    struct sl_context *context = wait->stream->context;
    struct sl_moment looks;

    if (is_for_some_context(wait) && fits_elsewhere(streams, wait)) {
        w->lost[SL_EDGE_LOST_AMBIGUOUS]++;
        return;
    }
    sl_set_open(streams, &wait->set);
    switch (wait->scope) {
    case SL_WAIT_STREAM:
        looks = wait->when;
        if (wait->over_ns && wait->over_ns < looks.to_ns)
            looks.to_ns = wait->over_ns;
        sl_stream_collect(streams, wait->stream, since(w, wait), &looks,
                          wait->kind != SL_EDGE_STREAM_SYNC && wait->kind != SL_EDGE_STREAM_QUERY,
                          &wait->set);
        break;
    case SL_WAIT_CONTEXT:
    case SL_WAIT_GUESS:
        sl_context_collect(streams, context, since(w, wait), &wait->when, &wait->set);
        break;
    default:
        break;
    }
    tell(w, wait, &wait->set);
    if (covers_context(wait)) {
        sl_context_covered(streams, context, &wait->when);
        cover(w, wait->when.thread, context->number, COVER_CONTEXT, wait->when.from_ns,
              &context->covered_ns);
    } else if (wait->scope == SL_WAIT_STREAM && !wait->inferred) {
        sl_stream_covered(streams, wait->stream, &wait->when);
    }
    sl_set_clear(streams, &wait->set);
    w->closed_ns = sl_later(w->closed_ns, wait->when.to_ns);
}

static void tell_open(struct sl_waits *w)
{
    w->streams->waits_since_ns = sl_open_since(&w->open);
}

void sl_waits_add(struct sl_waits *w, struct sl_wait *wait)
{
    if (wait->scope == SL_WAIT_SET) {
        decide(w, wait);
        return;
    }
    /* The sources are not searched now, because other threads may enqueue awaited work until the
     * wait returns. */
    if (sl_open_add(&w->open, w->streams->store, wait) != 0) {
        w->lost[SL_EDGE_LOST_MEMORY]++;
        return;
    }
    wait->stream->held++;
    tell_open(w);
}

void sl_waits_close(struct sl_waits *w, uint64_t ns)
{
    struct sl_wait wait;

    while (sl_open_take(&w->open, ns, &wait)) {
        wait.stream->held--;
        decide(w, &wait);
        tell_open(w);
    }
}

void sl_waits_forget(struct sl_waits *w, enum sl_edge_loss reason)
{
    w->lost[reason] += w->open.count;
    for (size_t i = 0; i < w->open.count; i++)
        sl_set_clear(w->streams, &w->open.wait[i].set);
    sl_open_forget(&w->open, w->streams->store);
    tell_open(w);
    sl_map_free(&w->covered);
}
