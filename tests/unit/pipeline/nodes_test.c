/*
 * nodes_test.c - the pipeline passes descriptions of graph nodes to the writer before the rows that
 * need them. The descriptions never fill the ring completely, so that rows have room.
 */
#include "collect/cupti/graph_nodes.h"
#include "pipeline/rig.h"
#include "unit/collect/cupti/graphs.h"

#define NODES 100000 /* more than the ring has room for */

static void build_graph(void)
{
    for (uintptr_t i = 1; i <= NODES; i++)
        graphs_tell(GRAPHS_CREATED, (struct graph_data){.graph = (void *)4, .node = (void *)i});
}

static void rows_find_room_behind_a_huge_graph(void **state)
{
    static struct sl_cupti_api api;

    graphs_add_to(&api.fn);
    api.v1 = api.fn;
    assert_int_equal(sl_graph_nodes_start(&api), 0);
    assert_int_equal(open_at(1, T0), 0);
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
