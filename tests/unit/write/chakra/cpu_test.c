/* cpu_test.c - exclusive nodes of CPU time, gaps, and waiting calls, as a replay sees them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "unit/write/chakra/fixture.h"

/* Checks the nodes of a thread in order: "gap 10, outer 5, ..." in microseconds. */
static void assert_thread(struct dom_file *d, uint32_t thread, const char *expected)
{
    char found[1024] = "";
    uint64_t last = 0;

    for (size_t i = 0; i < d->nodes; i++) {
        const struct dom_node *n = &d->node[i];
        size_t at = strlen(found);

        if (!dom_number(n, "is_cpu_op") || dom_number(n, "tid") != (int64_t)thread)
            continue;
        if (last)
            assert_true(dom_depends(n, &d->node[last - 1]));
        last = n->id;
        snprintf(found + at, sizeof(found) - at, "%s%s %lld", at ? ", " : "", n->name,
                 (long long)dom_number(n, "duration_ns") / 1000);
    }
    assert_string_equal(found, expected);
}

static void test_nested_rows_are_cut_into_pieces(void **state)
{
    struct dom_file *d;

    (void)state;
    call("inner", 10, 15, 20, 3);
    call("leaf", 10, 16, 18, 4);
    call("second", 10, 22, 25, 5);
    call("outer", 10, 10, 30, 2);
    call("after", 10, 33, 34, 6);
    d = read_back();
    assert_thread(d, 10,
                  "gap 10, outer 5, inner 1, leaf 2, inner 2, outer 2, second 3, outer 5, gap 3, "
                  "after 1");
    assert_replays(0);
}

static void test_rows_that_begin_together_nest_by_length(void **state)
{
    struct dom_file *d;

    (void)state;
    call("inner", 10, 10, 12, 3);
    call("outer", 10, 10, 20, 2);
    d = read_back();
    assert_thread(d, 10, "gap 10, outer 0, inner 2, outer 8");
}

static void test_threads_have_chains_of_their_own(void **state)
{
    struct dom_file *d;

    (void)state;
    call("a", 10, 10, 12, 1);
    call("b", 11, 11, 13, 2);
    call("c", 10, 12, 14, 3);
    d = read_back();
    assert_thread(d, 10, "gap 10, a 2, c 2");
    assert_thread(d, 11, "gap 11, b 2");
    assert_replays(0);
}

static void test_blocking_copy_is_launch_copy_and_wait(void **state)
{
    struct dom_file *d;
    struct dom_node *name, *copy, *wait;

    (void)state;
    launching_call("cudaMemcpy", 10, 100, 250, 1);
    gpu(SL_EV_MEMCPY, 7, 112, 245, 1, "copy", 1 << 20);
    edge_to_call(1, 112, 245, 7, 1, 100, 250);
    d = read_back();
    name = dom_find(d, "cudaMemcpy");
    copy = dom_find(d, "copy");
    wait = dom_find(d, "cudaMemcpy.wait");
    assert_true(dom_depends(copy, name));
    assert_true(dom_depends(wait, name));
    assert_true(dom_depends(wait, copy));
    assert_thread(d, 10, "gap 100, cudaMemcpy 12, cudaMemcpy.wait 5");
    assert_replays(0);
}

static void test_copy_behind_other_work_is_enqueued_early(void **state)
{
    struct dom_file *d;

    (void)state;
    launch(10, 90, 95, 1);
    kernel(7, 97, 300, 1, "k");
    launching_call("cudaMemcpy", 10, 100, 330, 2);
    gpu(SL_EV_MEMCPY, 7, 301, 320, 2, "copy", 1 << 20);
    edge_to_call(2, 301, 320, 7, 2, 100, 330);
    d = read_back();
    assert_thread(d, 10, "gap 90, launch 5, gap 5, cudaMemcpy 5, cudaMemcpy.wait 10");
    assert_replays(0);
}

