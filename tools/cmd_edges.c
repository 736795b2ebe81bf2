/*
 * cmd_edges.c - `syncline edges`: which GPU operation released each wait, and how long was waited?
 *
 * The trace is read once; its rows go, in the order of enqueue, through the engine that finds edges
 * in a running job.
 *
 * Threads: main; reading has a helper thread. Memory: see trace_events.h, edge.h, edge_summary.h:
 * at most 256 MiB, whatever the file.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/edge_summary.h"
#include "analyze/header.h"
#include "command.h"
#include "print/edges.h"
#include "print/format.h"
#include "print/progress.h"
#include "read/trace_events.h"
#include "read/trace_file.h"
#include "sync/edge.h"

/* Events between two looks at the clock. */
#define PROGRESS_EVENTS 4096
/* Calls between two rounds of the engine. */
#define ENGINE_CALLS 512
#define ENGINE_BYTES (48u << 20)

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
    [OPT_SUMMARY] = {"summary", 's', NULL, "totals by kind, source, place, step"},
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
    struct sl_trace_events *events;
    struct sl_edge_summary *summary; /* NULL: edges are printed */
    struct sl_header header;
    uint64_t edges, shown;
    uint64_t invalid, too_long; /* rows that were not looked into */
    uint64_t lost[SL_EDGE_LOST_COUNT];
};

static int is_wanted(const struct request *r, const struct sl_edge *edge)
{
    return (r->kind < 0 || edge->kind == r->kind) && edge->wait_ns >= r->min_wait_ns;
}

static struct sl_edge_where where(const struct work *w, const struct sl_edge *edge)
{
    const struct sl_trace_call *call = sl_trace_events_call(w->events, edge->dst_correlation);
    struct sl_edge_where where = {0, 0, 0};

    if (call)
        where = (struct sl_edge_where){call->name, call->place, call->step};
    if (edge->at_start)
        where.who = edge->dst_op.name;
    return where;
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
        sl_edges_print_json(stdout, w->events, edge);
        return;
    }
    if (w->shown == 0)
        sl_edges_print_title(stdout);
    sl_edges_print_text(stdout, w->events, edge);
}

static void show(void *user, const struct sl_event *wait, const struct sl_edge *edges, size_t count)
{
    struct work *w = user;

    (void)wait;
    w->edges += count;
    if (w->summary && count) {
        const struct sl_edge *edge = releasing(edges, count);
        const struct sl_edge_where place = where(w, edge);

        if (is_wanted(w->request, edge))
            sl_edge_summary_add(w->summary, edge, &place);
    }
    for (size_t i = 0; i < count; i++) {
        if (!is_wanted(w->request, &edges[i]))
            continue;
        if (!w->summary)
            print(w, &edges[i]);
        w->shown++;
    }
}

/* All rows into w->events. 0 or -errno of the temporary files. */
static int read_all(struct work *w, struct sl_trace *t, struct sl_trace_item *item,
                    struct sl_input_status *input)
{
    struct sl_progress progress;
    char what[128];
    int rc = 0;

    snprintf(what, sizeof(what), "reading %.100s", w->request->input);
    sl_progress_begin(&progress, what);
    while (sl_trace_next(t, item) && rc == 0) {
        if (item->status) {
            w->invalid += item->status == -EBADMSG;
            w->too_long += item->status == -EFBIG;
        } else if (item->span.kind == SL_SPAN_FIELD) {
            sl_trace_visit(t, &item->span, sl_header_value, &w->header, &item->error);
        } else if (item->span.kind == SL_SPAN_EVENTS_OPEN && w->header.own_file) {
            sl_trace_events_own(w->events);
        } else if (item->span.kind == SL_SPAN_EVENT) {
            rc = sl_trace_events_row(w->events, &item->row);
        }
        if (item->index % PROGRESS_EVENTS == 0) {
            sl_trace_get_status(t, input);
            sl_progress_step(&progress, input->read_bytes, input->file_bytes);
        }
    }
    sl_progress_end(&progress);
    sl_trace_get_status(t, input);
    return rc ? rc : sl_trace_events_end(w->events);
}

/* Events through the engine. 0 or -errno. */
static int find_edges(struct work *w)
{
    struct sl_edges_options opt = {
        .cap_bytes = ENGINE_BYTES,
        .online = w->header.own_file,
        .foreign = !w->header.own_file,
        .recording_since_ns = sl_trace_events_first_ns(w->events),
        .shapes = sl_trace_events_shapes(w->events),
        .sink = show,
        .sink_user = w,
    };
    uint64_t count = 0;
    struct sl_edges *engine;
    struct sl_event ev;
    int rc = sl_edges_create(&engine, &opt);

    if (rc)
        return rc;
    while ((rc = sl_trace_events_next(w->events, &ev)) == 1) {
        /* In the order of enqueue time goes by with the calls, and a call comes first of all with
         * its id: those before it are complete. */
        if ((ev.kind == SL_EV_RUNTIME || ev.kind == SL_EV_DRIVER) && ++count % ENGINE_CALLS == 0)
            sl_edges_delivered(engine, ev.start_ns);
        sl_edges_event(engine, &ev);
    }
    if (rc == 0)
        sl_edges_flush(engine);
    for (int i = 0; i < SL_EDGE_LOST_COUNT; i++)
        w->lost[i] = sl_edges_lost(engine, (enum sl_edge_loss)i);
    sl_edges_destroy(engine);
    return rc;
}

