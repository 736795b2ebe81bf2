/*
 * overlap_test.c - finds overlapping operations of a stream, in the shuffled order in which CUPTI
 * delivers them.
 *
 * Threads: one. Memory: the overlap's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

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
    struct sl_overlap *o;

    (void)state;
    assert_int_equal(sl_overlap_create(&o, &f), 0);
    for (int64_t i = 0; i < 50000; i++) {
        int64_t k = i ^ 255; /* blocks of 256 in reverse order */

        add(o, 7, k * 100 + 1, k * 100 + 101, (uint64_t)i); /* each begins when another ends */
        add(o, 8, k * 100 + 1, k * 100 + 101, (uint64_t)i);
    }
    sl_overlap_end(o);
    sl_overlap_destroy(o);
    assert_int_equal(f.of[SL_FIND_GPU_OVERLAP].count, 0);
    assert_int_equal(f.of[SL_FIND_NOT_CHECKED].count, 0);
}

static void test_found(void **state)
{
    struct sl_findings f = {0};
    struct sl_overlap *o;

    (void)state;
    assert_int_equal(sl_overlap_create(&o, &f), 0);
    add(o, 7, 1001, 1101, 1);
    add(o, 7, 1, 501, 2);
    add(o, 7, 400, 401, 3);   /* inside the second */
    add(o, 7, 450, 460, 4);   /* inside the second, after the third */
    add(o, 8, 400, 2001, 5);  /* another stream: no overlap */
    add(o, 7, 1100, 1200, 6); /* 1 ns too early */
    sl_overlap_end(o);
    sl_overlap_destroy(o);
    assert_int_equal(f.of[SL_FIND_GPU_OVERLAP].count, 3);
    assert_int_equal(f.of[SL_FIND_GPU_OVERLAP].at, 3);
    assert_string_equal(f.of[SL_FIND_GPU_OVERLAP].example, "device 0, stream 7: 101 ns too early");
}

/* Times in whole microseconds are rounded independently. Overlaps of less than a microsecond are
 * not reported. */
static void test_rounded_times(void **state)
{
    struct sl_findings f = {0};
    struct sl_overlap *o;

    (void)state;
    assert_int_equal(sl_overlap_create(&o, &f), 0);
    add(o, 7, 1000, 4000, 1);
    add(o, 7, 3000, 5000, 2);
    sl_overlap_end(o);
    sl_overlap_destroy(o);
    assert_int_equal(f.of[SL_FIND_GPU_OVERLAP].count, 0);
}

static void test_too_late(void **state)
{
    struct sl_findings f = {0};
    struct sl_overlap *o;

    (void)state;
    assert_int_equal(sl_overlap_create(&o, &f), 0);
    for (int64_t i = 1; i < 3000; i++)
        add(o, 7, i * 100, i * 100 + 10, 1);
    add(o, 7, 5, 6, 2); /* earlier operations have been forgotten */
    sl_overlap_end(o);
    sl_overlap_destroy(o);
    assert_int_equal(f.of[SL_FIND_GPU_OVERLAP].count, 0);
    assert_int_equal(f.of[SL_FIND_NOT_CHECKED].count, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shuffled),
        cmocka_unit_test(test_found),
        cmocka_unit_test(test_rounded_times),
        cmocka_unit_test(test_too_late),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
