/* getenv_answer_test.c - getenv() of this program answers for registered names. */
#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/getenv_answer.h"

#define NAME "SL_TEST_ANSWERED"

static const char *text = "ours";

static const char *answer(void)
{
    return text;
}

static const char *other(void)
{
    return "other";
}

static void a_registered_name_is_answered(void **state)
{
    static int inside;

    unsetenv(NAME);
    assert_int_equal(sl_getenv_answer(NAME, answer), 0);
    assert_null(getenv(NAME));
    sl_getenv_answer_in(&inside);
    assert_string_equal(getenv(NAME), "ours");
    assert_null(getenv("SL_TEST_NOT_ANSWERED"));
    assert_non_null(getenv("PATH"));
    setenv(NAME, "", 1);
    assert_string_equal(getenv(NAME), "ours");
    setenv(NAME, "user's", 1);
    assert_string_equal(getenv(NAME), "user's");
    unsetenv(NAME);
    text = NULL;
    assert_null(getenv(NAME));
    assert_int_equal(sl_getenv_answer(NAME, other), 0);
    assert_string_equal(getenv(NAME), "other");
    assert_int_equal(sl_getenv_answer_where("no_object_exports_this"), 0);
}

static void there_is_room_for_a_few_names(void **state)
{
    static const char *const names[] = {"A", "B", "C", "D"};

    for (unsigned i = 0; i < SL_GETENV_ANSWERS - 1; i++)
        assert_int_equal(sl_getenv_answer(names[i], answer), 0);
    assert_int_equal(sl_getenv_answer("E", answer), -ENOSPC);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_registered_name_is_answered),
        cmocka_unit_test(there_is_room_for_a_few_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
