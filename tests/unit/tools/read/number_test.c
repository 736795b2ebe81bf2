/*
 * number_test.c - parses JSON numbers as exact decimals, and refuses texts that are not JSON
 * numbers.
 *
 * Threads: one. No memory is allocated.
 */
#include "unit/test.h"
#include <errno.h>

#include <stdio.h>
#include <string.h>

#include "read/number.h"

static void expect(const char *text, int shift, int64_t wanted, int wanted_exact)
{
    int64_t value = -1;
    int exact = -1, rc = sl_number_scaled(text, strlen(text), shift, &value, &exact);

    assert_int_equal(sl_number_valid(text, strlen(text)), 1);

    if (rc != 0 || value != wanted || exact != wanted_exact)
        fail_msg("%s: rc %d, %lld, exact %d", text, rc, (long long)value, exact);
}

static void test_exact(void **state)
{
    expect("0", 3, 0, 1);
    expect("-0", 0, 0, 1);
    expect("-0.000", 3, 0, 1);
    expect("1.234", 3, 1234, 1);
    expect("-1.234", 3, -1234, 1);
    expect("12", 3, 12000, 1);
    /* A double cannot represent these numbers exactly. */
    expect("1707417525509335.123", 3, 1707417525509335123, 1);
    expect("4458676522690.655", 3, 4458676522690655, 1);
    expect("9223372036854775807", 0, INT64_MAX, 1);
    expect("1e3", 0, 1000, 1);
    expect("1.5E+2", 3, 150000, 1);
    expect("1500e-3", 3, 1500, 1);
    expect("0.0000000000000000000000000000000000001e40", 0, 1000, 1);
    expect("0e999999999999", 3, 0, 1);
    expect("7.0", 0, 7, 1);
}

/* Short and long numbers with the same value are parsed by different code. The results must be
 * equal. */
static void test_both_ways(void **state)
{
    char text[64];

    for (int64_t us = -70000; us < 70000; us += 13) {
        for (int64_t ns = 0; ns < 1000; ns += 37) {
            int64_t value = us * 1000 + (us < 0 ? -ns : ns);

            snprintf(text, sizeof(text), "%lld.%03d", (long long)us, (int)ns);
            expect(text, 3, value, 1);
            snprintf(text, sizeof(text), "%lld.%03d0000000000000000e0", (long long)us, (int)ns);
            expect(text, 3, value, 1);
        }
    }
    expect("999999999999999", 3, 999999999999999000, 1);
    expect("8999999999999999", 3, 8999999999999999000, 1);
    expect("-12345678901234.5", 3, -12345678901234500, 1);
}

static void test_rounded(void **state)
{
    expect("1.2344", 3, 1234, 0);
    expect("1.2345", 3, 1235, 0);
    expect("-1.2345", 3, -1235, 0);
    expect("0.00049", 3, 0, 0);
    expect("0.0005", 3, 1, 0);
    expect("1.23449999999999999999999999999", 3, 1234, 0);
    expect("123456789.123456789123456789", 3, 123456789123, 0);
    expect("1e-300", 3, 0, 0);
}

static void test_range(void **state)
{
    static const char *const text[] = {"9223372036854775808", "1e19", "99999999999999999999999",
                                       "1e999999999999999999", "9223372036854775.808"};
    int64_t value;
    int exact;

    for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++) {
        char negative[64];

        snprintf(negative, sizeof(negative), "-%s", text[i]);
        assert_int_equal(sl_number_scaled(text[i], strlen(text[i]), 3, &value, &exact), -ERANGE);
        assert_true(value == INT64_MAX);
        assert_int_equal(sl_number_scaled(negative, strlen(negative), 3, &value, &exact), -ERANGE);
        assert_true(value == INT64_MIN);
    }
}

static void test_not_a_number(void **state)
{
    static const char *const text[] = {"",     "-",  "+1",  "01",   "-01", "1.",
                                       ".5",   "1e", "1e+", "1.e3", "NaN", "Infinity",
                                       "0x10", "1 ", " 1",  "1,",   "--1"};
    int64_t value = 77;
    int exact;

    for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++) {
        if (sl_number_scaled(text[i], strlen(text[i]), 0, &value, &exact) != -EINVAL)
            fail_msg("'%s' was taken for a number", text[i]);
        assert_int_equal(sl_number_valid(text[i], strlen(text[i])), 0);
        assert_int_equal(value, 77); /* the output is unchanged after an error */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact),        cmocka_unit_test(test_both_ways),
        cmocka_unit_test(test_rounded),      cmocka_unit_test(test_range),
        cmocka_unit_test(test_not_a_number),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
