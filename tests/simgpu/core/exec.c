/*
 * exec.c - executable graphs: instantiation, update and launch.
 *
 * Any thread; under sim_lock(). An exec owns a flat copy of its graph in topological order. Each
 * branch of nodes runs on a stream, its lane. The first branch runs on the launch stream (except
 * with graph-own-streams). Other branches run on private streams of the exec. A launch is ordered
 * after the launch stream's tail and after the exec's previous launch. Later work on the stream
 * follows all last nodes of the graph.
 */
#include <stdlib.h>
#include <string.h>

#include "core/graph.h"

enum {
    EXEC = 0xe8ec0001
};

struct sim_exec {
    uint32_t magic;
    struct sim_graph *graph;
    struct sim_node **order;
    size_t count;
    struct sim_context *context; /* context of the lanes; chosen by the first launch */
    struct sim_stream **lanes;
    size_t lane_count;
    struct sim_set last; /* last operations of the previous launch */
};

static bool valid(const struct sim_exec *exec)
{
    return exec && exec->magic == EXEC;
}

/* Sorts the nodes topologically. Returns false if the graph has a cycle, or if memory is
 * exhausted. */
static bool put_in_order(struct sim_exec *exec)
{
    size_t total = exec->graph->count, n = 0;

    free(exec->order);
    exec->order = calloc(total + 1, sizeof *exec->order);
    if (!exec->order) {
        return false;
    }
    for (struct sim_node *node = exec->graph->nodes; node; node = node->next) {
        node->order = (int)node->before.n;
        if (!node->order) {
            exec->order[n++] = node;
        }
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < exec->order[i]->after.n; j++) {
            struct sim_node *next = exec->order[i]->after.node[j];

            if (--next->order == 0) {
                exec->order[n++] = next;
            }
        }
    }
    exec->count = n;
    return n == total;
}

/* Puts each node on the lane of a predecessor, if the predecessor is still the last node of the
 * lane. Otherwise puts the node on a new lane. `order` holds the branch number; 0 is the launch
 * stream. */
static void choose_lanes(struct sim_exec *exec)
{
    int branches = sim_option("GRAPH_OWN_STREAMS") ? 1 : 0;

    for (size_t i = 0; i < exec->count; i++) {
        struct sim_node *node = exec->order[i];

        node->order = -1;
        node->passed_on = false;
        for (size_t j = 0; j < node->before.n && node->order < 0; j++) {
            if (!node->before.node[j]->passed_on) {
                node->before.node[j]->passed_on = true;
                node->order = node->before.node[j]->order;
            }
        }
        if (node->order < 0) {
            node->order = branches++;
        }
    }
    exec->lane_count = branches > 1 ? (size_t)branches - 1 : 0;
}

static int build(struct sim_exec *exec, const struct sim_graph *graph)
{
    exec->graph = sim_graph_copy_locked(graph, true);
    if (!exec->graph) {
        return SIM_E_MEMORY;
    }
    if (!put_in_order(exec)) {
        return SIM_E_VALUE;
    }
    choose_lanes(exec);
    return SIM_OK;
}

static void drop_lanes(struct sim_exec *exec, size_t count)
{
    for (size_t i = 0; exec->lanes && i < count; i++) {
        if (exec->lanes[i]) {
            exec->lanes[i]->destroyed = true;
            sim_stream_drained(exec->lanes[i]);
        }
    }
    free(exec->lanes);
    exec->lanes = NULL;
}

int sim_graph_instantiate(struct sim_graph *graph, struct sim_exec **out)
{
    struct sim_exec *exec = sim_keep(sizeof *exec);

    if (!sim_graph_valid(graph) || !out || !exec) {
        return exec ? SIM_E_VALUE : SIM_E_MEMORY;
    }
    exec->magic = EXEC;
    sim_lock();
    int error = build(exec, graph);

    sim_unlock();
    if (error) {
        exec->magic = 0;
        free(exec->order);
        return error;
    }
    *out = exec;
    return SIM_OK;
}

