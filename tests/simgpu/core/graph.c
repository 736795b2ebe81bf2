/*
 * graph.c - graphs: nodes and their dependencies, added explicitly or by capture.
 *
 * Any thread; under sim_lock(). The nodes of a destroyed graph lose their magic number. The memory
 * of nodes is never freed (keep.c).
 */
#include "core/graph.h"

#include <stdlib.h>
#include <string.h>

enum {
    GRAPH = 0x69a9f001,
    NODE = 0x0de00001
};

static uint32_t last_graph_id;

bool sim_graph_valid(const struct sim_graph *graph)
{
    return graph && graph->magic == GRAPH;
}

bool sim_node_valid(const struct sim_node *node)
{
    return node && node->magic == NODE;
}

static struct sim_graph *new_graph(void)
{
    struct sim_graph *graph = sim_keep(sizeof *graph);

    if (graph) {
        graph->magic = GRAPH;
        graph->id = ++last_graph_id;
        graph->last = &graph->nodes;
    }
    return graph;
}

int sim_graph_create(struct sim_graph **out)
{
    sim_lock();
    *out = new_graph();
    sim_unlock();
    return *out ? SIM_OK : SIM_E_MEMORY;
}

static void retire(struct sim_node *node)
{
    node->magic = 0;
    sim_nodes_clear(&node->before);
    sim_nodes_clear(&node->after);
    if (node->work.kind == SIM_WORK_CHILD) {
        sim_graph_free_locked(node->work.child);
    }
}

void sim_graph_free_locked(struct sim_graph *graph)
{
    graph->magic = 0;
    for (struct sim_node *node = graph->nodes; node; node = node->next) {
        retire(node);
    }
}

int sim_graph_destroy(struct sim_graph *graph)
{
    if (!sim_graph_valid(graph)) {
        return SIM_E_VALUE;
    }
    sim_lock();
    sim_graph_free_locked(graph);
    sim_unlock();
    return SIM_OK;
}

/* In CUPTI's node ids, the upper half is the graph's id. */
static struct sim_node *new_node(struct sim_graph *graph, const struct sim_work *work,
                                 const struct sim_node *original)
{
    struct sim_node *node = sim_keep(sizeof *node);

    if (node) {
        node->magic = NODE;
        node->id = (uint64_t)graph->id << 32 | graph->made++;
        node->graph = graph;
        node->original = original;
        node->work = *work;
        *graph->last = node;
        graph->last = &node->next;
        graph->count++;
        sim_graph_tell_node(node);
    }
    return node;
}

int sim_graph_add_locked(struct sim_graph *graph, const struct sim_work *work,
                         struct sim_node **behind, size_t count, struct sim_node **out)
{
    for (size_t i = 0; i < count; i++) {
        if (!sim_node_valid(behind[i]) || behind[i]->graph != graph) {
            return SIM_E_VALUE;
        }
    }
    struct sim_node *node = new_node(graph, work, NULL);

    if (!node) {
        return SIM_E_MEMORY;
    }
    if (work->kind == SIM_WORK_CHILD &&
        !(node->work.child = sim_graph_copy_locked(work->child, false))) {
        node->work.kind = SIM_WORK_EMPTY;
        return SIM_E_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        if (!sim_nodes_add(&node->before, behind[i]) || !sim_nodes_add(&behind[i]->after, node)) {
            return SIM_E_MEMORY;
        }
        sim_graph_tell_link(behind[i], node, true);
    }
    *out = node;
    return SIM_OK;
}

int sim_graph_add(struct sim_graph *graph, const struct sim_work *work, struct sim_node **behind,
                  size_t count, struct sim_node **out)
{
    if (!sim_graph_valid(graph) || !out || (count && !behind)) {
        return SIM_E_VALUE;
    }
    sim_lock();
    int error = sim_graph_add_locked(graph, work, behind, count, out);

    sim_unlock();
    return error;
}

static void drop(struct sim_nodes *list, const struct sim_node *node)
{
    for (size_t i = 0; i < list->n; i++) {
        if (list->node[i] == node) {
            memmove(&list->node[i], &list->node[i + 1], (--list->n - i) * sizeof *list->node);
            return;
        }
    }
}

int sim_graph_link(struct sim_graph *graph, struct sim_node *from, struct sim_node *to, bool add)
{
    int error = SIM_OK;

    if (!sim_graph_valid(graph) || !sim_node_valid(from) || !sim_node_valid(to) || from == to ||
        from->graph != graph || to->graph != graph) {
        return SIM_E_VALUE;
    }
    sim_lock();
    if (!add) {
        drop(&from->after, to);
        drop(&to->before, from);
    } else if (!sim_nodes_add(&from->after, to) || !sim_nodes_add(&to->before, from)) {
        error = SIM_E_MEMORY;
    }
    sim_graph_tell_link(from, to, add);
    sim_unlock();
    return error;
}

/* Copies at most *count nodes to `out`, and stores the number of copied nodes in *count. If `out`
 * is NULL, only stores the number of nodes in the list. */
static void give(const struct sim_nodes *list, struct sim_node **out, size_t *count)
{
    if (out) {
        for (size_t i = 0; i < *count; i++) {
            out[i] = i < list->n ? list->node[i] : NULL;
        }
        *count = *count < list->n ? *count : list->n;
    } else {
        *count = list->n;
    }
}

int sim_graph_nodes(struct sim_graph *graph, struct sim_node **out, size_t *count, bool roots)
{
    struct sim_nodes list = {0};

    if (!sim_graph_valid(graph) || !count) {
        return SIM_E_VALUE;
    }
    sim_lock();
    for (struct sim_node *node = graph->nodes; node; node = node->next) {
        if (sim_node_valid(node) && !(roots && node->before.n)) {
            sim_nodes_add(&list, node);
        }
    }
    give(&list, out, count);
    sim_unlock();
    sim_nodes_clear(&list);
    return SIM_OK;
}

