/*
 * edge_summary_test.c - the table of waits, added up by source, by place, by step and by line.
 * Tests the order of the groups, the longest waits, and names that do not fit into memory.
 *
 * Threads: one. The test owns the memory of the summary.
 */
#include "unit/test.h"

#include "edges/edge_summary.h"

static struct sl_edge_summary *summary;

/* Start of the first step. Steps are 100 ns long, and their name ids are 1000, 1001 and so on. */
static uint64_t first_step_ns;

static uint32_t step_at(void *user, uint64_t ns)
{
    const uint64_t *from_ns = user;

    return ns < *from_ns ? 0 : (uint32_t)(1000 + (ns - *from_ns) / 100);
}

static int setup(void **state)
{
    return sl_edge_summary_create(&summary, step_at, &first_step_ns);
}

static int teardown(void **state)
{
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

    add(SL_EDGE_STREAM_SYNC, 10, 20, 0, 5);
    add(SL_EDGE_STREAM_SYNC, 11, 20, 30, 100);
    add(SL_EDGE_EVENT_SYNC, 10, 21, 30, 7);
    add(SL_EDGE_EVENT_SYNC, 12, 22, 30, 0); /* no time was spent waiting */
    assert_waits(&sl_edge_summary_totals(summary)->all, 3, 112, 100);
    assert_waits(&sl_edge_summary_totals(summary)->kind[SL_EDGE_STREAM_SYNC], 2, 105, 100);
    assert_waits(&sl_edge_summary_totals(summary)->kind[SL_EDGE_EVENT_SYNC], 1, 7, 7);
    assert_waits(&sl_edge_summary_totals(summary)->kind[SL_EDGE_COPY], 0, 0, 0);
    assert_int_equal(sl_edge_summary_sort(summary, SL_EDGE_BY_SOURCE, &group), 2);
    assert_int_equal(group[0].name, 11);
    assert_waits(&group[0].waits, 1, 100, 100);
    assert_int_equal(group[1].name, 10);
    assert_waits(&group[1].waits, 2, 12, 7);
    assert_int_equal(sl_edge_summary_sort(summary, SL_EDGE_BY_PLACE, &group), 2);
    assert_int_equal(group[0].name, 20);
    assert_int_equal(sl_edge_summary_sort(summary, SL_EDGE_BY_STEP, &group), 2);
    assert_int_equal(group[1].name, 0); /* the wait is in no step */
    assert_waits(&group[1].waits, 1, 5, 5);
}

static void test_longest(void **state)
{
    const struct sl_edge_totals *totals = sl_edge_summary_totals(summary);

    for (uint64_t i = 1; i <= 100; i++)
        add(SL_EDGE_COPY, 1, (uint32_t)(i * 37 % 101), 1, i * 37 % 101);
    assert_int_equal(totals->longest_count, SL_EDGE_LONGEST);
    for (unsigned i = 0; i < SL_EDGE_LONGEST; i++) {
        assert_int_equal(totals->longest[i].edge.wait_ns, 100 - i);
        assert_int_equal(totals->longest[i].where.place, 100 - i);
    }
}

static void test_many_names(void **state)
{
    const struct sl_edge_group *group;
    size_t count;

    for (uint32_t i = 0; i < 200000; i++)
        add(SL_EDGE_COPY, i, 0, 0, 2);
    count = sl_edge_summary_sort(summary, SL_EDGE_BY_SOURCE, &group);
    assert_true(count > 90000);
    assert_waits(&sl_edge_summary_totals(summary)->rest[SL_EDGE_BY_SOURCE], 200000 - count,
                 2 * (200000 - count), 2);
    assert_waits(&sl_edge_summary_totals(summary)->rest[SL_EDGE_BY_PLACE], 0, 0, 0);
    assert_waits(&sl_edge_summary_totals(summary)->all, 200000, 400000, 2);
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
    const struct sl_edge_totals *totals = sl_edge_summary_totals(summary);
    const struct sl_edge_group *line;

    first_step_ns = UINT64_MAX; /* there is no step yet */
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
    assert_int_equal(totals->longest_count, 4);
    assert_int_equal(totals->longest[0].where.step, 0);
    assert_int_equal(totals->longest[1].where.step, 1001);
    assert_int_equal(sl_edge_summary_sort(summary, SL_EDGE_BY_LINE, &line), 1);
    assert_waits(&line[0].waits, 4, 100, 40);
    assert_int_equal(line[0].waits.in_steps_ns, 60);
}