int sim_exec_destroy(struct sim_exec *exec)
{
    if (!valid(exec)) {
        return SIM_E_VALUE;
    }
    sim_lock();
    exec->magic = 0;
    drop_lanes(exec, exec->lane_count);
    sim_set_clear(&exec->last);
    sim_graph_free_locked(exec->graph);
    free(exec->order);
    exec->order = NULL;
    sim_unlock();
    return SIM_OK;
}

/* Returns whether both graphs have equally many nodes, and the n-th nodes of both graphs have the
 * same kind and equally many predecessors and successors. */
static bool same_shape(const struct sim_exec *a, const struct sim_exec *b)
{
    if (a->count != b->count) {
        return false;
    }
    for (size_t i = 0; i < a->count; i++) {
        const struct sim_node *x = a->order[i], *y = b->order[i];

        if (x->work.kind != y->work.kind || x->before.n != y->before.n ||
            x->after.n != y->after.n) {
            return false;
        }
    }
    return true;
}

int sim_exec_update(struct sim_exec *exec, struct sim_graph *graph)
{
    struct sim_exec other = {0};

    if (!valid(exec) || !sim_graph_valid(graph)) {
        return SIM_E_VALUE;
    }
    sim_lock();
    int error = build(&other, graph);

    if (!error && !same_shape(exec, &other)) {
        error = SIM_E_GRAPH_UPDATE;
    }
    for (size_t i = 0; i < exec->count && !error; i++) {
        exec->order[i]->work = other.order[i]->work;
    }
    if (other.graph) {
        sim_graph_free_locked(other.graph);
    }
    free(other.order);
    sim_unlock();
    return error;
}

int sim_exec_set(struct sim_exec *exec, struct sim_node *node, const struct sim_work *work)
{
    if (!valid(exec) || !sim_node_valid(node)) {
        return SIM_E_VALUE;
    }
    sim_lock();
    struct sim_node *own = sim_graph_find(exec->graph, node);
    int error = own && own->work.kind == work->kind ? SIM_OK : SIM_E_VALUE;

    if (!error) {
        own->work = *work;
    }
    sim_unlock();
    return error;
}

static int prepare(struct sim_exec *exec, struct sim_stream *stream)
{
    if (exec->context == stream->context) {
        return SIM_OK;
    }
    drop_lanes(exec, exec->lane_count);
    exec->context = stream->context;
    exec->lanes = calloc(exec->lane_count + 1, sizeof *exec->lanes);
    for (size_t i = 0; exec->lanes && i < exec->lane_count; i++) {
        if (!(exec->lanes[i] = sim_stream_lane(stream->context))) {
            return SIM_E_MEMORY;
        }
    }
    return exec->lanes ? SIM_OK : SIM_E_MEMORY;
}

/* Collects the predecessors of a node: the results of its own predecessors, or for a root the
 * launch stream's tail and the previous launch. */
static void collect(const struct sim_node *node, const struct sim_stream *lane,
                    const struct sim_set *entry, struct sim_set *set)
{
    if (!node->before.n) {
        sim_set_merge_as_is(set, entry);
    }
    for (size_t i = 0; i < node->before.n; i++) {
        const struct sim_set *from = &node->before.node[i]->result;

        for (int j = 0; j < from->n; j++) {
            bool same = from->link[j].op->lane == lane;

            sim_set_add(set, from->link[j].op, same ? SIM_VIA_STREAM : SIM_VIA_GRAPH, 0);
        }
    }
}

struct launch {
    struct sim_exec *exec;
    struct sim_stream *stream;
    struct op **ops; /* operations that are not yet reported to CUPTI */
    size_t ops_n;
    struct sim_event_record *records;
    size_t records_n;
};

