/*
 * cmd_edges.c - `syncline edges`: shows the GPU operation that released each wait, and the time
 * waited.
 *
 * The command reads each trace once. Edges that the job recorded are printed in the order of the
 * file. If the file has no recorded edges, the command passes the rows to the edge engine in order
 * of enqueue, as a running job passes its events.
 *
 * Threads: main; a helper thread decompresses. Memory: at most 256 MiB for a file of any size
 * (replay/replay.h, edge_summary.h).
 */
#include <inttypes.h>
#include <string.h>

#include "command.h"
#include "edges/edge_summary.h"
#include "edges/print.h"
#include "edges/wait_blame.h"
#include "print/format.h"
#include "read/job_files.h"
#include "replay/replay.h"

enum {
    OPT_JSON,
    OPT_KIND,
    OPT_MIN_WAIT,
    OPT_SUMMARY,
    OPT_RUN
};

static const struct sl_flag options[] = {
    [OPT_JSON] = {"json", 0, NULL, "print one JSON object per edge, for programs"},
    [OPT_KIND] = {"kind", 'k', "KIND", "only edges of this kind"},
    [OPT_MIN_WAIT] = {"min-wait", 'm', "NS", "only waits of at least NS nanoseconds"},
    [OPT_SUMMARY] = {"summary", 's', NULL,
                     "totals by line of code, kind, GPU operation, operator or range, and step"},
    [OPT_RUN] = SL_JOB_FILES_RUN,
    {NULL, 0, NULL, NULL},
};

struct request {
    const struct sl_command *command;
    const char *input;
    int is_one; /* 1: the input is the only file, and is not named in the output */
    int json, summary;
    int kind; /* kind of the edges to show (enum sl_edge_kind), or -1 for all kinds */
    uint64_t min_wait_ns;
};

struct work {
    const struct request *request;
    struct sl_replay *feed;
    struct sl_edge_summary *summary; /* NULL if edges are printed one by one */
    struct sl_wait_blame *spent;     /* not NULL if `summary` is not NULL */
    /* the wait whose recorded edges are being read, if has_wait is 1 */
    struct sl_edge_long wait;
    int has_wait;
    uint64_t edges, shown;
};

static int is_wanted(const struct request *r, const struct sl_edge *edge)
{
    return (r->kind < 0 || edge->kind == r->kind) && edge->wait_ns >= r->min_wait_ns;
}

static struct sl_edge_where where(const struct work *w, const struct sl_edge *edge)
{
    const struct sl_trace_call *call = sl_trace_events_call(w->feed->events, edge->dst_correlation);
    struct sl_edge_where where = {.who = edge->at_start ? edge->dst_op.name : edge->dst_name,
                                  .spent_on = sl_wait_blame_on(w->spent, edge)};

    if (call) {
        where.place = call->place;
        where.line = call->line;
        where.step = call->step;
    }
    return where;
}

static uint32_t step_at(void *user, uint64_t ns)
{
    const struct work *w = user;

    return sl_trace_events_step(w->feed->events, ns);
}

/* Returns 1 if a summary should count a wait under `edge` rather than under `other`. Both are edges
 * of the wait. The edge that released the wait comes first. If no edge is known to have released
 * the wait, the edge with the longest wait comes first. */
static int stands_before(const struct sl_edge *edge, const struct sl_edge *other)
{
    return edge->released || (!other->released && edge->wait_ns > other->wait_ns);
}

static const struct sl_edge *releasing(const struct sl_edge *edges, size_t count)
{
    const struct sl_edge *best = edges;

    for (size_t i = 1; i < count; i++)
        if (stands_before(&edges[i], best))
            best = &edges[i];
    return best;
}

static void print(const struct work *w, const struct sl_edge *edge, int is_first)
{
    const struct request *r = w->request;

    if (is_first && !r->json)
        sl_edges_print_title(stdout);
    if (r->json)
        sl_edges_print_json(stdout, r->is_one ? NULL : r->input, w->feed->events, edge);
    else
        sl_edges_print_text(stdout, w->feed->events, edge);
}

/* With --summary, keeps a GPU operation, because a later wait may have spent its time waiting for
 * this operation. */
static void keep_event(void *user, const struct sl_event *ev)
{
    sl_wait_blame_event(((struct work *)user)->spent, ev);
}

static void show_one(struct work *w, const struct sl_edge *edge)
{
    int wanted = is_wanted(w->request, edge);

    w->edges++;
    w->shown += (uint64_t)wanted;
    if (w->spent)
        sl_wait_blame_edge(w->spent, edge);
    if (wanted && !w->summary)
        print(w, edge, w->shown == 1);
}

static void show(void *user, const struct sl_edge *edges, size_t count)
{
    struct work *w = user;

    if (w->summary && count) {
        const struct sl_edge *edge = releasing(edges, count);
        const struct sl_edge_where place = where(w, edge);

        if (is_wanted(w->request, edge))
            sl_edge_summary_add(w->summary, edge, &place);
    }
    for (size_t i = 0; i < count; i++)
        show_one(w, &edges[i]);
}

/* Returns 1 if both edges are of one wait. The recorded edges of a wait follow each other. */
static int are_of_one_wait(const struct sl_edge *a, const struct sl_edge *b)
{
    return a->dst_correlation == b->dst_correlation && a->at_start == b->at_start &&
           (!a->at_start ||
            (a->dst_op.graph_node == b->dst_op.graph_node && a->dst_op.stream == b->dst_op.stream));
}

