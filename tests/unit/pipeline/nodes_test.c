/*
 * nodes_test.c - descriptions of graph nodes are passed on before the rows, and leave room for
 * rows.
 */
#include "collect/cupti/graph_nodes.h"
#include "pipeline/rig.h"

enum {
    RESOURCE = 3,
    CREATED = 13,
    NODES = 100000 /* more than the ring holds */
};

/* The layout of CUPTI's data; see graph_nodes.c. */
struct graph_data {
    void *graph, *original_graph, *node, *original;
    int type;
    void *dependent, *exec;
};

struct resource_data {
    void *context, *handle;
    const struct graph_data *graph;
};

static sl_cupti_callback_fn callback;

static int subscribe(void **subscriber, void *to, void *user)
{
    (void)user;
    *subscriber = &callback;
    callback = (sl_cupti_callback_fn)to;
    return 0;
}

static int unsubscribe(void *subscriber)
{
    (void)subscriber;
    return 0;
}

static int enable(uint32_t on, void *subscriber, int domain, uint32_t cbid)
{
    (void)on, (void)subscriber, (void)domain, (void)cbid;
    return 0;
}

static int graph_id(void *graph, uint32_t *id)
{
    *id = (uint32_t)(uintptr_t)graph;
    return 0;
}

static int node_id(void *node, uint64_t *id)
{
    *id = (uintptr_t)node;
    return 0;
}

static void build_graph(void)
{
    for (uintptr_t i = 1; i <= NODES; i++) {
        const struct graph_data data = {.graph = (void *)4, .node = (void *)i};
        const struct resource_data resource = {.graph = &data};

        callback(NULL, RESOURCE, CREATED, &resource);
    }
}

static void rows_find_room_behind_a_huge_graph(void **state)
{
    static struct sl_cupti_api api;

    (void)state;
    api.fn = (struct sl_cupti_functions){.Subscribe = subscribe,
                                         .Unsubscribe = unsubscribe,
                                         .EnableCallback = enable,
                                         .GetGraphId = graph_id,
                                         .GetGraphNodeId = node_id};
    api.v1 = api.fn;
    assert_int_equal(sl_graph_nodes_start(&api), 0);
    assert_int_equal(sl_pipeline_open(pipeline, 1, SL_REASON_API, T0), 0);
    build_graph();
    for (unsigned i = 0; i < 8; i++)
        deliver("k", T0 + 1000 * i, 200);
    assert_int_equal(sl_pipeline_close(pipeline, 1, SL_REASON_API, T0 + 10000), 0);
    assert_int_equal(count(read_window(1), "\"cat\":\"kernel\""), 8);
    assert_int_equal(sl_stats_get(SL_STAT_DROPPED_RING), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_find_room_behind_a_huge_graph),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
