/*
 * edge_lines_test.c - pairs of lines and what they waited for: sums, order, and what finds no room.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "edges/edge_lines.h"

static struct sl_edge_lines *lines;

static int setup(void **state)
{
    (void)state;
    return sl_edge_lines_create(&lines);
}

static int teardown(void **state)
{
    (void)state;
    sl_edge_lines_destroy(lines);
    return 0;
}

static void test_lines_by_what_they_waited_in_all(void **state)
{
    static const struct {
        uint32_t line, source;
        uint64_t count, total, longest;
    } expected[] = {{2, 21, 1, 60, 60}, {2, 20, 2, 50, 30}, {1, 20, 1, 100, 100}, {0, 0, 1, 1, 1}};
    const struct sl_edge_line *at;
    struct sl_edge_waits all;

    (void)state;
    sl_edge_lines_add(lines, 1, 20, 100, 0);
    sl_edge_lines_add(lines, 2, 20, 30, 0);
    sl_edge_lines_add(lines, 0, 0, 1, 0);
    sl_edge_lines_add(lines, 2, 21, 60, 1);
    sl_edge_lines_add(lines, 2, 20, 20, 0);
    assert_int_equal(sl_edge_lines_sort(lines, &at), 4);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(at[i].line, expected[i].line);
        assert_int_equal(at[i].source, expected[i].source);
        assert_int_equal(at[i].waits.count, expected[i].count);
        assert_int_equal(at[i].waits.total_ns, expected[i].total);
        assert_int_equal(at[i].waits.longest_ns, expected[i].longest);
    }
    assert_int_equal(sl_edge_lines_one(at, 4, &all), 2);
    assert_int_equal(all.count, 3);
    assert_int_equal(all.total_ns, 110);
    assert_int_equal(all.longest_ns, 60);
    assert_int_equal(all.in_steps_ns, 60);
    assert_int_equal(sl_edge_lines_one(at + 3, 1, &all), 1);
}

static void test_none(void **state)
{
    const struct sl_edge_line *at;

    (void)state;
    assert_int_equal(sl_edge_lines_sort(lines, &at), 0);
    sl_edge_lines_destroy(NULL);
}

static void test_more_than_there_is_room_for(void **state)
{
    const struct sl_edge_line *at;
    uint64_t count = 0;
    size_t pairs;

    (void)state;
    for (uint32_t i = 0; i < 200000; i++)
        sl_edge_lines_add(lines, i / 3, i, 2, 0);
    pairs = sl_edge_lines_sort(lines, &at);
    for (size_t i = 0; i < pairs; i++)
        count += at[i].waits.count;
    assert_true(pairs > 90000);
    assert_int_equal(count + sl_edge_lines_rest(lines)->count, 200000);
    assert_int_equal(sl_edge_lines_rest(lines)->total_ns, 2 * (200000 - count));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_lines_by_what_they_waited_in_all),
        TEST(test_none),
        TEST(test_more_than_there_is_room_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
