/*
 * apply_graph.c - applies the launch of a graph: one call, many operations.
 *
 * The graph comes behind what its launch stream held and behind the launch before of the same
 * executable. What follows on the stream comes behind all of the graph. Branches run on streams of
 * their own, which no application made. Which node depends on which is known if it was told when
 * the graph was built (node_state.h); else a branch has the order of its stream alone.
 *
 * Entered by the engine's owner alone. Owns no memory: a launch's references are dropped at its
 * end.
 */
#include "sync/apply.h"

#include <errno.h>

#include "sync/stream_state_impl.h"

enum {
    DEPTH_MOST = 64 /* nodes in a row that make no record */
};

/* Where the graph was launched, if one of its nodes ran there. NULL: no record names it. */
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

/* The stream comes behind the set right before the call, so that the graph's nodes there do. */
static void follow(struct sl_call *c, struct sl_stream *stream, const struct sl_set *set)
{
    struct sl_moment earlier = c->by;

    earlier.correlation--;
    sl_stream_follow(&c->e->streams, stream, set, SL_VIA_GRAPH, &earlier);
}

/* ---- launched before ---- */

static struct sl_exec *executable(struct sl_call *c)
{
    int lost = 0;
    struct sl_exec *exec = sl_execs_get(&c->e->execs, c->item, c->count, &lost);

    if (lost)
        sl_call_lose(c, SL_EDGE_LOST_MEMORY);
    return exec;
}

/* Files of torch.profiler's have no time before the recording, and old ones no ids of nodes: there
 * only what was seen counts. */
static uint32_t why_unknown(const struct sl_call *c, const struct sl_exec *exec)
{
    int unseen = 0;

    if (c->e->opt.foreign)
        return 0;
    if (!exec)
        return 1u << SL_EDGE_LOST_NO_RECORD;
    for (size_t i = 0; i < c->count && exec->by.correlation == 0; i++)
        if (sl_call_is_node(c, &c->item[i]))
            unseen |= sl_call_stream(c, &c->item[i])->context->seen_ns == UINT64_MAX;
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
    sl_set_open(&c->e->streams, entry);
    entry->lost |= exec->ends.lost;
    for (const struct sl_link *at = exec->ends.first; at; at = at->next) {
        struct sl_link link = *at;

        link.via = SL_VIA_GRAPH;
        link.by = exec->by;
        link.overlapping |= (uint8_t)sl_moments_overlap(&exec->by, &c->by);
        sl_set_add(&c->e->streams, entry, &link);
    }
}

/* The node on the launch stream comes behind it too. */
static void follow_last(struct sl_call *c, const struct sl_exec *exec, struct sl_stream *launch,
                        const struct sl_set *entry, uint32_t lost)
{
    struct sl_streams *streams = &c->e->streams;
    struct sl_set last = {0};

    sl_set_open(streams, &last);
    last.lost = lost;
    for (const struct sl_link *at = entry->first; at; at = at->next)
        if (exec && at->via == SL_VIA_GRAPH && at->by.correlation == exec->by.correlation)
            sl_set_add(streams, &last, at);
    follow(c, launch, &last);
    sl_set_clear(streams, &last);
}

static void come_behind_last(struct sl_call *c, const struct sl_exec *exec,
                             struct sl_stream *launch, struct sl_set *entry)
{
    uint32_t lost = why_unknown(c, exec);