static void test_more_waits_than_are_remembered(void **state)
{
    const struct sl_edge_group *group;
    const uint32_t all = 3000000;

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
    const struct sl_edge_group *line;

    add_at(1, 5, 0, 10);
    add_at(1, 6, 1, 1000); /* here a GPU operation waited, not a CPU thread */
    sl_edge_summary_end(summary);
    assert_int_equal(sl_edge_summary_sort(summary, SL_EDGE_BY_LINE, &line), 1);
    assert_int_equal(line[0].name, 5);
    assert_int_equal(line[0].source, 7);
    assert_waits(&line[0].waits, 1, 10, 10);
}

static void add_line(uint32_t line, uint32_t source, uint64_t ns, uint32_t step)
{
    const struct sl_edge_where where = {.line = line, .spent_on = source, .step = step};
    const struct sl_edge edge = {.kind = SL_EDGE_COPY, .wait_ns = ns};

    sl_edge_summary_add(summary, &edge, &where);
}

static void test_lines_by_what_they_waited_in_all(void **state)
{
    static const struct {
        uint32_t line, source;
        uint64_t count, total, longest;
    } expected[] = {{2, 21, 1, 60, 60}, {2, 20, 2, 50, 30}, {1, 20, 1, 100, 100}, {0, 0, 1, 1, 1}};
    const struct sl_edge_group *at;
    struct sl_edge_waits all;

    add_line(1, 20, 100, 0);
    add_line(2, 20, 30, 0);
    add_line(0, 0, 1, 0);
    add_line(2, 21, 60, 1);
    add_line(2, 20, 20, 0);
    assert_int_equal(sl_edge_summary_sort(summary, SL_EDGE_BY_LINE, &at), 4);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(at[i].name, expected[i].line);
        assert_int_equal(at[i].source, expected[i].source);
        assert_waits(&at[i].waits, expected[i].count, expected[i].total, expected[i].longest);
    }
    assert_int_equal(sl_edge_summary_name(at, 4, &all), 2);
    assert_waits(&all, 3, 110, 60);
    assert_int_equal(all.in_steps_ns, 60);
    assert_int_equal(sl_edge_summary_name(at + 3, 1, &all), 1);
}

static void test_none(void **state)
{
    const struct sl_edge_group *at;

    assert_int_equal(sl_edge_summary_sort(summary, SL_EDGE_BY_LINE, &at), 0);
    sl_edge_summary_destroy(NULL);
}

static void test_more_lines_than_there_is_room_for(void **state)
{
    const struct sl_edge_group *at;
    const struct sl_edge_waits *rest;
    uint64_t count = 0;
    size_t pairs;

    for (uint32_t i = 0; i < 200000; i++)
        add_line(i / 3, i, 2, 0);
    rest = &sl_edge_summary_totals(summary)->rest[SL_EDGE_BY_LINE];
    pairs = sl_edge_summary_sort(summary, SL_EDGE_BY_LINE, &at);
    for (size_t i = 0; i < pairs; i++)
        count += at[i].waits.count;
    assert_true(pairs > 90000);
    assert_int_equal(count + rest->count, 200000);
    assert_int_equal(rest->total_ns, 2 * (200000 - count));
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
        TEST(test_lines_by_what_they_waited_in_all),
        TEST(test_none),
        TEST(test_more_lines_than_there_is_room_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
