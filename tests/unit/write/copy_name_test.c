/* copy_name_test.c - the names of copy kinds and memory kinds, as in the traces that HTA and
 * Perfetto users know. Unknown numbers become "Unknown". */
#include "unit/test.h"

#include "event/event.h"
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

static void test_whole_names(void **state)
{
    const struct sl_shape copy = {.copy_kind = 1, .src_memory = 1, .dst_memory = 3};
    char name[SL_COPY_NAME_MOST];

    assert_int_equal(sl_copy_name_put(name, SL_EV_MEMCPY, &copy), 32);
    assert_string_equal(name, "Memcpy HtoD (Pageable -> Device)");
    assert_int_equal(sl_copy_name_put(name, SL_EV_MEMSET, &copy), 15);
    assert_string_equal(name, "Memset (Device)");
    assert_int_equal(sl_copy_name_put(name, SL_EV_GRAPH, &copy), 10);
    assert_string_equal(name, "CUDA Graph");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_unknown_numbers),
        cmocka_unit_test(test_whole_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
