/*
 * graph_nodes.c - receives from CUPTI callbacks the nodes of CUDA graphs and their dependencies.
 *
 * Callbacks run on application threads, and neither lock nor allocate. A callback puts a fact (a
 * new node, a copy or a dependency) into a queue. If the queue is full, the fact is dropped. The
 * next fact that enters the queue carries the number of facts lost before. State is static, because
 * a process has one subscriber.
 *
 * A thread may be descheduled between reserving a slot and filling it. The facts after that slot
 * are then delayed until the thread runs again. The delay causes no wrong edges, because the fact
 * that a node is a copy is queued after all facts about the original node. So the nodes of a launch
 * whose copies are still delayed are unknown, and such a launch is counted. Facts that find the
 * queue full meanwhile are lost and counted.
 */
#include "collect/cupti/graph_nodes.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/log.h"
#include "base/pages.h"
#include "collect/cupti/v2.h"

#define SLOTS 262144u /* a power of two; enough for all facts of a graph with 10^5 nodes */

enum {
    DOMAIN_RESOURCE = 3, /* a value of CUpti_CallbackDomain */
    NODE_CREATED = 13,   /* a value of CUpti_CallbackIdResource */
    DEPENDENCY_CREATED = 15,
    DEPENDENCY_DESTROYED = 16,
    NODE_CLONED = 20,
    TYPE_GRAPH = 4 /* a value of CUgraphNodeType */
};

/* These values are the same in all versions from CUPTI 12.0 to 13.5. */
struct graph_data { /* CUpti_GraphData */
    void *graph, *original_graph;
    void *node, *original;
    int type;
    void *dependent; /* the node that depends on `node` */
    void *exec;
};

struct resource_data { /* CUpti_ResourceData */
    void *context, *handle;
    const struct graph_data *graph;
};

struct fact {
    _Atomic uint32_t turn; /* 2 * N if the slot is empty for the ring's round N; 2 * N + 1 once the
                            * slot is filled */
    uint32_t lost;         /* number of facts that were dropped before this fact */
    uint64_t node, other;
    uint32_t home;
    uint32_t what; /* enum sl_node_fact */
};

static struct {
    const struct sl_cupti_api *api;
    void *subscriber;
    int is_shared;     /* 1: the subscriber is the one of v2.c */
    _Atomic int is_on; /* 1: we are subscribed, so facts are passed on */
    struct fact *fact;
    _Atomic uint64_t tail; /* number of the next slot to fill; any thread */
    _Atomic uint32_t lost;
    uint64_t head;      /* number of the next slot to read; recorder thread only */
    uint32_t lost_told; /* number of lost facts reported so far; recorder thread only */
} queue;

/* ---- application threads ---- */

static uint32_t empty_turn(uint64_t at)
{
    return (uint32_t)(at / SLOTS * 2);
}

