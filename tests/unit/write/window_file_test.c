/* window_file_test.c - the names of the files of windows. */
#include "test.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "unit/folder.h"
#include "write/window_file.h"

#define OPENED 1795631821250987654ull /* 2026-11-25 18:37:01.250 UTC */

static struct sl_folder place;

static int make(void **state)
{
    int error = folder_make();

    return error ? error : sl_folder_open(&place, folder, 0600);
}

static int clean(void **state)
{
    sl_folder_close(&place);
    return folder_remove();
}

/* Checks the name of the file that is opened for this window. */
static void expect_name(const struct sl_trace_meta *meta, const char *name)
{
    struct sl_window_file_options opt = {.folder = &place, .ending = ".x"};
    struct sl_window_file file = {0};

    assert_int_equal(sl_window_file_open(&file, &opt, meta), 0);
    assert_string_equal(file.path + strlen(folder) + 1, name);
    assert_int_equal(sl_window_file_close(&file, 1), 0);
}

static void a_window_is_named_by_what_it_holds(void **state)
{
    struct sl_trace_meta meta = {.window = 7, .opened_ns = OPENED};

    expect_name(&meta, "7.x");
    meta.step = 501;
    expect_name(&meta, "step-000000501.x");
    meta.step = 12345678901;
    expect_name(&meta, "step-12345678901.x");
    meta.step = 0;
    meta.is_timed = 1;
    expect_name(&meta, "20261125T183701.250Z.x");
}

static void dates_follow_the_calendar(void **state)
{
    static const struct {
        uint64_t seconds;
        const char *name;
    } cases[] = {
        {0, "19700101T000000.000Z.x"},          {951782399, "20000228T235959.000Z.x"},
        {951782400, "20000229T000000.000Z.x"},  {951868800, "20000301T000000.000Z.x"},
        {1709251199, "20240229T235959.000Z.x"}, {1798761599, "20261231T235959.000Z.x"},
        {1798761600, "20270101T000000.000Z.x"}, {4107542400, "21000301T000000.000Z.x"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        expect_name(
            &(struct sl_trace_meta){.is_timed = 1, .opened_ns = cases[i].seconds * 1000000000},
            cases[i].name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_window_is_named_by_what_it_holds, make, clean),
        cmocka_unit_test_setup_teardown(dates_follow_the_calendar, make, clean),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
