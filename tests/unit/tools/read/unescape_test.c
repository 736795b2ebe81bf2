/* unescape_test.c - converts a JSON string to its text. */
#include "unit/test.h"

#include <stdlib.h>
#include <string.h>

#include "read/unescape.h"

static void expect(const char *text, const char *meant)
{
    /* The memory has the exact length, so that a sanitizer notices a read of one byte too many. */
    size_t size = strlen(text);
    char *to = malloc(size + 1), *from = malloc(size ? size : 1);

    memcpy(from, text, size);
    assert_int_equal(sl_unescape(to, from, size), strlen(meant));
    assert_memory_equal(to, meant, strlen(meant));
    free(from);
    free(to);
}

static void test_escapes(void **state)
{
    expect("", "");
    expect("plain \xc3\xa4", "plain \xc3\xa4");
    expect("\\"
           "\"\\\\\\/\\b\\f\\n\\r\\t",
           "\"\\/\b\f\n\r\t");
    expect("a\\u0041z", "aAz");
    expect("\\u00e4\\u20AC", "\xc3\xa4\xe2\x82\xac");
}

static void test_surrogates(void **state)
{
    expect("\\ud83d\\ude00", "\xf0\x9f\x98\x80");
    expect("\\ud83d", "?");
    expect("\\ud83dx", "?x");
    expect("\\ude00\\ud83d", "??");
    expect("\\ud83d\\u0041", "?A");
}

static void expect_in(size_t room_size, const char *text, const char *meant)
{
    struct sl_text is;
    char room[16];

    is = sl_unescaped((struct sl_text){text, strlen(text)}, room, room_size);
    assert_int_equal(is.size, strlen(meant));
    assert_memory_equal(is.data, meant, is.size);
}

static void test_what_needs_no_room(void **state)
{
    struct sl_text none = {NULL, 0};

    expect_in(6, "\\u0041", "A");
    expect_in(5, "\\u0041", "\\u0041");
    expect_in(0, "A", "A");
    assert_null(sl_unescaped(none, NULL, 0).data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_escapes),
        cmocka_unit_test(test_surrogates),
        cmocka_unit_test(test_what_needs_no_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
