/*
 * top_test.c - the largest of many values, in their slots. Equal values keep their order.
 *
 * Threads: one. Memory: freed by each test.
 */
#include "unit/test.h"

#include <stdlib.h>

#include "print/top.h"

static void test_largest(void **state)
{
    struct sl_top top;
    uint64_t kept[20];

    assert_int_equal(sl_top_create(&top, 20), 0);
    for (uint64_t i = 0; i < 1000; i++) {
        uint64_t value = i * 337 % 1000;
        size_t slot = sl_top_put(&top, value);

        assert_true(slot < 20 || slot == SL_TOP_NONE);
        if (slot != SL_TOP_NONE)
            kept[slot] = value;
    }
    sl_top_sort(&top);
    assert_int_equal(top.count, 20);
    for (unsigned i = 0; i < 20; i++) {
        assert_int_equal(top.item[i].value, 999 - i);
        assert_int_equal(kept[top.item[i].slot], 999 - i);
    }
    sl_top_free(&top);
}

static void test_equal_values(void **state)
{
    struct sl_top top;

    assert_int_equal(sl_top_create(&top, 2), 0);
    assert_int_equal(sl_top_put(&top, 5), 0);
    assert_int_equal(sl_top_put(&top, 5), 1);
    assert_true(sl_top_put(&top, 5) == SL_TOP_NONE);
    assert_int_equal(sl_top_put(&top, 6), 1); /* the later of the two is dropped */
    sl_top_sort(&top);
    assert_int_equal(top.item[0].slot, 1);
    assert_int_equal(top.item[1].slot, 0);
    sl_top_free(&top);
}

static void test_fewer_than_wanted(void **state)
{
    struct sl_top top;

    assert_int_equal(sl_top_create(&top, 10), 0);
    assert_int_equal(sl_top_put(&top, 1), 0);
    assert_int_equal(sl_top_put(&top, 0), 1);
    sl_top_sort(&top);
    assert_int_equal(top.count, 2);
    assert_int_equal(top.item[0].value, 1);
    sl_top_free(&top);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_largest),
        cmocka_unit_test(test_equal_values),
        cmocka_unit_test(test_fewer_than_wanted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
