/*
 * streams.c - what each GPU operation had to wait for before it could begin: its launch, the
 * operation before it, or the source of a sync edge.
 *
 * If the launch began after all others had ended, it held the operation back. Else the other that
 * ended last did, and the launch needed at least as long as the fastest launch of the chosen time.
 *
 * Threads, memory: see build.h; 160 bytes for each stream and for each replay of a CUDA graph.
 */
#include <errno.h>
#include <string.h>

#include "critical/build.h"

#define RUNNING 8 /* operations of a stream, or of a replay, that run side by side */

struct running {
    uint64_t end_ns;
    uint64_t node; /* SL_GRAPH_NONE: launched before the chosen time */
};

/* A stream, or a replay of a graph, up to the current operation. */
struct lane {
    struct running running[RUNNING];
    uint64_t count;
    struct running last;       /* the one that ended last of those that have ended */
    struct sl_build_op *prior; /* the operation that began last; NULL: not in the chosen time */
};

struct lanes {
    struct sl_build *build;
    struct sl_map streams, replays;
    struct sl_pool pool;
};

/* HTA knows how full a stream is by these launches. */
static int is_counted_by_hta(const struct sl_build *b, const struct sl_report_op *op)
{
    static const char *const names[] = {"cudaLaunchKernel", "cudaLaunchKernelExC", "cuLaunchKernel",
                                        "cudaMemcpyAsync", "cudaMemsetAsync"};
    const char *name = op->launch
                           ? sl_intern_get(b->out->all->names,
                                           b->out->recording->launch[op->launch - 1].name, NULL)
                           : NULL;

    for (size_t i = 0; name && i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(names[i], name) == 0)
            return 1;
    return 0;
}

static uint64_t at_ns(const struct sl_build *b, uint32_t node)
{
    return b->out->graph.node[node].at_ns;
}

static struct lane *lane_of(struct lanes *l, struct sl_map *map, uint64_t key)
{
    struct lane *lane = sl_map_get(map, key);

    return lane ? lane : sl_map_make(map, &l->pool, key);
}

/* Moves those that ended by `ns` out of the running. */
static void advance(struct lane *lane, uint64_t ns)
{
    uint64_t kept = 0;

    for (uint64_t i = 0; i < lane->count; i++) {
        if (lane->running[i].end_ns > ns)
            lane->running[kept++] = lane->running[i];
        else if (lane->running[i].end_ns >= lane->last.end_ns)
            lane->last = lane->running[i];
    }
    lane->count = kept;
}

static void enter(struct lane *lane, const struct running *op)
{
    uint64_t at = lane->count;

    if (at < RUNNING)
        lane->count++;
    else
        at = 0;
    lane->running[at] = *op;
}

/* Finds what came before an operation. `op` is NULL if it is not in the chosen time. */
static int see(struct lanes *l, const struct sl_report_op *row, struct sl_build_op *op)
{
    struct sl_build *b = l->build;
    struct lane *stream = lane_of(l, &l->streams, ((uint64_t)row->device << 32 | row->stream) + 1);
    struct lane *replay = op && row->is_node ? lane_of(l, &l->replays, row->correlation + 1) : NULL;
    const struct running self = {row->end_ns, op ? op->end : SL_GRAPH_NONE};

    if (!stream || (op && row->is_node && !replay))
        return -ENOMEM;
    advance(stream, row->start_ns);
    if (b->options->hta && stream->prior && !stream->prior->next_launch_ns &&
        is_counted_by_hta(b, row))
        stream->prior->next_launch_ns = b->out->recording->launch[row->launch - 1].start_ns;
    if (op && b->options->hta && stream->prior) {
        op->previous_ns = stream->prior->row->end_ns;
        op->previous = stream->prior->end;
    } else if (op && !b->options->hta) {
        op->previous_ns = stream->last.end_ns;
        op->previous = (uint32_t)stream->last.node;
    }
    if (replay) {
        advance(replay, row->start_ns);
        op->inside_ns = replay->last.end_ns;
        op->inside = (uint32_t)replay->last.node;
        enter(replay, &self);
    }
    enter(stream, &self);
    if (op)
        stream->prior = op;
    return 0;
}

static int see_all(struct lanes *l)
{
    struct sl_build *b = l->build;
    const struct sl_recording *r = b->out->recording;
    size_t next = 0;

    for (size_t i = 0; i < r->ops; i++) {
        struct sl_build_op *op =
            next < b->ops && b->op[next].row == &r->op[i] ? &b->op[next] : NULL;

        next += op != NULL;
        if (see(l, &r->op[i], op) != 0)
            return -ENOMEM;
    }
    return 0;
}

/* ---- edges ---- */

/* Returns when the launch began, or 0 if it is not known or, by the clocks, later. */
static uint64_t launch_ns(const struct sl_build *b, const struct sl_build_op *op)
{
    uint64_t ns = op->launch ? at_ns(b, b->cpu[op->launch - 1].start) : 0;

    return ns <= at_ns(b, op->start) ? ns : 0;
}

/* The latest end of what an operation came after. */
struct ready {
    uint64_t ns; /* 0: it came after nothing */
    uint32_t node;
    enum sl_critical_kind kind;
};

static void take_ready(struct ready *r, const struct sl_build *b, uint64_t ns, uint32_t node,
                       enum sl_critical_kind kind)
{
    if (ns > b->out->window.begin_ns && ns > r->ns)
        *r = (struct ready){ns, node, kind};
}

