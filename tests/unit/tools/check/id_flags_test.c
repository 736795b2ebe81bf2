/*
 * id_flags_test.c - a table that finds ids with only one of two rows, such as a launch without its
 * operation. Also ids that do not fit into memory.
 *
 * Threads: one. The test owns the memory of the table.
 */
#include "unit/test.h"
#include <errno.h>

#include "check/id_flags.h"

static void test_flags(void **state)
{
    struct sl_id_flags p = {0};

    assert_int_equal(sl_id_flags_init(&p, 1u << 20), 0);
    assert_int_equal(sl_id_flags_flags(&p, 5), 0);
    assert_int_equal(sl_id_flags_add(&p, 5, SL_PAIR_SECOND, 900, 1), 0);
    assert_int_equal(sl_id_flags_add(&p, 5, SL_PAIR_FIRST | SL_PAIR_MARK, 100, 2), SL_PAIR_SECOND);
    assert_int_equal(sl_id_flags_add(&p, 5, SL_PAIR_SECOND, 800, 3),
                     SL_PAIR_FIRST | SL_PAIR_SECOND | SL_PAIR_MARK);
    assert_int_equal(sl_id_flags_first_ns(&p, 5), 100);
    assert_int_equal(sl_id_flags_second_ns(&p, 5), 800);
    sl_id_flags_add(&p, 5, SL_PAIR_FIRST, 50, 4);
    assert_int_equal(sl_id_flags_flags(&p, 5), 15);
    assert_int_equal(sl_id_flags_flags(&p, 4), 0); /* neighbouring ids share a byte */
    assert_int_equal(sl_id_flags_flags(&p, 6), 0);
    assert_true(sl_id_flags_first_ns(&p, 6) == SL_PAIR_NO_TIME);
    sl_id_flags_free(&p);
}

static void test_count(void **state)
{
    struct sl_id_flags p = {0};
    uint64_t id, at;

    assert_int_equal(sl_id_flags_init(&p, 1u << 20), 0);
    assert_int_equal(sl_id_flags_count(&p, SL_PAIR_SECOND, &id, &at), 0);
    /* The ids pass 2^32, like correlation ids that were widened to 64 bits. */
    for (uint64_t i = 4294960000; i < 4294970000; i++) {
        sl_id_flags_add(&p, i, SL_PAIR_FIRST, 0, i);
        if (i % 1000 != 1)
            sl_id_flags_add(&p, i, SL_PAIR_SECOND, 0, i);
    }
    assert_int_equal(sl_id_flags_count(&p, SL_PAIR_FIRST, &id, &at), 10);
    assert_true(id == 4294960001 && at == id);
    assert_int_equal(sl_id_flags_count(&p, SL_PAIR_FIRST | SL_PAIR_SECOND, &id, &at), 9990);
    assert_int_equal(sl_id_flags_count(&p, SL_PAIR_SECOND, &id, &at), 0);
    sl_id_flags_free(&p);
}

static void test_forgotten_place(void **state)
{
    struct sl_id_flags p = {0};
    uint64_t id, at;

    assert_int_equal(sl_id_flags_init(&p, 1u << 20), 0);
    sl_id_flags_add(&p, 7, SL_PAIR_FIRST, 11, 1);
    /* this id uses the recent-time slot of id 7 */
    sl_id_flags_add(&p, 7 + 65536, SL_PAIR_FIRST, 22, 2);
    assert_true(sl_id_flags_first_ns(&p, 7) == SL_PAIR_NO_TIME);
    assert_int_equal(sl_id_flags_count(&p, SL_PAIR_FIRST, &id, &at), 2);
    assert_true(id == 7 && at == UINT64_MAX);
    sl_id_flags_free(&p);
}

static void test_full(void **state)
{
    struct sl_id_flags p = {0};
    uint64_t id, at;

    assert_int_equal(sl_id_flags_init(&p, 4096 * 3), 0);
    for (uint64_t i = 0; i < 5; i++) {
        int rc = sl_id_flags_add(&p, i << 40, SL_PAIR_FIRST, 0, i);

        assert_int_equal(rc, i < 3 ? 0 : -ENOSPC);
    }
    assert_int_equal(p.unchecked, 2);
    assert_int_equal(sl_id_flags_add(&p, (1ull << 40) + 1, SL_PAIR_FIRST, 0, 9),
                     0); /* the table already has the page of this id */
    assert_int_equal(sl_id_flags_count(&p, SL_PAIR_FIRST, &id, &at), 4);
    sl_id_flags_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flags),
        cmocka_unit_test(test_count),
        cmocka_unit_test(test_forgotten_place),
        cmocka_unit_test(test_full),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
