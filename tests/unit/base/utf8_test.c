/* utf8_test.c - what is UTF-8 passes, what is not becomes '?'. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

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
    (void)state;
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

/* ASCII is passed over in longer pieces: wherever it begins and ends. */
static void test_every_byte_of_a_long_text_counts(void **state)
{
    char text[40];

    (void)state;
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

    (void)state;
    assert_int_equal(sl_utf8_clean(out, 4, "abc\xc3\xa9", 5), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_valid_utf8_passes),
        cmocka_unit_test(test_every_byte_of_a_long_text_counts),
        cmocka_unit_test(test_a_sequence_is_not_cut_in_two),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
