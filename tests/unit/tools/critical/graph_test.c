/* graph_test.c - compares the longest path of random graphs with the longest of all their paths. */
#include "unit/test.h"

#include <stdlib.h>

#include "critical/graph.h"

#define GRAPHS 200
#define NODES  10

/* Returns the length of the longest path to a node, by trying all of them. */
static uint64_t longest(const struct sl_graph *g, uint32_t node)
{
    uint64_t most = 0;

    for (size_t i = 0; i < g->edges; i++)
        if (g->edge[i].to == node) {
            uint64_t ns = longest(g, g->edge[i].from) + g->edge[i].weight_ns;

            most = ns > most ? ns : most;
        }
    return most;
}

/* Makes a graph without circles. Its nodes have no order: edges go from a lower rank to a higher.
 */
static void make(struct sl_graph *g, unsigned *seed)
{
    uint32_t rank[NODES];
    int count = 2 + rand_r(seed) % (NODES - 1);

    for (int i = 0; i < count; i++) {
        int other = rand_r(seed) % (i + 1);

        sl_graph_node(g, 0);
        rank[i] = rank[other];
        rank[other] = (uint32_t)i;
    }
    for (int i = 0; i < count; i++)
        for (int k = 0; k < count; k++)
            if (rank[i] < rank[k] && rand_r(seed) % 3 == 0) {
                sl_graph_edge(g, (uint32_t)i, (uint32_t)k, (uint64_t)(rand_r(seed) % 5));
                if (rand_r(seed) % 4 == 0) /* a second edge between the same nodes */
                    sl_graph_edge(g, (uint32_t)i, (uint32_t)k, (uint64_t)(rand_r(seed) % 9));
            }
}

static void test_random_graphs_against_all_paths(void **state)
{
    unsigned seed = 28;

    for (int n = 0; n < GRAPHS; n++) {
        struct sl_graph g = {0};

        make(&g, &seed);
        assert_int_equal(sl_graph_solve(&g), 0);
        for (uint32_t node = 0; node < g.nodes; node++) {
            uint64_t left_ns = g.node[node].longest_ns;
            uint32_t at = node;

            assert_int_equal(left_ns, longest(&g, node));
            while (g.node[at].via != SL_GRAPH_NONE) { /* the path has this length */
                assert_int_equal(g.edge[g.node[at].via].to, at);
                left_ns -= g.edge[g.node[at].via].weight_ns;
                at = g.edge[g.node[at].via].from;
            }
            assert_int_equal(left_ns, 0);
        }
        sl_graph_free(&g);
    }
}

static void test_a_circle_is_cut_and_counted(void **state)
{
    struct sl_graph g = {0};

    for (int i = 0; i < 4; i++)
        sl_graph_node(&g, 0);
    sl_graph_edge(&g, 0, 1, 5);
    sl_graph_edge(&g, 1, 2, 1);
    sl_graph_edge(&g, 2, 1, 1);
    sl_graph_edge(&g, 2, 3, 7);
    assert_int_equal(sl_graph_solve(&g), 1);
    assert_int_equal(g.node[3].longest_ns, 13);
    assert_int_equal(sl_graph_solve(&g), 1); /* again */
    sl_graph_free(&g);
}

static void test_an_empty_graph(void **state)
{
    struct sl_graph g = {0};

    assert_int_equal(sl_graph_solve(&g), 0);
    assert_null(sl_graph_edge(&g, 0, SL_GRAPH_NONE, 1));
    assert_true(g.failed);
    sl_graph_free(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_graphs_against_all_paths),
        cmocka_unit_test(test_a_circle_is_cut_and_counted),
        cmocka_unit_test(test_an_empty_graph),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
