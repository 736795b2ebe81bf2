/* graph_nodes_test.c - CUPTI's callbacks about graphs become events about graph nodes (facts), in
 * order. If facts are lost, an event at this position reports the loss. */
#include "test.h"

#include <errno.h>
#include <pthread.h>

#include "collect/cupti/graph_nodes.h"
#include "unit/collect/cupti/graphs.h"

enum {
    DEPENDS = 15,
    DEPENDS_NO_MORE = 16,
    CLONED = 20,
    TYPE_KERNEL = 0,
    TYPE_GRAPH = 4,
};

static int result_string(int result, const char **text)
{
    (void)result;
    *text = "CUPTI_ERROR_FAKE";
    return 0;
}

static struct sl_cupti_api api_of_all(void)
{
    struct sl_cupti_api api = {.version = 130000, .fn = {.GetResultString = result_string}};

    graphs_add_to(&api.fn);
    api.v1 = api.fn;
    return api;
}

#define AT(number) ((void *)(uintptr_t)(number))

static void assert_next(enum sl_node_fact fact, uint64_t node, uint64_t other, uint32_t graph)
{
    struct sl_event ev;

    assert_int_equal(sl_graph_nodes_next(&ev), 1);
    assert_int_equal(ev.kind, SL_EV_META_NODE);
    assert_int_equal(ev.fact, fact);
    assert_int_equal(ev.u.node.id, node);
    assert_int_equal(ev.u.node.other, other);
    assert_int_equal(ev.graph, graph);
}

static void assert_no_more(void)
{
    struct sl_event ev;

    assert_int_equal(sl_graph_nodes_next(&ev), 0);
}

/* The subscription exists once per process, so the cases build on each other, in this order. */

static void a_cupti_without_the_functions_is_left_alone(void **state)
{
    struct sl_cupti_api api = api_of_all();

    api.fn.GetGraphNodeId = NULL;
    assert_int_equal(sl_graph_nodes_start(&api), -ENOTSUP);
    assert_null(graphs.callback);
    assert_no_more();
}

static void facts_come_out_in_order(void **state)
{
    static struct sl_cupti_api api;

    api = api_of_all();
    assert_int_equal(sl_graph_nodes_start(&api), 0);
    assert_int_equal(graphs.enabled, 4);
    assert_no_more();
    graphs_tell(GRAPHS_CREATED,
                (struct graph_data){.graph = AT(9), .node = AT(1), .type = TYPE_KERNEL});
    graphs_tell(GRAPHS_CREATED,
                (struct graph_data){.graph = AT(9), .node = AT(2), .type = TYPE_GRAPH});
    graphs_tell(DEPENDS, (struct graph_data){.node = AT(1), .dependent = AT(2)});
    graphs_tell(DEPENDS_NO_MORE, (struct graph_data){.node = AT(1), .dependent = AT(2)});
    graphs_tell(CLONED, (struct graph_data){.node = AT(11), .original = AT(1)});
    graphs_tell(99, (struct graph_data){.node = AT(1)}); /* syncline did not enable this callback */
    assert_next(SL_NODE_CREATED, 1, 0, 9);
    assert_next(SL_NODE_IS_GRAPH, 2, 0, 9);
    assert_next(SL_NODE_DEPENDS, 2, 1, 0);
    assert_next(SL_NODE_DEPENDS_NO_MORE, 2, 1, 0);
    assert_next(SL_NODE_CLONED, 11, 1, 0);
    assert_no_more();
}

static void a_full_queue_says_that_facts_are_lost(void **state)
{
    struct sl_event ev;
    uint64_t facts = 0;

    for (uintptr_t node = 1; node <= 300000; node++)
        graphs_tell(GRAPHS_CREATED, (struct graph_data){.node = AT(node)});
    while (sl_graph_nodes_next(&ev) && ev.fact == SL_NODE_CREATED)
        assert_int_equal(ev.u.node.id, ++facts);
    assert_in_range(facts, 200000, 299999);
    /* the loss is reported once, after all facts that precede the loss */
    assert_int_equal(ev.fact, SL_NODE_FACTS_LOST);
    assert_no_more();
    graphs_tell(GRAPHS_CREATED, (struct graph_data){.node = AT(5)});
    assert_next(SL_NODE_CREATED, 5, 0, 0);
    assert_no_more();
}

/* Facts are lost. The loss is reported before all later facts. The later facts are correct and are
 * reported, too. */
static void a_loss_stands_before_what_came_after_it(void **state)
{
    struct sl_event ev;
    uint64_t facts = 0;

    for (uintptr_t node = 1; node <= 300000; node++)
        graphs_tell(GRAPHS_CREATED, (struct graph_data){.node = AT(node)});
    for (; facts < 100; facts++)
        assert_next(SL_NODE_CREATED, facts + 1, 0, 0);
    graphs_tell(GRAPHS_CREATED, (struct graph_data){.node = AT(400000)});
    while (sl_graph_nodes_next(&ev) && ev.fact == SL_NODE_CREATED)
        assert_int_equal(ev.u.node.id, ++facts);
    assert_int_equal(ev.fact, SL_NODE_FACTS_LOST);
    assert_next(SL_NODE_CREATED, 400000, 0, 0);
    assert_no_more();
}

enum {
    THREADS = 4,
    EACH = 20000,
};

static void *tell_many(void *thread)
{
    for (uintptr_t i = 0; i < EACH; i++)
        graphs_tell(GRAPHS_CREATED, (struct graph_data){.node = AT((uintptr_t)thread << 32 | i)});
    return NULL;
}

static void threads_tell_at_the_same_time(void **state)
{
    uint64_t seen[THREADS + 1] = {0}, all = 0;
    pthread_t thread[THREADS];
    struct sl_event ev;

    for (uintptr_t t = 0; t < THREADS; t++)
        assert_int_equal(pthread_create(&thread[t], NULL, tell_many, AT(t + 1)), 0);
    while (all < THREADS * EACH) {
        if (!sl_graph_nodes_next(&ev))
            continue;
        assert_int_equal(ev.fact, SL_NODE_CREATED);
        assert_in_range(ev.u.node.id >> 32, 1, THREADS);
        assert_int_equal((uint32_t)ev.u.node.id, seen[ev.u.node.id >> 32]++); /* in the thread's
                                                                               * order */
        all++;
    }
    for (unsigned t = 0; t < THREADS; t++)
        pthread_join(thread[t], NULL);
    assert_no_more();
}

/* The subscription ends. No facts are reported from then on; facts that were not read yet are lost,
 * too. */
static void given_up_nothing_is_known(void **state)
{
    struct sl_event ev;

    graphs_tell(GRAPHS_CREATED, (struct graph_data){.node = AT(1)});
    sl_graph_nodes_give_up();
    graphs_tell(GRAPHS_CREATED, (struct graph_data){.node = AT(2)});
    assert_int_equal(graphs.unsubscribed, 1);
    assert_int_equal(sl_graph_nodes_next(&ev), 1);
    assert_int_equal(ev.fact, SL_NODE_FACTS_LOST);
    assert_no_more();
    sl_graph_nodes_give_up();
    assert_int_equal(graphs.unsubscribed, 1);
    assert_no_more();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cupti_without_the_functions_is_left_alone),
        cmocka_unit_test(facts_come_out_in_order),
        cmocka_unit_test(a_full_queue_says_that_facts_are_lost),
        cmocka_unit_test(a_loss_stands_before_what_came_after_it),
        cmocka_unit_test(threads_tell_at_the_same_time),
        cmocka_unit_test(given_up_nothing_is_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
