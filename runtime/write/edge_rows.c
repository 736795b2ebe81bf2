/*
 * edge_rows.c - events to the engine of edges, and what it says to the writers of the open window.
 *
 * Entered by the writer thread alone. An error of Kineto's file ends what goes there, at once, and
 * nothing else.
 */
#include "write/edge_rows.h"

#include <errno.h>

#include "base/pages.h"
#include "base/stats.h"
#include "sync/call_class.h"
#include "sync/edge.h"
#include "write/held_rows.h"

#define DEFAULT_CAP ((size_t)8 << 20)
/* Rows are held for about as long as the engine holds their records, and few calls wait. */
#define HELD_SHARE 8

struct sl_edge_rows {
    struct sl_edge_rows_options opt;
    struct sl_edges *engine;
    struct sl_held_rows held;
    int error;
    int is_open;  /* the window has a file */
    int has_rows; /* Kineto's file is open */
    /* Rows of the open window start in [opened_ns, until_ns), as far as is known by now. */
    uint64_t opened_ns, until_ns;
};

/* ---- rows ---- */

static void put_rows(struct sl_edge_rows *r, const struct sl_event *ev, size_t count)
{
    if (count && !r->error)
        r->error = sl_kineto_events(r->opt.kineto, ev, count);
    if (count && r->opt.et)
        sl_et_window_events(r->opt.et, ev, count);
}

/* The row of a call that was held; `by` NULL: it is not known, or nothing was waited for. */
static void put_call(struct sl_edge_rows *r, struct sl_event *row, const struct sl_edge *by)
{
    if (r->has_rows && !r->error)
        r->error = sl_kineto_call(r->opt.kineto, row, by);
    sl_held_rows_drop(&r->held, row);
}

static int may_wait(const struct sl_event *ev)
{
    if ((ev->kind != SL_EV_RUNTIME && ev->kind != SL_EV_DRIVER) || ev->u.call.result != 0)
        return 0;
    switch (sl_call_class_of((enum sl_event_kind)ev->kind, ev->u.call.cbid)) {
    case SL_CALL_OTHER:
    case SL_CALL_KERNEL_LAUNCH:
    case SL_CALL_CAPTURE_BEGIN:
    case SL_CALL_CAPTURE_END:
    case SL_CALL_STREAM_WAIT:
    case SL_CALL_CONTEXT_WAIT:
        return 0;
    default:
        return 1;
    }
}

static void hold(struct sl_edge_rows *r, const struct sl_event *ev)
{
    if (r->opt.et)
        sl_et_window_events(r->opt.et, ev, 1);
    if (ev->kind == SL_EV_RUNTIME || ev->kind == SL_EV_DRIVER)
        sl_kineto_expect(r->opt.kineto, ev);
    if (sl_held_rows_put(&r->held, ev) == 0)
        return;
    put_call(r, sl_held_rows_oldest(&r->held), NULL);
    sl_stats_add(SL_STAT_WAITS_UNANNOTATED, 1);
    sl_held_rows_put(&r->held, ev);
}

/* Those that the engine is done with. */
static void put_decided(struct sl_edge_rows *r)
{
    uint64_t undecided = sl_edges_undecided(r->engine), at = 0;
    struct sl_event *row;

    while ((row = sl_held_rows_below(&r->held, undecided, &at)))
        put_call(r, row, NULL);
}

/* ---- edges ---- */

/* Something that is no row of the open window: if it began after the opening, the window ends
 * before it. */
static void bound(struct sl_edge_rows *r, uint64_t outside_ns)
{
    if (outside_ns >= r->opened_ns && outside_ns < r->until_ns)
        r->until_ns = outside_ns;
}

static int is_in_window(const struct sl_edge_rows *r, uint64_t start_ns)
{
    return r->is_open && start_ns >= r->opened_ns && start_ns < r->until_ns;
}

