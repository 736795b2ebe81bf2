/* gpu_test.c - the dependencies of a GPU operation, and its delay after them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/write/chakra/fixture.h"

static void test_parents_are_launch_stream_and_what_it_waits_for(void **state)
{
    struct dom_file *d;
    struct dom_node *n;

    (void)state;
    launch(10, 10, 14, 1);
    kernel(7, 16, 50, 1, "a");
    launch(10, 15, 19, 2);
    kernel(8, 21, 90, 2, "b");
    launch(10, 20, 24, 3);
    kernel(7, 92, 100, 3, "c"); /* follows a, and waits for b */
    edge_to_op(2, 21, 90, 8, 3, 92, 100, 7);
    d = read_back();
    n = dom_find(d, "c");
    assert_int_equal(n->deps, 3);
    assert_true(dom_depends(n, dom_find(d, "a")));
    assert_true(dom_depends(n, dom_find(d, "b")));
    assert_int_equal(dom_number(n, "delay_ns"), 2000);
    assert_false(dom_depends(dom_find(d, "b"), dom_find(d, "a")));
    assert_replays(0);
}

static void test_streams_of_other_contexts_and_devices_are_others(void **state)
{
    struct sl_event ev = {.kind = SL_EV_KERNEL, .stream = 7, .context = 1, .correlation = 1};
    struct dom_file *d;

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        ev.name = text("k");
        ev.device = i == 1;
        ev.context = 1 + (i == 2);
        ev.correlation = 1 + i;
        ev.start_ns = BASE + 10000 + i * 1000;
        ev.end_ns = ev.start_ns + 500;
        put_event(&ev);
    }
    d = read_back();
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(d->node[i].deps, 0);
    assert_int_equal(counts().gpu_without_launch, 3);
    assert_replays(0); /* a node without a parent begins at its recorded start */
}

static void test_delay_is_capped_and_the_rest_counted(void **state)
{
    struct dom_file *d;

    (void)state;
    launch(10, 10, 15, 1);
    kernel(7, 100, 110, 1, "k");
    d = read_back();
    assert_int_equal(dom_number(dom_find(d, "k"), "delay_ns"), 20000);
    assert_int_equal(counts().unexplained, 1);
    assert_int_equal(counts().unexplained_ns, 65000);
}

static void test_operation_that_starts_with_its_launch(void **state)
{
    struct dom_file *d;

    (void)state;
    kernel(7, 10, 20, 1, "k");
    launch(10, 10, 15, 1);
    d = read_back();
    assert_true(dom_depends(dom_find(d, "k"), dom_find(d, "launch")));
    assert_int_equal(dom_number(dom_find(d, "k"), "delay_ns"), 0);
}

/* Kernels of one stream overlap, as with programmatic dependent launch. A simulated stream runs one
 * node after the other, so each node lasts only for the part of its kernel after the others had
 * ended. Errors do not add up. */
static void test_kernels_that_overlap_on_one_stream(void **state)
{
    struct dom_file *d;

    (void)state;
    for (unsigned i = 0; i < 4; i++)
        launch(10, 10 + i, 11 + i, 1 + i);
    kernel(7, 20, 50, 1, "first");
    kernel(7, 45, 80, 2, "beside");
    kernel(7, 60, 70, 3, "within");
    kernel(7, 75, 100, 4, "last");
    d = read_back();
    assert_null(dom_attr(dom_find(d, "first"), "overlap_ns"));
    assert_int_equal(dom_number(dom_find(d, "beside"), "overlap_ns"), 5000);
    assert_int_equal(dom_number(dom_find(d, "beside"), "duration_ns"), 30000);
    assert_int_equal(dom_number(dom_find(d, "within"), "overlap_ns"), 10000);
    assert_int_equal(dom_number(dom_find(d, "within"), "duration_ns"), 0);
    assert_int_equal(dom_number(dom_find(d, "last"), "overlap_ns"), 5000);
    assert_int_equal(dom_number(dom_find(d, "last"), "duration_ns"), 20000);
    assert_int_equal(counts().stream_overlaps, 3);
    assert_int_equal(counts().stream_overlaps_ns, 20000);
    assert_replays(10000); /* the inner kernel ends together with the outer one */
    assert_int_equal(dom_find(d, "beside")->replay_end, 80000);
    assert_int_equal(dom_find(d, "last")->replay_end, 100000);
}

