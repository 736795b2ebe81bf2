/* json_test.c - tests that numbers are written exactly, and that any bytes become a valid JSON
 * string from which the bytes can be restored. */
#include "test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "unit/write/json_dom.h"

static uint64_t next_random(void)
{
    static uint64_t x = 88172645463325252u;

    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return x;
}

static void check_u64(uint64_t v)
{
    char ours[64] = "", printed[64];

    *sl_json_u64(ours, v) = 0;
    snprintf(printed, sizeof(printed), "%" PRIu64, v);
    assert_string_equal(ours, printed);
    if (v <= UINT32_MAX) {
        *sl_json_u32(ours, (uint32_t)v) = 0;
        assert_string_equal(ours, printed);
    }
    *sl_json_micros(ours, v) = 0;
    snprintf(printed, sizeof(printed), "%" PRIu64 ".%03" PRIu64, v / 1000, v % 1000);
    assert_string_equal(ours, printed);
    *sl_json_i64(ours, (int64_t)v) = 0;
    snprintf(printed, sizeof(printed), "%" PRId64, (int64_t)v);
    assert_string_equal(ours, printed);
}

static void numbers_are_as_printf_writes_them(void **state)
{
    uint64_t v = 1;
    int i;

    for (i = 0; i < 20; i++, v *= 10) {
        check_u64(v - 1);
        check_u64(v);
        check_u64(v + 1);
    }
    check_u64(UINT64_MAX);
    check_u64((uint64_t)INT64_MIN);
    for (i = 0; i < 200000; i++)
        check_u64(next_random() >> (i & 63));
}

static void decimals_end_where_zeros_begin(void **state)
{
    char out[64];

    *sl_json_millis(out, 1500) = 0;
    assert_string_equal(out, "1.5");
    *sl_json_millis(out, 2000) = 0;
    assert_string_equal(out, "2");
    *sl_json_millis(out, 1268438) = 0;
    assert_string_equal(out, "1268.438");
    *sl_json_millionths(out, 1185185) = 0;
    assert_string_equal(out, "1.185185");
    *sl_json_millionths(out, 488) = 0;
    assert_string_equal(out, "0.000488");
    *sl_json_millionths(out, 0) = 0;
    assert_string_equal(out, "0");
    *sl_json_millionths(out, 100000000) = 0;
    assert_string_equal(out, "100");
}

/* Converts each \xNN back to a byte. docs/trace-format.md describes this conversion. */
static size_t to_bytes(char *out, const char *text, size_t length)
{
    size_t i, n = 0;

    for (i = 0; i < length; i++) {
        if (text[i] == '\\' && i + 3 < length && text[i + 1] == 'x') {
            char hex[3] = {text[i + 2], text[i + 3], 0};

            out[n++] = (char)strtoul(hex, NULL, 16);
            i += 3;
        } else {
            out[n++] = text[i];
        }
    }
    return n;
}

static void check_string(const char *bytes, size_t length)
{
    char *quoted = malloc(length * SL_JSON_ESCAPE_MAX + 3), *end, *back = malloc(length * 4 + 1);
    struct json *j;
    size_t n;

    quoted[0] = '"';
    end = sl_json_escape(quoted + 1, bytes, length);
    assert_true((size_t)(end - quoted - 1) <= length * SL_JSON_ESCAPE_MAX);
    *end++ = '"';
    j = json_parse(quoted, (size_t)(end - quoted));
    assert_non_null(j);
    n = to_bytes(back, j->text, j->length);
    assert_int_equal(n, length);
    assert_memory_equal(back, bytes, length);
    json_free(j);
    free(back);
    free(quoted);
}

static void any_bytes_come_back(void **state)
{
    static const char *const odd[] = {"",
                                      "plain",
                                      "\"quoted\" \\ back / slash",
                                      "tab\tline\nreturn\r bell\a del\x7f",
                                      "caf\xc3\xa9 \xe4\xb8\xad \xf0\x9f\x98\x80",
                                      "\\x41 \\\\x41 \\",
                                      "\xc0\xaf overlong \xe0\x80\x80 \xf0\x80\x80\x80",
                                      "\xed\xa0\x80 surrogate \xf4\x90\x80\x80 too large",
                                      "\xff\xfe cut \xe4\xb8",
                                      "\\\xff \\\\\xff \xff\\x"};
    char bytes[64];
    size_t i, j;

    for (i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
        check_string(odd[i], strlen(odd[i]));
    check_string("nul\0inside", 10);
    for (i = 0; i < 100000; i++) {
        size_t length = next_random() % sizeof(bytes);
        int mode = i % 3;

        for (j = 0; j < length; j++) {
            uint64_t r = next_random();

            bytes[j] = mode == 1 ? "\\x4\"a\n"[r % 6] : (char)(mode == 0 ? r : 0x80 | r % 128);
        }
        check_string(bytes, length);
    }
}

static void good_text_stays_readable(void **state)
{
    char out[128];

    *sl_json_string(out, "a<b> \xc3\xa9 \"c\"") = 0;
    assert_string_equal(out, "\"a<b> \xc3\xa9 \\\"c\\\"\"");
    *sl_json_string(out, "\xff") = 0;
    assert_string_equal(out, "\"\\\\xff\"");
    *sl_json_string(out, NULL) = 0;
    assert_string_equal(out, "\"\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_as_printf_writes_them),
        cmocka_unit_test(decimals_end_where_zeros_begin),
        cmocka_unit_test(any_bytes_come_back),
        cmocka_unit_test(good_text_stays_readable),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
