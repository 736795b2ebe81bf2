/* utf8_test.c - valid UTF-8 is unchanged, invalid bytes become '?', and UTF-16 and UTF-32 become
 * UTF-8. */
#include "test.h"

#include <string.h>

#include "base/utf8.h"

static void assert_clean(const char *from, const char *to)
{
    char out[64];
    size_t n = sl_utf8_clean(out, sizeof(out), from, strlen(from));

    assert_int_equal(n, strlen(to));
    assert_memory_equal(out, to, n);
    assert_int_equal(sl_utf8_valid(from, strlen(from)), strcmp(from, to) == 0);
}

static void test_only_valid_utf8_passes(void **state)
{
    assert_clean("plain", "plain");
    assert_clean("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
    assert_clean("a\xff"
                 "b",
                 "a?b");
    assert_clean("\xc0\x80", "??");           /* overlong */
    assert_clean("\xe0\x80\x80", "???");      /* overlong */
    assert_clean("\xed\xa0\x80", "???");      /* surrogate */
    assert_clean("\xf4\x90\x80\x80", "????"); /* above U+10FFFF */
    assert_clean("cut \xe2\x82", "cut ??");
}

/* The check handles long ASCII texts several bytes at a time. It must find an invalid byte at every
 * position. */
static void test_every_byte_of_a_long_text_counts(void **state)
{
    char text[40];

    for (size_t size = 1; size < sizeof(text); size++)
        for (size_t at = 0; at < size; at++) {
            memset(text, 'a', sizeof(text));
            assert_int_equal(sl_utf8_valid(text, size), 1);
            text[at] = '\xff';
            assert_int_equal(sl_utf8_valid(text, size), 0);
            text[at] = '\xc3';
            text[at + 1 < sizeof(text) ? at + 1 : at] = '\xa9';
            assert_int_equal(sl_utf8_valid(text, size), at + 1 < size);
        }
}

static void test_a_sequence_is_not_cut_in_two(void **state)
{
    char out[4];

    assert_int_equal(sl_utf8_clean(out, 4, "abc\xc3\xa9", 5), 3);
}

static void assert_16(const uint16_t *units, size_t most, const char *utf8)
{
    char out[64];
    size_t n = sl_utf8_from_utf16(out, sizeof(out), units, most);

    assert_int_equal(n, strlen(utf8));
    assert_memory_equal(out, utf8, n);
}

static void assert_32(const uint32_t *units, size_t most, const char *utf8)
{
    char out[64];
    size_t n = sl_utf8_from_utf32(out, sizeof(out), units, most);

    assert_int_equal(n, strlen(utf8));
    assert_memory_equal(out, utf8, n);
}

static void test_characters_of_each_length(void **state)
{
    /* a, e with acute, euro sign, grinning face: 1, 2, 3 and 4 bytes in UTF-8. The last has two
     * units in UTF-16. */
    assert_16((const uint16_t[]){'a', 0xe9, 0x20ac, 0xd83d, 0xde00, 0}, SIZE_MAX,
              "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
    assert_32((const uint32_t[]){'a', 0xe9, 0x20ac, 0x1f600, 0}, SIZE_MAX,
              "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
    assert_16((const uint16_t[]){'a', 'b', 'c'}, 2, "ab");
    assert_32((const uint32_t[]){'a', 'b', 'c'}, 2, "ab");
    assert_int_equal(sl_utf8_from_utf16((char[1]){0}, 1, NULL, 5), 0);
    assert_int_equal(sl_utf8_from_utf32((char[1]){0}, 1, NULL, 5), 0);
}

static void test_what_is_no_character_is_replaced(void **state)
{
    /* A low surrogate alone. */
    assert_16((const uint16_t[]){0xde00, 'x', 0}, SIZE_MAX, "\xef\xbf\xbdx");
    /* A high surrogate alone. */
    assert_16((const uint16_t[]){0xd83d, 'x', 0}, SIZE_MAX, "\xef\xbf\xbdx");
    /* the length ends between the two units of a pair */
    assert_16((const uint16_t[]){0xd83d, 0xde00}, 1, "\xef\xbf\xbd");
    assert_32((const uint32_t[]){0x110000, 0xd800, 'x', 0}, SIZE_MAX, "\xef\xbf\xbd\xef\xbf\xbdx");
}

static void test_a_character_is_not_cut_in_two(void **state)
{
    const uint32_t euro[] = {'a', 0x20ac, 0};
    char out[4] = "....";

    assert_int_equal(sl_utf8_from_utf32(out, 3, euro, SIZE_MAX), 1);
    assert_memory_equal(out, "a...", 4);
    assert_int_equal(sl_utf8_from_utf32(out, 4, euro, SIZE_MAX), 4);
}

static void test_a_text_need_not_be_aligned(void **state)
{
    const uint16_t text[] = {'o', 'k', 0};
    char bytes[1 + sizeof(text)], out[8];

    memcpy(bytes + 1, text, sizeof(text));
    assert_int_equal(sl_utf8_from_utf16(out, sizeof(out), bytes + 1, SIZE_MAX), 2);
    assert_memory_equal(out, "ok", 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_valid_utf8_passes),
        cmocka_unit_test(test_every_byte_of_a_long_text_counts),
        cmocka_unit_test(test_a_sequence_is_not_cut_in_two),
        cmocka_unit_test(test_characters_of_each_length),
        cmocka_unit_test(test_what_is_no_character_is_replaced),
        cmocka_unit_test(test_a_character_is_not_cut_in_two),
        cmocka_unit_test(test_a_text_need_not_be_aligned),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
