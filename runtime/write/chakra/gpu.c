/*
 * gpu.c - writes GPU operations as nodes, with their parents and the delay after the last parent.
 *
 * The parents of an operation are the call that launched the operation, the previous operation on
 * the same stream, and all sources that the operation was made to wait for. `delay_ns` is the
 * launch latency: the time from the end of the last parent to the operation's start. (The end of a
 * parent is its end in a replay, because a replay starts no node before its parents have ended.) A
 * delay above SL_CHAKRA_DELAY_MAX_NS has another, unknown reason, and the writer counts it.
 *
 * Threads: one owner. Memory: none.
 */
#include <string.h>

#include "write/chakra/chakra_internal.h"

#define LATE_MAX_NS ((1u << 24) - 1)

/* Returns the context number to write with an operation, or 0 if the operation is in the first
 * context of its device. The number is needed because CUPTI numbers the streams of each context
 * separately. */
static uint32_t further_context(struct sl_chakra *c, const struct sl_event *ev)
{
    uint32_t *first;

    if (ev->device >= SL_DEVICE_MAX)
        return ev->context;
    first = &c->first_context[ev->device];
    if (*first == 0)
        *first = ev->context;
    return ev->context != *first ? ev->context : 0;
}

static int is_collective(const struct sl_event *ev, const struct sl_text *name)
{
    return ev->kind == SL_EV_KERNEL && name && name->length > 4 &&
           memcmp(name->text, "nccl", 4) == 0;
}

/* Writes the operation's collective to *out. Returns 1 if the collective is known and a simulator
 * supports it. */