static int enqueue_node(struct launch *launch, struct sim_node *node, const struct sim_set *entry)
{
    struct sim_stream *lane = node->order ? launch->exec->lanes[node->order - 1] : launch->stream;
    struct sim_set set = {0};

    collect(node, lane, entry, &set);
    if (node->work.kind == SIM_WORK_EVENT_WAIT) {
        sim_set_merge(&set, &node->work.event->set, SIM_VIA_STREAM_WAIT, sim_call_correlation());
    } else if (node->work.kind == SIM_WORK_EVENT_RECORD) {
        struct sim_set copy = {0};

        sim_set_merge_as_is(&copy, &set);
        launch->records[launch->records_n++] =
            sim_event_fill(node->work.event, lane->context->id, lane->id, &copy);
    } else if (node->work.kind != SIM_WORK_EMPTY && !node->disabled) {
        struct op *op = sim_submit_node(lane, &node->work, &set, launch->exec->graph->id, node->id);

        sim_set_clear(&set);
        if (!op) {
            return SIM_E_MEMORY;
        }
        launch->ops[launch->ops_n++] = op;
        sim_set_add(&set, op, SIM_VIA_STREAM, 0);
    }
    sim_set_clear(&node->result);
    sim_set_merge_as_is(&node->result, &set);
    sim_set_clear(&set);
    return SIM_OK;
}

/* Replaces the launch stream's tail by the graph's sinks, the operations without successors. A
 * graph without work leaves the tail unchanged. */
static void finish(struct launch *launch, const struct sim_set *entry)
{
    struct sim_exec *exec = launch->exec;
    struct sim_set sinks = {0};

    for (size_t i = 0; i < exec->count; i++) {
        struct sim_node *node = exec->order[i];

        for (int j = 0; j < node->result.n && !node->after.n; j++) {
            struct op *op = node->result.link[j].op;

            sim_set_add(&sinks, op, op->lane == launch->stream ? SIM_VIA_STREAM : SIM_VIA_GRAPH, 0);
        }
    }
    if (!exec->count) {
        sim_set_merge_as_is(&sinks, entry);
    }
    sim_set_clear(&exec->last);
    sim_set_merge_as_is(&exec->last, &sinks);
    sim_stream_take_tail(launch->stream, &sinks);
    for (size_t i = 0; i < exec->count; i++) {
        sim_set_clear(&exec->order[i]->result);
    }
}

int sim_exec_launch(struct sim_exec *exec, struct sim_stream *stream)
{
    struct launch launch = {.exec = exec, .stream = stream};
    struct sim_set entry = {0};
    int error;

    if (!valid(exec)) {
        return SIM_E_VALUE;
    }
    launch.ops = calloc(exec->count + 1, sizeof *launch.ops);
    launch.records = calloc(exec->count + 1, sizeof *launch.records);
    if (!launch.ops || !launch.records) {
        free(launch.ops);
        free(launch.records);
        return SIM_E_MEMORY;
    }
    sim_lock();
    if (stream->capture) {
        const struct sim_work child = {.kind = SIM_WORK_CHILD, .child = exec->graph};

        error = sim_capture_add(stream, &child);
    } else if (!(error = prepare(exec, stream)) && !(error = sim_capture_implicit(stream))) {
        sim_stream_collect(stream, &entry);
        sim_set_merge(&entry, &exec->last, SIM_VIA_GRAPH, 0);
        for (size_t i = 0; i < exec->count && !error; i++) {
            error = enqueue_node(&launch, exec->order[i], &entry);
        }
        finish(&launch, &entry);
    }
    sim_unlock();
    for (size_t i = 0; i < launch.ops_n; i++) {
        sim_submit_announce(launch.ops[i]);
    }
    for (size_t i = 0; i < launch.records_n; i++) {
        sim_event_tell(&launch.records[i]);
    }
    sim_set_clear(&entry);
    free(launch.ops);
    free(launch.records);
    return error;
}

int sim_exec_set_enabled(struct sim_exec *exec, struct sim_node *node, bool enabled)
{
    if (!valid(exec) || !sim_node_valid(node)) {
        return SIM_E_VALUE;
    }
    sim_lock();
    struct sim_node *own = sim_graph_find(exec->graph, node);

    if (own) {
        own->disabled = !enabled;
    }
    sim_unlock();
    return own ? SIM_OK : SIM_E_VALUE;
}

int sim_graph_id(const void *handle, uint32_t *id)
{
    const struct sim_exec *exec = handle;

    if (sim_graph_valid(handle)) {
        *id = ((const struct sim_graph *)handle)->id;
        return 0;
    }
    if (valid(exec)) {
        *id = exec->graph->id;
        return 0;
    }
    return -1;
}
