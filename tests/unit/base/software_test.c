/* software_test.c - versions of software, such as PyTorch. The first reported version is stored,
 * without the text after its first space. */
#include "test.h"

#include <string.h>

#include "base/software.h"

static void nothing_is_known_that_was_not_told(void **state)
{
    sl_software_set(SL_SOFTWARE_PYTHON, NULL);
    sl_software_set(SL_SOFTWARE_PYTHON, "");
    sl_software_set(SL_SOFTWARE_PYTHON, " 3.11");
    assert_null(sl_software_get(SL_SOFTWARE_PYTHON));
}

static void the_first_one_counts(void **state)
{
    sl_software_set(SL_SOFTWARE_PYTHON, "3.11.7 (main, Dec  8 2023)");
    sl_software_set(SL_SOFTWARE_PYTHON, "3.12.1");
    assert_string_equal(sl_software_get(SL_SOFTWARE_PYTHON), "3.11.7");
    assert_null(sl_software_get(SL_SOFTWARE_PYTORCH));
}

static void a_long_one_is_cut(void **state)
{
    char text[200];

    memset(text, '1', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    sl_software_set(SL_SOFTWARE_PYTORCH, text);
    assert_int_equal(strlen(sl_software_get(SL_SOFTWARE_PYTORCH)), 63);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_known_that_was_not_told),
        cmocka_unit_test(the_first_one_counts),
        cmocka_unit_test(a_long_one_is_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
