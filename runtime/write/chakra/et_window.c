/*
 * et_window.c - the Chakra file of each window.
 *
 * Threads, memory: see et_window.h.
 */
#include "write/chakra/et_window.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/pages.h"
#include "base/stats.h"
#include "write/chakra/et_comms.h"
#include "write/chakra/et_inputs.h"

#define SYNC_NS 1000000000u /* a killed process loses no more than this */

struct sl_et_window {
    struct sl_et_window_options opt;
    struct sl_chakra *chakra;
    struct sl_et_comms *comms;   /* NULL: nothing is known of collectives */
    struct sl_et_inputs *inputs; /* NULL: nothing is known of what operators were given */
    struct sl_sink *sink;        /* NULL: no file is open */
    struct sl_chakra_counts counted;
    uint32_t window;
    int excused; /* an error that need not be said */
    int unsaid;  /* one that is to be, if the other file does not fail by it too */
    uint64_t unsaid_ns;
    int unsynced;
    uint64_t unsynced_ns; /* since then, monotonic */
    int has_groups;
    size_t prefix; /* of the path, up to the rank */
    char path[PATH_MAX];
};

int sl_et_window_create(struct sl_et_window **out, const struct sl_et_window_options *opt)
{
    struct sl_et_window *e = sl_pages_map(sizeof(*e));
    int error;

    if (!e)
        return -ENOMEM;
    e->opt = *opt;
    /* A trace without what is known of collectives and inputs is better than none. */
    if (opt->details &&
        sl_et_comms_create(&e->comms, opt->chakra.intern, opt->details, opt->world_size) == 0) {
        e->opt.chakra.collective = sl_et_comms_find;
        e->opt.chakra.collective_user = e->comms;
    }
    if (opt->details && sl_et_inputs_create(&e->inputs, opt->details) == 0) {
        e->opt.chakra.more = sl_et_inputs_find;
        e->opt.chakra.more_user = e->inputs;
    }
    error = sl_chakra_create(&e->chakra, &e->opt.chakra);
    if (error) {
        sl_et_comms_destroy(e->comms);
        sl_et_inputs_destroy(e->inputs);
        sl_pages_unmap(e, sizeof(*e));
        return error;
    }
    *out = e;
    return 0;
}

void sl_et_window_destroy(struct sl_et_window *e)
{
    if (!e)
        return;
    sl_chakra_destroy(e->chakra);
    sl_et_comms_destroy(e->comms);
    sl_et_inputs_destroy(e->inputs);
    sl_pages_unmap(e, sizeof(*e));
}

int sl_et_window_is_open(const struct sl_et_window *e)
{
    return e->sink != NULL;
}

/* ---- files ---- */

/* A full disk stops both files of a window, this one first or last: one line is enough. */
static void note_failure(struct sl_et_window *e, int error)
{
    sl_stats_add(SL_STAT_CHAKRA_FAILED, 1);
    e->unsaid = error == e->excused ? 0 : error;
    e->unsaid_ns = sl_clock_monotonic();
}

void sl_et_window_excuse(struct sl_et_window *e, int error)
{
    e->excused = error;
    if (e->unsaid == error)
        e->unsaid = 0;
}

static void say_failure(struct sl_et_window *e)
{
    char text[128];

    sl_log(SL_LOG_ERROR,
           "cannot write %s: %s; the rest of window %u's execution trace is lost, the job is not "
           "affected; free some space, set SYNCLINE_OUTPUT to another folder, or SYNCLINE_CHAKRA "
           "to off",
           e->path, strerror_r(-e->unsaid, text, sizeof(text)), e->window);
    e->unsaid = 0;
}

static int open_chain(struct sl_et_window *e)
{
    struct sl_sink *file;
    int error = sl_sink_file_open(&file, e->path);

    if (error)
        return error;
    error = sl_sink_compress_open(&e->sink, file, e->opt.compression, 1);
    if (error)
        file->close(file, 0);
    return error;
}

/* Behind the prefix. */
static void put_end(struct sl_et_window *e, int rank, const char *suffix)
{
    if (e->prefix < sizeof(e->path))
        snprintf(e->path + e->prefix, sizeof(e->path) - e->prefix, ".%d.et%s", rank, suffix);
}

void sl_et_window_open(struct sl_et_window *e, const struct sl_trace_meta *meta)
{
    const char *suffix = e->opt.compression == SL_COMPRESS_GZIP   ? ".gz"
                         : e->opt.compression == SL_COMPRESS_ZSTD ? ".zst"
                                                                  : "";
    int error;

    e->window = meta->window;
    e->unsynced = 0;
    memset(&e->counted, 0, sizeof(e->counted));
    e->prefix = (size_t)snprintf(e->path, sizeof(e->path), "%s/%u", e->opt.folder, meta->window);
    put_end(e, meta->rank, suffix);
    error = open_chain(e);
    if (error == -EEXIST) {
        /* As the Kineto file beside it. */
        e->prefix = (size_t)snprintf(e->path, sizeof(e->path), "%s/%u-%llu", e->opt.folder,
                                     meta->window, (unsigned long long)meta->opened_ns);
        put_end(e, meta->rank, suffix);
        error = open_chain(e);
    }
    if (error) {
        e->sink = NULL;
        note_failure(e, error);
        return;
    }
    sl_chakra_begin(e->chakra, e->sink, meta);
}

static void close_file(struct sl_et_window *e, int complete)
{
    int error = e->sink->close(e->sink, complete);

    e->sink = NULL;
    if (error && complete)
        note_failure(e, error);
    else if (complete)
        sl_log(SL_LOG_DEBUG, "wrote %s", e->path);
}

