/* early_test.c - operations whose recorded start is before that of their call. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/write/chakra/fixture.h"

static void assert_launched(const char *op, const char *call)
{
    const struct dom_node *n = dom_find(&f.dom, op);

    assert_null(dom_attr(n, "no_launch"));
    assert_true(dom_depends(n, dom_find(&f.dom, call)));
}

/* Tests the rows twice: given all at once, and reported step by step as complete. */
static void each_way(void (*put)(void), uint64_t until, void (*check)(void))
{
    for (int online = 0; online < 2; online++) {
        reopen(0);
        put();
        for (uint64_t us = 1; online && us < until; us++)
            advance(us);
        read_back();
        check();
    }
}

static void put_on_idle_streams(void)
{
    launching_call("first", 10, 100, 105, 1);
    kernel(7, 98, 148, 1, "a");
    launching_call("second", 10, 300, 305, 2);
    kernel(7, 200, 250, 2, "b"); /* ends before its call, by the most that is accepted */
    launching_call("third", 10, 400, 405, 3);
    kernel(7, 407, 430, 3, "c");
}

static void check_idle_streams(void)
{
    const struct dom_node *a = dom_find(&f.dom, "a");

    assert_launched("a", "first");
    assert_launched("b", "second");
    assert_launched("c", "third");
    assert_int_equal(dom_number(a, "start_ns"), 98000);
    assert_int_equal(dom_number(a, "duration_ns"), 50000);
    assert_int_equal(dom_number(a, "delay_ns"), 0);
    assert_int_equal(a->replay_start, 105000);
    assert_int_equal(counts().gpu_without_launch + counts().gpu_late, 0);
    assert_int_equal(counts().gpu_overlaps, 2);
    assert_int_equal(counts().gpu_overlaps_ns, 7000 + 105000);
}

static void test_behind_its_call(void **state)
{
    (void)state;
    each_way(put_on_idle_streams, 500, check_idle_streams);
}

static void put_too_early(void)
{
    launching_call("first", 10, 301, 305, 1);
    kernel(7, 200, 250, 1, "a");
}

static void check_too_early(void)
{
    assert_int_equal(dom_number(dom_find(&f.dom, "a"), "no_launch"), 1);
    assert_int_equal(counts().gpu_overlaps, 0);
}

static void test_what_no_clock_explains(void **state)
{
    (void)state;
    each_way(put_too_early, 400, check_too_early);
}

/* A blocking copy begins before its call. The call's own node has no duration, because the copy was
 * already enqueued when the call began. */
static void put_blocking_copy(void)
{
    launching_call("cudaMemcpy", 10, 100, 250, 1);
    gpu(SL_EV_MEMCPY, 7, 98, 245, 1, "copy", 1 << 20);
    edge_to_call(1, 98, 245, 7, 1, 100, 250);
}

static void check_blocking_copy(void)
{
    assert_launched("copy", "cudaMemcpy");
    assert_int_equal(dom_number(dom_find(&f.dom, "cudaMemcpy"), "duration_ns"), 0);
    assert_true(dom_depends(dom_find(&f.dom, "cudaMemcpy.wait"), dom_find(&f.dom, "copy")));
    assert_replays(2000);
}

static void test_of_a_call_that_waits(void **state)
{
    (void)state;
    each_way(put_blocking_copy, 300, check_blocking_copy);
}

/* Two threads launch on one stream. The second one began its call earlier and enqueued later. The
 * stream's order is kept. */
static void put_shared_stream(void)
{
    launching_call("first", 10, 105, 107, 1);
    kernel(7, 98, 100, 1, "a");
    launching_call("second", 11, 99, 110, 2);
    kernel(7, 101, 103, 2, "b");
    kernel(7, 104, 106, 3, "c"); /* its call is not in the file */
    launching_call("fourth", 11, 111, 112, 4);
    kernel(7, 108, 120, 4, "d");
}

static void check_shared_stream(void)
{
    assert_launched("a", "first");
    assert_launched("b", "second");
    assert_launched("d", "fourth");
    assert_true(dom_depends(dom_find(&f.dom, "b"), dom_find(&f.dom, "a")));
    assert_true(dom_depends(dom_find(&f.dom, "c"), dom_find(&f.dom, "b")));
    assert_true(dom_depends(dom_find(&f.dom, "d"), dom_find(&f.dom, "c")));
    assert_int_equal(counts().gpu_without_launch, 1);
    assert_int_equal(counts().gpu_late, 0);
}

static void test_a_stream_keeps_its_order(void **state)
{
    (void)state;
    each_way(put_shared_stream, 200, check_shared_stream);
}

static void put_graph(void)
{
    launching_call("cudaGraphLaunch", 10, 100, 160, 1);
    kernel(7, 90, 95, 1, "a");
    kernel(8, 91, 99, 1, "b");
    kernel(7, 96, 140, 1, "c");
}

static void check_graph(void)
{
    assert_launched("a", "cudaGraphLaunch");
    assert_launched("b", "cudaGraphLaunch");
    assert_launched("c", "cudaGraphLaunch");
    assert_true(dom_depends(dom_find(&f.dom, "c"), dom_find(&f.dom, "a")));
    assert_int_equal(counts().gpu_late, 0);
}

