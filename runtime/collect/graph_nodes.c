/*
 * graph_nodes.c - what a subscriber of CUPTI's is told of CUDA graphs.
 *
 * Callbacks on application threads: no lock, no allocation; a full queue drops what comes and says
 * so in its place. Owned by the process: there is one subscriber.
 */
#include "collect/graph_nodes.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/log.h"
#include "base/pages.h"
#include "collect/cupti_v2.h"
#include "collect/torch_ops.h"

#define SLOTS 262144u /* a power of two: of a graph with 10^5 nodes all that is told at once */

enum {
    DOMAIN_RESOURCE = 3, /* CUpti_CallbackDomain */
    NODE_CREATED = 13,   /* CUpti_CallbackIdResource */
    DEPENDENCY_CREATED = 15,
    DEPENDENCY_DESTROYED = 16,
    NODE_CLONED = 20,
    TYPE_GRAPH = 4 /* CUgraphNodeType */
};

/* The same in all of CUPTI 12.0 to 13.5. */
struct graph_data { /* CUpti_GraphData */
    void *graph, *original_graph;
    void *node, *original;
    int type;
    void *dependent; /* comes behind `node` */
    void *exec;
};

struct resource_data { /* CUpti_ResourceData */
    void *context, *handle;
    const struct graph_data *graph;
};

struct fact {
    /* Its place in the queue + 1 once it is filled, and a round later when it is empty again. */
    _Atomic uint64_t turn;
    uint64_t node, other;
    uint32_t home;
    uint32_t what; /* enum sl_node_fact */
};

static struct {
    const struct sl_cupti_api *api;
    void *subscriber;
    struct fact *fact;
    _Atomic uint64_t tail; /* next to be filled, by any thread */
    _Atomic uint64_t lost;
    uint64_t head;      /* the collector's */
    uint64_t lost_told; /* the same */
} queue;

/* ---- application threads ---- */

static void put(enum sl_node_fact what, uint64_t node, uint64_t other, uint32_t home)
{
    uint64_t at = atomic_load_explicit(&queue.tail, memory_order_relaxed);
    struct fact *fact;

    for (;;) {
        fact = &queue.fact[at % SLOTS];
        /* Acquire pairs with the release in sl_graph_nodes_next(): the slot is empty. */
        if (atomic_load_explicit(&fact->turn, memory_order_acquire) != at / SLOTS * 2) {
            uint64_t now = atomic_load_explicit(&queue.tail, memory_order_relaxed);

            if (now == at) {
                atomic_fetch_add_explicit(&queue.lost, 1, memory_order_relaxed);
                return;
            }
            at = now;
            continue;
        }
        if (atomic_compare_exchange_weak_explicit(&queue.tail, &at, at + 1, memory_order_relaxed,
                                                  memory_order_relaxed))
            break;
    }
    fact->node = node;
    fact->other = other;
    fact->home = home;
    fact->what = what;
    /* Release pairs with the acquire in sl_graph_nodes_next(): the fact before its turn. */
    atomic_store_explicit(&fact->turn, at / SLOTS * 2 + 1, memory_order_release);
}

static uint64_t id_of(void *node)
{
    uint64_t id = 0;

    return node && queue.api->fn.GetGraphNodeId(node, &id) == 0 ? id : 0;
}

static uint32_t id_of_graph(void *graph)
{
    uint32_t id = 0;

    return graph && queue.api->fn.GetGraphId(graph, &id) == 0 ? id : 0;
}

static void on_created(const struct graph_data *g)
{
    uint64_t id = id_of(g->node);

    put(g->type == TYPE_GRAPH ? SL_NODE_IS_GRAPH : SL_NODE_CREATED, id, 0, id_of_graph(g->graph));
    sl_torch_ops_node(id);
}

static void on_callback(void *user, int domain, uint32_t cbid, const void *data)
{
    const struct graph_data *g = ((const struct resource_data *)data)->graph;

    (void)user;
    if (domain != DOMAIN_RESOURCE || !g)
        return;
    switch (cbid) {
    case NODE_CREATED:
        on_created(g);
        break;
    case NODE_CLONED:
        put(SL_NODE_CLONED, id_of(g->node), id_of(g->original), 0);
        break;
    case DEPENDENCY_CREATED:
        put(SL_NODE_DEPENDS, id_of(g->dependent), id_of(g->node), 0);
        break;
    case DEPENDENCY_DESTROYED:
        put(SL_NODE_DEPENDS_NO_MORE, id_of(g->dependent), id_of(g->node), 0);
        break;
    default:
        break;
    }
}

/* ---- the collector ---- */

int sl_graph_nodes_next(struct sl_event *out)
{
    struct fact *fact;
    uint64_t lost;

    if (!queue.fact)
        return 0;
    fact = &queue.fact[queue.head % SLOTS];
    if (atomic_load_explicit(&fact->turn, memory_order_acquire) == queue.head / SLOTS * 2 + 1) {
        *out = (struct sl_event){.kind = SL_EV_META_NODE, .shape = fact->what, .graph = fact->home};
        out->u.node.id = fact->node;
        out->u.node.other = fact->other;
        atomic_store_explicit(&fact->turn, queue.head / SLOTS * 2 + 2, memory_order_release);
        queue.head++;
        return 1;
    }
    lost = atomic_load_explicit(&queue.lost, memory_order_relaxed);
    if (lost == queue.lost_told)
        return 0;
    queue.lost_told = lost;
    *out = (struct sl_event){.kind = SL_EV_META_NODE, .shape = SL_NODE_FACTS_LOST};
    return 1;
}

/* ---- life ---- */

static int subscribe(const struct sl_cupti_api *api)
{
    static const uint32_t wanted[] = {NODE_CREATED, NODE_CLONED, DEPENDENCY_CREATED,
                                      DEPENDENCY_DESTROYED};
    int is_ours, err = 0;

    queue.subscriber = sl_cupti_v2_listen(on_callback);
    is_ours = queue.subscriber != NULL;
    if (!is_ours)
        err = sl_cupti_check(api, api->v1.Subscribe(&queue.subscriber, (void *)on_callback, NULL),
                             "Subscribe");
    if (err)
        return err;
    for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted) && !err; i++)
        err = sl_cupti_check(
            api, api->fn.EnableCallback(1, queue.subscriber, DOMAIN_RESOURCE, wanted[i]),
            "EnableCallback");
    if (err && !is_ours)
        sl_cupti_check(api, api->fn.Unsubscribe(queue.subscriber), "Unsubscribe");
    return err;
}

int sl_graph_nodes_start(const struct sl_cupti_api *api)
{
    if (!api->fn.Subscribe || !api->fn.EnableCallback || !api->fn.GetGraphNodeId ||
        !api->fn.GetGraphId || !api->fn.Unsubscribe) {
        sl_log(SL_LOG_WARN, "this CUPTI tells nothing of CUDA graphs: dependencies between their "
                            "nodes are left out and counted; use a newer one");
        return -ENOTSUP;
    }
    queue.fact = sl_pages_map(SLOTS * sizeof(*queue.fact));
    if (!queue.fact) {
        sl_log(SL_LOG_WARN, "no memory for what CUPTI tells of CUDA graphs: dependencies between "
                            "their nodes are left out and counted");
        return -ENOMEM;
    }
    /* It stays mapped whatever comes of it: a callback may be running. */
    queue.api = api;
    return subscribe(api);
}
