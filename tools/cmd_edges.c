/*
 * cmd_edges.c - `syncline edges`: which GPU operation released each wait, and how long was waited?
 *
 * The trace is read once. Where the job has found its edges itself, they are printed as they come;
 * else rows go, in the order of enqueue, through the engine that would have found them there.
 *
 * Threads: main; reading has a helper thread. Memory: see feed.h, edge_summary.h: at most 256 MiB,
 * whatever the file.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/edge_summary.h"
#include "analyze/feed.h"
#include "analyze/spent.h"
#include "command.h"
#include "print/edges.h"
#include "print/format.h"

enum {
    OPT_JSON,
    OPT_KIND,
    OPT_MIN_WAIT,
    OPT_SUMMARY,
    OPT_HELP
};

static const struct sl_flag options[] = {
    [OPT_JSON] = {"json", 0, NULL, "print one JSON object per edge, for programs"},
    [OPT_KIND] = {"kind", 'k', "KIND", "only edges of this kind"},
    [OPT_MIN_WAIT] = {"min-wait", 'm', "NS", "only edges waited for at least so long"},
    [OPT_SUMMARY] = {"summary", 's', NULL, "totals by line of code, kind, source, place, step"},
    [OPT_HELP] = {"help", 'h', NULL, "this text"},
    {NULL, 0, NULL, NULL},
};

struct request {
    const struct sl_command *command;
    const char *input;
    int json, summary;
    int kind; /* enum sl_edge_kind, or -1: all */
    uint64_t min_wait_ns;
};

struct work {
    const struct request *request;
    struct sl_feed *feed;
    struct sl_edge_summary *summary; /* NULL: edges are printed */
    struct sl_spent *spent;          /* with it */
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
                                  .spent_on = sl_spent_on(w->spent, edge)};

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

/* The edge that released the wait, or was waited for longest. */
static const struct sl_edge *releasing(const struct sl_edge *edges, size_t count)
{
    const struct sl_edge *best = edges;

    for (size_t i = 1; i < count; i++) {
        if (edges[i].released || (!best->released && edges[i].wait_ns > best->wait_ns))
            best = &edges[i];
    }
    return best;
}

static void print(struct work *w, const struct sl_edge *edge)
{
    if (w->request->json) {
        sl_edges_print_json(stdout, w->feed->events, edge);
        return;
    }
    if (w->shown == 0)
        sl_edges_print_title(stdout);
    sl_edges_print_text(stdout, w->feed->events, edge);
}

/* With a summary: a row that may be what a wait's time was spent on. */
static void keep_event(void *user, const struct sl_event *ev)
{
    sl_spent_event(((struct work *)user)->spent, ev);
}

static void show(void *user, const struct sl_edge *edges, size_t count)
{
    struct work *w = user;

    w->edges += count;
    if (w->summary && count) {
        const struct sl_edge *edge = releasing(edges, count);
        const struct sl_edge_where place = where(w, edge);

        if (is_wanted(w->request, edge))
            sl_edge_summary_add(w->summary, edge, &place);
    }
    for (size_t i = 0; i < count; i++) {
        if (w->spent)
            sl_spent_edge(w->spent, &edges[i]);
        if (!is_wanted(w->request, &edges[i]))
            continue;
        if (!w->summary)
            print(w, &edges[i]);
        w->shown++;
    }
}

/* One edge as the job found it: of those of a wait one released it. */
static void show_found(void *user, const struct sl_edge *edge)
{
    struct work *w = user;

    w->edges++;
    if (w->spent)
        sl_spent_edge(w->spent, edge);
    if (!is_wanted(w->request, edge))
        return;
    if (w->summary && edge->released) {
        const struct sl_trace_call *call =
            sl_trace_events_call(w->feed->events, edge->dst_correlation);
        struct sl_edge_where place = where(w, edge);

        place.later_ns = call ? call->start_ns : 0;
        sl_edge_summary_add(w->summary, edge, &place);
    }
    if (!w->summary)
        print(w, edge);
    w->shown++;
}

static void print_end(const struct work *w)
{
    const struct request *r = w->request;
    char lost[512], count[SL_FORMAT_SIZE];
    int any = sl_edges_print_lost(lost, sizeof(lost), w->feed->lost);

    if (w->summary)
        sl_edge_summary_end(w->summary);

    if (r->summary && r->json) {
        sl_edges_print_summary_json(stdout, w->feed->events, w->summary, w->feed->lost);
    } else if (r->json) {
        if (any)
            sl_args_complain(r->command, "edges left out: %s", lost);
    } else {
        if (w->summary)
            sl_edges_print_summary_text(stdout, w->feed->events, w->summary);
        printf("%s%s edges", w->summary || w->shown ? "\n" : "", sl_format_count(count, w->edges));
        if (w->shown != w->edges)
            printf(", %s of them as asked for", sl_format_count(count, w->shown));
        printf("%s%s\n", any ? "; left out: " : "", lost);
    }
}

static int analyse(struct work *w)
{
    const struct request *r = w->request;
    const struct sl_feed_sinks sinks = {
        .edges = show, .event = w->spent ? keep_event : NULL, .user = w};
    char why[512];

    sl_feed_take_found(w->feed, show_found, sinks.event, w);
    if (sl_feed_read(w->feed, r->input, why, sizeof(why)) != 0 ||
        sl_feed_run(w->feed, r->input, &sinks, why, sizeof(why)) != 0) {
        sl_args_complain(r->command, "%s", why);
        return SL_EXIT_USAGE;
    }
    print_end(w);
    return sl_feed_tell(w->feed, r->command, r->input, "the edges are");
}

