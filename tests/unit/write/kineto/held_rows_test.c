/* held_rows_test.c - the table of rows that the writer delays. Rows are found by id, and removed in
 * any order. The oldest row is always known. */
#include "unit/test.h"

#include "write/kineto/held_rows.h"

#define SLOTS 16

static struct sl_held_rows held;

static int set_up(void **state)
{
    return sl_held_rows_init(&held, SLOTS * 72) != 0 || held.slots != SLOTS;
}

static int tear_down(void **state)
{
    sl_held_rows_free(&held);
    return 0;
}

static int put(uint64_t correlation)
{
    const struct sl_event ev = {.kind = SL_EV_RUNTIME, .correlation = correlation};

    return sl_held_rows_put(&held, &ev);
}

static void rows_leave_in_any_order(void **state)
{
    assert_null(sl_held_rows_oldest(&held));
    /* Ids 5 and 21 are in the same hash bucket. */
    assert_int_equal(put(5) | put(21) | put(6), 0);
    sl_held_rows_drop(&held, sl_held_rows_find(&held, 21));
    assert_null(sl_held_rows_find(&held, 21));
    assert_int_equal(sl_held_rows_find(&held, 5)->correlation, 5);
    assert_int_equal(sl_held_rows_oldest(&held)->correlation, 5);
    sl_held_rows_drop(&held, sl_held_rows_oldest(&held));
    assert_int_equal(sl_held_rows_oldest(&held)->correlation, 6);
    sl_held_rows_drop(&held, sl_held_rows_oldest(&held));
    assert_null(sl_held_rows_oldest(&held));
}

static void a_full_table_refuses(void **state)
{
    for (uint64_t round = 0; round < 10; round++) {
        for (uint64_t i = 1; i <= SLOTS; i++)
            assert_int_equal(put(round * 100 + i * 7), 0);
        assert_int_not_equal(put(3), 0);
        sl_held_rows_drop(&held, sl_held_rows_oldest(&held));
        assert_int_equal(put(99), 0);
        assert_non_null(sl_held_rows_find(&held, 99));
        while (sl_held_rows_oldest(&held))
            sl_held_rows_drop(&held, sl_held_rows_oldest(&held));
    }
}

static void those_below_an_id_are_walked(void **state)
{
    uint64_t at = 0;
    struct sl_event *row;

    assert_int_equal(put(9) | put(3) | put(7) | put(2), 0);
    row = sl_held_rows_below(&held, 7, &at);
    assert_int_equal(row->correlation, 3);
    sl_held_rows_drop(&held, row);
    row = sl_held_rows_below(&held, 7, &at);
    assert_int_equal(row->correlation, 2);
    assert_null(sl_held_rows_below(&held, 7, &at));
    at = 0;
    assert_int_equal(sl_held_rows_below(&held, UINT64_MAX, &at)->correlation, 9);
}

#define HELD_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        HELD_TEST(rows_leave_in_any_order),
        HELD_TEST(a_full_table_refuses),
        HELD_TEST(those_below_an_id_are_walked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
