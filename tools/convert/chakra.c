/*
 * chakra.c - converts a Kineto trace to a Chakra execution trace.
 *
 * The file's events are passed, in order of enqueue, to the same Chakra writer that a running job
 * uses. The writer also gets the edges that the job recorded. If the file has no edges, the edge
 * engine of a running job finds them here.
 *
 * Threads: main; helper threads read the file. Memory: under 500 MiB for a file of any size
 * (replay/replay.h, chakra.h, et_nodes.h).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "convert/et_nodes.h"
#include "convert/output.h"
#include "convert/request.h"
#include "event/call_name.h"
#include "read/et_file.h"
#include "read/unescape.h"
#include "replay/replay.h"
#include "write/chakra/chakra.h"

/* Memory of the writer, in bytes. It holds about 850 000 rows that end late and about 160 000
 * edges. */
#define WRITER_BYTES (96u << 20)

struct work {
    const struct sl_convert_request *request;
    struct sl_replay *feed;
    struct sl_chakra *chakra;
    struct sl_et_nodes *nodes; /* nodes of PyTorch's execution trace; NULL without --et */
    struct sl_output out;
    char host[sizeof(((struct sl_header *)0)->host)], job[sizeof(((struct sl_header *)0)->job)];
};

/* Passes an event to the writer, except a range that one thread may begin and another may end. A
 * job's file has such ranges on separate rows, which belong to no thread. */
static void take_event(void *user, const struct sl_event *ev)
{
    const struct work *w = user;

    if (ev->kind != SL_EV_RANGE || !w->feed->header.own_file || ev->thread < SL_ROW_FIRST)
        sl_chakra_events(w->chakra, ev, 1);
}

static void take_edges(void *user, const struct sl_edge *edges, size_t count)
{
    sl_chakra_edges(((struct work *)user)->chakra, edges, count);
}

static void take_complete(void *user, uint64_t ns)
{
    sl_chakra_advance(((struct work *)user)->chakra, ns);
}

static size_t more(void *user, const struct sl_event *op, char *out, size_t room)
{
    const struct work *w = user;
    const char *inputs = NULL;
    size_t size = 0;

    if (w->nodes) {
        struct sl_text name = {"", 0};

        if (op->name)
            name.data = sl_intern_get(w->feed->events->names, op->name, &name.size);
        inputs = sl_et_nodes_find(w->nodes, op->u.row.record_function, name, &size);
    }
    if (!inputs)
        inputs = sl_intern_get(w->feed->events->inputs, op->inputs, &size);
    if (!inputs || size > room)
        return 0;
    memcpy(out, inputs, size);
    return size;
}

static int64_t thread_of(void *user, uint32_t thread)
{
    const struct sl_trace_events *t = user;

    return sl_thread_ids_get(&t->threads, thread);
}

/* Returns 0 or -ENOMEM. */
static int create(struct work *w)
{
    struct sl_chakra_options opt = {
        .intern = w->feed->events->names,
        .shapes = w->feed->events->shapes,
        .cap_bytes = WRITER_BYTES,
        .api_name = sl_call_name,
        .collective = sl_row_collectives_find,
        .collective_user = w->feed->collectives,
        .more = more,
        .more_user = w,
        .thread = thread_of,
        .thread_user = w->feed->events,
        /* The correlation ids of PyTorch have 32 bits, and the reader has widened them to 64 bits.
         * The mask removes the added bits. */
        .correlation_mask = w->feed->header.own_file ? UINT64_MAX : UINT32_MAX,
        .clock_offset_ns = w->feed->header.base_ns - SL_TRACE_EVENTS_ORIGIN_NS,
    };

    if (w->request->base_ns > w->feed->header.base_ns && w->feed->header.own_file)
        opt.base_ns =
            (uint64_t)(w->request->base_ns - w->feed->header.base_ns) + SL_TRACE_EVENTS_ORIGIN_NS;
    return sl_chakra_create(&w->chakra, &opt);
}

/* Decodes a JSON string of the header into `room`. The decoded text is never longer than `text`. */
static const char *meaning(const char *text, char *room)
{
    room[sl_unescape(room, text, strlen(text))] = '\0';
    return room;
}

static struct sl_trace_meta meta_of(struct work *w)
{
    const struct sl_convert_request *r = w->request;
    const struct sl_header *h = &w->feed->header;
    struct sl_trace_meta meta = {
        .rank = r->has_rank ? r->rank : (int)h->rank,
        .world_size = (int)h->world_size,
        .host = meaning(h->host, w->host),
        .job = meaning(h->job, w->job),
        .run = h->run,
        .run_start_ns = (uint64_t)h->run_start_ns,
        .syncline_version = h->version,
    };

    /* Returns the start of the window on the clock of the events. A file of torch.profiler has no
     * window, so its window starts at the first row. */
    if (h->has_window && h->opened_ns > h->base_ns)
        meta.opened_ns = (uint64_t)(h->opened_ns - h->base_ns) + SL_TRACE_EVENTS_ORIGIN_NS;
    return meta;
}

/* Writes events and edges to the open output. Returns 0, -errno of the output, or an exit status
 * after a message. */
static int write_all(struct work *w)
{
    struct sl_trace_meta meta = meta_of(w);
    char why[512];
    int rc, failed;

    rc = sl_chakra_begin(w->chakra, w->out.sink, &meta);
    failed = rc ? 0 : sl_replay_run(w->feed, w->request->input, why, sizeof(why));
    if (rc == 0)
        rc = sl_chakra_end(w->chakra);
    if (failed)
        return sl_args_complain(w->request->command, "%s", why);
    return rc;
}

