/*
 * args_test.c - parses command lines as users type them.
 *
 * Threads: one. No memory is allocated.
 */
#include "unit/test.h"

#include <string.h>

#include "args/args.h"

static const struct sl_flag options[] = {
    {"output", 'o', "FILE", ""},
    {"force", 'f', NULL, ""},
    {"quiet", 'q', NULL, ""},
    {NULL, 0, NULL, NULL},
};

/* The parsed options and arguments as text, such as "output:x force :file". */
static char got[256];

static int note(const struct sl_args *args)
{
    for (int i = 0; options[i].name; i++) {
        if (!args->value[i])
            continue;
        strcat(strcat(got, options[i].name), options[i].value ? ":" : "");
        strcat(strcat(got, args->value[i]), " ");
    }
    for (int i = 0; i < args->operands; i++)
        strcat(strcat(strcat(got, ":"), args->operand[i]), " ");
    assert_null(args->operand[args->operands]);
    return SL_EXIT_PROBLEM;
}

static struct sl_command command = {.name = "test",
                                    .usage = "test",
                                    .help = "Options:\n",
                                    .options = options,
                                    .operands_max = SL_ARGS_ANY,
                                    .run = note};

static int run(const char *line)
{
    char copy[256], *argv[16];
    int argc = 0;

    strcpy(copy, line);
    for (char *p = strtok(copy, " "); p; p = strtok(NULL, " "))
        argv[argc++] = p;
    argv[argc] = NULL;
    got[0] = '\0';
    return sl_args_run(&command, argc, argv);
}

static void expect(const char *line, const char *wanted)
{
    assert_int_equal(run(line), SL_EXIT_PROBLEM);
    assert_string_equal(got, wanted);
}

static void expect_no_run(const char *line, int status)
{
    assert_int_equal(run(line), status);
    assert_string_equal(got, "");
}

static void test_lines(void **state)
{
    expect("test", "");
    expect("test a -o b --force c", "output:b force :a :c ");
    expect("test --output=x=y --output z", "output:z ");
    expect("test -ofile -fq", "output:file force quiet ");
    expect("test -qfo x -q", "output:x force quiet ");
    expect("test -f -- -o --force", "force :-o :--force ");
    expect("test - -q", "quiet :- ");
}

static void test_mistakes(void **state)
{
    expect_no_run("test a --outptu b", SL_EXIT_USAGE);
    expect_no_run("test -x", SL_EXIT_USAGE);
    expect_no_run("test -qx", SL_EXIT_USAGE);
    expect_no_run("test --output", SL_EXIT_USAGE);
    expect_no_run("test -o", SL_EXIT_USAGE);
    expect_no_run("test --force=yes", SL_EXIT_USAGE);
    expect_no_run("test -q --help -x", SL_EXIT_OK);
    expect_no_run("test -qh", SL_EXIT_OK);
}

static void test_operands(void **state)
{
    command.operands_max = 1;
    expect("test a -q", "quiet :a ");
    expect_no_run("test a -q b", SL_EXIT_USAGE);
    command.operands_max = 0;
    expect_no_run("test a", SL_EXIT_USAGE);
    command.operands_max = SL_ARGS_COMMAND;
    expect("test -q a -q --output", "quiet :a :-q :--output ");
    expect("test -q -- -a --", "quiet :-a :-- ");
    command.operands_max = SL_ARGS_ANY;
}

static void test_nearest(void **state)
{
    static const char *const names[] = {"check", "convert", "doctor"};

    assert_string_equal(sl_args_nearest("chek", names, 3), "check");
    assert_string_equal(sl_args_nearest("converty", names, 3), "convert");
    assert_string_equal(sl_args_nearest("docter", names, 3), "doctor");
    assert_null(sl_args_nearest("xyz", names, 3));
    assert_null(sl_args_nearest("a-name-that-is-much-longer-than-any-of-those-here", names, 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_operands),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
