/* copy_name_test.c - the names of copy kinds and memory kinds, as in the traces that HTA and
 * Perfetto users know. Unknown numbers become "Unknown". */
#include "unit/test.h"

#include "write/copy_name.h"

static void test_kinds(void **state)
{
    assert_string_equal(sl_copy_name_kind(1), "HtoD");
    assert_string_equal(sl_copy_name_kind(8), "DtoD");
    assert_string_equal(sl_copy_name_kind(10), "PtoP");
    assert_string_equal(sl_copy_name_memory(1), "Pageable");
    assert_string_equal(sl_copy_name_memory(7), "Managed Static");
}

static void test_unknown_numbers(void **state)
{
    assert_string_equal(sl_copy_name_kind(11), "Unknown");
    assert_string_equal(sl_copy_name_memory(UINT32_MAX), "Unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_unknown_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
