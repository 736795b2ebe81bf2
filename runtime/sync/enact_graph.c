/*
 * enact_graph.c - what the launch of a graph did: one call, many operations.
 *
 * Entered by its owner alone. The graph comes behind what its launch stream held and behind the
 * launch before of the same executable; what follows on the stream comes behind all of the graph.
 * Branches have streams of their own, which no application made.
 */
#include "sync/enact_impl.h"

/* Where the graph was launched, if one of its nodes ran there. */
static struct sl_stream *launch_stream(const struct sl_call *c)
{
    for (size_t i = 0; i < c->count; i++)
        if (sl_item_is_operation(&c->item[i]) && sl_call_stream(c, &c->item[i])->plain)
            return sl_call_stream(c, &c->item[i]);
    return NULL;
}

/* What a node depends on within its graph had ended when it began. */
static int is_root(const struct sl_call *c, const struct sl_item *node)
{
    for (size_t i = 0; i < c->count; i++)
        if (sl_item_is_operation(&c->item[i]) && c->item[i].end_ns <= node->start_ns &&
            c->item[i].end_ns != 0)
            return 0;
    return 1;
}

/* The graph's call as seen by its nodes: they come behind whatever it brought to their streams. */
static struct sl_moment right_before(const struct sl_call *c)
{
    struct sl_moment when = c->by;

    when.correlation--;
    return when;
}

/* A branch that begins the graph comes behind what the launch came behind. */
static void enter_branch(struct sl_call *c, struct sl_stream *branch, const struct sl_set *entry)
{
    struct sl_moment earlier = right_before(c);

    sl_stream_follow(c->e->streams, branch, entry, SL_VIA_GRAPH, &earlier);
}

/* ---- launched before ---- */

static struct sl_exec *executable(struct sl_call *c)
{
    int lost = 0;
    struct sl_exec *exec = sl_execs_get(c->e->execs, c->item, c->count, &lost);

    if (lost)
        sl_call_lose(c, SL_EDGE_LOST_MEMORY);
    return exec;
}

/* Files of torch.profiler's have no time before the recording, and old ones no ids of nodes: there
 * only what was seen counts. */
static uint32_t why_unknown(const struct sl_call *c, const struct sl_exec *exec)
{
    int unseen = 0;

    if (c->e->opt->foreign)
        return 0;
    if (!exec)
        return 1u << SL_EDGE_LOST_NO_RECORD;
    for (size_t i = 0; i < c->count && exec->by.correlation == 0; i++)
        if (sl_item_is_node(&c->item[i]))
            unseen |= sl_call_stream(c, &c->item[i])->context->unseen;
    return unseen ? 1u << SL_EDGE_LOST_BEFORE_WINDOW : 0;
}

static int is_launched_there(const struct sl_exec *exec, const struct sl_stream *stream)
{
    return stream && exec->context == stream->context->id && exec->stream == stream->id;
}

/* What ended the launch before goes into `entry`, unless that knows it, or something later,
 * already: its stream's own order says so, and in another way. */
static void add_last(struct sl_call *c, const struct sl_exec *exec, struct sl_set *entry)
{
    sl_set_open(c->e->streams, entry);
    entry->lost |= exec->ends.lost;
    for (const struct sl_link *at = exec->ends.first; at; at = at->next) {
        struct sl_link link = *at;

        link.via = SL_VIA_GRAPH;
        link.by = exec->by;
        link.overlapping |= (uint8_t)sl_moments_overlap(&exec->by, &c->by);
        sl_set_add(c->e->streams, entry, &link);
    }
}

/* The node on the launch stream comes behind it too. */
static void follow_last(struct sl_call *c, const struct sl_exec *exec, struct sl_stream *launch,
                        const struct sl_set *entry, uint32_t lost)
{
    struct sl_streams *streams = c->e->streams;
    struct sl_moment earlier = right_before(c);
    struct sl_set last = {0};

    sl_set_open(streams, &last);
    last.lost = lost;
    for (const struct sl_link *at = entry->first; at; at = at->next)
        if (exec && at->via == SL_VIA_GRAPH && at->by.correlation == exec->by.correlation)
            sl_set_add(streams, &last, at);
    sl_stream_follow(streams, launch, &last, SL_VIA_GRAPH, &earlier);
    sl_set_clear(streams, &last);
}

static void come_behind_last(struct sl_call *c, const struct sl_exec *exec,
                             struct sl_stream *launch, struct sl_set *entry)
{
    uint32_t lost = why_unknown(c, exec);

    entry->lost |= lost;
    if (exec && !lost && exec->by.correlation < c->by.correlation &&
        !is_launched_there(exec, launch)) {
        lost = exec->ends.lost;
        add_last(c, exec, entry);
    }
    if (launch)
        follow_last(c, exec, launch, entry, lost);
}

static void remember(struct sl_call *c, struct sl_exec *exec, const struct sl_stream *launch,
                     struct sl_set *ends)
{
    if (!exec || exec->by.correlation > c->by.correlation) {
        sl_set_clear(c->e->streams, ends);
        return;
    }
    sl_set_clear(c->e->streams, &exec->ends);
    exec->ends = *ends;
    exec->by = c->by;
    exec->context = launch ? launch->context->id : SL_STREAM_NONE;
    exec->stream = launch ? launch->id : SL_STREAM_NONE;
}

/* ---- the launch ---- */

/* How many branches there are. */
static int run_nodes(struct sl_call *c, const struct sl_stream *launch, const struct sl_set *entry)
{
    int branches = 0;

    for (size_t i = 0; i < c->count; i++) {
        const struct sl_item *item = &c->item[i];
        struct sl_stream *stream;

        if (!sl_item_is_node(item))
            continue;
        stream = sl_call_stream(c, item);
        if (stream != launch &&
            (!stream->newest || stream->newest->pub.correlation != item->correlation)) {
            branches++;
            if (is_root(c, item))
                enter_branch(c, stream, entry);
        }
        sl_call_enqueue(c, item);
    }
    return branches;
}

/* The last operation on each of its streams. */
static void collect_ends(struct sl_call *c, struct sl_set *ends)
{
    struct sl_moment after = c->by;

    after.correlation++;
    sl_set_open(c->e->streams, ends);
    for (size_t i = 0; i < c->count; i++)
        if (sl_item_is_operation(&c->item[i]))
            sl_stream_tail(c->e->streams, sl_call_stream(c, &c->item[i]), &after, SL_VIA_GRAPH,
                           ends);
}

void sl_call_graph(struct sl_call *c)
{
    struct sl_streams *streams = c->e->streams;
    struct sl_stream *launch = launch_stream(c);
    struct sl_exec *exec = executable(c);
    struct sl_set entry = {0}, ends = {0};
    int branches;

    if (launch) {
        sl_set_open(streams, &entry);
        sl_stream_collect(streams, launch, &c->by, &entry);
    }
    come_behind_last(c, exec, launch, &entry);
    branches = run_nodes(c, launch, &entry);
    collect_ends(c, &ends);
    if (launch && branches)
        sl_stream_follow(streams, launch, &ends, SL_VIA_GRAPH, &c->by);
    if (branches)
        sl_call_lose(c, SL_EDGE_LOST_GRAPH_INSIDE);
    remember(c, exec, launch, &ends);
    sl_set_clear(streams, &entry);
}