    entry->lost |= lost;
    if (exec && !lost && sl_moment_precedes(&exec->by, &c->by) &&
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
    if (!exec || sl_moment_precedes(&c->by, &exec->by)) {
        sl_set_clear(&c->e->streams, ends);
        return;
    }
    sl_set_clear(&c->e->streams, &exec->ends);
    exec->ends = *ends;
    exec->by = c->by;
    exec->context = launch ? launch->context->id : SL_STREAM_NONE;
    exec->stream = launch ? launch->id : SL_STREAM_NONE;
}

/* ---- nodes that are known ---- */

struct launch {
    struct sl_call *c;
    struct sl_stream *stream; /* where it was put; NULL: not known, it may be any */
    struct sl_set entry;      /* what it comes behind */
    uint32_t look;            /* which one at known nodes this is */
    struct sl_launched
        *launched; /* beside each item; NULL: what its nodes depend on is not known */
    int branches;
};

/* Every node is, all were made in one graph, and none is there twice, as those of graphs in graphs
 * may be: how these depend on what is around them is not told. */
static int know_nodes(struct launch *l)
{
    const struct sl_call *c = l->c;
    uint32_t home = 0;

    for (size_t i = 0; i < c->count; i++) {
        struct sl_node *node, *original;

        if (!sl_call_is_node(c, &c->item[i]))
            continue;
        node = sl_nodes_find(&c->e->nodes, c->item[i].id);
        original = node ? sl_nodes_find(&c->e->nodes, node->original) : NULL;
        if (!original || node->unclear || (home && node->home != home) ||
            original->launch == c->by.correlation + 1)
            return 0;
        home = node->home;
        original->launch = c->by.correlation + 1;
        original->look = l->look;
        original->place = (uint32_t)i + 1;
        original->visit = 0;
        l->launched[i].node = node;
    }
    return 1;
}

static void add_source(struct launch *l, const struct sl_node *original, struct sl_set *sources)
{
    struct sl_launched *source = &l->launched[original->place - 1];

    source->is_source = 1;
    if (!source->op) {
        /* It began later: what was told and what was recorded contradict each other. Or it may
         * have begun at any time. */
        const struct sl_item *item = &l->c->item[original->place - 1];

        sources->lost |= 1u << (item->start_ns ? SL_EDGE_LOST_CYCLE : SL_EDGE_LOST_GAVE_UP);
        return;
    }
    sl_set_add(&l->c->e->streams, sources,
               &(struct sl_link){.op = source->op, .by = l->c->by, .via = SL_VIA_GRAPH});
}

/* One that another comes behind; NULL: which of the launch's it is, is not known. Without a record
 * it stands for the copy that was launched: not if there is none, because it has left its graph, or
 * if that may come behind something else. */
static struct sl_node *find_source(const struct launch *l, uint64_t id)
{
    struct sl_node *original = sl_nodes_find(&l->c->e->nodes, id);
    uint64_t launch = l->c->by.correlation + 1;

    if (!original)
        return NULL;
    if (original->launch != launch) {
        original->launch = launch;
        original->look = l->look;
        original->place = original->visit = 0;
    }
    if (original->look != l->look) /* it came with those records of the launch that came first */
        return NULL;
    return original->place || (original->copied && !original->varies) ? original : NULL;
}

/* What the node of item `place` comes behind, through nodes that make no record. How many there
 * are: without any it begins the graph. -EAGAIN: something on the way is not known. */
static int collect_sources(struct launch *l, const struct sl_node *node, uint32_t place,
                           struct sl_set *sources, int depth)
{
    int found = 0, inner;

