/* clocks_test.c - aligns made clocks whose offset and drift are known. */
#include "unit/test.h"

#include <math.h>
#include <stdlib.h>

#include "align/clocks.h"

static struct sl_clocks *made(const uint32_t *host, size_t ranks)
{
    struct sl_clocks *c = NULL;

    assert_int_equal(sl_clocks_create(&c, host, ranks), 0);
    return c;
}

/* Adds the facts of a collective that nobody leaves before all have begun it. */
static void meet(struct sl_clocks *c, uint32_t a, int64_t a_start, int64_t a_end, uint32_t b,
                 int64_t b_start, int64_t b_end)
{
    sl_clocks_add(c, a, a_end, b, b_start);
    sl_clocks_add(c, b, b_end, a, a_start);
}

static void test_the_ranks_of_a_host_share_a_clock(void **state)
{
    const uint32_t host[] = {7, 7};
    struct sl_clocks *c = made(host, 2);
    size_t conflicts;

    meet(c, 0, 1000, 9000, 1, 5000, 9000);
    assert_int_equal(sl_clocks_solve(c), 0);
    assert_true(sl_clocks_is_shared(c, 0, 1));
    assert_int_equal(sl_clocks_reference(c, 1), 0);
    assert_int_equal(sl_clocks_ns(c, 1, 1234), 1234);
    assert_int_equal(sl_clocks_error_ns(c, 1, 1234), 0);
    sl_clocks_conflicts(c, &conflicts);
    assert_int_equal(conflicts, 0);
    sl_clocks_destroy(c);
}

/* The clock of rank 1 is ahead by 1 ms. Both begin at the same time and leave 10 us later. */
static void test_one_collective_bounds_the_offset_by_its_length(void **state)
{
    const uint32_t host[] = {1, 2};
    struct sl_clocks *c = made(host, 2);

    meet(c, 0, 0, 10000, 1, 1000000, 1010000);
    assert_int_equal(sl_clocks_solve(c), 0);
    assert_false(sl_clocks_is_shared(c, 0, 1));
    assert_int_equal(sl_clocks_reference(c, 1), 0);
    /* 5 ns are 500 ppm of 10 us. */
    assert_in_range(sl_clocks_ns(c, 1, 1000000) + 5, 0, 10);
    assert_in_range(sl_clocks_error_ns(c, 1, 1000000), 10000, 10010);
    /* Ten seconds later the clocks may have drifted apart by up to 500 ppm. */
    assert_in_range(sl_clocks_error_ns(c, 1, 10001000000), 5000000, 10010010);
    assert_in_range(sl_clocks_fit(c, 1).offset_ns, 999995, 1000005);
    sl_clocks_destroy(c);
}

/* Rank 1 is 3 us late once, rank 0 another time: then the bounds meet. */
static void test_several_collectives_intersect(void **state)
{
    const uint32_t host[] = {1, 2};
    struct sl_clocks *c = made(host, 2);

    meet(c, 0, 0, 4000, 1, 1003000, 1004000);
    meet(c, 0, 13000, 14000, 1, 1010000, 1014000);
    assert_int_equal(sl_clocks_solve(c), 0);
    assert_in_range(sl_clocks_ns(c, 1, 1003000), 2990, 3010);
    assert_in_range(sl_clocks_error_ns(c, 1, 1003000), 990, 1020);
    sl_clocks_destroy(c);
}

/* A send bounds in one direction only, which gives no offset; with the answer, it does. */
static void test_facts_in_one_direction(void **state)
{
    const uint32_t host[] = {1, 2};
    struct sl_clocks *c = made(host, 2);

    sl_clocks_add(c, 1, 510000, 0, 0);
    assert_int_equal(sl_clocks_solve(c), 0);
    assert_int_equal(sl_clocks_reference(c, 1), 1);
    sl_clocks_destroy(c);

    c = made(host, 2);
    sl_clocks_add(c, 1, 510000, 0, 0);
    sl_clocks_add(c, 0, 30000, 1, 520000);
    assert_int_equal(sl_clocks_solve(c), 0);
    assert_int_equal(sl_clocks_reference(c, 1), 0);
    /* Between 490 and 510 us ahead. */
    assert_in_range(sl_clocks_ns(c, 1, 510000), 9990, 10010);
    assert_in_range(sl_clocks_error_ns(c, 1, 510000), 10000, 10020);
    sl_clocks_destroy(c);
}

/* No line with a drift of at most 500 ppm passes: the clock jumped by a second. */
static void test_a_clock_that_jumps_is_named(void **state)
{
    const uint32_t host[] = {1, 2};
    struct sl_clocks *c = made(host, 2);
    const struct sl_clocks_conflict *conflict;
    size_t conflicts;

    meet(c, 0, 0, 10000, 1, 0, 10000);
    meet(c, 0, 1000000, 1010000, 1, 1001000000, 1001010000);
    assert_int_equal(sl_clocks_solve(c), 0);
    conflict = sl_clocks_conflicts(c, &conflicts);
    assert_int_equal(conflicts, 1);
    assert_int_equal(conflict->a, 0);
    assert_int_equal(conflict->b, 1);
    assert_false(conflict->is_one_host);
    assert_in_range(conflict->ns, 900000000, 1000000000);
    assert_int_equal(sl_clocks_reference(c, 1), 1);
    sl_clocks_destroy(c);
}

