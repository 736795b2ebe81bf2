/*
 * edge_summary_test.c - sums, order, the longest, and names that find no room.
 *
 * Threads: one. Memory: the summary's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "edges/edge_lines.h"
#include "edges/edge_summary.h"

static struct sl_edge_summary *summary;

/* Steps of 100 ns, with names from 1000 on. */
static uint64_t first_step_ns;

static uint32_t step_at(void *user, uint64_t ns)
{
    const uint64_t *from_ns = user;

    return ns < *from_ns ? 0 : (uint32_t)(1000 + (ns - *from_ns) / 100);
}

static int setup(void **state)
{
    (void)state;
    return sl_edge_summary_create(&summary, step_at, &first_step_ns);
}

static int teardown(void **state)
{
    (void)state;
    sl_edge_summary_destroy(summary);
    return 0;
}

static void add(enum sl_edge_kind kind, uint32_t source, uint32_t place, uint32_t step, uint64_t ns)
{
    const struct sl_edge_where where = {.who = 1, .place = place, .step = step, .spent_on = source};
    const struct sl_edge edge = {.kind = (uint8_t)kind, .wait_ns = ns};

    sl_edge_summary_add(summary, &edge, &where);
}

static void assert_waits(const struct sl_edge_waits *w, uint64_t count, uint64_t total,
                         uint64_t longest)
{
    assert_int_equal(w->count, count);
    assert_int_equal(w->total_ns, total);
    assert_int_equal(w->longest_ns, longest);
}

static void test_groups(void **state)
{
    const struct sl_edge_group *group;

    (void)state;
    add(SL_EDGE_STREAM_SYNC, 10, 20, 0, 5);
    add(SL_EDGE_STREAM_SYNC, 11, 20, 30, 100);
    add(SL_EDGE_EVENT_SYNC, 10, 21, 30, 7);
    add(SL_EDGE_EVENT_SYNC, 12, 22, 30, 0); /* nothing was waited for */
    assert_waits(sl_edge_summary_all(summary), 3, 112, 100);
    assert_waits(sl_edge_summary_kind(summary, SL_EDGE_STREAM_SYNC), 2, 105, 100);
    assert_waits(sl_edge_summary_kind(summary, SL_EDGE_EVENT_SYNC), 1, 7, 7);
    assert_waits(sl_edge_summary_kind(summary, SL_EDGE_COPY), 0, 0, 0);
    assert_int_equal(sl_edge_summary_sort(summary, SL_EDGE_BY_SOURCE, &group), 2);
    assert_int_equal(group[0].name, 11);
    assert_waits(&group[0].waits, 1, 100, 100);
    assert_int_equal(group[1].name, 10);
    assert_waits(&group[1].waits, 2, 12, 7);
    assert_int_equal(sl_edge_summary_sort(summary, SL_EDGE_BY_PLACE, &group), 2);
    assert_int_equal(group[0].name, 20);
    assert_int_equal(sl_edge_summary_sort(summary, SL_EDGE_BY_STEP, &group), 2);
    assert_int_equal(group[1].name, 0); /* no step */
    assert_waits(&group[1].waits, 1, 5, 5);
}

static void test_longest(void **state)
{
    const struct sl_edge_long *longest;

    (void)state;
    for (uint64_t i = 1; i <= 100; i++)
        add(SL_EDGE_COPY, 1, (uint32_t)(i * 37 % 101), 1, i * 37 % 101);
    assert_int_equal(sl_edge_summary_longest(summary, &longest), SL_EDGE_LONGEST);
    for (unsigned i = 0; i < SL_EDGE_LONGEST; i++) {
        assert_int_equal(longest[i].edge.wait_ns, 100 - i);
        assert_int_equal(longest[i].where.place, 100 - i);
    }
}

static void test_many_names(void **state)
{
    const struct sl_edge_group *group;
    size_t count;

    (void)state;
    for (uint32_t i = 0; i < 100000; i++)
        add(SL_EDGE_COPY, i, 0, 0, 2);
    count = sl_edge_summary_sort(summary, SL_EDGE_BY_SOURCE, &group);
    assert_true(count > 40000);
    assert_waits(sl_edge_summary_rest(summary, SL_EDGE_BY_SOURCE), 100000 - count,
                 2 * (100000 - count), 2);
    assert_waits(sl_edge_summary_rest(summary, SL_EDGE_BY_PLACE), 0, 0, 0);
    assert_waits(sl_edge_summary_all(summary), 100000, 200000, 2);
}

static void add_at(uint64_t at_ns, uint32_t line, int at_start, uint64_t ns)
{
    const struct sl_edge_where where = {.line = line, .spent_on = 7, .later_ns = at_ns};
    const struct sl_edge edge = {
        .kind = SL_EDGE_COPY, .wait_ns = ns, .at_start = (uint8_t)at_start};

    sl_edge_summary_add(summary, &edge, &where);
}

static void test_steps_that_are_known_later(void **state)
{
    const struct sl_edge_group *group;
    const struct sl_edge_long *longest;
    const struct sl_edge_line *line;

    (void)state;
    first_step_ns = UINT64_MAX; /* none so far */
    add_at(150, 1, 0, 10);
    add_at(250, 1, 0, 20);
    add_at(260, 1, 0, 30);
    add_at(50, 1, 0, 40);
    first_step_ns = 100;
    sl_edge_summary_end(summary);
    assert_int_equal(sl_edge_summary_sort(summary, SL_EDGE_BY_STEP, &group), 3);
    assert_int_equal(group[0].name, 1001);
    assert_waits(&group[0].waits, 2, 50, 30);
    assert_int_equal(group[1].name, 0);
    assert_waits(&group[1].waits, 1, 40, 40);
    assert_int_equal(group[2].name, 1000);
    assert_waits(&group[2].waits, 1, 10, 10);
    assert_int_equal(sl_edge_summary_longest(summary, &longest), 4);
    assert_int_equal(longest[0].where.step, 0);
    assert_int_equal(longest[1].where.step, 1001);
    assert_int_equal(sl_edge_lines_sort(sl_edge_summary_lines(summary), &line), 1);
    assert_waits(&line[0].waits, 4, 100, 40);
    assert_int_equal(line[0].waits.in_steps_ns, 60);
}

static void test_more_waits_than_are_remembered(void **state)
{
    const struct sl_edge_group *group;
    const uint32_t all = 3000000;

    (void)state;
    first_step_ns = 0;
    for (uint32_t i = 0; i < all; i++)
        add_at(1 + i / 100000 * 100, 1, 0, 1);
    sl_edge_summary_end(summary);
    assert_int_equal(sl_edge_summary_sort(summary, SL_EDGE_BY_STEP, &group), 30);
    for (unsigned i = 0; i < 30; i++)
        assert_waits(&group[i].waits, 100000, 100000, 1);
}

static void test_lines_are_the_cpus(void **state)
{
    const struct sl_edge_line *line;

    (void)state;
    add_at(1, 5, 0, 10);
    add_at(1, 6, 1, 1000); /* a GPU operation waited */
    sl_edge_summary_end(summary);
    assert_int_equal(sl_edge_lines_sort(sl_edge_summary_lines(summary), &line), 1);
    assert_int_equal(line[0].line, 5);
    assert_int_equal(line[0].source, 7);
    assert_waits(&line[0].waits, 1, 10, 10);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_groups),
        TEST(test_longest),
        TEST(test_many_names),
        TEST(test_steps_that_are_known_later),
        TEST(test_more_waits_than_are_remembered),
        TEST(test_lines_are_the_cpus),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