static int ask_collective(struct sl_chakra *c, const struct sl_event *ev,
                          const struct sl_text *name, struct sl_collective *out)
{
    if (!c->opt.collective || !is_collective(ev, name))
        return 0;
    if (c->opt.collective(c->opt.collective_user, ev, out) && out->type < SL_COLLECTIVE_TYPE_COUNT)
        return 1;
    c->count.comm_unknown++;
    return 0;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t delay_of(struct sl_chakra *c, uint64_t start_ns, uint64_t parents_end)
{
    uint64_t delay = start_ns > parents_end ? start_ns - parents_end : 0;

    if (c->deps == 0)
        return 0;
    if (delay > SL_CHAKRA_DELAY_MAX_NS) {
        c->count.unexplained++;
        c->count.unexplained_ns += delay - SL_CHAKRA_DELAY_MAX_NS;
        delay = SL_CHAKRA_DELAY_MAX_NS;
    }
    return delay;
}

/* Returns by how many nanoseconds the operation begins later in a replay, because it began before
 * its parents had ended. A thread that waits for the operation is not late in the replay, because
 * the thread's own time after the wait is made shorter by the same amount. */
static uint64_t late_by(uint64_t start_ns, uint64_t parents_end)
{
    uint64_t late = parents_end > start_ns ? parents_end - start_ns : 0;

    return late < LATE_MAX_NS ? late : LATE_MAX_NS;
}

/* Returns by how many nanoseconds the operation overlaps the previous operation on its stream. On a
 * GPU a kernel may begin before the previous kernel has ended (programmatic dependent launch), but
 * a simulator runs a queue strictly in sequence. So the node represents only the part after the end
 * of the previous operation. */
static uint64_t overlap_of(struct sl_chakra *c, const struct sl_chakra_stream *s,
                           const struct sl_event *ev)
{
    uint64_t end_ns = s->busy_until_ns < ev->end_ns ? s->busy_until_ns : ev->end_ns;

    if (end_ns <= ev->start_ns)
        return 0;
    c->count.stream_overlaps++;
    c->count.stream_overlaps_ns += end_ns - ev->start_ns;
    return end_ns - ev->start_ns;
}

static uint64_t which_of(const struct sl_event *op)
{
    int is_node = op->graph && op->kind != SL_EV_GRAPH;

    return sl_chakra_which(is_node ? op->u.op.graph_node : 0, op->stream);
}

/* Returns the time at which all parents of the operation except its call had ended, or 0 if the
 * call is the only parent. */
static uint64_t free_at(const struct sl_chakra *c, const struct sl_chakra_stream *s,
                        const struct sl_event *op)
{
    return later(s->last_end_ns, sl_chakra_sources_end(c, op->correlation, which_of(op), 1));
}

static int begins_late(const struct sl_event *op, uint64_t free_ns)
{
    return free_ns && op->start_ns > free_ns + SL_CHAKRA_DELAY_MAX_NS;
}

int sl_chakra_must_wait(struct sl_chakra *c, const struct sl_event *op, uint64_t complete_ns)
{
    return !c->hurried && !c->ending && !sl_chakra_has_launch(c, op->correlation) &&
           sl_chakra_is_undecided(c, op, complete_ns);
}

/* Counts an operation that began before its call had ended. An operation cannot begin before it was
 * enqueued. So either the clocks differ, or the call continued after it had enqueued the operation.
 */
static void count_overlap(struct sl_chakra *c, const struct sl_event *op, uint64_t launch_end_ns)
{
    if (op->start_ns >= launch_end_ns)
        return;
    c->count.gpu_overlaps++;
    c->count.gpu_overlaps_ns += launch_end_ns - op->start_ns;
}

/* Adds the launching node as a dependency. Returns the time at which the launching node ended, or 0
 * if that node is not known. */
static uint64_t add_launch(struct sl_chakra *c, struct sl_chakra_stream *s,
                           struct sl_chakra_node *n)
{
    const struct sl_event *op = n->ev;
    uint64_t free_ns = free_at(c, s, op);
    const struct sl_chakra_launch *launch = sl_chakra_launch_of(c, op, free_ns);
    struct sl_chakra_thread *t;

    if (launch) {
        s->shared |= s->thread && s->thread != launch->thread;
        s->thread = launch->thread;
        sl_chakra_add_dep(c, launch->id);
        count_overlap(c, op, launch->end_ns);
        return launch->end_ns;
    }
    n->no_launch = 1;
    c->count.gpu_without_launch++;
    t = begins_late(op, free_ns) ? sl_chakra_unseen_caller(c, s, op) : NULL;
    if (!t)
        return 0;
    /* The call has no row, so the thread's node is cut where the operation began. */
    sl_chakra_cut_thread(c, t, op->start_ns);
    sl_chakra_add_dep(c, t->last);
    return t->frontier_ns;
}

void sl_chakra_take_op(struct sl_chakra *c, const struct sl_event *ev)
{
    struct sl_chakra_node n = {.ev = ev, .start_ns = ev->start_ns, .end_ns = ev->end_ns};
    struct sl_chakra_op op = {.correlation = ev->correlation, .which = which_of(ev)};
    struct sl_chakra_stream *s = sl_chakra_get_stream(c, ev);
    uint64_t parents_end = add_launch(c, s, &n);
    int late = s->last.id && ev->start_ns < s->last_start_ns;
    struct sl_collective collective;

    if (!late) {
        sl_chakra_add_dep(c, s->last.id);
        parents_end = later(s->last_end_ns, parents_end);
        n.overlap_ns = overlap_of(c, s, ev);
        n.start_ns += n.overlap_ns;
    }
    sl_chakra_add_sources(c, ev->correlation, op.which, 1, &parents_end);
    n.delay_ns = delay_of(c, n.start_ns, parents_end);
    op.late_ns = late_by(n.start_ns, parents_end);
    n.context = further_context(c, ev);
    n.name = sl_chakra_name(c, ev);
    if (ask_collective(c, ev, n.name, &collective))
        n.collective = &collective;
    op.id = sl_chakra_put_node(c, &n);
    c->count.gpu_nodes++;
    c->count.comm_nodes += n.collective != NULL;
    sl_chakra_remember_op(c, &op);
    if (late) {
        c->count.gpu_late++;
        return;
    }
    s->last = op;
    s->last_start_ns = ev->start_ns;
    s->last_end_ns = ev->end_ns + op.late_ns;
    s->busy_until_ns = later(s->busy_until_ns, ev->end_ns);
}
