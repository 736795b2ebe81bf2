/* unseen_test.c - operations whose call is not in the file, and the thread that must have made
 * it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/write/chakra/fixture.h"

/* Checks that the thread's time up to the operation's start is a node of its own, and that the
 * operation depends on it. */
static void assert_hung_on(const char *op, int thread)
{
    const struct dom_node *n = dom_find(&f.dom, op), *cut = n - 1;

    assert_int_equal(dom_number(n, "no_launch"), 1);
    assert_int_equal(dom_number(cut, "is_cpu_op"), 1);
    assert_int_equal(dom_number(cut, "tid"), thread);
    assert_int_equal(dom_number(cut, "start_ns") + dom_number(cut, "duration_ns"),
                     dom_number(n, "start_ns"));
    assert_true(dom_depends(n, cut));
}

static void assert_not_hung(const char *op)
{
    const struct dom_node *n = dom_find(&f.dom, op);

    assert_int_equal(dom_number(n, "no_launch"), 1);
    for (size_t i = 0; i < f.dom.nodes; i++)
        if (dom_number(&f.dom.node[i], "is_cpu_op"))
            assert_false(dom_depends(n, &f.dom.node[i]));
}

/* Adds kernel a. put_b() adds kernel b, long after a on the same stream; its call is not in the
 * file. */
static void put_a(uint32_t thread)
{
    launch(thread, 10, 14, 1);
    kernel(7, 16, 50, 1, "a");
}

static void put_b(void)
{
    kernel(7, 5000, 5100, 20, "b");
}

static void test_thread_that_launched_on_the_stream_is_in_the_call(void **state)
{
    struct dom_file *d;

    (void)state;
    put_a(10);
    call("query", 11, 30, 31, 3); /* another idle thread, which never launched on this stream */
    put_b();
    advance(5500);
    d = read_back();
    assert_hung_on("b", 10);
    assert_string_equal((dom_find(d, "b") - 1)->name, "gap");
    assert_true(dom_depends(dom_find(d, "b"), dom_find(d, "a")));
    assert_null(dom_attr(dom_find(d, "a"), "no_launch"));
    assert_int_equal(dom_number(dom_find(d, "b"), "delay_ns"), 0);
    assert_int_equal(counts().gpu_without_launch, 1);
    assert_int_equal(counts().unexplained, 0);
    assert_replays(0);
}

static void test_it_is_in_one_call_only(void **state)
{
    (void)state;
    put_a(10);
    put_b();
    kernel(7, 6000, 6100, 21, "c");
    read_back();
    assert_hung_on("b", 10);
    assert_not_hung("c");
}

static void test_operations_of_one_call_are_hung_together(void **state)
{
    (void)state;
    put_a(10);
    put_b();
    kernel(7, 6000, 6100, 20, "c");
    read_back();
    assert_hung_on("b", 10);
    assert_hung_on("c", 10);
}

static void test_thread_that_calls_again_was_not_in_it(void **state)
{
    (void)state;
    put_a(10);
    put_b();
    advance(5500);
    call("next", 10, 6000, 6010, 21);
    call("idle", 11, 20, 21, 2); /* arrives late; this thread could have launched the kernel */
    advance(7000);
    assert_int_equal(counts().gpu_nodes, 2); /* b is no longer held back */
    read_back();
    assert_not_hung("b");
    assert_int_equal(counts().unexplained, 1);
}

static void test_thread_that_is_in_another_call_was_not_in_it(void **state)
{
    (void)state;
    put_a(10);
    call("sync", 10, 20, 9000, 2);
    call("query", 11, 30, 31, 3);
    put_b();
    read_back();
    assert_not_hung("b");
}

/* Two threads launch on the stream. */
static void put_shared_stream(uint32_t first, uint32_t last)
{
    put_a(first);
    launch(last, 60, 64, 2);
    kernel(7, 66, 80, 2, "c");
}

static void test_either_of_two_threads_may_be_in_it(void **state)
{
    (void)state;
    put_shared_stream(10, 11);
    put_b();
    read_back();
    assert_not_hung("b");
}