/* Returns 0, or an exit status after a line on stderr. */
static int read_nodes(struct work *w)
{
    const struct sl_convert_request *r = w->request;
    struct sl_et_nodes_counts counts;
    char why[512];

    if (!r->et)
        return 0;
    if (sl_et_nodes_read(&w->nodes, r->et, why, sizeof(why)) != 0)
        return sl_args_complain(r->command, "%s", why);
    if (why[0])
        sl_args_complain(r->command, "%s", why);
    sl_et_nodes_get_counts(w->nodes, &counts);
    if (counts.invalid || counts.no_room)
        sl_args_complain(r->command,
                         "%s: left out: %" PRIu64 " nodes that are not valid, %" PRIu64
                         " past the memory limit",
                         r->et, counts.invalid, counts.no_room);
    if (counts.cut)
        sl_args_complain(r->command,
                         "%s: left out: %" PRIu64 " texts, lists or attributes: a node holds at "
                         "most 256 attributes and 28 KiB, 8 KiB in each",
                         r->et, counts.cut);
    if (counts.twice)
        sl_args_complain(
            r->command,
            "%s: %" PRIu64
            " nodes repeat the record function id of an earlier node, which they replace",
            r->et, counts.twice);
    return 0;
}

/* Returns whether the trace and PyTorch's execution trace name different processes. */
static int are_of_two_processes(const struct sl_trace_events *t, int64_t pid)
{
    return pid && t->has_process && t->process != (uint64_t)pid;
}

/* Reports the parts of PyTorch's execution trace that were not used. Returns the exit status. */
static int tell_nodes(const struct work *w)
{
    const struct sl_convert_request *r = w->request;
    struct sl_et_nodes_counts counts;

    if (!w->nodes)
        return SL_EXIT_OK;
    sl_et_nodes_get_counts(w->nodes, &counts);
    if (counts.found && counts.found < counts.wanted)
        printf("%s: %" PRIu64 " of the %" PRIu64 " operators and ranges of %s are not in it\n",
               r->et, counts.wanted - counts.found, counts.wanted, r->input);
    if (!counts.wanted)
        return sl_args_problem(r->command,
                               "%s: no operator in %s has a `Record function id` (PyTorch before "
                               "2.2 or so writes none): nothing can be joined",
                               r->et, r->input);
    if (counts.found && !counts.misnamed)
        return SL_EXIT_OK;
    return sl_args_problem(r->command,
                           "%s: %" PRIu64 " of its %" PRIu64
                           " nodes match operators in %s (by record function id and name); %" PRIu64
                           " have another name%s",
                           r->et, counts.found, counts.nodes, r->input, counts.misnamed,
                           are_of_two_processes(w->feed->events, counts.pid)
                               ? ". It has another pid than the trace: is it from the same run?"
                               : "");
}

static int tell_empty(const struct work *w)
{
    struct sl_chakra_counts n;

    sl_chakra_get_counts(w->chakra, &n);
    if (n.nodes)
        return SL_EXIT_OK;
    return sl_args_problem(w->request->command,
                           "%s has no usable call, GPU operation, operator or range: %s has no "
                           "nodes, and simulators reject it",
                           w->request->input, w->request->output);
}

static int worse(int a, int b)
{
    return a > b ? a : b;
}

/* Writes the output. The input has been read before. Returns the exit status. */
static int make(struct work *w)
{
    const struct sl_convert_request *r = w->request;
    int rc, status;

    if (create(w) != 0)
        return sl_args_complain(r->command, "not enough memory to convert %s", r->input);
    rc = sl_output_open(&w->out, r->output, r->compression, r->level);
    if (rc)
        return sl_output_complain(r->command, r->output, rc);
    rc = write_all(w);
    if (rc) {
        sl_output_drop(&w->out);
        return rc < 0 ? sl_output_complain(r->command, r->output, rc) : rc;
    }
    rc = sl_output_keep(&w->out, r->output, r->force);
    if (rc)
        return sl_output_complain(r->command, r->output, rc);
    status = sl_groups_add(r->command, r->output, w->feed->collectives);
    sl_chakra_report(r, w->feed, w->chakra);
    status = worse(status, sl_replay_tell(w->feed, r->command, r->input, "the nodes are"));
    status = worse(status, tell_nodes(w));
    return worse(status, tell_empty(w));
}

int sl_convert_chakra(const struct sl_convert_request *r)
{
    struct work w = {.request = r};
    const struct sl_replay_sinks sinks = {
        .edges = take_edges, .event = take_event, .complete = take_complete, .user = &w};
    char why[512];
    int status = sl_output_check(r->command, r->input, r->output, r->force);

    if (status)
        return status;
    if (sl_et_is_file(r->input))
        return sl_convert_et(r);
    if (sl_replay_create(&w.feed, &sinks, SL_REPLAY_ROWS) != 0) {
        status = sl_args_complain(r->command, "not enough memory to read %s", r->input);
    } else if (sl_replay_read(w.feed, r->input, why, sizeof(why)) != 0) {
        status = sl_args_complain(r->command, "%s", why);
    } else {
        status = read_nodes(&w);
        if (status == 0)
            status = make(&w);
    }
    sl_et_nodes_destroy(w.nodes);
    sl_chakra_destroy(w.chakra);
    sl_replay_destroy(w.feed);
    return status;
}
