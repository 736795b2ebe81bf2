/* edge_test.c - a sync edge is written to the file if the nodes of its source and destination are
 * known. Other edges are counted. */
#include "unit/test.h"

#include "unit/write/chakra/fixture.h"

/* The source of an edge is the last operation of its stream. A million operations on other streams
 * followed. */
static void test_source_long_gone_is_known_as_its_streams_last(void **state)
{
    struct dom_file *d;

    kernel(99, 1, 2, 1, "old");
    for (unsigned i = 0; i < 100000; i++)
        kernel(7, 10 + i, 11 + i, 2 + i, "k");
    call("sync", 10, 200000, 200005, 300000);
    edge_to_call(1, 1, 2, 99, 300000, 200000, 200005);
    edge_to_call(5, 13, 14, 7, 300000, 200000, 200005);
    d = read_back();
    assert_true(dom_depends(dom_find(d, "sync.wait"), dom_find(d, "old")));
    assert_int_equal(counts().edges, 1);
    /* not written: the source is an old operation and not the last on its stream */
    assert_int_equal(counts().edges_no_source, 1);
}

static void test_ten_thousand_sources_of_one_wait(void **state)
{
    struct dom_file *d;

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
    reopen(12 << 20);
    for (unsigned i = 0; i < 100000; i++)
        edge_to_call(1 + i, 10, 20, 7, 500000 + i, 15, 25);
    read_back();
    assert_true(counts().edges_full > 0);
    assert_int_equal(counts().edges_full + counts().edges_no_destination, 100000);
}

/* Two streams wait for each other alternately, and a thread waits for both. The file is written in
 * small steps, and a replay gives the recorded times. */
static void test_long_run_in_steps_replays(void **state)
{
    struct dom_file *d;
    uint64_t at = 100, c = 1;

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
        CHAKRA_TEST(test_source_long_gone_is_known_as_its_streams_last),
        CHAKRA_TEST(test_ten_thousand_sources_of_one_wait),
        CHAKRA_TEST(test_more_edges_than_room_are_counted),
        CHAKRA_TEST(test_long_run_in_steps_replays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