static void test_operations_of_one_call(void **state)
{
    (void)state;
    each_way(put_graph, 200, check_graph);
}

/* A wait for an early operation, and an operation ordered after it, still depend on it. */
static void put_waited_for(void)
{
    launching_call("first", 10, 100, 105, 1);
    kernel(7, 80, 90, 1, "a");
    launching_call("second", 10, 110, 115, 2);
    kernel(8, 91, 95, 2, "b");
    edge_to_op(1, 80, 90, 7, 2, 91, 95, 8);
    call("sync", 10, 120, 130, 3);
    edge_to_call(2, 91, 95, 8, 3, 120, 130);
}

static void check_waited_for(void)
{
    assert_launched("a", "first");
    assert_launched("b", "second");
    assert_true(dom_depends(dom_find(&f.dom, "b"), dom_find(&f.dom, "a")));
    assert_true(dom_depends(dom_find(&f.dom, "sync.wait"), dom_find(&f.dom, "b")));
    assert_int_equal(counts().edges, 2);
    assert_int_equal(counts().edges_no_source + counts().edges_no_destination, 0);
}

static void test_what_waits_for_it(void **state)
{
    (void)state;
    each_way(put_waited_for, 200, check_waited_for);
}

/* A long call holds back its own operation, and with it another thread's operation whose call has
 * ended. Both get their launches. */
static void put_held(void)
{
    launching_call("long", 10, 100, 190, 1);
    kernel(7, 98, 103, 1, "a");
    launching_call("short", 11, 101, 104, 2);
    kernel(8, 97, 99, 2, "b");
}

static void check_held(void)
{
    assert_launched("a", "long");
    assert_launched("b", "short");
    assert_int_equal(counts().gpu_without_launch + counts().rows_cut + counts().rows_late, 0);
}

static void test_held_until_its_call_is_over(void **state)
{
    (void)state;
    each_way(put_held, 200, check_held);
}

/* A call has ended, but is held back together with another thread's running call. It is still the
 * parent of its operation. */
static void test_call_that_is_held_for_another(void **state)
{
    (void)state;
    launching_call("over", 10, 50, 105, 1);
    kernel(7, 60, 65, 1, "a");
    launching_call("long", 11, 100, 190, 2);
    advance(150);
    kernel(8, 120, 200, 2, "b");
    read_back();
    assert_launched("a", "over");
    assert_launched("b", "long");
}

/* In a replay the operation ends later by its overlap with the call. The next operation is less
 * late, and the wait is not late, so delays do not add up. */
static void test_being_late_does_not_add_up(void **state)
{
    struct dom_file *d;

    (void)state;
    launch(10, 100, 115, 1);
    kernel(7, 98, 150, 1, "a");
    launch(10, 116, 118, 2);
    kernel(7, 153, 160, 2, "b");
    call("sync", 10, 120, 180, 3);
    edge_to_call(2, 153, 160, 7, 3, 120, 180);
    d = read_back();
    assert_int_equal(dom_find(d, "a")->replay_end, 167000);
    assert_int_equal(dom_number(dom_find(d, "b"), "delay_ns"), 0);
    assert_int_equal(dom_find(d, "b")->replay_end, 174000);
    assert_int_equal(dom_find(d, "sync.wait")->replay_end, 180000);
}

/* Threads launch on each other's streams, with a GPU clock that is wrong by 30 us. Every launch
 * gets its operation. */
static void test_any_order_of_many(void **state)
{
    uint64_t random = 88172645463325252u, now = 200, busy[5] = {0}, done[3] = {0};

    (void)state;
    for (unsigned i = 0; i < 5000; i++) {
        uint64_t thread, stream, begin, start;

        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        thread = random % 3;
        stream = (random >> 8) % 5;
        begin = now > done[thread] ? now : done[thread];
        done[thread] = begin + 1 + (random >> 16) % 40;
        start = begin + (random >> 24) % 3;
        start = start > busy[stream] ? start : busy[stream];
        busy[stream] = start + 1 + (random >> 32) % 30;
        now = begin + (random >> 40) % 9;
        launch(10 + (uint32_t)thread, begin, done[thread], 1 + i);
        kernel(7 + (uint32_t)stream, start - 30, busy[stream] - 30, 1 + i, "k");
        if (random >> 50 & 1)
            advance(now - 40);
    }
    read_back();
    assert_true(counts().gpu_overlaps > 1000);
    assert_int_equal(counts().gpu_without_launch + counts().gpu_late, 0);
    assert_int_equal(counts().rows_cut + counts().rows_late, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CHAKRA_TEST(test_behind_its_call),
        CHAKRA_TEST(test_what_no_clock_explains),
        CHAKRA_TEST(test_of_a_call_that_waits),
        CHAKRA_TEST(test_a_stream_keeps_its_order),
        CHAKRA_TEST(test_operations_of_one_call),
        CHAKRA_TEST(test_what_waits_for_it),
        CHAKRA_TEST(test_held_until_its_call_is_over),
        CHAKRA_TEST(test_call_that_is_held_for_another),
        CHAKRA_TEST(test_being_late_does_not_add_up),
        CHAKRA_TEST(test_any_order_of_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
