/*
 * list.c - lists the edges of each file, or the edges with the longest waits of all files.
 *
 * Threads, memory: see edges.h.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "edges/edges.h"
#include "edges/print.h"
#include "edges/recent_ops.h"
#include "print/format.h"
#include "print/top.h"

struct list {
    const struct sl_edges_request *request;
    struct sl_replay *feed;
    const char *path;             /* named with each edge; NULL if there is one file */
    struct sl_recent_ops *recent; /* gives operations that waited their times */
    uint64_t begin_ns;            /* start of the trace; 0 until the first edge is printed */
    uint64_t edges, shown;        /* of the file; with --top, of all files */
    uint64_t lost[SL_EDGE_LOST_COUNT];
    struct sl_top top;
    char **
        kept; /* texts of the longest waits, in the slots of `top`; NULL: all are printed at once */
    int failed; /* 1: there was no memory for an edge */
};

static struct sl_edge_where where(struct list *l, const struct sl_edge *edge)
{
    struct sl_trace_events *t = l->feed->events;
    struct sl_edge_where where = sl_edges_where(t, edge);
    const struct sl_recent_op *op =
        edge->at_start && !where.at_ns ? sl_recent_ops_find(l->recent, &edge->dst_op) : NULL;

    if (op)
        where.at_ns = op->start_ns;
    if (l->feed->reads_twice && where.call_ns)
        where.step = sl_trace_events_step(t, where.call_ns);
    return where;
}

static void print(struct list *l, FILE *f, const struct sl_edge *edge, struct sl_edge_where *where)
{
    const struct sl_trace_events *t = l->feed->events;

    if (!l->begin_ns)
        l->begin_ns = t->first_slice_ns;
    where->begin_ns = l->begin_ns;
    if (l->request->is_json)
        sl_edges_print_json(f, l->path, t, edge, where);
    else
        sl_edges_print_text(f, t, edge, where);
}

static void keep(struct list *l, const struct sl_edge *edge, struct sl_edge_where *where)
{
    size_t slot = sl_top_put(&l->top, edge->wait_ns), size;
    FILE *f;

    if (slot == SL_TOP_NONE)
        return;
    free(l->kept[slot]);
    l->kept[slot] = NULL;
    f = open_memstream(&l->kept[slot], &size);
    if (!f) {
        l->failed = 1;
        return;
    }
    print(l, f, edge, where);
    if (l->path && !l->request->is_json)
        sl_edges_print_file(f, l->path);
    l->failed |= fclose(f) != 0;
}

static void show_one(struct list *l, const struct sl_edge *edge)
{
    const struct sl_edges_request *r = l->request;
    struct sl_edge_where at;

    l->edges++;
    if (edge->wait_ns < r->filter.min_wait_ns)
        return;
    at = where(l, edge);
    if (!sl_edge_filter_has(&r->filter, l->feed->events->names, edge, &at))
        return;
    l->shown++;
    if (l->kept) {
        keep(l, edge, &at);
        return;
    }
    if (l->shown == 1 && !r->is_json)
        sl_edges_print_title(stdout);
    print(l, stdout, edge, &at);
}

static void show(void *user, const struct sl_edge *edges, size_t count)
{
    for (size_t i = 0; i < count; i++)
        show_one(user, &edges[i]);
}

static void show_found(void *user, const struct sl_edge *edge)
{
    show_one(user, edge);
}

static void keep_event(void *user, const struct sl_event *ev)
{
    struct list *l = user;

    if (l->feed->header.has_edges) /* other edges have times */
        sl_recent_ops_add(l->recent, ev);
}

static void print_end(const struct list *l)
{
    char lost[512], count[SL_FORMAT_SIZE];
    int any = sl_format_losses(lost, sizeof(lost), l->lost);

    if (l->request->is_json) {
        if (any)
            sl_args_complain(l->request->command, "edges left out: %s", lost);
        return;
    }
    printf("%s%s edges", l->shown ? "\n" : "", sl_format_count(count, l->edges));
    if (l->shown != l->edges || l->kept)
        printf(", %s of them %s", sl_format_count(count, l->shown), l->kept ? "selected" : "shown");
    if (l->kept && l->top.count < l->shown)
        printf(", the %s longest shown", sl_format_count(count, l->top.count));
    printf("%s%s\n", any ? "; left out: " : "", lost);
}

/* A pipe cannot be read twice, so the steps of recorded edges stay unknown. */
static int steps_are_unknown(const struct list *l, const char *path)
{
    const struct sl_replay *f = l->feed;

    if (!f->header.has_edges || f->order == SL_REPLAY_NAMES_KNOWN || !f->events->steps)
        return 0;
    if (!l->request->filter.has_steps) {
        sl_args_complain(l->request->command,
                         "%s: the steps of its edges are not known, because a pipe cannot be read "
                         "twice: pass the file's name",
                         path);
        return 0;
    }
    return sl_args_complain(l->request->command,
                            "%s: --step needs a file that can be read twice, not a pipe: pass the "
                            "file's name",
                            path);
}

/* Returns the exit status. */
static int read_file(struct list *l, const char *path)
{
    const struct sl_edges_request *r = l->request;
    const struct sl_replay_sinks sinks = {
        .found = show_found, .edges = show, .event = keep_event, .user = l};
    int status;

    l->begin_ns = 0;
    if (sl_replay_create(&l->feed, &sinks, SL_REPLAY_EVENTS) != 0 ||
        sl_recent_ops_create(&l->recent) != 0) {
        status = sl_args_complain(r->command, "not enough memory to read %s", path);
    } else {
        l->feed->reads_twice = r->is_json || r->filter.has_steps;
        status = sl_edges_read(r, l->feed, path);
        if (!status && l->feed->reads_twice)
            status = steps_are_unknown(l, path);
        if (!status) {
            for (int i = 0; i < SL_EDGE_LOST_COUNT; i++)
                l->lost[i] += l->feed->lost[i];
            if (!l->kept)
                print_end(l);
            status = sl_replay_tell(l->feed, r->command, path, "the edges are");
        }
    }
    sl_recent_ops_destroy(l->recent);
    sl_replay_destroy(l->feed);
    l->recent = NULL;
    l->feed = NULL;
    return status;
}

static void print_longest(struct list *l)
{
    sl_top_sort(&l->top);
    if (l->top.count && !l->request->is_json)
        sl_edges_print_title(stdout);
    for (size_t i = 0; i < l->top.count; i++) {
        char *text = l->kept[l->top.item[i].slot];

        if (text)
            fputs(text, stdout);
        free(text);
    }
    print_end(l);
}

int sl_edges_list(const struct sl_edges_request *r, char *const *paths, size_t count)
{
    struct list l = {.request = r};
    int worst = SL_EXIT_OK;

    if (r->top) {
        l.kept = calloc(r->top, sizeof(*l.kept));
        l.failed = sl_top_create(&l.top, r->top) != 0 || !l.kept;
    }
    for (size_t i = 0; i < count && !l.failed; i++) {
        int status;

        l.path = count > 1 ? paths[i] : NULL;
        if (!l.kept) {
            l.edges = l.shown = 0;
            memset(l.lost, 0, sizeof(l.lost));
            if (l.path && !r->is_json)
                printf("%s%s:\n", i ? "\n" : "", l.path);
        }
        status = read_file(&l, paths[i]);
        worst = status > worst ? status : worst;
    }
    if (l.kept)
        print_longest(&l);
    if (l.failed)
        worst = sl_args_complain(r->command, "not enough memory for the longest waits");
    free(l.kept);
    sl_top_free(&l.top);
    return worst;
}