static int find_kind(const struct sl_command *self, const char *name)
{
    const char *names[SL_EDGE_KIND_COUNT];
    const char *nearest;

    for (int i = 0; i < SL_EDGE_KIND_COUNT; i++) {
        names[i] = sl_edge_kind_name((enum sl_edge_kind)i);
        if (strcmp(name, names[i]) == 0)
            return i;
    }
    nearest = sl_args_nearest(name, names, SL_EDGE_KIND_COUNT);
    sl_args_complain(self, "no kind '%s'%s%s%s: see `syncline edges --help`", name,
                     nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
    return -1;
}

/* 0 or -EINVAL after a line on stderr. */
static int set_min_wait(struct request *r, const char *text)
{
    char *end;

    errno = 0;
    r->min_wait_ns = strtoull(text, &end, 10);
    if (isdigit((unsigned char)text[0]) && *end == '\0' && errno == 0)
        return 0;
    sl_args_complain(r->command, "--min-wait %s: name a number of nanoseconds", text);
    return -EINVAL;
}

/* Fills the request. 0, SL_EXIT_USAGE after a line on stderr, or -1: help was printed. */
static int parse(struct request *r, int argc, char **argv)
{
    struct sl_args args;
    int option;

    sl_args_begin(&args, r->command, argc, argv);
    while ((option = sl_args_next(&args)) != SL_ARGS_END) {
        switch (option) {
        case OPT_JSON:
            r->json = 1;
            break;
        case OPT_SUMMARY:
            r->summary = 1;
            break;
        case OPT_KIND:
            r->kind = find_kind(r->command, args.value);
            if (r->kind < 0)
                return SL_EXIT_USAGE;
            break;
        case OPT_MIN_WAIT:
            if (set_min_wait(r, args.value) != 0)
                return SL_EXIT_USAGE;
            break;
        case OPT_HELP:
            sl_args_print_help(r->command, stdout);
            return -1;
        case SL_ARGS_OPERAND:
            if (sl_args_take_file(&args, &r->input))
                return SL_EXIT_USAGE;
            break;
        default:
            return SL_EXIT_USAGE;
        }
    }
    if (!r->input) {
        sl_args_complain(r->command, "FILE is missing: syncline %s", r->command->usage);
        return SL_EXIT_USAGE;
    }
    return 0;
}

static int run(const struct sl_command *self, int argc, char **argv)
{
    struct request r = {.command = self, .kind = -1};
    struct work w = {.request = &r};
    int status = parse(&r, argc, argv);

    if (status)
        return status < 0 ? SL_EXIT_OK : status;
    if (sl_feed_create(&w.feed) == 0 &&
        (!r.summary || (sl_edge_summary_create(&w.summary, step_at, &w) == 0 &&
                        sl_spent_create(&w.spent) == 0))) {
        status = analyse(&w);
    } else {
        sl_args_complain(self, "not enough memory to read %s", r.input);
        status = SL_EXIT_USAGE;
    }
    sl_spent_destroy(w.spent);
    sl_edge_summary_destroy(w.summary);
    sl_feed_destroy(w.feed);
    return status;
}

const struct sl_command sl_cmd_edges = {
    .name = "edges",
    .summary = "which GPU operation released each wait, and how long was waited?",
    .usage = "edges FILE [options]",
    .about =
        "Reads a Kineto trace (plain, gzip or zstd; - is standard input), torch.profiler's or\n"
        "syncline's, and prints its edges: each says that a call, or a GPU operation, could not "
        "go\n"
        "on before another GPU operation had ended, how long was waited for that (0: it had ended\n"
        "before), and how long it took to go on after that.\n"
        "\n"
        "Kinds: device_sync, context_sync, stream_sync, event_sync, event_query, stream_query, "
        "copy,\n"
        "memset, free, alloc, stream_wait, legacy_default, graph, implicit. An edge is exact (it\n"
        "follows from the order of enqueue), overlapping (enqueue and wait overlapped) or "
        "inferred\n"
        "(from times, where no record says it). What cannot be known is left out and counted by\n"
        "reason.\n"
        "\n"
        "The summary counts each wait once. Where it ended with a copy (.item(), .cpu()) but the\n"
        "GPU ran kernels before that for longer, it names the last of these.\n"
        "\n"
        "Files of torch.profiler's tell most when they were made with the option\n"
        "enable_cuda_sync_events of torch._C._profiler._ExperimentalConfig.\n"
        "\n"
        "Memory stays below 256 MiB; what does not fit is sorted in temporary files (TMPDIR, else\n"
        "/tmp).",
    .after = "Exit status:\n"
             "  0  the edges of the whole trace\n"
             "  1  the file is broken or changed, or has rows without sense or of several\n"
             "     processes: the edges of the rest\n"
             "  2  the file cannot be read or is no trace, or wrong usage\n"
             "\n"
             "Examples:\n"
             "  syncline edges --min-wait 1000000 trace.json.gz\n"
             "  syncline edges --summary 1.pt.trace.json.zst\n"
             "  syncline edges --json trace.json | jq 'select(.released)'\n",
    .options = options,
    .run = run,
};