static void print_end(const struct work *w)
{
    const struct request *r = w->request;
    char lost[512], count[SL_FORMAT_SIZE];
    int any = sl_edges_print_lost(lost, sizeof(lost), w->lost);

    if (r->summary && r->json) {
        sl_edges_print_summary_json(stdout, w->events, w->summary, w->lost);
    } else if (r->json) {
        if (any)
            sl_args_complain(r->command, "edges left out: %s", lost);
    } else {
        if (w->summary)
            sl_edges_print_summary_text(stdout, w->events, w->summary);
        printf("%s%s edges", w->summary || w->shown ? "\n" : "", sl_format_count(count, w->edges));
        if (w->shown != w->edges)
            printf(", %s of them as asked for", sl_format_count(count, w->shown));
        printf("%s%s\n", any ? "; left out: " : "", lost);
    }
}

/* Says what was not looked at. Returns the exit status. */
static int tell(const struct work *w, const struct sl_span *last,
                const struct sl_input_status *input)
{
    const struct request *r = w->request;
    struct sl_trace_events_counts counts;
    int status = SL_EXIT_OK;

    sl_trace_events_get_counts(w->events, &counts);
    if (last->kind != SL_SPAN_END || input->end != SL_INPUT_WHOLE) {
        sl_args_complain(r->command,
                         "%s is not whole: %s, at byte %" PRIu64
                         " of the text; the edges are those of what comes before",
                         r->input,
                         input->what[0]              ? input->what
                         : last->kind == SL_SPAN_BAD ? last->why
                                                     : "the text ends too early",
                         last->offset);
        status = SL_EXIT_PROBLEM;
    }
    if (w->invalid || w->too_long || counts.unusable) {
        sl_args_complain(r->command,
                         "%s: not looked at: %" PRIu64 " rows that are not valid JSON, "
                         "%" PRIu64 " too long, %" PRIu64
                         " without usable ids or times: `syncline check` shows more",
                         r->input, w->invalid, w->too_long, counts.unusable);
        status = SL_EXIT_PROBLEM;
    }
    if (counts.names_lost)
        sl_args_complain(r->command,
                         "%s: %" PRIu64 " rows have more text in their names than is "
                         "kept; those names are unknown here",
                         r->input, counts.names_lost);
    return status;
}

static int analyse(struct work *w)
{
    const struct request *r = w->request;
    struct sl_input_status input;
    struct sl_trace_item item;
    struct sl_trace *t = NULL;
    const char *strange;
    char why[512];
    int rc;

    if (sl_trace_open(&t, r->input, why, sizeof(why)) != 0) {
        sl_args_complain(r->command, "%s", why);
        return SL_EXIT_USAGE;
    }
    rc = read_all(w, t, &item, &input);
    strange = sl_trace_not_one(t, &item.span, &input);
    sl_trace_close(t); /* its memory is the engine's now */
    if (strange) {
        sl_args_complain(r->command, "%s is not a trace: %s", r->input, strange);
        return SL_EXIT_USAGE;
    }
    if (rc == 0)
        rc = find_edges(w);
    if (rc) {
        sl_args_complain(r->command, "%s: sorting the events failed: %s%s", r->input, strerror(-rc),
                         rc == -ENOSPC ? ": free some space, or name another place in TMPDIR" : "");
        return SL_EXIT_USAGE;
    }
    print_end(w);
    return tell(w, &item.span, &input);
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
            if (r->input) {
                sl_args_complain(r->command, "one FILE at a time: %s and %s were given", r->input,
                                 args.value);
                return SL_EXIT_USAGE;
            }
            r->input = args.value;
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
    if (sl_trace_events_create(&w.events) == 0 &&
        (!r.summary || sl_edge_summary_create(&w.summary) == 0)) {
        status = analyse(&w);
    } else {
        sl_args_complain(self, "not enough memory to read %s", r.input);
        status = SL_EXIT_USAGE;
    }
    sl_edge_summary_destroy(w.summary);
    sl_trace_events_destroy(w.events);
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
        "Files of torch.profiler's tell most when they were made with the option\n"
        "enable_cuda_sync_events of torch._C._profiler._ExperimentalConfig.",
    .after = "Exit status:\n"
             "  0  the edges of the whole trace\n"
             "  1  the file is broken or has rows without sense: the edges of the rest\n"
             "  2  the file cannot be read or is no trace, or wrong usage\n"
             "\n"
             "Examples:\n"
             "  syncline edges --min-wait 1000000 trace.json.gz\n"
             "  syncline edges --summary 1.pt.trace.json.zst\n"
             "  syncline edges --json trace.json | jq 'select(.released)'\n",
    .options = options,
    .run = run,
};
