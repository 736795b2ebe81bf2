/* sort_test.c - sorts rows by time. The sort is stable, and works for any range of times. */
#include "unit/test.h"

#include <stdlib.h>

#include "write/chakra/chakra_internal.h"

#define MANY 20000

static struct sl_chakra_turn one[MANY], two[MANY];

static void assert_sorts(uint64_t base, uint64_t mask)
{
    uint64_t random = 88172645463325252u;
    struct sl_chakra_turn *sorted;

    for (uint32_t i = 0; i < MANY; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        one[i] = (struct sl_chakra_turn){base + (random & mask), i};
    }
    sorted = sl_chakra_sort(one, two, MANY);
    for (uint32_t i = 1; i < MANY; i++)
        assert_true(sorted[i - 1].key < sorted[i].key ||
                    (sorted[i - 1].key == sorted[i].key && sorted[i - 1].index < sorted[i].index));
}

static void test_any_span(void **state)
{
    assert_sorts(5, 0);
    assert_sorts(1700000000000000000u, 0xff);
    assert_sorts(1700000000000000000u, 0x7fffffff);
    assert_sorts(0, UINT64_MAX);
    assert_ptr_equal(sl_chakra_sort(one, two, 0), one);
}

static void test_rows_that_start_together(void **state)
{
    struct sl_event ev[] = {
        {.kind = SL_EV_KERNEL, .start_ns = 5, .end_ns = 9, .correlation = 3},
        {.kind = SL_EV_RUNTIME, .start_ns = 5, .end_ns = 6, .correlation = 2},
        {.kind = SL_EV_KERNEL, .start_ns = 5, .end_ns = 5, .correlation = 2},
        {.kind = SL_EV_RUNTIME, .start_ns = 5, .end_ns = 8, .correlation = 1},
        {.kind = SL_EV_RUNTIME, .start_ns = 4, .end_ns = 5, .correlation = 9},
    };
    static const uint32_t expected[] = {4, 3, 1, 2, 0};
    struct sl_chakra_turn *sorted;

    for (uint32_t i = 0; i < 5; i++)
        one[i] = (struct sl_chakra_turn){ev[i].start_ns, i};
    sorted = sl_chakra_order(ev, one, two, 5);
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(sorted[i].index, expected[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_span),
        cmocka_unit_test(test_rows_that_start_together),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
