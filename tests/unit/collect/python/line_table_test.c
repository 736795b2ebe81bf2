/*
 * line_table_test.c - finds lines in CPython's line tables. The tables are written by hand from
 * CPython's description of each format. tests/e2e/test_python_lines.py checks tables from
 * compilers.
 */
#include "test.h"

#include "collect/python/line_table.h"

#define FIND(form, table, first, offset)                                                           \
    sl_python_line_find(form, table, sizeof(table), first, offset)

/* ---- 3.9: (bytes, lines) ---- */

static void test_lnotab(void **state)
{
    /* Six bytes of code belong to line 10, then 20 bytes to line 11, and the rest to line 9. */
    static const uint8_t table[] = {6, 1, 20, (uint8_t)-2};

    assert_int_equal(FIND(SL_PYTHON_LNOTAB, table, 10, 0), 10);
    assert_int_equal(FIND(SL_PYTHON_LNOTAB, table, 10, 4), 10);
    assert_int_equal(FIND(SL_PYTHON_LNOTAB, table, 10, 6), 11);
    assert_int_equal(FIND(SL_PYTHON_LNOTAB, table, 10, 24), 11);
    assert_int_equal(FIND(SL_PYTHON_LNOTAB, table, 10, 26), 9);
    assert_int_equal(FIND(SL_PYTHON_LNOTAB, table, 10, 100000), 9);
    assert_int_equal(sl_python_line_find(SL_PYTHON_LNOTAB, table, 0, 7, 40), 7);
}

static void test_lnotab_of_long_distances(void **state)
{
    /* The line changes by 200 after 300 bytes of code. Values that do not fit into a byte are
     * encoded in several steps. */
    static const uint8_t table[] = {255, 0, 45, 127, 0, 73};

    assert_int_equal(FIND(SL_PYTHON_LNOTAB, table, 1, 298), 1);
    assert_int_equal(FIND(SL_PYTHON_LNOTAB, table, 1, 300), 201);
}

/* ---- 3.10: (bytes, lines); -128 means that there is no line ---- */

static void test_linetable(void **state)
{
    static const uint8_t table[] = {4, 1, 2, 0x80, 8, 3, 6, (uint8_t)-4};

    assert_int_equal(FIND(SL_PYTHON_LINETABLE, table, 10, 0), 11);
    assert_int_equal(FIND(SL_PYTHON_LINETABLE, table, 10, 2), 11);
    assert_int_equal(FIND(SL_PYTHON_LINETABLE, table, 10, 4), 11);
    assert_int_equal(FIND(SL_PYTHON_LINETABLE, table, 10, 6), 14);
    assert_int_equal(FIND(SL_PYTHON_LINETABLE, table, 10, 12), 14);
    assert_int_equal(FIND(SL_PYTHON_LINETABLE, table, 10, 14), 10);
    assert_int_equal(FIND(SL_PYTHON_LINETABLE, table, 10, 20), 0);
}

static void test_linetable_of_long_distances(void **state)
{
    /* Each step covers at most 254 bytes of code. Some lines have no code. */
    static const uint8_t table[] = {254, 0, 46, 0, 0, 127, 0, 73, 2, 0};

    assert_int_equal(FIND(SL_PYTHON_LINETABLE, table, 1, 298), 1);
    assert_int_equal(FIND(SL_PYTHON_LINETABLE, table, 1, 300), 201);
}

/* ---- 3.11: entries ---- */

#define ENTRY(code, units) (0x80 | (code) << 3 | ((units)-1))

static void test_locations(void **state)
{
    static const uint8_t table[] = {
        ENTRY(0, 2),  0x12,       /* short form: the same line as before, columns in one byte */
        ENTRY(11, 1), 0x04, 0x09, /* the form for the next line, with two columns */
        ENTRY(12, 3), 0x04, 0x09, /* code on the next line again */
        ENTRY(13, 1), 0x05,       /* the form without columns: two lines back */
        ENTRY(14, 8), 0x48, 0x02, 1, 2, 3, /* long form: 8 | 2 << 6 = 136, so 68 lines on */
        ENTRY(15, 1),                      /* no line */
        ENTRY(10, 1), 0x00, 0x00,          /* the same line */
    };

    assert_int_equal(FIND(SL_PYTHON_LOCATIONS, table, 10, 0), 10);
    assert_int_equal(FIND(SL_PYTHON_LOCATIONS, table, 10, 2), 10);
    assert_int_equal(FIND(SL_PYTHON_LOCATIONS, table, 10, 4), 11);
    assert_int_equal(FIND(SL_PYTHON_LOCATIONS, table, 10, 6), 13);
    assert_int_equal(FIND(SL_PYTHON_LOCATIONS, table, 10, 10), 13);
    assert_int_equal(FIND(SL_PYTHON_LOCATIONS, table, 10, 12), 11);
    assert_int_equal(FIND(SL_PYTHON_LOCATIONS, table, 10, 14), 79);
    assert_int_equal(FIND(SL_PYTHON_LOCATIONS, table, 10, 28), 79);
    assert_int_equal(FIND(SL_PYTHON_LOCATIONS, table, 10, 30), 79);
    assert_int_equal(FIND(SL_PYTHON_LOCATIONS, table, 10, 32), 79);
    assert_int_equal(FIND(SL_PYTHON_LOCATIONS, table, 10, 34), 0);
}

/* ---- invalid tables ---- */

static void test_damaged_tables(void **state)
{
    static const uint8_t cut[] = {ENTRY(14, 1), 0x7f, 0x7f, 0x7f};
    static const uint8_t endless[] = {ENTRY(13, 1), 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f,
                                      0x7f,         0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x3f};
    static const uint8_t before_the_first[] = {ENTRY(13, 1), 0x3f};
    static const uint8_t half[] = {6};

    for (int form = SL_PYTHON_LNOTAB; form <= SL_PYTHON_LOCATIONS; form++) {
        (void)FIND((enum sl_python_table)form, cut, 1, 0);
        (void)FIND((enum sl_python_table)form, endless, 1, 1000);
    }
    assert_int_equal(FIND(SL_PYTHON_LOCATIONS, before_the_first, 3, 0), 0);
    assert_int_equal(FIND(SL_PYTHON_LOCATIONS, endless, 3, 0), 0);
    assert_int_equal(FIND(SL_PYTHON_LNOTAB, half, 3, 0), 3);
    assert_int_equal(FIND(SL_PYTHON_LINETABLE, half, 3, 0), 0);
    assert_int_equal(sl_python_line_find(SL_PYTHON_LOCATIONS, cut, 0, 3, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lnotab),    cmocka_unit_test(test_lnotab_of_long_distances),
        cmocka_unit_test(test_linetable), cmocka_unit_test(test_linetable_of_long_distances),
        cmocka_unit_test(test_locations), cmocka_unit_test(test_damaged_tables),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
