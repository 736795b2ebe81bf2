/* calls_test.c - matches members of made ranks, and finds waiting, transfer and nccl-tests' sizes.
 */
#include "unit/test.h"

#include "align/calls.h"

static void test_members_are_matched_by_group_number_and_order(void **state)
{
    struct sl_member m[] = {
        {.group = 1, .number = 5, .start_ns = 20, .rank = 0},
        {.group = 1, .number = 5, .start_ns = 10, .rank = 0},
        {.group = 1, .number = 5, .start_ns = 15, .rank = 1},
        {.group = 1, .number = 4, .start_ns = 90, .rank = 1},
        {.group = 0, .number = 9, .start_ns = 90, .rank = 1},
    };

    sl_members_sort(m, 5);
    assert_int_equal(sl_members_call(&m[0], 5), 1);
    assert_int_equal(m[0].group, 0);
    assert_int_equal(sl_members_call(&m[1], 4), 1);
    assert_int_equal(m[1].number, 4);
    assert_int_equal(sl_members_call(&m[2], 3), 2);
    assert_int_equal(m[2].start_ns, 10); /* the first of rank 0 with the only one of rank 1 */
    assert_int_equal(m[3].rank, 1);
    assert_int_equal(sl_members_call(&m[4], 1), 1);
    assert_int_equal(m[4].order, 1);
    sl_members_sort(m, 0);
}

static void test_times_of_a_call(void **state)
{
    const uint32_t host[] = {1, 1, 1, 1};
    const struct sl_member call[] = {
        {.start_ns = 100, .end_ns = 900, .rank = 0},
        {.start_ns = 700, .end_ns = 950, .rank = 1},
        {.start_ns = 300, .end_ns = 910, .rank = 2},
        {.start_ns = 400, .end_ns = 920, .rank = 3},
    };
    struct sl_call_times times;
    struct sl_clocks *clocks;
    int64_t starts[4];

    assert_int_equal(sl_clocks_create(&clocks, host, 4), 0);
    sl_members_bound(clocks, call, 4, SL_COLLECTIVE_ALL_REDUCE, SIZE_MAX);
    assert_int_equal(sl_clocks_solve(clocks), 0);
    times = sl_members_times(clocks, call, 4, SL_COLLECTIVE_ALL_REDUCE, starts);
    assert_true(times.is_comparable);
    assert_false(times.is_impossible);
    assert_int_equal(times.last, 1);
    assert_int_equal(times.last_start_ns, 700);
    assert_int_equal(times.last_end_ns, 950);
    assert_int_equal(times.median_ns, 300);
    assert_int_equal(times.error_ns, 0);
    assert_int_equal(sl_members_wait(clocks, call, &times, 0), 600);
    assert_int_equal(sl_members_wait(clocks, call, &times, 1), 0);
    sl_clocks_destroy(clocks);
}

/* The clock of rank 1 is ahead by 1 s. Which rank is the root says in which direction the call
 * bounds it, so it takes one of each. */
static void test_rooted_calls_bound_in_one_direction(void **state)
{
    static const struct {
        enum sl_collective_type first, second;
        size_t first_root, second_root;
        int is_bounded;
    } cases[] = {
        {SL_COLLECTIVE_BROADCAST, SL_COLLECTIVE_BROADCAST, 0, 0, 0},
        {SL_COLLECTIVE_BROADCAST, SL_COLLECTIVE_BROADCAST, 0, 1, 1},
        {SL_COLLECTIVE_BROADCAST, SL_COLLECTIVE_REDUCE, 0, 0, 1},
        {SL_COLLECTIVE_GATHER, SL_COLLECTIVE_SCATTER, 1, 0, 0},
        {SL_COLLECTIVE_SEND, SL_COLLECTIVE_RECV, 0, 1, 1},
        {SL_COLLECTIVE_BROADCAST, SL_COLLECTIVE_BROADCAST, SIZE_MAX, SIZE_MAX, 0},
    };
    const uint32_t host[] = {1, 2};
    const struct sl_member call[] = {{.start_ns = 100, .end_ns = 900, .rank = 0},
                                     {.start_ns = 1000000100, .end_ns = 1000000900, .rank = 1}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sl_clocks *clocks;

        assert_int_equal(sl_clocks_create(&clocks, host, 2), 0);
        sl_members_bound(clocks, call, 2, cases[i].first, cases[i].first_root);
        sl_members_bound(clocks, call, 2, cases[i].second, cases[i].second_root);
        assert_int_equal(sl_clocks_solve(clocks), 0);
        assert_int_equal(sl_clocks_reference(clocks, 1) == 0, cases[i].is_bounded);
        sl_clocks_destroy(clocks);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_members_are_matched_by_group_number_and_order),
        cmocka_unit_test(test_times_of_a_call),
        cmocka_unit_test(test_rooted_calls_bound_in_one_direction),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
