/*
 * et_order.c - checks that every node of a Chakra trace can run.
 *
 * It uses Kahn's topological sort in the order of the file: each node has a counter of the parents
 * that have not run.
 *
 * Threads, memory: see et_order.h.
 */
#include "check/et_order.h"

#include <errno.h>
#include <string.h>

#include "base/pages.h"

#define CAP_BYTES ((size_t)1 << 30)
#define SET_BYTES (SL_ET_IDS / 8)

struct waiting {
    struct waiting *next;   /* next node that can run now */
    uint64_t slot, parents; /* number of parents that have not run */
};

struct edge {
    struct edge *next; /* next edge with the same parent node */
    struct waiting *node;
    int is_ctrl;
};

int sl_et_order_init(struct sl_et_order *o, const struct sl_et_ids *ids)
{
    memset(o, 0, sizeof(*o));
    o->ids = ids;
    o->store.cap_bytes = CAP_BYTES;
    sl_pool_init(&o->nodes, &o->store, sizeof(struct waiting));
    sl_pool_init(&o->edges, &o->store, sizeof(struct edge));
    sl_map_init(&o->awaited, &o->store);
    o->can_run = sl_pages_map(SET_BYTES);
    return o->can_run ? 0 : -ENOMEM;
}

void sl_et_order_free(struct sl_et_order *o)
{
    if (!o->can_run)
        return;
    sl_map_free(&o->awaited);
    sl_pool_free(&o->edges);
    sl_pool_free(&o->nodes);
    sl_pages_unmap(o->can_run, SET_BYTES);
}

static int can_run(const struct sl_et_order *o, uint64_t slot)
{
    return o->can_run[slot / 64] >> slot % 64 & 1;
}

/* Returns the edges from a parent that has not run. */
static struct edge *edges_from(const struct sl_et_order *o, uint64_t slot)
{
    const uint64_t *place = sl_map_find(&o->awaited, slot + 1);

    return place ? (struct edge *)(uintptr_t)*place : NULL;
}

/* Called when a node has run. Nodes that waited only for this node can run now; they are put at the
 * front of the list `ready`. Returns the list. */
static struct waiting *run(struct sl_et_order *o, uint64_t slot, struct waiting *ready)
{
    struct edge *edge = edges_from(o, slot), *next;

    o->can_run[slot / 64] |= 1ull << slot % 64;
    if (edge)
        sl_map_drop(&o->awaited, slot + 1);
    for (; edge; edge = next) {
        next = edge->next;
        if (--edge->node->parents == 0) {
            edge->node->next = ready;
            ready = edge->node;
        }
        sl_pool_put(&o->edges, edge);
    }
    return ready;
}

/* Runs the node and all nodes that can then run. */
static void run_all(struct sl_et_order *o, uint64_t slot)
{
    struct waiting *ready = run(o, slot, NULL);

    while (ready) {
        struct waiting *node = ready;

        ready = run(o, node->slot, node->next);
        sl_pool_put(&o->nodes, node);
        o->waiting--;
    }
}

struct sl_et_deps sl_et_order_missing(struct sl_et_order *o, uint64_t slot)
{
    struct sl_et_deps deps = {0, 0};

    if (o->is_full)
        return deps;
    for (const struct edge *at = edges_from(o, slot); at; at = at->next)
        ++*(at->is_ctrl ? &deps.ctrl : &deps.data);
    run_all(o, slot);
    return deps;
}

/* Makes `node` wait for `parent`. Returns 0 or -ENOMEM. */
static int await(struct sl_et_order *o, struct waiting *node, uint64_t parent, int is_ctrl)
{
    struct edge *edge = sl_pool_get(&o->edges);
    uint64_t *place = edge ? sl_map_put(&o->awaited, parent + 1) : NULL;

    if (!place)
        return -ENOMEM;
    *edge = (struct edge){(struct edge *)(uintptr_t)*place, node, is_ctrl};
    *place = (uintptr_t)edge;
    node->parents++;
    return 0;
}

void sl_et_order_node(struct sl_et_order *o, const struct sl_et_node *n)
{
    uint64_t slot = sl_et_ids_find(o->ids, n->id);
    struct waiting *node = NULL;

    if (slot == SL_ET_IDS_NONE || o->is_full || can_run(o, slot))
        return;
    for (size_t i = 0; i < n->deps; i++) {
        uint64_t parent = sl_et_ids_find(o->ids, n->dep[i]);

        if (parent == slot || parent == SL_ET_IDS_NONE || can_run(o, parent))
            continue;
        if (!node && (node = sl_pool_get(&o->nodes)))
            *node = (struct waiting){.slot = slot};
        if (!node || await(o, node, parent, i < n->ctrl_deps) != 0) {
            o->is_full = 1;
            return;
        }
    }
    if (node)
        o->waiting++;
    else
        run_all(o, slot);
}

uint64_t sl_et_order_stuck(const struct sl_et_order *o, uint64_t *example)
{
    uint64_t first = UINT64_MAX;

    if (o->is_full)
        return 0;
    for (size_t i = 0; i < o->awaited.slots; i++) {
        const struct sl_map_slot *slot = &o->awaited.slot[i];

        if (!slot->key)
            continue;
        for (const struct edge *at = (const struct edge *)(uintptr_t)slot->value; at; at = at->next)
            if (at->node->slot < first)
                first = at->node->slot;
    }
    if (o->waiting)
        *example = sl_et_ids_id(o->ids, first);
    return o->waiting;
}
