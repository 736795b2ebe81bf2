/*
 * replay.c - passes the rows of a trace, as events in order of enqueue, to the edge engine.
 *
 * In order of enqueue, all rows that ended before a call began precede that call, because work that
 * is enqueued later also ends later than the call begins.
 *
 * Threads, memory: see replay.h.
 */
#include "replay/replay.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "print/progress.h"

/* Number of calls after which the engine runs again. */
#define ENGINE_CALLS 512
#define ENGINE_BYTES (48u << 20)

/* Creates the structures to which the rows are added. */
static int begin_rows(struct sl_replay *f)
{
    int rc = sl_trace_events_create(&f->events);

    if (rc)
        return rc;
    sl_edge_names_init(&f->names, f->events->names);
    f->events->give_range = f->sinks.range;
    f->events->range_user = f->sinks.user;
    if (f->keeps == SL_REPLAY_EVENTS)
        return 0;
    rc = sl_row_collectives_create(&f->collectives);
    if (rc == 0)
        rc = sl_trace_events_keep_collectives(f->events, f->collectives);
    return rc == 0 && f->keeps == SL_REPLAY_ROWS ? sl_trace_events_keep_rows(f->events) : rc;
}

static void forget_rows(struct sl_replay *f)
{
    if (f->events)
        sl_edge_names_free(&f->names);
    sl_trace_events_destroy(f->events);
    sl_row_collectives_destroy(f->collectives);
    f->events = NULL;
    f->collectives = NULL;
    f->invalid = f->too_long = f->unusable = f->edge_rows = 0;
}

int sl_replay_create(struct sl_replay **out, const struct sl_replay_sinks *sinks,
                     enum sl_replay_keeps keeps)
{
    struct sl_replay *f = calloc(1, sizeof(*f));

    if (!f)
        return -ENOMEM;
    f->sinks = *sinks;
    f->keeps = keeps;
    if (begin_rows(f) != 0 || (!sinks->found && sl_recorded_edges_create(&f->joined) != 0)) {
        sl_replay_destroy(f);
        return -ENOMEM;
    }
    *out = f;
    return 0;
}

void sl_replay_destroy(struct sl_replay *f)
{
    if (!f)
        return;
    forget_rows(f);
    sl_recorded_edges_destroy(f->joined);
    free(f);
}

/* ---- reading of the file ---- */

static int has_joined(const struct sl_replay *f)
{
    return f->joined && f->header.has_edges;
}

/* Adds the recorded edges of a row to the sort. Returns 0 or -errno of the temporary files. */
static int join_found(struct sl_replay *f, const struct sl_trace_row *row)
{
    struct sl_edge edge;
    struct sl_event ev;
    int rc = 0;

    for (size_t i = 0; i < row->edges && rc == 0; i++) {
        if (sl_edge_row_read(row, i, NULL, &edge) != 0) {
            f->unusable++;
            continue;
        }
        f->edge_rows++;
        ev = sl_recorded_edges_event(&edge);
        rc = sl_event_sort_put(f->events->by_correlation, &ev);
    }
    return rc;
}

static int has_found(const struct sl_replay *f)
{
    return f->sinks.found && f->header.has_edges;
}

static void give_edge(struct sl_replay *f, const struct sl_trace_row *row, size_t i)
{
    uint64_t missing = f->names.missing;
    struct sl_edge edge;

    if (sl_edge_row_read(row, i, &f->names, &edge) != 0) {
        f->unusable++;
        return;
    }
    f->edge_rows++;
    if (f->order == SL_REPLAY_NAMES_BEFORE && f->names.missing > missing && f->can_read_again)
        f->order = SL_REPLAY_NAMES_SOUGHT;
    if (f->order == SL_REPLAY_NAMES_SOUGHT || f->edge_rows <= f->given)
        return;
    f->given++;
    f->sinks.found(f->sinks.user, &edge);
}

static void give_found(struct sl_replay *f, const struct sl_trace_row *row)
{
    for (size_t i = 0; i < row->edges; i++)
        give_edge(f, row, i);
}

