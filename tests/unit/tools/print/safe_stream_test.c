/* safe_stream_test.c - the output stream that replaces characters which could control a
 * terminal. */
#include "unit/test.h"

#include <stdio.h>
#include <string.h>

#include "print/safe_stream.h"

static char got[256];

/* Writes the text to the stream in pieces of `piece` bytes. Returns the output. */
static const char *through(const char *text, size_t piece, int is_json)
{
    FILE *below = fmemopen(got, sizeof(got), "w"), *f = sl_safe_stream(below, is_json);
    size_t size = strlen(text);

    assert_ptr_not_equal(f, below);
    setvbuf(f, NULL, _IONBF, 0);
    for (size_t i = 0; i < size; i += piece)
        fwrite(text + i, 1, i + piece < size ? piece : size - i, f);
    fclose(f);
    fclose(below);
    return got;
}

static const struct {
    const char *given, *text, *json;
} cases[] = {
    {"plain\ttext\n", "plain\ttext\n", "plain\ttext\n"},
    {"\x1b[31mred", "?[31mred", "\\u001b[31mred"},
    {"\xc2\x9b"
     "31m",
     "?31m", "\\u009b31m"}, /* the one-character form of ESC [ */
    {"a\xe2\x80\xae"
     "b",
     "a?b", "a\\u202eb"}, /* right-to-left override */
    {"a\xe2\x81\xa6"
     "b\xd8\x9c",
     "a?b?", "a\\u2066b\\u061c"},
    {"gr\xc3\xbc\xc3\x9f \xe2\x80\x94 \xd8\xa7 \xf0\x9f\x98\x80",
     "gr\xc3\xbc\xc3\x9f \xe2\x80\x94 \xd8\xa7 \xf0\x9f\x98\x80",
     "gr\xc3\xbc\xc3\x9f \xe2\x80\x94 \xd8\xa7 \xf0\x9f\x98\x80"}, /* letters, a dash and an emoji
                                                                      are unchanged */
    {"cut \xe2\x80"
     "x\r\x7f",
     "cut \xe2\x80"
     "x??",
     "cut \xe2\x80"
     "x\\u000d\\u007f"},
};

static void what_comes_through(void **state)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (size_t piece = 1; piece < 5; piece++) {
            assert_string_equal(through(cases[i].given, piece, 0), cases[i].text);
            assert_string_equal(through(cases[i].given, piece, 1), cases[i].json);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_comes_through),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
