/*
 * node_state.c - stores the dependencies between the nodes of a graph.
 *
 * Threads: only the thread that owns the engine (edge.h). Memory: the nodes and their dependencies.
 */
#include "sync/node_state.h"

enum {
    /* nodes may use 1/SHARE of the store; dependencies that do not fit into their nodes may use as
     * much again */
    SHARE = 8,
    LEAST = 64,
    SLOTS_USUAL = 4 /* number of map slots that are reserved for one key */
};

void sl_nodes_init(struct sl_nodes *n, struct sl_store *store)
{
    const size_t each = sizeof(struct sl_node) + SLOTS_USUAL * sizeof(struct sl_map_slot);

    *n = (struct sl_nodes){.most = store->cap_bytes / SHARE / each + LEAST,
                           .more_most =
                               store->cap_bytes / SHARE / sizeof(struct sl_node_deps) + LEAST};
    sl_pool_init(&n->pool, store, sizeof(struct sl_node));
    sl_pool_init(&n->deps, store, sizeof(struct sl_node_deps));
    sl_map_init(&n->by_id, store);
}

void sl_nodes_free(struct sl_nodes *n)
{
    sl_pool_free(&n->pool);
    sl_pool_free(&n->deps);
    sl_map_free(&n->by_id);
}

struct sl_node *sl_nodes_find(const struct sl_nodes *n, uint64_t id)
{
    return sl_map_get(&n->by_id, id);
}

static void forget_oldest(struct sl_nodes *n)
{
    struct sl_node *node = n->oldest;

    while (node->deps.more) {
        struct sl_node_deps *gone = node->deps.more;

        node->deps.more = gone->more;
        sl_pool_put(&n->deps, gone);
        n->more--;
    }
    sl_map_drop(&n->by_id, node->id);
    n->oldest = node->newer;
    if (!n->oldest)
        n->newest = NULL;
    sl_pool_put(&n->pool, node);
    n->count--;
}

/* Adds a node and returns it. Returns NULL if the node exists already, or if there is no memory. */
static struct sl_node *make(struct sl_nodes *n, uint64_t id)
{
    struct sl_node *node;

    if (id == 0 || sl_nodes_find(n, id))
        return NULL;
    if (n->count == n->most)
        forget_oldest(n);
    node = sl_map_make(&n->by_id, &n->pool, id);
    if (!node)
        return NULL;
    *node = (struct sl_node){.id = id, .original = id};
    *(n->newest ? &n->newest->newer : &n->oldest) = node;
    n->newest = node;
    n->count++;
    return node;
}

static uint64_t *find_dep(struct sl_node *node, uint64_t original)
{
    for (struct sl_node_deps *at = &node->deps; at; at = at->more)
        for (int i = 0; i < SL_NODE_DEPS; i++)
            if (at->original[i] == original)
                return &at->original[i];
    return NULL;
}

static void depend(struct sl_nodes *n, struct sl_node *node, uint64_t original)
{
    struct sl_node_deps *more;
    uint64_t *place;

    if (find_dep(node, original))
        return;
    place = find_dep(node, 0);
    if (!place) {
        more = n->more < n->more_most ? sl_pool_get(&n->deps) : NULL;
        if (!more) {
            node->unclear = 1;
            return;
        }
        n->more++;
        more->more = node->deps.more;
        node->deps.more = more;
        place = &more->original[0];
    }
    *place = original;
}

static void copy(struct sl_nodes *n, struct sl_node *node, const struct sl_node *from)
{
    struct sl_node *original = sl_nodes_find(n, from->original);

    if (original)
        original->copied = 1;
    node->original = from->original;
    node->home = from->home;
    node->unclear = from->unclear;
    for (const struct sl_node_deps *at = &from->deps; at; at = at->more)
        for (int i = 0; i < SL_NODE_DEPS; i++)
            if (at->original[i])
                depend(n, node, at->original[i]);
}

/* Notes that a node's dependencies have changed. The earlier copies of a changed original now have
 * other dependencies than the original. A changed copy now differs from the other copies. */
static void note_change(struct sl_nodes *n, const struct sl_node *node)
{
    struct sl_node *original = sl_nodes_find(n, node->original);

    if (original && (original != node || node->copied))
        original->varies = 1;
}

static void change_dependency(struct sl_nodes *n, const struct sl_event *ev)
{
    struct sl_node *node = sl_nodes_find(n, ev->u.node.id);
    const struct sl_node *other = sl_nodes_find(n, ev->u.node.other);
    uint64_t *place;

    if (!node)
        return;
    if (!other) {
        node->unclear = 1;
        return;
    }
    place = find_dep(node, other->original);
    if ((place != NULL) == (ev->fact == SL_NODE_DEPENDS))
        return;
    if (place)
        *place = 0;
    else
        depend(n, node, other->original);
    note_change(n, node);
}

void sl_nodes_tell(struct sl_nodes *n, const struct sl_event *ev)
{
    const struct sl_node *from;
    struct sl_node *node;

    switch (ev->fact) {
    case SL_NODE_CREATED:
    case SL_NODE_IS_GRAPH:
        node = make(n, ev->u.node.id);
        if (node) {
            node->home = ev->graph;
            node->unclear = ev->fact == SL_NODE_IS_GRAPH;
        }
        break;
    case SL_NODE_CLONED:
        from = sl_nodes_find(n, ev->u.node.other);
        node = from ? make(n, ev->u.node.id) : NULL;
        /* Creating `node` may have evicted `from`. */
        if (node && sl_nodes_find(n, ev->u.node.other) == from)
            copy(n, node, from);
        else if (node)
            node->unclear = 1;
        break;
    case SL_NODE_DEPENDS:
    case SL_NODE_DEPENDS_NO_MORE:
        change_dependency(n, ev);
        break;
    case SL_NODE_FACTS_LOST:
        while (n->oldest)
            forget_oldest(n);
        break;
    default:
        break;
    }
}
