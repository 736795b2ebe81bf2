/* peer_subscriber_test.c - another subscriber: ours makes room for it. */
#include "collect/cupti/graph_nodes.h"
#include "unit/session/peer_rig.h"

/* Beside the newer calls a subscriber would be refused: ours is given up before. */
static void a_subscriber_of_the_older_calls(void)
{
    watch(0);
    start_recorder();
    CHECK(client.subscribe() == 0);
    CHECK(atomic_load(&handovers) == 0); /* the older calls do not mind */
    api.is_v2 = 1;
    CHECK(client.subscribe() == 0);
    CHECK(atomic_load(&handovers) == 1);
    CHECK(cupti->subscribed == 2);
    until_ours(); /* it does not record */
    stop_recorder();
}

static _Atomic int unsubscribed;

static int unsubscribe(void *subscriber)
{
    (void)subscriber;
    atomic_fetch_add(&unsubscribed, 1);
    return 0;
}

static int enable_callback(uint32_t on, void *subscriber, int domain, uint32_t cbid)
{
    (void)on;
    (void)subscriber;
    (void)domain;
    (void)cbid;
    return 0;
}

static int graph_id(void *graph, uint32_t *id)
{
    (void)graph;
    *id = 1;
    return 0;
}

static int node_id(void *node, uint64_t *id)
{
    (void)node;
    *id = 1;
    return 0;
}

/* There is one subscriber: it is not kept from others, also when nobody is watched any more. */
static void our_subscriber_makes_room_at_the_end_too(void)
{
    watch(0);
    api.fn = api.v1;
    api.fn.EnableCallback = enable_callback;
    api.fn.Unsubscribe = unsubscribe;
    api.fn.GetGraphId = graph_id;
    api.fn.GetGraphNodeId = node_id;
    CHECK(sl_graph_nodes_start(&api) == 0);
    sl_peer_stop();
    CHECK(client.subscribe() == 0 && client.subscribe() == 0);
    CHECK(atomic_load(&unsubscribed) == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CHILD(a_subscriber_of_the_older_calls),
        CHILD(our_subscriber_makes_room_at_the_end_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