/* A copy from pageable memory waits for earlier work, and returns before its own operation ends. */
static void test_call_that_returns_before_its_own_operation_ends(void **state)
{
    struct dom_file *d;

    (void)state;
    launch(10, 90, 95, 1);
    kernel(7, 97, 200, 1, "k");
    launching_call("cudaMemcpy", 10, 100, 230, 2);
    edge_to_call(1, 97, 200, 7, 2, 100, 230);
    advance(240);
    gpu(SL_EV_MEMCPY, 7, 210, 300, 2, "copy", 1 << 20);
    d = read_back();
    assert_true(dom_depends(dom_find(d, "copy"), dom_find(d, "cudaMemcpy")));
    assert_true(dom_depends(dom_find(d, "cudaMemcpy.wait"), dom_find(d, "k")));
    assert_replays(0);
}

static void test_long_call_is_cut_where_its_operation_begins(void **state)
{
    struct dom_file *d;
    struct dom_node *first;

    (void)state;
    launching_call("cudaGraphLaunch", 10, 100, 200, 1);
    kernel(7, 120, 150, 1, "a");
    kernel(7, 151, 170, 1, "b");
    d = read_back();
    first = dom_find(d, "cudaGraphLaunch");
    assert_true(dom_depends(dom_find(d, "a"), first));
    assert_true(dom_depends(dom_find(d, "b"), first));
    assert_thread(d, 10, "gap 100, cudaGraphLaunch 20, cudaGraphLaunch 80");
    assert_int_equal(dom_find(d, "a")->replay_end, 150000);
    assert_int_equal(dom_find(d, "b")->replay_end, 170000);
}

static void test_wait_that_was_over_before_it_began_keeps_its_time(void **state)
{
    struct dom_file *d;

    (void)state;
    launch(10, 10, 15, 1);
    kernel(7, 17, 30, 1, "k");
    call("cudaEventQuery", 10, 50, 53, 2);
    edge_to_call(1, 17, 30, 7, 2, 50, 53);
    d = read_back();
    assert_thread(d, 10, "gap 10, launch 5, gap 35, cudaEventQuery.wait 3");
    assert_true(dom_depends(dom_find(d, "cudaEventQuery.wait"), dom_find(d, "k")));
    assert_replays(0);
}

static void test_row_that_comes_too_late_is_cut_or_counted(void **state)
{
    struct dom_file *d;

    (void)state;
    kernel(7, 1, 2, 9, "k");
    call("a", 10, 10, 20, 1);
    call("b", 10, 30, 40, 2);
    advance(45);
    call("late", 10, 22, 24, 3);
    call("around", 10, 5, 60, 4);
    d = read_back();
    assert_int_equal(counts().rows_late, 1);
    assert_int_equal(counts().rows_cut, 1);
    assert_thread(d, 10, "gap 10, a 10, gap 10, b 10, around 20");
}

static void test_deep_nesting_loses_no_time(void **state)
{
    struct dom_file *d;

    (void)state;
    for (unsigned i = 0; i < 80; i++)
        call("row", 10, 100 + i, 1000 - i, 1 + i);
    d = read_back();
    /* After 1000 us nothing is known, so the chain ends there. */
    assert_int_equal(d->node[d->nodes - 1].replay_end, 1000000);
    assert_true(counts().rows_late > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CHAKRA_TEST(test_nested_rows_are_cut_into_pieces),
        CHAKRA_TEST(test_rows_that_begin_together_nest_by_length),
        CHAKRA_TEST(test_threads_have_chains_of_their_own),
        CHAKRA_TEST(test_blocking_copy_is_launch_copy_and_wait),
        CHAKRA_TEST(test_copy_behind_other_work_is_enqueued_early),
        CHAKRA_TEST(test_call_that_returns_before_its_own_operation_ends),
        CHAKRA_TEST(test_long_call_is_cut_where_its_operation_begins),
        CHAKRA_TEST(test_wait_that_was_over_before_it_began_keeps_its_time),
        CHAKRA_TEST(test_row_that_comes_too_late_is_cut_or_counted),
        CHAKRA_TEST(test_deep_nesting_loses_no_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
