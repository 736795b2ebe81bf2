/*
 * format_test.c - formats numbers for users.
 *
 * Threads: one. No memory is allocated.
 */
#include "unit/test.h"

#include "print/format.h"

static void test_numbers(void **state)
{
    char to[SL_FORMAT_SIZE];

    assert_string_equal(sl_format_count(to, 0), "0");
    assert_string_equal(sl_format_count(to, 999), "999");
    assert_string_equal(sl_format_count(to, 1000), "1 000");
    assert_string_equal(sl_format_count(to, 1234567), "1 234 567");
    assert_string_equal(sl_format_count(to, UINT64_MAX), "18 446 744 073 709 551 615");
    assert_string_equal(sl_format_bytes(to, 999), "999 B");
    assert_string_equal(sl_format_bytes(to, 1000), "1.0 kB");
    assert_string_equal(sl_format_bytes(to, 999999), "1.0 MB");
    assert_string_equal(sl_format_bytes(to, UINT64_MAX), "18.4 EB");
    assert_string_equal(sl_format_span(to, 1), "0.001 us");
    assert_string_equal(sl_format_span(to, 999999), "999.999 us");
    assert_string_equal(sl_format_span(to, 1500000), "1.500 ms");
    assert_string_equal(sl_format_span(to, 61000000000), "61.000 s");
    assert_string_equal(sl_format_date(to, 1711964646123456789), "2024-04-01 09:44:06.123 UTC");
    assert_string_equal(sl_format_date(to, INT64_MAX), "2262-04-11 23:47:16.854 UTC");
    assert_string_equal(sl_format_date(to, -1), "?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_numbers)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