static void take_found(struct sl_replay *f, const struct sl_trace_row *row)
{
    struct sl_event ev;

    if (f->order == SL_REPLAY_NAMES_KNOWN) {
        /* The second pass notes calls again, because only the most recent calls are kept. It does
         * not note steps again, because all steps are known from the first pass. */
        if (row->category != SL_CAT_USER_ANNOTATION)
            sl_trace_events_note(f->events, row);
        if (f->sinks.event && sl_trace_events_operation(f->events, row, &ev) == 0)
            f->sinks.event(f->sinks.user, &ev);
        give_found(f, row);
        return;
    }
    if (row->is_edge_name)
        sl_edge_names_row(&f->names, row);
    sl_trace_events_note(f->events, row); /* noted now, because the rows of the call's edges
                                             follow */
    if (f->sinks.event && sl_trace_events_operation(f->events, row, &ev) == 0)
        f->sinks.event(f->sinks.user, &ev);
    give_found(f, row);
}

/* Reads the counts of edges that the job left out. */
static void read_lost(struct sl_replay *f)
{
    char name[64];

    for (int i = 0; i < SL_EDGE_LOST_COUNT; i++) {
        snprintf(name, sizeof(name), "edges_lost_%s", sl_edge_loss_name((enum sl_edge_loss)i));
        f->lost[i] = sl_header_counter(&f->header, name);
    }
}

static void take_field(void *user, const char *path, enum sl_json_type type, struct sl_text value)
{
    struct sl_replay *f = user;

    if (!f->is_second)
        sl_header_value(&f->header, path, type, value);
    if (f->collectives)
        sl_row_collectives_field(f->collectives, path, type, value);
}

static int take_item(struct sl_replay *f, struct sl_trace *t, struct sl_trace_item *item)
{
    int rc;

    if (item->status) {
        f->invalid += item->status == -EBADMSG;
        f->too_long += item->status == -EFBIG;
        return 0;
    }
    switch (item->span.kind) {
    case SL_SPAN_FIELD:
        sl_trace_visit(t, &item->span, take_field, f, &item->error);
        return 0;
    case SL_SPAN_EVENTS_OPEN:
        f->knew_whose = f->header.own_file;
        if (f->header.own_file)
            f->events->own = 1;
        return 0;
    case SL_SPAN_EVENT:
        if (!f->is_second)
            sl_trace_take_rank(t, item, &f->header);
        if (f->sinks.row)
            f->sinks.row(f->sinks.user, &item->row);
        if (has_found(f)) {
            take_found(f, &item->row);
            return 0;
        }
        rc = has_joined(f) ? join_found(f, &item->row) : 0;
        return rc ? rc : sl_trace_events_row(f->events, &item->row);
    default:
        return 0;
    }
}

/* Adds all rows to the sort. Returns 0 or -errno of the temporary files. */
static int read_all(struct sl_replay *f, struct sl_trace *t, const char *path)
{
    struct sl_trace_item *item;
    int rc = 0;

    sl_trace_get_status(t, &f->input);
    f->can_read_again = f->input.file_bytes != 0 && strcmp(path, "-") != 0;
    if (f->reads_twice && f->can_read_again && f->order == SL_REPLAY_NAMES_BEFORE)
        f->order = SL_REPLAY_NAMES_SOUGHT;
    sl_trace_show(t, "reading", path);
    while (sl_trace_next(t, &item) && rc == 0)
        rc = take_item(f, t, item);
    sl_trace_get_status(t, &f->input);
    f->last = item->span;
    return rc;
}

static int sort_failed(const char *path, int rc, char *why, size_t why_size)
{
    snprintf(why, why_size, "%s: sorting the events failed: %s%s", path, strerror(-rc),
             rc == -ENOSPC ? ": free some space, or name another place in TMPDIR" : "");
    return rc;
}

static int read_once(struct sl_replay *f, const char *path, char *why, size_t why_size)
{
    struct sl_trace *t = NULL;
    const char *strange;
    int rc = sl_trace_open(&t, path, why, why_size);

    if (rc)
        return rc;
    rc = read_all(f, t, path);
    strange = sl_trace_not_one(t, &f->last, &f->input);
    if (strange)
        snprintf(why, why_size,
                 strange == f->input.what
                     ? "%s is truncated or damaged: %s; nothing of it can be read"
                     : "%s is not a Kineto trace: %s",
                 path, strange);
    sl_trace_close(t); /* closed now, because the edge engine needs the memory */
    if (strange)
        return -EBADMSG;
    return rc ? sort_failed(path, rc, why, why_size) : 0;
}