static void end_wait(struct work *w)
{
    if (w->has_wait && is_wanted(w->request, &w->wait.edge))
        sl_edge_summary_add(w->summary, &w->wait.edge, &w->wait.where);
    w->has_wait = 0;
}

/* Shows a recorded edge. For a summary, keeps the edge that stands for its wait. */
static void show_found(void *user, const struct sl_edge *edge)
{
    struct work *w = user;
    const struct sl_trace_call *call;

    show_one(w, edge);
    if (!w->summary)
        return;
    if (w->has_wait && are_of_one_wait(edge, &w->wait.edge)) {
        if (!stands_before(edge, &w->wait.edge))
            return;
    } else {
        end_wait(w);
    }
    call = sl_trace_events_call(w->feed->events, edge->dst_correlation);
    w->wait = (struct sl_edge_long){*edge, where(w, edge)};
    w->wait.where.later_ns = call ? call->start_ns : 0;
    w->has_wait = 1;
}

static void print_end(struct work *w)
{
    const struct request *r = w->request;
    char lost[512], count[SL_FORMAT_SIZE];
    int any = sl_format_losses(lost, sizeof(lost), w->feed->lost);

    if (w->summary) {
        end_wait(w);
        sl_edge_summary_end(w->summary);
    }

    if (r->summary && r->json) {
        sl_edges_print_summary_json(stdout, r->is_one ? NULL : r->input, w->feed->events,
                                    w->summary, w->feed->lost);
    } else if (r->json) {
        if (any)
            sl_args_complain(r->command, "edges left out: %s", lost);
    } else {
        if (w->summary)
            sl_edges_print_summary_text(stdout, w->feed->events, w->summary);
        printf("%s%s edges", w->summary || w->shown ? "\n" : "", sl_format_count(count, w->edges));
        if (w->shown != w->edges)
            printf(", %s of them shown", sl_format_count(count, w->shown));
        printf("%s%s\n", any ? "; left out: " : "", lost);
    }
}

static int analyse(struct work *w)
{
    const struct request *r = w->request;
    char why[512];

    if (sl_replay_read(w->feed, r->input, why, sizeof(why)) != 0 ||
        sl_replay_run(w->feed, r->input, why, sizeof(why)) != 0)
        return sl_args_complain(r->command, "%s", why);
    print_end(w);
    return sl_replay_tell(w->feed, r->command, r->input, "the edges are");
}

static int find_kind(const struct sl_command *self, const char *name)
{
    const char *names[SL_EDGE_KIND_COUNT];

    for (int i = 0; i < SL_EDGE_KIND_COUNT; i++) {
        names[i] = sl_edge_kind_name((enum sl_edge_kind)i);
        if (strcmp(name, names[i]) == 0)
            return i;
    }
    sl_args_unknown(self, "kind", name, names, SL_EDGE_KIND_COUNT, "see `syncline edges --help`");
    return -1;
}

/* Prints the edges of one file. Returns the exit status. */
static int print_file(const struct request *r)
{
    struct work w = {.request = r};
    const struct sl_replay_sinks sinks = {
        .found = show_found, .edges = show, .event = r->summary ? keep_event : NULL, .user = &w};
    int status;

    if (sl_replay_create(&w.feed, &sinks, SL_REPLAY_EVENTS) == 0 &&
        (!r->summary || (sl_edge_summary_create(&w.summary, step_at, &w) == 0 &&
                         sl_wait_blame_create(&w.spent) == 0))) {
        status = analyse(&w);
    } else {
        status = sl_args_complain(r->command, "not enough memory to read %s", r->input);
    }
    sl_wait_blame_destroy(w.spent);
    sl_edge_summary_destroy(w.summary);
    sl_replay_destroy(w.feed);
    return status;
}

static int run(const struct sl_args *args)
{
    const char *const *value = args->value;
    struct request r = {.command = args->command,
                        .json = value[OPT_JSON] != NULL,
                        .summary = value[OPT_SUMMARY] != NULL,
                        .kind = -1};
    struct sl_job_files files;
    int worst;

    if (value[OPT_KIND] && (r.kind = find_kind(r.command, value[OPT_KIND])) < 0)
        return SL_EXIT_USAGE;
    if (value[OPT_MIN_WAIT] && sl_args_number(value[OPT_MIN_WAIT], UINT64_MAX, &r.min_wait_ns) != 0)
        return sl_args_complain(r.command,
                                "--min-wait %s is not valid: give a number of nanoseconds",
                                value[OPT_MIN_WAIT]);
    if (args->operands == 0)
        return sl_args_complain(r.command, "PATH is missing: syncline %s", r.command->usage);
    worst = sl_job_files_find(&files, args, value[OPT_RUN], 0);
    r.is_one = files.count == 1;
    for (size_t i = 0; i < files.count; i++) {
        int status;

        r.input = files.path[i];
        if (!r.is_one && !r.json)
            printf("%s%s:\n", i ? "\n" : "", r.input);
        status = print_file(&r);
        if (status > worst)
            worst = status;
    }
    sl_job_files_free(&files);
    return worst;
}

const struct sl_command sl_cmd_edges = {
    .name = "edges",
    .summary = "which GPU operation did each wait wait for, and how long?",
    .usage = "edges PATH... [options]",
    .help = sl_help_edges,
    .options = options,
    .operands_max = SL_ARGS_ANY,
    .run = run,
};