int sim_graph_edges(struct sim_graph *graph, struct sim_node **from, struct sim_node **to,
                    size_t *count)
{
    size_t n = 0;

    if (!sim_graph_valid(graph) || !count || !from != !to) {
        return SIM_E_VALUE;
    }
    sim_lock();
    for (struct sim_node *node = graph->nodes; node; node = node->next) {
        for (size_t i = 0; i < node->after.n; i++, n++) {
            if (from && n < *count) {
                from[n] = node;
                to[n] = node->after.node[i];
            }
        }
    }
    sim_unlock();
    *count = from && *count < n ? *count : n;
    return SIM_OK;
}

int sim_node_neighbours(struct sim_node *node, bool after, struct sim_node **out, size_t *count)
{
    if (!sim_node_valid(node) || !count) {
        return SIM_E_VALUE;
    }
    sim_lock();
    give(after ? &node->after : &node->before, out, count);
    sim_unlock();
    return SIM_OK;
}

int sim_node_remove(struct sim_node *node)
{
    if (!sim_node_valid(node)) {
        return SIM_E_VALUE;
    }
    sim_lock();
    for (size_t i = 0; i < node->before.n; i++) {
        drop(&node->before.node[i]->after, node);
    }
    for (size_t i = 0; i < node->after.n; i++) {
        drop(&node->after.node[i]->before, node);
    }
    retire(node);
    node->graph->count--;
    sim_unlock();
    return SIM_OK;
}

struct sim_work *sim_node_work(struct sim_node *node)
{
    return &node->work;
}

/* Searches depth first along the successors. Captures are small, and graphs built explicitly do not
 * use this function. */
bool sim_node_reaches(struct sim_node *node, const struct sim_nodes *sinks)
{
    for (size_t i = 0; i < sinks->n; i++) {
        if (sinks->node[i] == node) {
            return true;
        }
    }
    for (size_t i = 0; i < node->after.n; i++) {
        if (sim_node_reaches(node->after.node[i], sinks)) {
            return true;
        }
    }
    return false;
}

/* Copies the nodes of `from` into `to`. With `flatten`, a child graph node is replaced by the
 * child's nodes, between two empty nodes. */
static bool copy_nodes(const struct sim_graph *from, struct sim_graph *to, bool flatten)
{
    static const struct sim_work empty = {.kind = SIM_WORK_EMPTY};

    for (struct sim_node *node = from->nodes; node; node = node->next) {
        bool child = node->work.kind == SIM_WORK_CHILD;

        if (!sim_node_valid(node)) {
            continue;
        }
        node->copy = new_node(to, child && flatten ? &empty : &node->work, node);
        if (!node->copy) {
            return false;
        }
        node->copy->disabled = node->disabled;
        if (child && !flatten &&
            !(node->copy->work.child = sim_graph_copy_locked(node->work.child, false))) {
            node->copy->work.kind = SIM_WORK_EMPTY;
            return false;
        }
    }
    for (struct sim_node *node = from->nodes; node; node = node->next) {
        struct sim_node *entry = node->copy, *exit = node->copy;

        if (!sim_node_valid(node)) {
            continue;
        }
        if (node->work.kind == SIM_WORK_CHILD && flatten) {
            exit = new_node(to, &empty, NULL);
            if (!exit || !copy_nodes(node->work.child, to, true)) {
                return false;
            }
            for (struct sim_node *inner = node->work.child->nodes; inner; inner = inner->next) {
                if (inner->magic == NODE && !inner->before.n) {
                    sim_nodes_add(&inner->copy->before, entry);
                    sim_nodes_add(&entry->after, inner->copy);
                }
                if (inner->magic == NODE && !inner->after.n) {
                    struct sim_node *last = inner->exit_copy;

                    sim_nodes_add(&last->after, exit);
                    sim_nodes_add(&exit->before, last);
                }
            }
            sim_nodes_add(&entry->after, exit);
            sim_nodes_add(&exit->before, entry);
        }
        node->exit_copy = exit;
    }
    for (struct sim_node *node = from->nodes; node; node = node->next) {
        for (size_t i = 0; sim_node_valid(node) && i < node->after.n; i++) {
            struct sim_node *next = node->after.node[i]->copy;

            if (!sim_nodes_add(&node->exit_copy->after, next) ||
                !sim_nodes_add(&next->before, node->exit_copy)) {
                return false;
            }
        }
    }
    return true;
}

struct sim_graph *sim_graph_copy_locked(const struct sim_graph *graph, bool flatten)
{
    struct sim_graph *copy = new_graph();

    if (copy && !copy_nodes(graph, copy, flatten)) {
        sim_graph_free_locked(copy);
        return NULL;
    }
    return copy;
}

int sim_graph_clone(struct sim_graph *graph, struct sim_graph **out)
{
    if (!sim_graph_valid(graph) || !out) {
        return SIM_E_VALUE;
    }
    sim_lock();
    *out = sim_graph_copy_locked(graph, false);
    sim_unlock();
    return *out ? SIM_OK : SIM_E_MEMORY;
}

/* Returns the node of the clone that is the copy of `original`. */
struct sim_node *sim_graph_find(const struct sim_graph *clone, const struct sim_node *original)
{
    for (struct sim_node *node = clone->nodes; node; node = node->next) {
        if (node->magic == NODE && node->original == original) {
            return node;
        }
    }
    return NULL;
}

int sim_graph_node_id(const void *node, uint64_t *id)
{
    if (!sim_node_valid(node)) {
        return -1;
    }
    *id = ((const struct sim_node *)node)->id;
    return 0;
}
