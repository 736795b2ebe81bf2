/*
 * cases.h - reads test cases from text files. A file holds any number of cases of this form:
 *
 *     == title
 *     the input; lines that begin with # are comments
 *     --
 *     the expected output
 *
 * Each case becomes a separate cmocka test with its title as the name. A test program has one
 * function for all cases. The function reads a case's input, prints the actual output with say(),
 * and calls expect_said().
 *
 * Threads: one. Memory: the text of the files is kept until the program ends.
 */
#ifndef TEST_CASES_H
#define TEST_CASES_H

#include "unit/test.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CASES_MOST = 300,
    CASES_TEXT_MOST = 1 << 20
};

struct text_case {
    const char *given, *expected; /* input and expected output; both point into the file's text */
};

static const struct text_case *this_case;
static char said[CASES_TEXT_MOST];
static size_t said_size;

static inline __attribute__((format(printf, 1, 2))) void say(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    said_size += (size_t)vsnprintf(said + said_size, CASES_TEXT_MOST - said_size, format, args);
    va_end(args);
    assert_true(said_size < CASES_TEXT_MOST);
}

/* Compares the output of say() with the expected output, and discards the output of say(). `how`
 * says in the failure message how the case was run. */
static inline void expect_said(const char *how)
{
    const char *a = said, *b = this_case->expected;

    said[said_size] = '\0';
    said_size = 0;
    if (strcmp(said, b) == 0)
        return;
    fprintf(stderr, "---- came out%s:\n%s----\n", how, said);
    for (; *a && *a == *b; a++)
        b++;
    while (a > said && a[-1] != '\n') {
        a--;
        b--;
    }
    fail_msg("\"%.*s\", not \"%.*s\"%s", (int)strcspn(a, "\n"), a, (int)strcspn(b, "\n"), b, how);
}

/* Copies the next line that is not a comment to `line`. Returns 0 if there is no such line. */
static inline int next_line(const char **at, char *line, size_t room)
{
    do {
        size_t size = strcspn(*at, "\n");

        if (!**at)
            return 0;
        assert_true(size < room);
        memcpy(line, *at, size);
        line[size] = '\0';
        *at += size + ((*at)[size] == '\n');
    } while (*line == '#' || !*line);
    return 1;
}

static void (*cases_function)(const char *given);

static inline void test_case(void **state)
{
    this_case = *state;
    said_size = 0;
    cases_function(this_case->given);
    expect_said("");
}

/* Cuts the text before the next line that starts with `beginning`. Returns the text after
 * `beginning`, or NULL if there is no such line. */
static inline char *cases_cut(char *at, const char *beginning)
{
    char *line = strstr(at, beginning);

    if (!line)
        return NULL;
    line[1] = '\0';
    return line + strlen(beginning);
}

static inline size_t cases_read(const char *path, struct CMUnitTest *tests, size_t count)
{
    static struct text_case of[CASES_MOST];
    FILE *file = fopen(path, "r");
    char *text = calloc(1, CASES_TEXT_MOST);

    assert_true(file && text);
    memset(text, '\n', 2);
    assert_in_range(fread(text + 2, 1, CASES_TEXT_MOST - 3, file), 1, CASES_TEXT_MOST - 4);
    fclose(file);
    for (char *at = cases_cut(text, "\n\n== "); at; at = cases_cut(at, "\n\n== ")) {
        char *title_end = at + strcspn(at, "\n");

        assert_true(count < CASES_MOST);
        tests[count] =
            (struct CMUnitTest){.name = at, .test_func = test_case, .initial_state = &of[count]};
        of[count].given = title_end + 1;
        at = cases_cut(title_end, "\n--\n");
        if (!at)
            fail_msg("%s: a case without --", path);
        *title_end = '\0';
        of[count++].expected = at;
    }
    return count;
}

/* Runs all cases of the files that match the pattern. Returns the exit status for main(). */
static inline int run_cases(const char *pattern, void (*run)(const char *given),
                            CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
    static struct CMUnitTest tests[CASES_MOST];
    size_t count = 0;
    glob_t files;

    if (glob(pattern, 0, NULL, &files) != 0)
        return 1;
    for (size_t i = 0; i < files.gl_pathc; i++)
        count = cases_read(files.gl_pathv[i], tests, count);
    globfree(&files);
    for (size_t i = 0; i < count; i++) {
        tests[i].setup_func = set_up;
        tests[i].teardown_func = tear_down;
    }
    cases_function = run;
    return _cmocka_run_group_tests(pattern, tests, count, NULL, NULL);
}

#endif