static void fail(struct sl_et_window *e, int error)
{
    note_failure(e, error);
    sl_chakra_end(e->chakra);
    close_file(e, 0);
}

/* ---- counters ---- */

static uint64_t edges_left_out(const struct sl_chakra_counts *c)
{
    return c->edges_no_source + c->edges_no_destination + c->edges_cycle + c->edges_full;
}

static uint64_t rows_left_out(const struct sl_chakra_counts *c)
{
    return c->rows_late + c->rows_full + c->rows_invalid;
}

static void count_nodes(struct sl_et_window *e)
{
    const struct sl_chakra_counts was = e->counted;
    struct sl_chakra_counts now;

    sl_chakra_get_counts(e->chakra, &now);
    sl_stats_add(SL_STAT_CHAKRA_NODES, now.nodes - was.nodes);
    sl_stats_add(SL_STAT_CHAKRA_EDGES, now.edges - was.edges);
    sl_stats_add(SL_STAT_CHAKRA_EDGES_LEFT_OUT, edges_left_out(&now) - edges_left_out(&was));
    sl_stats_add(SL_STAT_CHAKRA_ROWS_LEFT_OUT, rows_left_out(&now) - rows_left_out(&was));
    sl_stats_add(SL_STAT_CHAKRA_UNEXPLAINED, now.unexplained - was.unexplained);
    sl_stats_add(SL_STAT_CHAKRA_NO_LAUNCH, now.gpu_without_launch - was.gpu_without_launch);
    sl_stats_add(SL_STAT_CHAKRA_COMM_UNKNOWN, now.comm_unknown - was.comm_unknown);
    sl_stats_add(SL_STAT_CHAKRA_CALLERS_UNKNOWN, now.callers_unknown - was.callers_unknown);
    sl_stats_add(SL_STAT_CHAKRA_FORCED, now.forced - was.forced);
    sl_stats_add(SL_STAT_CHAKRA_LANES_FORGOTTEN, now.lanes_forgotten - was.lanes_forgotten);
    e->counted = now;
}

/* ---- groups of ranks ---- */

static void take_group(void *et_window, uint32_t number, const uint32_t *rank, size_t ranks)
{
    struct sl_et_window *e = et_window;

    if (sl_chakra_group(e->chakra, number, rank, ranks) == 0)
        e->has_groups = 1;
}

static void see_collectives(struct sl_et_window *e, const struct sl_event *ev, size_t events)
{
    for (size_t i = 0; e->comms && i < events; i++)
        if ((ev[i].kind == SL_EV_RUNTIME || ev[i].kind == SL_EV_DRIVER) &&
            sl_et_comms_call(e->comms, &ev[i]))
            sl_et_comms_groups(e->comms, take_group, e);
}

static void write_groups(struct sl_et_window *e)
{
    char path[PATH_MAX];
    struct sl_sink *file;
    int error, closed;

    if (!e->has_groups || e->prefix >= sizeof(path))
        return;
    snprintf(path, sizeof(path), "%.*s.comm_groups.json", (int)e->prefix, e->path);
    error = sl_sink_file_open(&file, path);
    if (!error) {
        error = sl_chakra_put_groups(e->chakra, file);
        closed = file->close(file, error == 0);
        error = error ? error : closed;
    }
    if (error)
        note_failure(e, error);
}

/* ---- what comes ---- */

void sl_et_window_events(struct sl_et_window *e, const struct sl_event *ev, size_t events)
{
    int error;

    see_collectives(e, ev, events);
    error = e->sink ? sl_chakra_events(e->chakra, ev, events) : 0;

    if (error)
        fail(e, error);
}

void sl_et_window_edges(struct sl_et_window *e, const struct sl_edge *edge, size_t edges)
{
    int error = e->sink ? sl_chakra_edges(e->chakra, edge, edges) : 0;

    if (error)
        fail(e, error);
}

void sl_et_window_complete(struct sl_et_window *e, uint64_t complete_ns)
{
    uint64_t nodes = e->counted.nodes;
    int error;

    if (!e->sink)
        return;
    error = sl_chakra_advance(e->chakra, complete_ns);
    count_nodes(e);
    if (error) {
        fail(e, error);
    } else if (!e->unsynced && e->counted.nodes > nodes) {
        e->unsynced = 1;
        e->unsynced_ns = sl_clock_monotonic();
    }
}

uint64_t sl_et_window_sync(struct sl_et_window *e)
{
    uint64_t age;
    int error;

    if (e->unsaid) {
        age = sl_clock_monotonic() - e->unsaid_ns;
        if (age < SYNC_NS)
            return SYNC_NS - age;
        say_failure(e);
    }
    if (!e->sink || !e->unsynced)
        return UINT64_MAX;
    age = sl_clock_monotonic() - e->unsynced_ns;
    if (age < SYNC_NS)
        return SYNC_NS - age;
    e->unsynced = 0;
    error = sl_chakra_flush(e->chakra);
    if (!error)
        error = e->sink->sync(e->sink);
    if (error)
        fail(e, error);
    return UINT64_MAX;
}

void sl_et_window_close(struct sl_et_window *e)
{
    int error;

    if (e->sink) {
        error = sl_chakra_end(e->chakra);
        count_nodes(e);
        if (error)
            note_failure(e, error);
        close_file(e, error == 0);
        write_groups(e);
    }
}

void sl_et_window_end(struct sl_et_window *e)
{
    if (e->unsaid)
        say_failure(e);
}
