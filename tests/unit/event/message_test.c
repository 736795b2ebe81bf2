/* message_test.c - checks the sizes and bandwidths of collectives against those of nccl-tests.
 */
#include "unit/test.h"

#include "event/message.h"

static void sizes_and_factors_are_those_of_nccl_tests(void **state)
{
    const uint64_t unknown = SL_MESSAGE_UNKNOWN;

    assert_int_equal(sl_message_size(SL_COLLECTIVE_ALL_REDUCE, 100, 100, 4), 100);
    assert_int_equal(sl_message_size(SL_COLLECTIVE_ALL_GATHER, 100, 400, 4), 400);
    assert_int_equal(sl_message_size(SL_COLLECTIVE_ALL_GATHER, 100, unknown, 4), 400);
    assert_int_equal(sl_message_size(SL_COLLECTIVE_REDUCE_SCATTER, 400, 100, 4), 400);
    assert_int_equal(sl_message_size(SL_COLLECTIVE_GATHER, 100, 400, 4), 400);
    assert_int_equal(sl_message_size(SL_COLLECTIVE_SCATTER, unknown, 100, 4), 400);
    assert_int_equal(sl_message_size(SL_COLLECTIVE_SCATTER, 400, unknown, 4), 400);
    assert_int_equal(sl_message_size(SL_COLLECTIVE_BARRIER, 100, 100, 4), 0);
    assert_true(sl_message_size(SL_COLLECTIVE_GATHER, 1ull << 62, unknown, 8) == unknown);
    assert_true(sl_message_size(SL_COLLECTIVE_GATHER, 100, unknown, 0) == unknown);
    assert_true(sl_message_size(SL_COLLECTIVE_GATHER, unknown, unknown, 8) == unknown);
    assert_true(sl_message_bus_factor(SL_COLLECTIVE_ALL_REDUCE, 4) == 1.5);
    assert_true(sl_message_bus_factor(SL_COLLECTIVE_ALL_REDUCE, 1) == 0);
    assert_true(sl_message_bus_factor(SL_COLLECTIVE_ALL_TO_ALL, 4) == 0.75);
    assert_true(sl_message_bus_factor(SL_COLLECTIVE_SEND, 4) == 1);
    assert_true(sl_message_bus_factor(SL_COLLECTIVE_ALL_GATHER, 0) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_and_factors_are_those_of_nccl_tests),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
