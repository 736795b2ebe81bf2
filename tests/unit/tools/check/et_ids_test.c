/* et_ids_test.c - the table of Chakra node ids: maps ids of 64 bits to slot numbers of 29 bits, and
 * back. */
#include "unit/test.h"

#include "check/et_ids.h"

static struct sl_et_ids ids;

static int set_up(void **state)
{
    return sl_et_ids_init(&ids);
}

static int tear_down(void **state)
{
    sl_et_ids_free(&ids);
    return 0;
}

static void test_small_ids_are_their_slots(void **state)
{
    assert_int_equal(sl_et_ids_slot(&ids, 0), 0);
    assert_int_equal(sl_et_ids_slot(&ids, SL_ET_IDS_SMALL - 1), SL_ET_IDS_SMALL - 1);
    assert_int_equal(sl_et_ids_find(&ids, 77), 77);
    assert_int_equal(sl_et_ids_id(&ids, 77), 77);
    assert_int_equal(ids.used, 0);
}

static void test_each_large_id_has_a_slot_of_its_own(void **state)
{
    static const uint64_t large[] = {
        SL_ET_IDS_SMALL, SL_ET_IDS - 1,  SL_ET_IDS,  1ull << 31, 1ull << 32,    (1ull << 40) + 5,
        1ull << 63,      UINT64_MAX - 1, UINT64_MAX, UINT32_MAX, 1ull << 32 | 1};
    const uint64_t count = sizeof(large) / sizeof(large[0]);

    for (int again = 0; again < 2; again++)
        for (uint64_t i = 0; i < count; i++) {
            if (!again)
                assert_int_equal(sl_et_ids_find(&ids, large[i]), SL_ET_IDS_NONE);
            assert_int_equal(sl_et_ids_slot(&ids, large[i]), SL_ET_IDS_SMALL + i);
            assert_int_equal(sl_et_ids_find(&ids, large[i]), SL_ET_IDS_SMALL + i);
            assert_int_equal(sl_et_ids_id(&ids, SL_ET_IDS_SMALL + i), large[i]);
        }
    assert_int_equal(ids.used, count);
}

/* All ids differ only in their upper halves. A weak hash would map all ids to one slot, and the
 * test would take minutes. */
static void test_all_slots_are_used_before_there_is_none(void **state)
{
    for (uint64_t i = 0; i < SL_ET_IDS_LARGE; i++)
        if (sl_et_ids_slot(&ids, (i + 1) << 32) != SL_ET_IDS_SMALL + i)
            fail_msg("id %llu << 32 has another slot", (unsigned long long)i + 1);
    assert_int_equal(sl_et_ids_slot(&ids, UINT64_MAX), SL_ET_IDS_NONE);
    assert_int_equal(sl_et_ids_find(&ids, UINT64_MAX), SL_ET_IDS_NONE);
    assert_int_equal(sl_et_ids_slot(&ids, 1ull << 32), SL_ET_IDS_SMALL);
    assert_int_equal(sl_et_ids_slot(&ids, SL_ET_IDS_LARGE << 32), SL_ET_IDS - 1);
    assert_int_equal(sl_et_ids_slot(&ids, 5), 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_small_ids_are_their_slots, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_each_large_id_has_a_slot_of_its_own, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_all_slots_are_used_before_there_is_none, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
