/*
 * overlap_test.c - finds overlaps among many operations of a stream, in the shuffled order in which
 * CUPTI delivers them.
 *
 * Threads: one. The test owns the memory of the overlap table.
 */
#include "unit/test.h"

#include <string.h>

#include "check/overlap.h"

static void add(struct sl_overlap *o, int64_t stream, int64_t start, int64_t end, uint64_t at)
{
    struct sl_trace_row row = {0};

    row.stream = stream;
    row.ts_ns = start;
    row.dur_ns = end - start;
    sl_overlap_row(o, &row, at);
}

static void test_shuffled(void **state)
{
    struct sl_findings f = {0};
    struct sl_overlap o = {.findings = &f};

    for (int64_t i = 0; i < 50000; i++) {
        int64_t k = i ^ 255; /* blocks of 256 in reverse order */

        /* one operation begins when the other ends */
        add(&o, 7, k * 100 + 1, k * 100 + 101, (uint64_t)i);
        add(&o, 8, k * 100 + 1, k * 100 + 101, (uint64_t)i);
    }
    sl_overlap_end(&o);
    sl_overlap_free(&o);
    assert_int_equal(f.of[SL_FIND_GPU_OVERLAP].count, 0);
    assert_int_equal(f.of[SL_FIND_NOT_CHECKED].count, 0);
}

static void test_too_late(void **state)
{
    struct sl_findings f = {0};
    struct sl_overlap o = {.findings = &f};

    for (int64_t i = 1; i < 3000; i++)
        add(&o, 7, i * 100, i * 100 + 10, 1);
    add(&o, 7, 5, 6, 2); /* the table has forgotten the operations of this time */
    sl_overlap_end(&o);
    sl_overlap_free(&o);
    assert_int_equal(f.of[SL_FIND_GPU_OVERLAP].count, 0);
    assert_int_equal(f.of[SL_FIND_NOT_CHECKED].count, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shuffled),
        cmocka_unit_test(test_too_late),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