static void test_a_host_whose_ranks_contradict_each_other(void **state)
{
    const uint32_t known[] = {1, 1}, unknown[] = {SL_CLOCKS_UNKNOWN, SL_CLOCKS_UNKNOWN};
    const struct sl_clocks_conflict *conflict;
    struct sl_clocks *c = made(known, 2);
    size_t conflicts;

    meet(c, 0, 0, 10000, 1, 500000, 510000);
    assert_int_equal(sl_clocks_solve(c), 0);
    conflict = sl_clocks_conflicts(c, &conflicts);
    assert_int_equal(conflicts, 1);
    assert_true(conflict->is_one_host);
    assert_int_equal(conflict->ns, 490000);
    sl_clocks_destroy(c);

    /* If the hosts are not known, the ranks then have clocks of their own. */
    c = made(unknown, 2);
    meet(c, 0, 0, 10000, 1, 500000, 510000);
    assert_int_equal(sl_clocks_solve(c), 0);
    sl_clocks_conflicts(c, &conflicts);
    assert_int_equal(conflicts, 0);
    assert_false(sl_clocks_is_shared(c, 0, 1));
    assert_in_range(sl_clocks_ns(c, 1, 500000) + 5, 0, 10);
    sl_clocks_destroy(c);
}

/* Rank 2 meets only rank 1, which meets rank 0. */
static void test_a_chain_of_clocks_adds_its_errors(void **state)
{
    const uint32_t host[] = {1, 2, 3};
    struct sl_clocks *c = made(host, 3);

    meet(c, 0, 0, 10000, 1, 1000000, 1010000);
    meet(c, 1, 1020000, 1040000, 2, 4020000, 4040000);
    assert_int_equal(sl_clocks_solve(c), 0);
    assert_int_equal(sl_clocks_reference(c, 2), 0);
    assert_in_range(sl_clocks_ns(c, 2, 4020000), 19980, 20050);
    assert_in_range(sl_clocks_error_ns(c, 2, 4020000), 30000, 30100);
    sl_clocks_destroy(c);
}

static void test_times_of_damaged_files(void **state)
{
    const uint32_t host[] = {1, 2};
    struct sl_clocks *c = made(host, 2);

    meet(c, 0, INT64_MIN, INT64_MAX, 1, INT64_MAX, INT64_MIN);
    meet(c, 0, 0, -10000, 1, (1ll << 61) - 1, 1 - (1ll << 61));
    assert_int_equal(sl_clocks_solve(c), 0);
    sl_clocks_destroy(c);
    c = made(host, 0);
    assert_int_equal(sl_clocks_solve(c), 0);
    sl_clocks_destroy(c);
}

/* ---- random ranks ---- */

enum {
    RANKS = 5
};

struct real_clock {
    double offset, drift;
};

static uint64_t seed = 1;

/* Returns a number from 0 to 1. */
static double any(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(seed >> 11) / (double)(1ull << 53);
}

static int64_t shown(const struct real_clock *clock, double ns)
{
    return llround(ns + clock->offset + clock->drift * ns);
}

/* One random job: some ranks share a clock. Whatever the clocks are, each time on the reference
 * clock must be right within the stated error. */
static void check_random_job(int number)
{
    struct real_clock clock[RANKS];
    uint32_t host[RANKS];
    struct sl_clocks *c;
    int calls = 1 + number % 40;
    double length = 1e6 + 1e10 * any();
    size_t conflicts;

    for (uint32_t i = 0; i < RANKS; i++) {
        clock[i] = (struct real_clock){(any() - 0.5) * 2e9, (any() - 0.5) * 2e-4};
        host[i] = i;
        if (i && any() < 0.3) {
            clock[i] = clock[i - 1];
            host[i] = host[i - 1];
        }
    }
    c = made(host, RANKS);
    for (int call = 0; call < calls; call++) {
        double at = length * any(), start[RANKS], end[RANKS], last = 0;

        for (int i = 0; i < RANKS; i++) {
            start[i] = at + 2e5 * any() * any();
            last = fmax(last, start[i]);
        }
        for (int i = 0; i < RANKS; i++)
            end[i] = last + 1e3 + 3e4 * any();
        for (uint32_t i = 1; i < RANKS; i++)
            meet(c, 0, shown(&clock[0], start[0]), shown(&clock[0], end[0]), i,
                 shown(&clock[i], start[i]), shown(&clock[i], end[i]));
    }
    assert_int_equal(sl_clocks_solve(c), 0);
    sl_clocks_conflicts(c, &conflicts);
    assert_int_equal(conflicts, 0);
    for (uint32_t i = 0; i < RANKS; i++)
        for (int at = 0; at < 20; at++) {
            double ns = length * any();
            int64_t found = sl_clocks_ns(c, i, shown(&clock[i], ns));
            int64_t off = found - shown(&clock[0], ns);

            assert_int_equal(sl_clocks_reference(c, i), 0);
            assert_true((uint64_t)llabs(off) <= sl_clocks_error_ns(c, i, shown(&clock[i], ns)) + 2);
        }
    if (calls > 30 && host[RANKS - 1] != 0) /* many collectives bound the clocks well */
        assert_true(sl_clocks_fit(c, RANKS - 1).error_ns < 1000000);
    sl_clocks_destroy(c);
}

static void test_random_ranks_stay_within_the_error(void **state)
{
    for (int i = 0; i < 200; i++)
        check_random_job(i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_ranks_of_a_host_share_a_clock),
        cmocka_unit_test(test_one_collective_bounds_the_offset_by_its_length),
        cmocka_unit_test(test_several_collectives_intersect),
        cmocka_unit_test(test_facts_in_one_direction),
        cmocka_unit_test(test_a_clock_that_jumps_is_named),
        cmocka_unit_test(test_a_host_whose_ranks_contradict_each_other),
        cmocka_unit_test(test_a_chain_of_clocks_adds_its_errors),
        cmocka_unit_test(test_times_of_damaged_files),
        cmocka_unit_test(test_random_ranks_stay_within_the_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
