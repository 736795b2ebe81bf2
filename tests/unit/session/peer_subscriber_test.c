/* peer_subscriber_test.c - another profiler subscribes, and syncline's subscriber is given up for
 * it. */
#include "collect/cupti/graph_nodes.h"
#include "unit/session/peer_rig.h"

/* CUPTI would refuse another subscriber beside the newer interface. syncline's subscriber is given
 * up before. */
static void play_subscriber(void)
{
    watch(0);
    start_recorder();
    CHECK(client.subscribe() == 0);
    CHECK(atomic_load(&handovers) == 0); /* no conflict with the older interface */
    api.is_v2 = 1;
    CHECK(client.subscribe() == 0);
    CHECK(atomic_load(&handovers) == 1);
    CHECK(cupti->subscribed == 2);
    until_ours(); /* it does not record */
    stop_recorder();
}

static void a_subscriber_of_the_older_calls(void **state)
{
    (void)state;
    in_child(play_subscriber);
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

/* CUPTI has only one subscriber. syncline gives it up for another client, even if no peer is
 * watched any more. */
static void play_subscriber_of_ours(void)
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

static void our_subscriber_makes_room_at_the_end_too(void **state)
{
    (void)state;
    in_child(play_subscriber_of_ours);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_subscriber_of_the_older_calls),
        cmocka_unit_test(our_subscriber_makes_room_at_the_end_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