/* Reads the file a second time. The header is known now, so the rows are treated as rows of a
 * syncline file. */
static int read_again(struct sl_replay *f, const char *path, char *why, size_t why_size)
{
    if (!f->can_read_again) {
        snprintf(why, why_size,
                 "%s must be read twice, which a pipe does not allow (its syncline header comes "
                 "after the events): pass the file's name",
                 path);
        return -ESPIPE;
    }
    forget_rows(f);
    f->is_second = 1;
    if (begin_rows(f) != 0) {
        snprintf(why, why_size, "not enough memory to read %s", path);
        return -ENOMEM;
    }
    return read_once(f, path, why, why_size);
}

/* Reads the file a second time for its edges, because all names are known now. */
static int read_edges(struct sl_replay *f, const char *path, char *why, size_t why_size)
{
    f->order = SL_REPLAY_NAMES_KNOWN;
    f->is_second = 1;
    f->invalid = f->too_long = f->unusable = f->edge_rows = f->names.missing = 0;
    return read_once(f, path, why, why_size);
}

int sl_replay_read(struct sl_replay *f, const char *path, char *why, size_t why_size)
{
    int rc = read_once(f, path, why, why_size);

    /* If the header or a name came after the rows that need it, another program has reordered the
     * file. The file is then read twice. */
    if (rc == 0 && f->header.own_file && !f->knew_whose)
        rc = read_again(f, path, why, why_size);
    if (rc == 0 && f->order == SL_REPLAY_NAMES_SOUGHT && has_found(f))
        rc = read_edges(f, path, why, why_size);
    if (rc)
        return rc;
    rc = sl_trace_events_end(f->events);
    /* The job itself decided about recorded edges. */
    if (rc == 0 && !f->header.has_edges)
        rc = sl_trace_events_fit_clock(f->events);
    return rc ? sort_failed(path, rc, why, why_size) : 0;
}

/* ---- passing of events to the engine and the sinks ---- */

struct run {
    struct sl_replay *feed;
    struct sl_edges *engine; /* the edge engine; NULL if the file has edges that the job recorded */
    struct sl_progress progress;
    uint64_t calls, events;
};

/* Passes on the rows that began by `until_ns`. Returns 0 or the sorter's error. */
static int give_rows(struct run *r, uint64_t until_ns)
{
    struct sl_event row;
    int rc;

    while ((rc = sl_trace_events_next_row(r->feed->events, until_ns, &row)) == 1)
        if (r->feed->sinks.event)
            r->feed->sinks.event(r->feed->sinks.user, &row);
    return rc;
}

/* Returns the time up to which rows and edges are complete. The rows are complete up to the start
 * of the current call (`start_ns`), but the edges may be complete only up to an earlier time. */
static uint64_t decided_before(const struct run *r, uint64_t start_ns)
{
    uint64_t decided_ns = r->engine ? sl_edges_decided_ns(r->engine) : start_ns;

    return (decided_ns < start_ns ? decided_ns : start_ns) - 1;
}

/* Keeps a row for the recorded edges that follow. Passes a recorded edge to the sink. Edges come in
 * the order in which their destinations were enqueued. */
static void give_joined(struct run *r, const struct sl_event *ev)
{
    struct sl_edge edge;

    if (ev->kind != SL_TRACE_EDGE) {
        sl_recorded_edges_row(r->feed->joined, ev);
        return;
    }
    edge = sl_recorded_edges_edge(r->feed->joined, ev);
    r->feed->sinks.edges(r->feed->sinks.user, &edge, 1);
}

