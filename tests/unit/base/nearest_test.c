/* nearest_test.c - edit distances of short words. */
#include "test.h"

#include <string.h>

#include "base/nearest.h"

static void distances(void **state)
{
    char a[200], b[200];

    assert_int_equal(sl_nearest_distance("", ""), 0);
    assert_int_equal(sl_nearest_distance("check", "check"), 0);
    assert_int_equal(sl_nearest_distance("chek", "check"), 1);
    assert_int_equal(sl_nearest_distance("chcek", "check"), 2);
    assert_int_equal(sl_nearest_distance("kitten", "sitting"), 3);
    assert_int_equal(sl_nearest_distance("", "abc"), 3);
    memset(a, 'x', sizeof(a) - 1);
    memset(b, 'x', sizeof(b) - 1);
    a[199] = b[199] = '\0';
    b[0] = 'y';
    b[100] = 'y'; /* this difference is after the compared part */
    assert_int_equal(sl_nearest_distance(a, b), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(distances)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