/* The edge that released the wait, or the one whose source ended last. */
static const struct sl_edge *releasing(const struct sl_edge *edges, size_t count)
{
    const struct sl_edge *best = edges;

    for (size_t i = 1; i < count; i++)
        if (edges[i].released || (!best->released && edges[i].source.end_ns > best->source.end_ns))
            best = &edges[i];
    return best;
}

/* The engine's sink. */
static void take_edges(void *user, const struct sl_edge *edges, size_t count)
{
    struct sl_edge_rows *r = user;
    const struct sl_edge *by = releasing(edges, count);
    struct sl_event *row;

    if (!is_in_window(r, by->dst_start_ns))
        return;
    row = !by->at_start ? sl_held_rows_find(&r->held, by->dst_correlation) : NULL;
    if (row)
        put_call(r, row, by);
    if (r->opt.et)
        sl_et_window_edges(r->opt.et, edges, count);
    for (size_t i = 0; i < count && r->has_rows && !r->error; i++) {
        const struct sl_edge *edge = &edges[i];
        int has_row = edge->at_start || edge->dst_domain;

        r->error =
            sl_kineto_edge(r->opt.kineto, edge, has_row && is_in_window(r, edge->source.start_ns));
    }
    sl_stats_add(SL_STAT_EDGES, count);
    sl_stats_add(SL_STAT_EDGES_RELEASED, by->released);
}

static void count_lost(const struct sl_edge_rows *r)
{
    static const enum sl_stat stat_of[SL_EDGE_LOST_COUNT] = {
        [SL_EDGE_LOST_BEFORE_WINDOW] = SL_STAT_EDGES_LOST_BEFORE_WINDOW,
        [SL_EDGE_LOST_GAVE_UP] = SL_STAT_EDGES_LOST_GAVE_UP,
        [SL_EDGE_LOST_AMBIGUOUS] = SL_STAT_EDGES_LOST_AMBIGUOUS,
        [SL_EDGE_LOST_FLAG_UNKNOWN] = SL_STAT_EDGES_LOST_FLAG_UNKNOWN,
        [SL_EDGE_LOST_GRAPH_INSIDE] = SL_STAT_EDGES_LOST_GRAPH_INSIDE,
        [SL_EDGE_LOST_NO_RECORD] = SL_STAT_EDGES_LOST_NO_RECORD,
        [SL_EDGE_LOST_MEMORY] = SL_STAT_EDGES_LOST_MEMORY,
        [SL_EDGE_LOST_CYCLE] = SL_STAT_EDGES_LOST_CYCLE,
    };

    for (int i = 0; i < SL_EDGE_LOST_COUNT; i++)
        sl_stats_set(stat_of[i], sl_edges_lost(r->engine, (enum sl_edge_loss)i));
}

static void forget(struct sl_edge_rows *r, enum sl_edge_loss reason)
{
    sl_edges_forget(r->engine, reason);
    put_decided(r);
    count_lost(r);
}

/* Up to when both rows and edges are in. */
static uint64_t decided_before(const struct sl_edge_rows *r, uint64_t complete_ns)
{
    uint64_t decided_ns = sl_edges_decided_ns(r->engine);

    return (decided_ns < complete_ns ? decided_ns : complete_ns) - 1;
}

/* What is held for what ends before goes out. After a loss, too: what was lost never comes. */
static void complete(struct sl_edge_rows *r, uint64_t complete_ns)
{
    if (complete_ns == 0)
        return;
    if (r->has_rows && !r->error)
        r->error = sl_kineto_complete(r->opt.kineto, complete_ns - 1);
    if (r->opt.et)
        sl_et_window_complete(r->opt.et, decided_before(r, complete_ns));
}

static void delivered(struct sl_edge_rows *r, uint64_t complete_ns)
{
    sl_edges_delivered(r->engine, complete_ns);
    put_decided(r);
    count_lost(r);
    complete(r, complete_ns);
}