    if (node->unclear || depth > DEPTH_MOST)
        return -EAGAIN;
    for (const struct sl_node_deps *at = &node->deps; at; at = at->more) {
        for (int i = 0; i < SL_NODE_DEPS; i++) {
            struct sl_node *original;

            if (!at->original[i])
                continue;
            original = find_source(l, at->original[i]);
            if (!original)
                return -EAGAIN;
            if (original->visit == place)
                continue;
            original->visit = place;
            if (original->place) {
                add_source(l, original, sources);
                found++;
                continue;
            }
            inner = collect_sources(l, original, place, sources, depth + 1);
            if (inner < 0)
                return inner;
            found += inner;
        }
    }
    return found;
}

/* 0, or -EAGAIN. */
static int come_behind_sources(struct launch *l, size_t i, struct sl_stream *stream)
{
    struct sl_streams *streams = &l->c->e->streams;
    struct sl_set sources = {0};
    int found;

    sl_set_open(streams, &sources);
    found = collect_sources(l, l->launched[i].node, (uint32_t)i + 1, &sources, 0);
    if (found > 0)
        follow(l->c, stream, &sources);
    else if (found == 0 && stream != l->stream)
        follow(l->c, stream, &l->entry);
    sl_set_clear(streams, &sources);
    return found < 0 ? found : 0;
}

static void keep_operation(struct launch *l, size_t i, struct sl_op *op)
{
    if (op)
        op->refs++;
    l->launched[i].op = op;
}

static void let_operations_go(struct launch *l)
{
    for (size_t i = 0; l->launched && i < l->c->count; i++)
        if (l->launched[i].op)
            sl_op_unref(&l->c->e->streams, l->launched[i].op);
}

/* ---- the launch ---- */

static void begin_branch(struct launch *l, const struct sl_item *item, struct sl_stream *stream)
{
    if (stream == l->stream ||
        (stream->newest && stream->newest->pub.correlation == item->correlation))
        return;
    l->branches++;
    if (!l->launched && is_root(l->c, item))
        follow(l->c, stream, &l->entry);
}

/* Nodes without a time stand last. In truth each may have been anywhere on its stream. */
static void find_unordered(struct launch *l)
{
    for (size_t i = l->c->count; i && l->c->item[i - 1].start_ns == 0; i--)
        if (sl_call_is_node(l->c, &l->c->item[i - 1]))
            sl_call_stream(l->c, &l->c->item[i - 1])->unordered = l->c->by.correlation;
}

static void run_nodes(struct launch *l)
{
    int is_known = l->launched != NULL;

    find_unordered(l);
    for (size_t i = 0; i < l->c->count; i++) {
        const struct sl_item *item = &l->c->item[i];
        struct sl_stream *stream;
        struct sl_op *op;

        if (!sl_call_is_node(l->c, item))
            continue;
        stream = sl_call_stream(l->c, item);
        begin_branch(l, item, stream);
        if (l->launched && come_behind_sources(l, i, stream) != 0)
            is_known = 0;
        op = sl_call_enqueue(l->c, item);
        if (l->launched)
            keep_operation(l, i, op);
    }
    if (l->branches && !is_known)
        sl_call_lose(l->c, SL_EDGE_LOST_GRAPH_INSIDE);
}

/* The last operation on each of its streams; of nodes that are known those that none comes behind.
 */
static void collect_ends(const struct launch *l, struct sl_set *ends)
{
    const struct sl_call *c = l->c;
    struct sl_moment after = c->by;

    after.correlation++;
    sl_set_open(&c->e->streams, ends);
    for (size_t i = 0; i < c->count; i++) {
        if (!sl_item_is_operation(&c->item[i]) || (l->launched && l->launched[i].is_source))
            continue;
        if (l->launched && l->launched[i].op)
            sl_set_add(
                &c->e->streams, ends,
                &(struct sl_link){.op = l->launched[i].op, .by = c->by, .via = SL_VIA_GRAPH});
        else
            sl_stream_tail(&c->e->streams, sl_call_stream(c, &c->item[i]), &after, SL_VIA_GRAPH,
                           ends);
    }
}

/* When its last operation did; 0: not known. */
static uint64_t ended_ns(const struct sl_call *c)
{
    uint64_t ns = 0;

    for (size_t i = 0; i < c->count; i++)
        if (sl_call_is_node(c, &c->item[i]) && !(c->item[i].flags & SL_EVF_STILL_RUNNING) &&
            c->item[i].end_ns > ns)
            ns = c->item[i].end_ns;
    return ns;
}

void sl_call_graph(struct sl_call *c)
{
    struct sl_streams *streams = &c->e->streams;
    struct sl_exec *exec = executable(c);
    struct launch l = {.c = c, .stream = launch_stream(c), .look = ++c->e->nodes.looks};
    struct sl_set ends = {0};

    if (c->e->nodes.count)
        l.launched = sl_execs_launched(&c->e->execs, c->count);
    if (l.launched && !know_nodes(&l))
        l.launched = NULL;
    if (l.stream) {
        sl_set_open(streams, &l.entry);
        sl_stream_collect(streams, l.stream, 0, &c->by, &l.entry);
    } else {
        l.entry.lost = 1u << SL_EDGE_LOST_NO_RECORD;
    }
    come_behind_last(c, exec, l.stream, &l.entry);
    run_nodes(&l);
    collect_ends(&l, &ends);
    if (!l.stream)
        sl_streams_note_unknown(streams, SL_UNKNOWN_GRAPH, &c->by, ended_ns(c));
    else if (l.branches)
        sl_stream_follow(streams, l.stream, &ends, SL_VIA_GRAPH, &c->by);
    let_operations_go(&l);
    remember(c, exec, l.stream, &ends);
    sl_set_clear(streams, &l.entry);
}
