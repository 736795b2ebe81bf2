/* home_test.c - finds syncline's installation folder: the folder of the library, or the folder that
 * the user names. */
#include "test.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/home.h"

/* The library is linked statically here, so this program's file contains the library. */
static void beside_the_library(void **state)
{
    char self[PATH_MAX], path[PATH_MAX], expected[PATH_MAX + 32];

    assert_non_null(realpath("/proc/self/exe", self));
    *strrchr(self, '/') = '\0';
    assert_int_equal(sl_home_path(path, sizeof(path), "", "python"), 0);
    snprintf(expected, sizeof(expected), "%s/syncline/python", self);
    assert_string_equal(path, expected);
}

static void instead(void **state)
{
    char path[PATH_MAX];

    assert_int_equal(sl_home_path(path, sizeof(path), "/usr/../usr/./lib", "a/b"), 0);
    assert_string_equal(path, "/usr/lib/a/b");
    assert_int_equal(sl_home_path(path, sizeof(path), "/no/such/folder", "a"), -ENOENT);
    assert_int_equal(sl_home_path(path, 8, "/usr/lib", "a/b"), -ENAMETOOLONG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(beside_the_library),
                                       cmocka_unit_test(instead)};

    return cmocka_run_group_tests_name("home", tests, NULL, NULL);
}