static void put(enum sl_node_fact what, uint64_t node, uint64_t other, uint32_t home)
{
    uint64_t at = atomic_load_explicit(&queue.tail, memory_order_acquire);
    struct fact *fact;
    uint32_t lost;

    for (;;) {
        fact = &queue.fact[at % SLOTS];
        lost = atomic_load_explicit(&queue.lost, memory_order_relaxed);
        /* Acquire pairs with the release in take(), which has emptied the slot. */
        if (atomic_load_explicit(&fact->turn, memory_order_acquire) != empty_turn(at)) {
            uint64_t now = atomic_load_explicit(&queue.tail, memory_order_acquire);

            if (now == at) {
                /* Release pairs with the acquire in take(). */
                atomic_fetch_add_explicit(&queue.lost, 1, memory_order_release);
                return;
            }
            at = now;
            continue;
        }
        /* Release pairs with the acquires above, so that `lost` holds no losses after this slot. */
        if (atomic_compare_exchange_weak_explicit(&queue.tail, &at, at + 1, memory_order_release,
                                                  memory_order_acquire))
            break;
    }
    fact->lost = lost;
    fact->node = node;
    fact->other = other;
    fact->home = home;
    fact->what = what;
    /* Release pairs with the acquire in take(), so that take() sees the whole fact once it sees the
     * slot's new `turn`. */
    atomic_store_explicit(&fact->turn, empty_turn(at) + 1, memory_order_release);
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

static void (*_Atomic on_made)(uint64_t node);

void sl_graph_nodes_on_made(void (*made)(uint64_t node))
{
    atomic_store_explicit(&on_made, made, memory_order_release);
}

static void on_created(const struct graph_data *g)
{
    uint64_t id = id_of(g->node);
    void (*made)(uint64_t node);

    put(g->type == TYPE_GRAPH ? SL_NODE_IS_GRAPH : SL_NODE_CREATED, id, 0, id_of_graph(g->graph));
    made = atomic_load_explicit(&on_made, memory_order_acquire);
    if (made)
        made(id);
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

/* ---- the recorder thread ---- */

/* `lost` is the number of facts lost before the fact that is being taken. If no fact is being
 * taken, `lost` is the number of facts lost up to now. If the number has grown, writes a loss event
 * to *out and returns 1. Otherwise returns 0. */
static int tell_loss(uint32_t lost, struct sl_event *out)
{
    /* Two threads may put facts at the same time, so a later fact may carry a smaller number of
     * losses. */
    if ((int32_t)(lost - queue.lost_told) <= 0)
        return 0;
    queue.lost_told = lost;
    *out = (struct sl_event){.kind = SL_EV_META_NODE, .fact = SL_NODE_FACTS_LOST};
    return 1;
}

static int take(struct sl_event *out)
{
    struct fact *fact;
    uint32_t lost;

    if (!queue.fact)
        return 0;
    fact = &queue.fact[queue.head % SLOTS];
    /* Acquire pairs with the release in put(), so that the whole fact is visible. */
    if (atomic_load_explicit(&fact->turn, memory_order_acquire) != empty_turn(queue.head) + 1) {
        /* Acquire pairs with the release in put(). Suppose that the next line finds the queue
         * empty. Then all facts that were put before these losses have been taken. */
        lost = atomic_load_explicit(&queue.lost, memory_order_acquire);
        return atomic_load_explicit(&queue.tail, memory_order_relaxed) == queue.head &&
               tell_loss(lost, out);
    }
    if (tell_loss(fact->lost, out))
        return 1;
    *out = (struct sl_event){.kind = SL_EV_META_NODE, .fact = fact->what, .graph = fact->home};
    out->u.node.id = fact->node;
    out->u.node.other = fact->other;
    atomic_store_explicit(&fact->turn, empty_turn(queue.head) + 2, memory_order_release);
    queue.head++;
    return 1;
}

int sl_graph_nodes_next(struct sl_event *out)
{
    /* Once we have unsubscribed, facts are skipped, because the facts about a node may be
     * incomplete. */
    while (take(out))
        if (out->fact == SL_NODE_FACTS_LOST ||
            atomic_load_explicit(&queue.is_on, memory_order_acquire))
            return 1;
    return 0;
}

/* ---- start and end ---- */

static int subscribe(const struct sl_cupti_api *api)
{
    static const uint32_t wanted[] = {NODE_CREATED, NODE_CLONED, DEPENDENCY_CREATED,
                                      DEPENDENCY_DESTROYED};
    int err = 0;

    queue.subscriber = sl_cupti_v2_listen(on_callback);
    queue.is_shared = queue.subscriber != NULL;
    if (!queue.is_shared)
        err = sl_cupti_check(api, api->v1.Subscribe(&queue.subscriber, (void *)on_callback, NULL),
                             "Subscribe");
    if (err)
        return err;
    atomic_store_explicit(&queue.is_on, 1, memory_order_release);
    for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted) && !err; i++)
        err = sl_cupti_check(
            api, api->fn.EnableCallback(1, queue.subscriber, DOMAIN_RESOURCE, wanted[i]),
            "EnableCallback");
    if (err && atomic_exchange(&queue.is_on, 0) && !queue.is_shared)
        sl_cupti_check(api, api->fn.Unsubscribe(queue.subscriber), "Unsubscribe");
    return err;
}

void sl_graph_nodes_give_up(void)
{
    if (!atomic_exchange(&queue.is_on, 0))
        return;
    if (!queue.is_shared)
        sl_cupti_check(queue.api, queue.api->fn.Unsubscribe(queue.subscriber), "Unsubscribe");
    /* Release pairs with the acquire in take(). */
    atomic_fetch_add_explicit(&queue.lost, 1, memory_order_release);
    sl_log(SL_LOG_WARN, "another profiler takes CUPTI's only subscriber slot or shuts CUPTI down: "
                        "edges between CUDA graph nodes are no longer recorded, only counted; run "
                        "one profiler at a time to have them");
}

int sl_graph_nodes_start(const struct sl_cupti_api *api)
{
    if (!api->fn.Subscribe || !api->fn.EnableCallback || !api->fn.GetGraphNodeId ||
        !api->fn.GetGraphId || !api->fn.Unsubscribe) {
        sl_log(SL_LOG_WARN, "this CUPTI does not report CUDA graph nodes: dependencies between "
                            "them are not recorded, only counted; use a newer CUPTI");
        return -ENOTSUP;
    }
    queue.fact = sl_pages_map(SLOTS * sizeof(*queue.fact));
    if (!queue.fact) {
        sl_log(SL_LOG_WARN, "not enough memory for CUDA graph nodes: dependencies between them are "
                            "not recorded, only counted");
        return -ENOMEM;
    }
    /* The queue stays mapped even if subscribing fails, because a callback may be running. */
    queue.api = api;
    return subscribe(api);
}
