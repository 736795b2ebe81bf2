/*
 * short_name_test.c - shortens names to a given width.
 *
 * Threads: one. No memory is allocated.
 */
#include "unit/test.h"

#include <string.h>

#include "print/short_name.h"

static const char *shorter(size_t width, const char *name)
{
    static char to[128];

    return sl_short_name(to, width, name, strlen(name));
}

static void test_names(void **state)
{
    static char of_brackets[5000];

    assert_string_equal(shorter(64, ""), "");
    assert_string_equal(shorter(64, "void at::native::f()"), "void at::native::f()");
    assert_string_equal(shorter(9, "void at::native::f()"), "f()");
    assert_string_equal(shorter(9, "void f<3>((anonymous namespace)::a)"), "f<3>");
    assert_string_equal(shorter(9, "0123456789"), "012...789");
    assert_string_equal(shorter(9, "01234\xc3\xbc\xc3\xbc\xc3\xbc"), "012...\xc3\xbc");
    memset(of_brackets, ')', sizeof(of_brackets) - 1);
    assert_string_equal(shorter(9, of_brackets), ")))...)))");
    of_brackets[100] = '\0';
    assert_string_equal(shorter(9, of_brackets), ")))...)))");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_names)};

    return cmocka_run_group_tests_name("short_name", tests, NULL, NULL);
}
