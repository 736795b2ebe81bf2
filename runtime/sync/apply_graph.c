/*
 * apply_graph.c - applies the launch of a graph: one call, many operations.
 *
 * The graph runs after the tail of its launch stream and after the previous launch of the same
 * executable graph. Later work on the stream runs after the whole graph. Parallel branches of the
 * graph run on separate streams, which CUDA creates for the graph. Dependencies between nodes are
 * known if they were reported when the graph was built (node_state.h). If the dependencies are not
 * known, the operations of a branch are ordered only by the branch's stream.
 *
 * Threads: only the thread that owns the engine (edge.h). Memory: none. A launch drops its
 * references to operations when it has been applied.
 */
#include "sync/apply.h"

#include <errno.h>

#include "sync/stream_state_impl.h"

enum {
    /* maximum number of consecutive dependencies to follow through nodes for which CUPTI makes no
     * record */
    DEPTH_MOST = 64
};

/* Returns the launch stream if one of the graph's nodes ran on that stream. Returns NULL if no
 * record names the launch stream. */
static struct sl_stream *launch_stream(const struct sl_call *c)
{
    for (size_t i = 0; i < c->count; i++)
        if (sl_item_is_operation(&c->item[i]) && sl_call_stream(c, &c->item[i])->plain)
            return sl_call_stream(c, &c->item[i]);
    return NULL;
}

/* Returns 1 if the node is a root. If no operation of the launch had ended when the node began, the
 * node depends on no other node. */
static int is_root(const struct sl_call *c, const struct sl_item *node)
{
    for (size_t i = 0; i < c->count; i++)
        if (sl_item_is_operation(&c->item[i]) && c->item[i].end_ns <= node->start_ns &&
            c->item[i].end_ns != 0)
            return 0;
    return 1;
}

/* Makes the stream wait for the operations of the set, as if the stream had waited right before the
 * call. So the graph's nodes on the stream are ordered after the set, too. */
static void follow(struct sl_call *c, struct sl_stream *stream, const struct sl_set *set)
{
    struct sl_moment earlier = c->by;

    earlier.correlation--;
    sl_stream_follow(&c->e->streams, stream, set, SL_VIA_GRAPH, &earlier);
}

/* ---- the previous launch of the same graph ---- */

static struct sl_exec *executable(struct sl_call *c)
{
    int lost = 0;
    struct sl_exec *exec = sl_execs_get(&c->e->execs, c->item, c->count, &lost);

    if (lost)
        sl_call_lose(c, SL_EDGE_LOST_MEMORY);
    return exec;
}

/* Returns the reason why the previous launch may be unknown, or 0. Files of torch.profiler do not
 * say when the recording began, and old files have no node ids. So for files of torch.profiler, a
 * previous launch that is not in the file is ignored. */
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

/* Adds the last operations of the previous launch to `entry`, unless `entry` already has them or a
 * later operation of their stream. In that case the engine finds the edge, with another kind, from
 * the order within the stream. */
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

/* Makes the launch stream wait for the previous launch, so that the node on this stream is ordered
 * after the previous launch, too. */
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
    /* the launch stream; NULL if it is not known, so that any stream may be the launch stream */
    struct sl_stream *stream;
    struct sl_set entry; /* the set of operations after which the launch is ordered */
    /* number of this search through the nodes, so that marks of earlier searches are ignored */
    uint32_t look;
    /* one entry for each item; NULL if the dependencies are not known */
    struct sl_launched *launched;
    int branches;
};

/* Returns 1 if every node of the launch is known, all nodes were created in one graph, and no node
 * occurs twice. A node may occur twice if graphs are nested. CUPTI does not report how nested nodes
 * depend on the nodes around them. */
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
        /* The source has no operation yet. If the source has a start time, the source began later
         * than the node, which contradicts the reported dependency. If the source has no start
         * time, the source may have begun at any time. */
        const struct sl_item *item = &l->c->item[original->place - 1];

        sources->lost |= 1u << (item->start_ns ? SL_EDGE_LOST_CYCLE : SL_EDGE_LOST_GAVE_UP);
        return;
    }
    sl_set_add(&l->c->e->streams, sources,
               &(struct sl_link){.op = source->op, .by = l->c->by, .via = SL_VIA_GRAPH});
}

/* Returns the source of a dependency, or NULL if it is not known which node of the launch is the
 * source. If the original node has no record in this launch, the original stands for the copy that
 * was launched, with two exceptions: the original has no copy, because it was removed from its
 * graph; or the dependencies of the copies differ. */
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
    /* the record of `original` was in an earlier part of the launch's records */
    if (original->look != l->look)
        return NULL;
    return original->place || (original->copied && !original->varies) ? original : NULL;
}

/* Adds the sources of the item with number `place`. A source without a record is replaced by its
 * own sources. Returns the number of sources, 0 if the node is a root of the graph, or -EAGAIN if a
 * replaced source is not known. */
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

/* Orders item `i` after its sources. Returns 0 or -EAGAIN. */
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

/* Marks streams on which a node has no time. Nodes without a time are the last items of the call,
 * but such a node may have run at any position in the order of its stream. */
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

/* Adds the operations that later work waits for. If the nodes are known, later work waits for the
 * nodes that no other node depends on. Otherwise later work waits for the last operation on each
 * stream of the launch. */
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

/* Returns the time at which the last operation of the graph ended, or 0 if that time is not known.
 */
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
        sl_stream_collect(streams, l.stream, 0, &c->by, 1, &l.entry);
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
