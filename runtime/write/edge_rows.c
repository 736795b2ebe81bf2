/*
 * edge_rows.c - passes events from the ring to the edge engine, and events and edges of the window
 * to the outputs.
 *
 * Threads: only the writer thread.
 */
#include "write/edge_rows.h"

#include <errno.h>

#include "base/pages.h"
#include "base/stats.h"
#include "sync/edge.h"

#define DEFAULT_CAP ((size_t)7 << 20)

struct sl_edge_rows {
    struct sl_outputs *outputs;
    struct sl_edges *engine;
    /* As far as is known already, events of the open window start in [opened_ns, until_ns). The
     * interval is empty if no window is open. */
    uint64_t opened_ns, until_ns;
};

/* ---- edges ---- */

/* Called for an event that began at `outside_ns` and does not belong to the open window. If
 * `outside_ns` is after the window's opening, the window ends before `outside_ns`. */
static void bound(struct sl_edge_rows *r, uint64_t outside_ns)
{
    if (outside_ns >= r->opened_ns && outside_ns < r->until_ns)
        r->until_ns = outside_ns;
}

static int is_in_window(const struct sl_edge_rows *r, uint64_t start_ns)
{
    return start_ns >= r->opened_ns && start_ns < r->until_ns && sl_outputs_is_open(r->outputs);
}

/* Returns the edge that released the wait. If the wait took no time, returns the edge whose source
 * ended last. */
static const struct sl_edge *releasing(const struct sl_edge *edges, size_t count)
{
    const struct sl_edge *best = edges;

    for (size_t i = 1; i < count; i++)
        if (edges[i].released || (!best->released && edges[i].source.end_ns > best->source.end_ns))
            best = &edges[i];
    return best;
}

/* Receives the edges of the edge engine. */
static void take_edges(void *user, const struct sl_edge *edges, size_t count)
{
    struct sl_edge_rows *r = user;
    const struct sl_edge *by = releasing(edges, count);
    const struct sl_output_edges out = {
        .edge = edges,
        .count = count,
        .by = by,
        .ends_a_call = !by->at_start,
        .from_ns = r->opened_ns,
        .until_ns = r->until_ns,
    };

    if (!is_in_window(r, by->dst_start_ns))
        return;
    sl_outputs_edges(r->outputs, &out);
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

/* Reports the progress to the outputs. All events that ended before `complete_ns` have arrived, or
 * are lost and will never arrive. `complete_ns` is 0 if such a time is not known. */
static void tell_progress(struct sl_edge_rows *r, uint64_t complete_ns)
{
    const struct sl_output_progress progress = {
        .rows_ns = complete_ns,
        .edges_ns = sl_edges_decided_ns(r->engine),
        .calls = sl_edges_undecided(r->engine),
    };

    count_lost(r);
    sl_outputs_complete(r->outputs, &progress);
}

/* Handles control events that arrive between other events. */
static void obey(struct sl_edge_rows *r, const struct sl_event *ev)
{
    if (ev->kind == SL_EV_KINDS_ON) {
        sl_edges_forget(r->engine, SL_EDGE_LOST_BEFORE_WINDOW);
        tell_progress(r, 0);
        sl_edges_begin(r->engine, ev->start_ns);
    } else if (ev->flags & SL_EVF_RECORDS_LOST) {
        sl_edges_forget(r->engine, SL_EDGE_LOST_GAVE_UP);
        tell_progress(r, ev->end_ns);
    } else {
        sl_edges_delivered(r->engine, ev->end_ns);
        tell_progress(r, ev->end_ns);
    }
}

/* ---- interface ---- */

void sl_edge_rows_events(struct sl_edge_rows *r, const struct sl_event *ev, size_t count)
{
    size_t from = 0;

    for (size_t i = 0; i < count; i++) {
        int is_control = ev[i].kind >= SL_EV_DELIVERED;
        int is_outside = ev[i].flags & SL_EVF_ONLY_EDGES;

        if (!is_control)
            sl_edges_event(r->engine, &ev[i]);
        if (!is_control && !is_outside)
            continue;
        sl_outputs_events(r->outputs, ev + from, i - from);
        from = i + 1;
        if (is_control)
            obey(r, &ev[i]);
        else
            bound(r, ev[i].start_ns);
    }
    sl_outputs_events(r->outputs, ev + from, count - from);
}

void sl_edge_rows_open(struct sl_edge_rows *r, uint64_t opened_ns)
{
    r->opened_ns = opened_ns;
    r->until_ns = UINT64_MAX;
}

void sl_edge_rows_close(struct sl_edge_rows *r, uint64_t closed_ns)
{
    bound(r, closed_ns);
    sl_edges_close(r->engine, closed_ns);
    count_lost(r);
    r->until_ns = 0;
}

void sl_edge_rows_lose(struct sl_edge_rows *r)
{
    sl_edges_forget(r->engine, SL_EDGE_LOST_GAVE_UP);
    tell_progress(r, 0);
}

int sl_edge_rows_create(struct sl_edge_rows **out, const struct sl_edge_rows_options *opt)
{
    struct sl_edge_rows *r = sl_pages_map(sizeof(*r));
    const struct sl_edges_options engine = {.cap_bytes =
                                                opt->cap_bytes ? opt->cap_bytes : DEFAULT_CAP,
                                            .online = 1,
                                            .shapes = opt->shapes,
                                            .sink = take_edges,
                                            .sink_user = r};
    int error;

    if (!r)
        return -ENOMEM;
    r->outputs = opt->outputs;
    error = sl_edges_create(&r->engine, &engine);
    if (error) {
        sl_pages_unmap(r, sizeof(*r));
        return error;
    }
    *out = r;
    return 0;
}

void sl_edge_rows_destroy(struct sl_edge_rows *r)
{
    if (!r)
        return;
    sl_edges_destroy(r->engine);
    sl_pages_unmap(r, sizeof(*r));
}