static int give(struct run *r, const struct sl_event *ev)
{
    int is_call = ev->kind == SL_EV_RUNTIME || ev->kind == SL_EV_DRIVER;
    int rc = is_call ? give_rows(r, ev->start_ns) : 0;

    if (ev->kind == SL_EV_OVERHEAD) { /* only the engine uses it */
        if (r->engine)
            sl_edges_event(r->engine, ev);
        return rc;
    }
    /* A call is the first event with its correlation id, so all events with earlier ids have been
     * passed on. */
    if (is_call && ++r->calls % ENGINE_CALLS == 0) {
        if (r->engine)
            sl_edges_delivered(r->engine, ev->start_ns);
        if (r->feed->sinks.complete)
            r->feed->sinks.complete(r->feed->sinks.user, decided_before(r, ev->start_ns));
    }
    r->events++;
    if (sl_progress_is_due(&r->progress))
        sl_progress_step(&r->progress, r->events,
                         sl_event_sort_count(r->feed->events->by_correlation));
    if (r->engine)
        sl_edges_event(r->engine, ev);
    else
        give_joined(r, ev);
    if (r->feed->sinks.event && ev->kind != SL_TRACE_EDGE)
        r->feed->sinks.event(r->feed->sinks.user, ev);
    return rc;
}

/* Passes the contexts to the engine. The engine needs to know whether there are several contexts
 * before the first wait, because a wait without a row may then have been for another context. */
static void give_contexts(struct run *r)
{
    struct sl_event context;
    size_t at = 0;

    while (sl_trace_events_next_context(r->feed->events, &at, &context))
        sl_edges_event(r->engine, &context);
}

static int run_all(struct run *r)
{
    struct sl_event ev;
    int rc, failed = 0;

    if (r->engine && !r->feed->header.own_file)
        give_contexts(r);
    while (!failed && (rc = sl_trace_events_next(r->feed->events, &ev)) == 1)
        failed = give(r, &ev);
    if (!failed && rc == 0)
        failed = give_rows(r, UINT64_MAX);
    if (failed || rc)
        return failed ? failed : rc;
    if (r->engine)
        sl_edges_flush(r->engine);
    return 0;
}

/* Returns 1 if the file holds everything since its process first used a GPU. A syncline file states
 * that nothing was recorded outside of its window and that no wait was for earlier work. In another
 * file, the call with correlation id 1 shows it, because CUPTI numbers the calls of a process. */
static int has_everything(const struct sl_replay *f)
{
    const struct sl_header *h = &f->header;
    int told = 0;

    if (!h->own_file)
        return f->events->has_first_call;
    for (unsigned i = 0; i < h->counters; i++) {
        int is_outside = strcmp(h->counter[i].name, sl_stats_name(SL_STAT_OUTSIDE_WINDOW)) == 0;

        if (!is_outside &&
            strcmp(h->counter[i].name, sl_stats_name(SL_STAT_EDGES_LOST_BEFORE_WINDOW)) != 0)
            continue;
        if (h->counter[i].value)
            return 0;
        told += is_outside;
    }
    return told;
}

int sl_replay_run(struct sl_replay *f, const char *path, char *why, size_t why_size)
{
    struct sl_edges_options opt = {
        .cap_bytes = ENGINE_BYTES,
        .online = f->header.own_file,
        .foreign = !f->header.own_file,
        .clocks_apart = sl_clock_fit_is_apart(&f->events->clock),
        .recording_since_ns = has_everything(f) ? 0 : f->events->first_ns,
        .shapes = f->events->shapes,
        .sink = f->sinks.edges,
        .sink_user = f->sinks.user,
    };
    struct run r = {.feed = f};
    int rc;

    if (has_found(f)) {
        read_lost(f);
        return 0;
    }
    rc = has_joined(f) ? 0 : sl_edges_create(&r.engine, &opt);
    if (rc) {
        snprintf(why, why_size, "not enough memory to process %s", path);
        return rc;
    }
    sl_progress_begin(&r.progress, "finding what each wait waited for", "");
    rc = run_all(&r);
    sl_progress_end(&r.progress);
    for (int i = 0; r.engine && i < SL_EDGE_LOST_COUNT; i++)
        f->lost[i] = sl_edges_lost(r.engine, (enum sl_edge_loss)i);
    if (!r.engine)
        read_lost(f);
    sl_edges_destroy(r.engine);
    return rc ? sort_failed(path, rc, why, why_size) : 0;
}
