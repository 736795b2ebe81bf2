/* edge_test.c - every sync edge whose ends are known is written, and the others are counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/write/chakra/fixture.h"

static void test_wait_for_a_set_names_every_member(void **state)
{
    struct dom_file *d;
    struct dom_node *wait;

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        static const char *const name[] = {"k0", "k1", "k2", "k3"};

        launch(10, 10 + 5 * i, 14 + 5 * i, 1 + i);
        kernel(7 + i, 40, 60 + 10 * i, 1 + i, name[i]);
        edge_to_call(1 + i, 40, 60 + 10 * i, 7 + i, 9, 50, 95);
    }
    call("cudaDeviceSynchronize", 10, 50, 95, 9);
    d = read_back();
    wait = dom_find(d, "cudaDeviceSynchronize.wait");
    assert_int_equal(wait->deps, 5);
    for (unsigned i = 0; i < 4; i++)
        assert_true(dom_depends(wait, dom_find(d, (const char *[]){"k0", "k1", "k2", "k3"}[i])));
    assert_int_equal(dom_number(wait, "duration_ns"), 5000);
    assert_int_equal(counts().edges, 4);
    assert_int_equal(wait->replay_end, 95000);
}

static void test_edge_told_twice_is_one_dependency(void **state)
{
    (void)state;
    launch(10, 10, 14, 1);
    kernel(7, 16, 60, 1, "k");
    call("sync", 10, 50, 65, 9);
    edge_to_call(1, 16, 60, 7, 9, 50, 65);
    edge_to_call(1, 16, 60, 7, 9, 50, 65);
    assert_int_equal(dom_find(read_back(), "sync.wait")->deps, 2);
}

/* One call enqueued several operations per stream: a batch of copies, or a graph without node ids.
 * A wait depends on the last operation of each stream. */
static void test_operations_of_one_call_are_told_by_their_streams(void **state)
{
    struct dom_file *d;
    struct dom_node *wait;

    (void)state;
    launch(10, 10, 14, 1);
    for (unsigned i = 0; i < 6; i++)
        kernel(7, 16 + 2 * i, 18 + 2 * i, 1, i < 5 ? "early" : "last of 7");
    kernel(8, 17, 40, 1, "last of 8");
    call("sync", 10, 20, 45, 9);
    edge_to_call(1, 26, 28, 7, 9, 20, 45);
    edge_to_call(1, 17, 40, 8, 9, 20, 45);
    d = read_back();
    wait = dom_find(d, "sync.wait");
    assert_int_equal(wait->deps, 3);
    assert_true(dom_depends(wait, dom_find(d, "last of 7")));
    assert_true(dom_depends(wait, dom_find(d, "last of 8")));
}

/* A stream was last used a hundred thousand operations ago. The edge still finds its last
 * operation. */
static void test_source_long_gone_is_known_as_its_streams_last(void **state)
{
    struct dom_file *d;

    (void)state;
    kernel(99, 1, 2, 1, "old");
    for (unsigned i = 0; i < 100000; i++)
        kernel(7, 10 + i, 11 + i, 2 + i, "k");
    call("sync", 10, 200000, 200005, 300000);
    edge_to_call(1, 1, 2, 99, 300000, 200000, 200005);
    edge_to_call(5, 13, 14, 7, 300000, 200000, 200005);
    d = read_back();
    assert_true(dom_depends(dom_find(d, "sync.wait"), dom_find(d, "old")));
    assert_int_equal(counts().edges, 1);
    assert_int_equal(counts().edges_no_source, 1); /* the source is neither recent nor the last of
                                                    * its stream */
}

static void test_edge_to_a_call_without_a_row_is_no_cycle(void **state)
{
    struct sl_edge e = edge_from(1, 1, 5, 7);

    (void)state;
    kernel(7, 1, 5, 1, "k");
    e.dst_correlation = 2; /* its end is unknown */
    assert_int_equal(sl_chakra_edges(f.chakra, &e, 1), 0);
    call("sync", 10, 2, 4, 3);
    edge_to_call(1, 1, 50, 7, 3, 2, 4); /* ends before its source */
    read_back();
    assert_int_equal(counts().edges_no_destination, 1);
    assert_int_equal(counts().edges_cycle, 1);
}

static void test_ten_thousand_sources_of_one_wait(void **state)
{
    struct dom_file *d;

    (void)state;
    for (unsigned i = 0; i < 10000; i++) {
        kernel(i, 10, 20, 1 + i, "k");
        edge_to_call(1 + i, 10, 20, i, 50000, 15, 25);
    }
    call("sync", 10, 15, 25, 50000);
    d = read_back();
    assert_int_equal(dom_find(d, "sync.wait")->deps, 10001);
}

static void test_more_edges_than_room_are_counted(void **state)
{
    (void)state;
    reopen(12 << 20);
    for (unsigned i = 0; i < 100000; i++)
        edge_to_call(1 + i, 10, 20, 7, 500000 + i, 15, 25);
    read_back();
    assert_true(counts().edges_full > 0);
    assert_int_equal(counts().edges_full + counts().edges_no_destination, 100000);
}

/* Two streams wait for each other in turns, and a thread waits for both. The file is written in
 * small steps, and a replay gives the recorded times. */
static void test_long_run_in_steps_replays(void **state)
{
    struct dom_file *d;
    uint64_t at = 100, c = 1;

    (void)state;
    for (unsigned i = 0; i < 3000; i++, at += 100) {
        launch(10, at, at + 4, c);
        kernel(7, at + 6, at + 40, c, "compute");
        launch(10, at + 5, at + 9, c + 1);
        kernel(8, at + 42, at + 70, c + 1, "reduce");
        edge_to_op(c, at + 6, at + 40, 7, c + 1, at + 42, at + 70, 8);
        call("cudaStreamSynchronize", 10, at + 12, at + 75, c + 2);
        edge_to_call(c + 1, at + 42, at + 70, 8, c + 2, at + 12, at + 75);
        c += 3;
        if (i % 7 == 0 && i > 10)
            advance(at - 500);
    }
    f.rows = f.rows > 300 ? 300 : f.rows;
    d = read_back();
    assert_int_equal(counts().edges, 6000);
    assert_int_equal(counts().edges_no_source + counts().edges_no_destination, 0);
    assert_replays(0);
    assert_int_equal(d->node[d->nodes - 1].replay_end, (at - 100 + 75) * 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CHAKRA_TEST(test_wait_for_a_set_names_every_member),
        CHAKRA_TEST(test_edge_told_twice_is_one_dependency),
        CHAKRA_TEST(test_operations_of_one_call_are_told_by_their_streams),
        CHAKRA_TEST(test_source_long_gone_is_known_as_its_streams_last),
        CHAKRA_TEST(test_edge_to_a_call_without_a_row_is_no_cycle),
        CHAKRA_TEST(test_ten_thousand_sources_of_one_wait),
        CHAKRA_TEST(test_more_edges_than_room_are_counted),
        CHAKRA_TEST(test_long_run_in_steps_replays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