/* A long operation's record arrives at its end, long after the records of later operations on other
 * streams. Its dependencies are right. */
static void test_long_operation_delivered_after_its_successors_elsewhere(void **state)
{
    struct dom_file *d;

    (void)state;
    launch(10, 10, 15, 1);
    launch(10, 16, 20, 2);
    kernel(8, 22, 30, 2, "short");
    advance(100);
    kernel(7, 17, 5000, 1, "long");
    launch(10, 4000, 4005, 3);
    kernel(7, 5001, 5010, 3, "next");
    d = read_back();
    assert_true(dom_depends(dom_find(d, "long"), dom_find(d, "launch")));
    assert_true(dom_depends(dom_find(d, "next"), dom_find(d, "long")));
    assert_replays(0);
}

/* A launch still runs when its operation has ended. Both are held back. */
static void test_operation_over_before_its_launch(void **state)
{
    struct dom_file *d;

    (void)state;
    launch(10, 10, 60, 1);
    kernel(7, 20, 30, 1, "k");
    advance(40);
    d = read_back();
    assert_true(dom_depends(dom_find(d, "k"), dom_find(d, "launch")));
    assert_int_equal(counts().gpu_without_launch, 0);
    assert_replays(0);
}

static void test_operation_out_of_order_is_no_parent(void **state)
{
    struct dom_file *d;

    (void)state;
    launch(10, 10, 12, 1);
    launch(10, 13, 15, 2);
    kernel(7, 50, 60, 2, "second");
    advance(70);
    kernel(7, 20, 30, 1, "first");
    d = read_back();
    assert_int_equal(counts().gpu_late, 1);
    assert_false(dom_depends(dom_find(d, "first"), dom_find(d, "second")));
}

static void test_graph_nodes_are_told_apart(void **state)
{
    struct sl_event ev = {.kind = SL_EV_KERNEL, .stream = 7, .context = 1, .correlation = 1};
    struct sl_edge e;
    struct dom_file *d;

    (void)state;
    launching_call("cudaGraphLaunch", 10, 5, 10, 1);
    for (unsigned i = 0; i < 3; i++) {
        ev.name = text(i == 0 ? "a" : i == 1 ? "b" : "c");
        ev.graph = 9;
        ev.stream = 7 + i;
        ev.u.op.graph_node = 100 + i;
        ev.start_ns = BASE + 12000 + i * 10000;
        ev.end_ns = ev.start_ns + 9000;
        put_event(&ev);
    }
    e = edge_from(1, 22, 31, 8);
    e.source.graph_node = 101;
    e.at_start = 1;
    e.dst_correlation = 1;
    e.dst_op.graph_node = 102;
    e.dst_op.start_ns = e.dst_start_ns = BASE + 32000;
    e.dst_op.end_ns = e.dst_end_ns = BASE + 41000;
    assert_int_equal(sl_chakra_edges(f.chakra, &e, 1), 0);
    d = read_back();
    assert_true(dom_depends(dom_find(d, "c"), dom_find(d, "b")));
    assert_false(dom_depends(dom_find(d, "c"), dom_find(d, "a")));
    assert_int_equal(dom_find(d, "b")->deps, 1);
}

static void test_more_streams_than_the_table_holds(void **state)
{
    struct dom_file *d;

    (void)state;
    for (unsigned i = 0; i < 20000; i++)
        kernel(i, 10 + i, 12 + i, 1 + i, "k");
    d = read_back();
    assert_int_equal(d->nodes, 20000);
    assert_true(counts().lanes_forgotten > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CHAKRA_TEST(test_parents_are_launch_stream_and_what_it_waits_for),
        CHAKRA_TEST(test_streams_of_other_contexts_and_devices_are_others),
        CHAKRA_TEST(test_delay_is_capped_and_the_rest_counted),
        CHAKRA_TEST(test_kernels_that_overlap_on_one_stream),
        CHAKRA_TEST(test_operation_that_starts_with_its_launch),
        CHAKRA_TEST(test_long_operation_delivered_after_its_successors_elsewhere),
        CHAKRA_TEST(test_operation_over_before_its_launch),
        CHAKRA_TEST(test_operation_out_of_order_is_no_parent),
        CHAKRA_TEST(test_graph_nodes_are_told_apart),
        CHAKRA_TEST(test_more_streams_than_the_table_holds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