/* What came in-band with the events. */
static void obey(struct sl_edge_rows *r, const struct sl_event *ev)
{
    if (ev->kind == SL_EV_KINDS_ON) {
        forget(r, SL_EDGE_LOST_BEFORE_WINDOW);
        sl_edges_begin(r->engine, ev->start_ns);
    } else if (ev->flags & SL_EVF_RECORDS_LOST) {
        forget(r, SL_EDGE_LOST_GAVE_UP);
        complete(r, ev->end_ns);
    } else {
        delivered(r, ev->end_ns);
    }
}

/* ---- the outside ---- */

int sl_edge_rows_events(struct sl_edge_rows *r, const struct sl_event *ev, size_t count)
{
    size_t from = 0;

    r->error = 0;
    for (size_t i = 0; i < count; i++) {
        int is_control = ev[i].kind >= SL_EV_DELIVERED;
        int is_outside = ev[i].flags & SL_EVF_ONLY_EDGES;

        if (!is_control)
            sl_edges_event(r->engine, &ev[i]);
        if (!is_control && !is_outside && !(r->has_rows && may_wait(&ev[i])))
            continue;
        put_rows(r, ev + from, i - from);
        from = i + 1;
        if (is_control)
            obey(r, &ev[i]);
        else if (is_outside)
            bound(r, ev[i].start_ns);
        else
            hold(r, &ev[i]);
    }
    put_rows(r, ev + from, count - from);
    return r->error;
}

void sl_edge_rows_open(struct sl_edge_rows *r, uint64_t opened_ns, int has_rows)
{
    r->is_open = 1;
    r->has_rows = has_rows;
    r->opened_ns = opened_ns;
    r->until_ns = UINT64_MAX;
}

int sl_edge_rows_close(struct sl_edge_rows *r, uint64_t closed_ns)
{
    uint64_t at = 0;
    struct sl_event *row;

    r->error = 0;
    bound(r, closed_ns);
    sl_edges_close(r->engine, closed_ns);
    while ((row = sl_held_rows_below(&r->held, UINT64_MAX, &at)))
        put_call(r, row, NULL);
    count_lost(r);
    r->is_open = r->has_rows = 0;
    return r->error;
}

void sl_edge_rows_lose(struct sl_edge_rows *r)
{
    forget(r, SL_EDGE_LOST_GAVE_UP);
}

void sl_edge_rows_fail(struct sl_edge_rows *r)
{
    struct sl_event *row;

    while ((row = sl_held_rows_oldest(&r->held)))
        sl_held_rows_drop(&r->held, row);
    r->has_rows = 0;
    r->is_open = r->opt.et && sl_et_window_is_open(r->opt.et);
}

int sl_edge_rows_create(struct sl_edge_rows **out, const struct sl_edge_rows_options *opt)
{
    size_t cap = opt->cap_bytes ? opt->cap_bytes : DEFAULT_CAP;
    struct sl_edge_rows *r = sl_pages_map(sizeof(*r));
    struct sl_edges_options engine = {.cap_bytes = cap - cap / HELD_SHARE,
                                      .online = 1,
                                      .shapes = opt->shapes,
                                      .sink = take_edges,
                                      .sink_user = r};
    int error;

    if (!r)
        return -ENOMEM;
    r->opt = *opt;
    error = sl_edges_create(&r->engine, &engine);
    if (error)
        goto fail_engine;
    error = sl_held_rows_init(&r->held, cap / HELD_SHARE);
    if (error)
        goto fail_held;
    *out = r;
    return 0;

fail_held:
    sl_edges_destroy(r->engine);
fail_engine:
    sl_pages_unmap(r, sizeof(*r));
    return error;
}

void sl_edge_rows_destroy(struct sl_edge_rows *r)
{
    if (!r)
        return;
    sl_held_rows_free(&r->held);
    sl_edges_destroy(r->engine);
    sl_pages_unmap(r, sizeof(*r));
}
