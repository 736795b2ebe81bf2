/*
 * args_test.c - command lines as people type them.
 *
 * Threads: one. Memory: none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "args/args.h"

enum {
    OUTPUT,
    FORCE,
    QUIET
};

static const struct sl_flag options[] = {
    {"output", 'o', "FILE", ""},
    {"force", 'f', NULL, ""},
    {"quiet", 'q', NULL, ""},
    {NULL, 0, NULL, NULL},
};

static const struct sl_command command = {.name = "test", .options = options};

/* "output=x force :file ..." for what was parsed; "ERROR" ends it. */
static void parse(const char *line, char *out)
{
    char copy[256], *argv[16];
    struct sl_args args;
    int argc = 0, option;

    strcpy(copy, line);
    for (char *p = strtok(copy, " "); p; p = strtok(NULL, " "))
        argv[argc++] = p;
    out[0] = '\0';
    sl_args_begin(&args, &command, argc, argv);
    while ((option = sl_args_next(&args)) != SL_ARGS_END) {
        if (option == SL_ARGS_ERROR) {
            strcat(out, "ERROR");
            return;
        }
        if (option >= 0)
            strcat(out, options[option].name);
        if (option == SL_ARGS_OPERAND || options[option].value)
            strcat(strcat(out, ":"), args.value);
        strcat(out, " ");
    }
}

static void expect(const char *line, const char *wanted)
{
    char got[256];

    parse(line, got);
    assert_string_equal(got, wanted);
}

static void test_lines(void **state)
{
    (void)state;
    expect("test", "");
    expect("test a -o b --force c", ":a output:b force :c ");
    expect("test --output=x=y --output z", "output:x=y output:z ");
    expect("test -ofile -fq -qo x", "output:file force quiet quiet output:x ");
    expect("test -f -- -o --force", "force :-o :--force ");
    expect("test - -q", ":- quiet ");
}

static void test_mistakes(void **state)
{
    (void)state;
    expect("test a --outptu b", ":a ERROR");
    expect("test -x", "ERROR");
    expect("test -qx", "quiet ERROR");
    expect("test --output", "ERROR");
    expect("test -o", "ERROR");
    expect("test --force=yes", "ERROR");
}

static void test_nearest(void **state)
{
    static const char *const names[] = {"check", "convert", "doctor"};

    (void)state;
    assert_string_equal(sl_args_nearest("chek", names, 3), "check");
    assert_string_equal(sl_args_nearest("converty", names, 3), "convert");
    assert_string_equal(sl_args_nearest("docter", names, 3), "doctor");
    assert_null(sl_args_nearest("xyz", names, 3));
    assert_null(sl_args_nearest("a-name-that-is-much-longer-than-any-of-those-here", names, 3));
}

static void test_one_file(void **state)
{
    const struct sl_args first = {.command = &command, .value = "a"};
    const struct sl_args second = {.command = &command, .value = "b"};
    const char *file = NULL;

    (void)state;
    assert_int_equal(sl_args_take_file(&first, &file), 0);
    assert_string_equal(file, "a");
    assert_int_equal(sl_args_take_file(&second, &file), SL_EXIT_USAGE);
    assert_string_equal(file, "a");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_one_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
