/*
 * edge_summary_test.c - the table of waits, added up by source, by place, by step and by line.
 * Tests the order of the groups, the longest waits, the sum of two summaries, and names that do not
 * fit into memory.
 *
 * Threads: one. The test owns the memory of the summary.
 */
#include "unit/test.h"

#include "edges/edge_summary.h"

static struct sl_edge_summary *summary;

enum {
    LONGEST = 10
};

static int setup(void **state)
{
    return sl_edge_summary_create(&summary, LONGEST);
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
    for (uint64_t i = 1; i <= 100; i++)
        add(SL_EDGE_COPY, 1, (uint32_t)(i * 37 % 101), 1, i * 37 % 101);
    assert_int_equal(sl_edge_summary_longest(summary), LONGEST);
    for (unsigned i = 0; i < LONGEST; i++) {
        assert_int_equal(sl_edge_summary_long(summary, i)->edge.wait_ns, 100 - i);
        assert_int_equal(sl_edge_summary_long(summary, i)->where.place, 100 - i);
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

static void test_calls_that_did_not_wait(void **state)
{
    const struct sl_edge_group *at;

    add_line(1, 20, 100, 0);
    add_line(1, 20, 0, 0);
    add_line(1, 21, 0, 0);
    add_line(2, 20, 0, 0);
    assert_int_equal(sl_edge_summary_calls(summary, 1), 3);
    assert_int_equal(sl_edge_summary_calls(summary, 2), 1);
    assert_int_equal(sl_edge_summary_calls(summary, 3), 0);
    assert_int_equal(sl_edge_summary_sort(summary, SL_EDGE_BY_LINE, &at), 1);
    assert_waits(&at->waits, 1, 100, 100);
}

/* The ids of a name differ between two files. */
static void test_merge(void **state)
{
    struct sl_intern *names, *of_file;
    const struct sl_edge_group *at;
    struct sl_edge_summary *file;
    uint32_t line, gemm, id;

    assert_int_equal(sl_intern_create(&names, 1 << 20), 0);
    assert_int_equal(sl_intern_create(&of_file, 1 << 20), 0);
    assert_int_equal(sl_edge_summary_create(&file, LONGEST), 0);
    gemm = sl_intern_put(names, "gemm", 4);
    line = sl_intern_put(names, "a.py:1", 6);
    add_line(line, gemm, 5, 0);
    id = sl_intern_put(of_file, "a.py:1", 6);
    for (unsigned i = 0; i < 2; i++) {
        const struct sl_edge_where where = {
            .line = id, .spent_on = sl_intern_put(of_file, i ? "relu" : "gemm", 4), .step = 1};
        const struct sl_edge edge = {.kind = SL_EDGE_COPY, .wait_ns = 7 + i};

        sl_edge_summary_add(file, &edge, &where);
    }
    sl_edge_summary_merge(summary, names, file, of_file, 3);
    assert_waits(&sl_edge_summary_totals(summary)->all, 3, 20, 8);
    assert_waits(&sl_edge_summary_totals(summary)->kind[SL_EDGE_COPY], 3, 20, 8);
    assert_int_equal(sl_edge_summary_calls(summary, line), 3);
    assert_int_equal(sl_edge_summary_sort(summary, SL_EDGE_BY_LINE, &at), 2);
    assert_int_equal(at[0].name, line);
    assert_int_equal(at[0].source, gemm);
    assert_waits(&at[0].waits, 2, 12, 7);
    assert_int_equal(at[0].waits.in_steps_ns, 7);
    assert_int_equal(at[1].source, sl_intern_find(names, "relu", 4));
    assert_int_equal(sl_edge_summary_longest(summary), 3);
    assert_int_equal(sl_edge_summary_long(summary, 0)->where.line, line);
    assert_int_equal(sl_edge_summary_long(summary, 0)->where.file, 3);
    assert_int_equal(sl_edge_summary_long(summary, 2)->where.file, 0);
    sl_edge_summary_destroy(file);
    sl_intern_destroy(of_file);
    sl_intern_destroy(names);
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
        TEST(test_lines_by_what_they_waited_in_all),
        TEST(test_calls_that_did_not_wait),
        TEST(test_merge),
        TEST(test_none),
        TEST(test_more_lines_than_there_is_room_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
