/* layout_test.c - which table of record layouts is used for a version of CUPTI. */
#include "test.h"

#include "collect/cupti/layout.h"

static void each_row_is_found_by_its_own_version(void **state)
{
    for (unsigned i = 0; i < sl_cupti_tables_layout_count; i++)
        assert_ptr_equal(sl_cupti_layout_find(sl_cupti_tables_layouts[i].version),
                         &sl_cupti_tables_layouts[i]);
}

/* Minor releases of CUPTI have version numbers between two rows of the table, and the layouts of
 * the older row. So the older row is used. */
static void versions_between_rows_are_read_by_the_older_one(void **state)
{
    for (unsigned i = 1; i < sl_cupti_tables_layout_count; i++)
        assert_ptr_equal(sl_cupti_layout_find(sl_cupti_tables_layouts[i].version - 1),
                         &sl_cupti_tables_layouts[i - 1]);
}

static void what_is_newer_than_all_is_read_by_the_newest(void **state)
{
    assert_ptr_equal(sl_cupti_layout_find(UINT32_MAX),
                     &sl_cupti_tables_layouts[sl_cupti_tables_layout_count - 1]);
}

static void what_is_older_than_all_is_not_read(void **state)
{
    assert_null(sl_cupti_layout_find(17)); /* CUDA 11.8 */
    assert_null(sl_cupti_layout_find(0));
}

/* A kind comes from a damaged record, or from a later CUPTI. The table has no size for an unknown
 * kind. */
static void a_kind_that_is_not_known_has_no_size(void **state)
{
    const struct sl_cupti_layout *layout = sl_cupti_layout_find(18);

    assert_int_equal(sl_cupti_layout_size(layout, SL_CUPTI_KIND_RUNTIME), layout->api->size);
    assert_int_equal(sl_cupti_layout_size(layout, 0), 0);
    assert_int_equal(sl_cupti_layout_size(layout, SL_CUPTI_KIND_COUNT), 0);
    assert_int_equal(sl_cupti_layout_size(layout, UINT32_MAX), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_row_is_found_by_its_own_version),
        cmocka_unit_test(versions_between_rows_are_read_by_the_older_one),
        cmocka_unit_test(what_is_newer_than_all_is_read_by_the_newest),
        cmocka_unit_test(what_is_older_than_all_is_not_read),
        cmocka_unit_test(a_kind_that_is_not_known_has_no_size),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