static struct ready ready_of(const struct sl_build *b, const struct sl_build_op *op)
{
    struct ready r = {0};

    take_ready(&r, b, op->previous_ns, op->previous, SL_CRITICAL_QUEUE);
    take_ready(&r, b, op->inside_ns, op->inside, SL_CRITICAL_QUEUE);
    take_ready(&r, b, op->awaited_ns, op->awaited, SL_CRITICAL_SYNC);
    return r;
}

static void add(struct sl_build *b, const struct sl_build_op *op, uint32_t from, uint64_t ns,
                enum sl_critical_kind kind)
{
    struct sl_graph_edge *edge = sl_build_edge(b, from, op->start, op->factor == 0 ? 0 : ns, kind,
                                               op->row->name, op->row->stream);

    if (edge)
        edge->device = op->row->device;
}

/* Adds what an operation waited for. A launch takes `least_ns` or more. */
static void add_begin(struct sl_build *b, const struct sl_build_op *op, uint64_t least_ns)
{
    struct ready r = ready_of(b, op);
    uint64_t start_ns = at_ns(b, op->start), launched_ns = launch_ns(b, op), ns;

    if (launched_ns) {
        ns = start_ns - launched_ns;
        if (launched_ns <= r.ns && ns > least_ns)
            ns = least_ns;
        add(b, op, b->cpu[op->launch - 1].start, ns, SL_CRITICAL_LAUNCH);
    }
    if (r.ns && launched_ns <= r.ns)
        add(b, op, r.node != SL_GRAPH_NONE ? r.node : sl_build_earlier(b, r.ns), start_ns - r.ns,
            r.kind);
    else if (!launched_ns)
        add(b, op, b->source, start_ns - b->out->window.begin_ns, SL_CRITICAL_UNKNOWN);
    if (op->previous_ns && op->previous_ns != r.ns && op->previous != SL_GRAPH_NONE)
        add(b, op, op->previous, 0, SL_CRITICAL_QUEUE);
    if (op->inside_ns && op->inside_ns != r.ns && op->inside != SL_GRAPH_NONE)
        add(b, op, op->inside, 0, SL_CRITICAL_QUEUE);
}

/* HTA's rule: a launch held its operation back if the stream was empty, and nothing else was
 * launched into it before the operation began. */
static void add_begin_of_hta(struct sl_build *b, const struct sl_build_op *op)
{
    uint64_t start_ns = at_ns(b, op->start), launched_ns = launch_ns(b, op);
    int is_empty = op->previous_ns < launched_ns && op->awaited_ns < launched_ns;

    if (launched_ns && is_empty && is_counted_by_hta(b, op->row) &&
        (!op->next_launch_ns || op->next_launch_ns > start_ns))
        add(b, op, b->cpu[op->launch - 1].start, start_ns - launched_ns, SL_CRITICAL_LAUNCH);
    else if (op->previous_ns && (!op->awaited_ns || op->awaited_ns < op->previous_ns))
        add(b, op, op->previous, start_ns > op->previous_ns ? start_ns - op->previous_ns : 0,
            SL_CRITICAL_QUEUE);
}

static void add_work(struct sl_build *b, const struct sl_build_op *op)
{
    static const enum sl_critical_kind kinds[SL_WORK_COUNT] = {
        SL_CRITICAL_KERNEL, SL_CRITICAL_COMMUNICATION, SL_CRITICAL_COPY};
    uint64_t ns = at_ns(b, op->end) - at_ns(b, op->start);
    struct sl_graph_edge *edge;

    if (op->factor != 1)
        ns = (uint64_t)((double)ns * (double)op->factor);
    edge = sl_build_edge(b, op->start, op->end, ns, kinds[op->row->work], op->row->name,
                         op->row->stream);
    if (edge)
        edge->device = op->row->device;
}

/* Returns the shortest time from a launch to its operation on a free stream. */
static uint64_t fastest_launch(const struct sl_build *b)
{
    uint64_t least_ns = UINT64_MAX;

    for (size_t i = 0; i < b->ops; i++) {
        uint64_t launched_ns = launch_ns(b, &b->op[i]), start_ns = at_ns(b, b->op[i].start);

        if (launched_ns > ready_of(b, &b->op[i]).ns && start_ns - launched_ns < least_ns)
            least_ns = start_ns - launched_ns;
    }
    return least_ns != UINT64_MAX ? least_ns : 0;
}

int sl_build_streams(struct sl_build *b)
{
    struct lanes l = {.build = b};
    uint64_t least_ns;
    int rc;

    sl_map_init(&l.streams, &b->store);
    sl_map_init(&l.replays, &b->store);
    sl_pool_init(&l.pool, &b->store, sizeof(struct lane));
    rc = see_all(&l);
    sl_map_free(&l.streams);
    sl_map_free(&l.replays);
    sl_pool_free(&l.pool);
    if (rc)
        return rc;
    least_ns = b->options->hta ? 0 : fastest_launch(b);
    for (size_t i = 0; i < b->ops; i++) {
        if (b->options->hta)
            add_begin_of_hta(b, &b->op[i]);
        else
            add_begin(b, &b->op[i], least_ns);
        add_work(b, &b->op[i]);
    }
    return b->out->graph.failed ? -ENOMEM : 0;
}
