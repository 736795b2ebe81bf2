/* value_test.c - a value of each of NVTX's predefined types, as JSON and as an integer. */
#include "test.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExtPayload.h>

#include "collect/nvtx/value.h"

#define TYPE(name) NVTX_PAYLOAD_ENTRY_TYPE_##name

static const char *json(uint64_t type, const void *value)
{
    static char out[SL_NVTX_VALUE_MAX + 1];
    char *end = sl_nvtx_value_json(out, type, value);

    assert_true(end - out <= SL_NVTX_VALUE_MAX);
    *end = '\0';
    return out;
}

#define JSON(name, c_type, ...) json(TYPE(name), &(const c_type){__VA_ARGS__})

static void integers_keep_their_sign_and_width(void **state)
{
    assert_string_equal(JSON(INT8, int8_t, -128), "-128");
    assert_string_equal(JSON(UINT8, uint8_t, 200), "200");
    assert_string_equal(JSON(SHORT, short, -2), "-2");
    assert_string_equal(JSON(USHORT, unsigned short, 65535), "65535");
    assert_string_equal(JSON(INT, int, INT32_MIN), "-2147483648");
    assert_string_equal(JSON(UINT32, uint32_t, UINT32_MAX), "4294967295");
    assert_string_equal(JSON(INT64, int64_t, INT64_MIN), "-9223372036854775808");
    assert_string_equal(JSON(ULONGLONG, unsigned long long, UINT64_MAX), "18446744073709551615");
    assert_string_equal(JSON(CATEGORY, uint32_t, 7), "7");
}

static void what_is_bits_is_written_in_hex(void **state)
{
    assert_string_equal(JSON(BYTE, uint8_t, 0x0f), "\"0x0f\"");
    assert_string_equal(JSON(COLOR_ARGB, uint32_t, 0xff8000u), "\"0x00ff8000\"");
    assert_string_equal(JSON(ADDRESS, void *, (void *)0x10), "\"0x0000000000000010\"");
    assert_string_equal(JSON(UINT128, __int128, (__int128)1 << 64),
                        "\"0x00000000000000010000000000000000\"");
}

static void assert_real(uint64_t type, const void *value, double expected)
{
    assert_true(strtod(json(type, value), NULL) == expected);
}

/* The expected values of the narrow formats are computed by hand from the definitions of the
 * formats. */
static void real_numbers_of_each_format(void **state)
{
    /* A float is written with as many digits as are needed to get the same float again. */
    assert_true(strtof(json(TYPE(FLOAT), &(const float){0.1f}), NULL) == 0.1f);
    assert_real(TYPE(DOUBLE), &(const double){0.1}, 0.1);
    assert_real(TYPE(LONGDOUBLE), &(const long double){0.5L}, 0.5);
    assert_real(TYPE(FLOAT16), &(const uint16_t){0x3c00}, 1.0);
    assert_real(TYPE(FLOAT16), &(const uint16_t){0xc000}, -2.0);
    /* the smallest number above 0 */
    assert_real(TYPE(FLOAT16), &(const uint16_t){0x0001}, 0x1p-24);
    assert_real(TYPE(FLOAT16), &(const uint16_t){0x7bff}, 65504.0); /* the largest number */
    assert_real(TYPE(BF16), &(const uint16_t){0x3fc0}, 1.5);
}

static void integers_are_read_where_a_length_or_a_selector_is_wanted(void **state)
{
    int64_t value = 0;

    assert_true(sl_nvtx_value_integer(TYPE(INT16), &(const int16_t){-3}, &value));
    assert_int_equal(value, -3);
    assert_true(sl_nvtx_value_integer(TYPE(UNION_SELECTOR), &(const uint32_t){2}, &value));
    assert_int_equal(value, 2);
    assert_true(sl_nvtx_value_integer(TYPE(CHAR), "a", &value));
    assert_int_equal(value, 'a');
    assert_false(sl_nvtx_value_integer(TYPE(DOUBLE), &(const double){1}, &value));
    assert_false(sl_nvtx_value_integer(TYPE(UINT128), &(const __int128){1}, &value));
    assert_false(sl_nvtx_value_integer(999, "", &value));
}

static void sizes_and_places_are_those_of_c(void **state)
{
    assert_int_equal(sl_nvtx_value_size(TYPE(LONGDOUBLE)), sizeof(long double));
    assert_int_equal(sl_nvtx_value_align(TYPE(LONGDOUBLE)), alignof(long double));
    assert_int_equal(sl_nvtx_value_size(TYPE(CHAR16)), 2);
    assert_int_equal(sl_nvtx_value_character(TYPE(CSTRING_UTF16)), 2);
    assert_int_equal(sl_nvtx_value_character(TYPE(INT)), 0);
    assert_true(sl_nvtx_value_is_string(TYPE(CSTRING)));
    assert_false(sl_nvtx_value_is_string(TYPE(CHAR)));
    assert_int_equal(sl_nvtx_value_size(TYPE(CSTRING)), 0);
    /* The id of a schema is not a predefined type. */
    assert_int_equal(sl_nvtx_value_size(1ull << 24), 0);
    assert_int_equal(sl_nvtx_value_align(1ull << 24), 1);
    assert_string_equal(json(1ull << 24, ""), "null");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_keep_their_sign_and_width),
        cmocka_unit_test(what_is_bits_is_written_in_hex),
        cmocka_unit_test(real_numbers_of_each_format),
        cmocka_unit_test(integers_are_read_where_a_length_or_a_selector_is_wanted),
        cmocka_unit_test(sizes_and_places_are_those_of_c),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
