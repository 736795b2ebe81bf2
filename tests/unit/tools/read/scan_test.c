/*
 * scan_test.c - finds the end of a JSON value. The text is scanned in blocks of 64 bytes; the
 * result must not depend on the borders of the blocks.
 *
 * Threads: one. All memory is on the stack.
 */
#include "unit/test.h"

#include <string.h>

#include "read/scan.h"

#define ROOM 1024

static char buffer[ROOM + SL_SCAN_PADDING];

/* Scans `value` followed by `tail`, in pieces of `step` bytes. */
static size_t scan(const char *value, const char *tail, size_t step)
{
    struct sl_scan s = {0, 0, 0, 0};
    size_t size = strlen(value) + strlen(tail);

    memset(buffer, '}', sizeof(buffer)); /* bytes after the text must not matter */
    memcpy(buffer, value, strlen(value));
    memcpy(buffer + strlen(value), tail, strlen(tail));
    for (size_t given = step; given < size; given += step) {
        size_t end = sl_scan_end(&s, buffer, given, 0);

        if (end)
            return end;
    }
    return sl_scan_end(&s, buffer, size, 1);
}

static void expect_end(const char *value)
{
    char moved[ROOM];

    /* Spaces move every bracket, quote and backslash over the borders of blocks. */
    for (size_t spaces = 0; spaces < 130; spaces++) {
        moved[0] = value[0];
        memset(moved + 1, ' ', spaces);
        strcpy(moved + 1 + spaces, value + 1);
        for (size_t step = 1; step < 200; step += 37) {
            assert_int_equal(scan(moved, ", {\"next\": [1]}", step), strlen(moved));
            assert_int_equal(scan(moved, "", step), strlen(moved));
        }
    }
}

static void test_ends(void **state)
{
    expect_end("{}");
    expect_end("[[], {}, [1, 2, {\"a\": [3]}]]");
    expect_end("{\"a\": \"}\", \"b\": \"]\\\"}\", \"c\": \"\\\\\"}");
    expect_end("{\"a\": \"\\\\\\\\\\\\\\\"}\\\\\", \"[\": {\"{\": 1}}");
    expect_end("\"text } \\\" ] \\\\\"");
    expect_end("\"\"");
}

static void test_unfinished(void **state)
{
    /* The scan only counts brackets, and does not distinguish their kinds. */
    assert_int_equal(scan("{\"a\": [1, 2}", "", 7), 0);
    assert_int_equal(scan("{\"a\": \"never closed }}}}", "", 7), 0);
    assert_int_equal(scan("{\"a\": \"\\\"}", "", 64), 0);
    assert_int_equal(scan("\"\\", "", 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_unfinished),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