/* The result does not depend on the threads' numbers. */
static void test_one_of_two_threads_can_be_in_it(void **state)
{
    const uint32_t ids[][2] = {{10, 11}, {11, 10}, {500, 400}};

    (void)state;
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        reopen(0);
        put_shared_stream(ids[i][0], ids[i][1]);
        put_b();
        call("next", ids[i][0], 6000, 6010, 21);
        read_back();
        assert_hung_on("b", (int)ids[i][1]);
        assert_replays(0);
    }
}

/* The thread that launched on the stream cannot have made the call. No other thread is guessed. */
static void test_a_thread_that_never_launched_there_is_not_guessed(void **state)
{
    (void)state;
    put_a(10);
    launch(11, 10, 14, 2);
    kernel(9, 16, 3000, 2, "c");
    put_b();
    call("next", 10, 5010, 6000, 21);
    read_back();
    assert_not_hung("b");
}

/* The record of a call was lost, and its thread makes no further call while the window continues.
 * The operation is not held back for long. */
static void test_operation_in_the_middle_of_the_window(void **state)
{
    for (int online = 0; online < 2; online++) {
        (void)state;
        reopen(0);
        put_a(10);
        put_b();
        for (unsigned ms = 10; ms < 100; ms++) {
            call("other", 11, ms * 1000, ms * 1000 + 10, 20 + ms);
            if (online)
                advance(ms * 1000);
        }
        if (online)
            assert_int_equal(counts().gpu_nodes, 2); /* the kernel was not held back any longer */
        read_back();
        assert_not_hung("b");
    }
}

static void test_call_that_comes_late_is_the_parent(void **state)
{
    struct dom_file *d;

    (void)state;
    put_a(10);
    put_b();
    advance(5500);
    launch(10, 4990, 4998, 20);
    advance(5500);
    d = read_back();
    assert_string_equal((dom_find(d, "b") - 1)->name, "launch");
    assert_true(dom_depends(dom_find(d, "b"), dom_find(d, "b") - 1));
    assert_null(dom_attr(dom_find(d, "b"), "no_launch"));
    assert_int_equal(counts().gpu_without_launch, 0);
    assert_replays(0);
}

/* Later rows are held back together with the operation, and keep their edges. */
static void test_what_is_held_with_it_keeps_its_edges(void **state)
{
    struct dom_file *d;

    (void)state;
    put_a(10);
    launch(11, 100, 104, 2);
    call("early", 12, 60, 4900, 3);
    edge_to_call(1, 16, 50, 7, 3, 60, 4900);
    call("sync", 12, 4950, 5310, 4);
    edge_to_call(2, 5200, 5300, 8, 4, 4950, 5310);
    put_b();
    kernel(8, 5200, 5300, 2, "c");
    advance(5500);
    assert_int_equal(counts().gpu_nodes, 1);
    advance(5600);
    d = read_back();
    assert_hung_on("b", 10);
    assert_true(dom_depends(dom_find(d, "early.wait"), dom_find(d, "a")));
    assert_true(dom_depends(dom_find(d, "sync.wait"), dom_find(d, "c")));
    assert_int_equal(counts().edges, 2);
    assert_int_equal(counts().edges_no_source + counts().edges_no_destination, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CHAKRA_TEST(test_thread_that_launched_on_the_stream_is_in_the_call),
        CHAKRA_TEST(test_it_is_in_one_call_only),
        CHAKRA_TEST(test_operations_of_one_call_are_hung_together),
        CHAKRA_TEST(test_thread_that_calls_again_was_not_in_it),
        CHAKRA_TEST(test_thread_that_is_in_another_call_was_not_in_it),
        CHAKRA_TEST(test_either_of_two_threads_may_be_in_it),
        CHAKRA_TEST(test_one_of_two_threads_can_be_in_it),
        CHAKRA_TEST(test_a_thread_that_never_launched_there_is_not_guessed),
        CHAKRA_TEST(test_operation_in_the_middle_of_the_window),
        CHAKRA_TEST(test_call_that_comes_late_is_the_parent),
        CHAKRA_TEST(test_what_is_held_with_it_keeps_its_edges),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
