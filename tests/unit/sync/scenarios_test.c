/*
 * scenarios_test.c - tests whether the engine finds the GPU work that each call waited for. Each
 * scenario in a .txt file of the folder scenarios is a separate test.
 *
 * `sync.scenarios_test PATTERN` runs the scenarios whose names match the pattern.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include <glob.h>
#include <string.h>

#include "sync/edge.h"
#include "sync/scenario.h"

#define FOLDER SYNCLINE_SOURCE_DIR "/tests/unit/sync/scenarios/"

enum {
    FILES = 64,
    SCENARIOS = 1000
};

static struct scenario_script *script[FILES];
static size_t scripts;
static struct CMUnitTest tests[SCENARIOS];
static char why[1 << 16];

static void as_expected(void **state)
{
    if (scenario_run(*state, why, sizeof why) != 0) {
        fprintf(stderr, "%s", why); /* printed here, because fail_msg() truncates long messages */
        fail();
    }
}

/* Runs the first scenario of a text. Returns the failure message, or "as expected". */
static const char *said(const char *text)
{
    struct scenario_script *s = scenario_read("x.txt", text, why, sizeof why);

    if (s && scenario_run(scenario_at(s, 0), why, sizeof why) == 0)
        snprintf(why, sizeof why, "as expected");
    scenario_close(s);
    return why;
}

static void a_mistake_is_told_with_its_line(void **state)
{
    static const struct {
        const char *text, *said;
    } of[] = {
        {"kernel s13 10..12\n", "x.txt:1: a line before the first scenario"},
        {"scenario a\n  colonel s13 10..12\n", "x.txt:2: 'colonel' is not known"},
        {"scenario a\n\n  kernel s13 10..12 rane 1..2\n", "x.txt:3: 'rane' is not known here"},
        {"scenario a\n  kernel s13 10-12\n", "x.txt:2: '10-12' is not known here"},
        {"scenario a\n  kernel s13 10..x\n", "x.txt:2: 'x' is not a number"},
        {"scenario a\n  undecided b\n", "x.txt:2: no call is named 'b'"},
        {"scenario a\n  b: free 1..2\n  b: free 3..4\n", "x.txt:3: two calls are named 'b'"},
        {"scenario a offline\n", "x.txt:1: 'offline' is not an option"},
        {"scenario a\n  check now\n", "x.txt:2: 'now' is one word too many"},
        {"scenario a\n  repeat i 1..2\n  check\n", "x.txt:3: `end` of the loop is missing"},
        {"scenario a\n  lost time 1\n", "x.txt:2: 'time' is not a reason why an edge is left out"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        assert_string_equal(said(of[i].text), of[i].said);
}

#define TWO_ROWS                                                                                   \
    "scenario a\n"                                                                                 \
    "  k: kernel s13 10..12 ran 15..60\n"                                                          \
    "  w: stream_sync s13 20..66\n"

static void edges_and_losses_are_told_in_full(void **state)
{
    (void)state;
    assert_string_equal(said(TWO_ROWS "  expect k -> w stream_sync wait 40 wake 6\n"),
                        "as expected");
    assert_non_null(strstr(said(TWO_ROWS), "-> w stream_sync wait 40 wake 6"));
    assert_non_null(
        strstr(said(TWO_ROWS "  expect k -> w stream_sync wait 41 wake 6\n"), "wait 41 wake 6"));
    assert_non_null(
        strstr(said(TWO_ROWS "  expect k -> w stream_sync inferred wait 40 wake 6\n"), "inferred"));
    assert_non_null(strstr(said("scenario a\n  record s13 e5 1..2\n  lost no_record 1\n"),
                           "lost no_record: expected 1, found 0"));
}

static void every_kind_and_reason_has_a_name(void **state)
{
    (void)state;
    for (int i = 0; i < SL_EDGE_KIND_COUNT; i++)
        assert_string_not_equal(sl_edge_kind_name((enum sl_edge_kind)i), "unknown");
    for (int i = 0; i < SL_EDGE_LOST_COUNT; i++)
        assert_string_not_equal(sl_edge_loss_name((enum sl_edge_loss)i), "unknown");
    assert_string_equal(sl_edge_kind_name(SL_EDGE_KIND_COUNT), "unknown");
    assert_string_equal(sl_edge_basis_name(SL_BASIS_EXACT), "exact");
}

static void read_file(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = calloc(1, 1 << 20);

    if (!file || !text || scripts == FILES || fread(text, 1, (1 << 20) - 1, file) == 0)
        exit(fprintf(stderr, "%s: cannot be read\n", path));
    fclose(file);
    script[scripts] = scenario_read(path + strlen(SYNCLINE_SOURCE_DIR "/"), text, why, sizeof why);
    free(text);
    if (!script[scripts++])
        exit(fprintf(stderr, "%s\n", why));
}

static size_t add_scenarios(const struct scenario_script *s, size_t count)
{
    for (size_t i = 0; i < scenario_count(s) && count < SCENARIOS; i++, count++) {
        const struct scenario *scenario = scenario_at(s, i);

        tests[count] = (struct CMUnitTest){.name = scenario->name,
                                           .test_func = as_expected,
                                           .initial_state = (void *)(uintptr_t)scenario};
    }
    return count;
}

int main(int argc, char **argv)
{
    size_t count = 0;
    glob_t files;
    int failed;

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    if (glob(FOLDER "*.txt", 0, NULL, &files) != 0)
        exit(fprintf(stderr, "no scenarios in " FOLDER "\n"));
    for (size_t i = 0; i < files.gl_pathc; i++)
        read_file(files.gl_pathv[i]);
    globfree(&files);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(a_mistake_is_told_with_its_line);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(edges_and_losses_are_told_in_full);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(every_kind_and_reason_has_a_name);
    for (size_t i = 0; i < scripts; i++)
        count = add_scenarios(script[i], count);
    failed = _cmocka_run_group_tests("scenarios", tests, count, NULL, NULL);
    for (size_t i = 0; i < scripts; i++)
        scenario_close(script[i]);
    return failed;
}
