/*
 * edge_filter_test.c - times with units, numbers of steps, and patterns for lines of code.
 *
 * Threads: one. Memory: freed by each test.
 */
#include "unit/test.h"

#include <errno.h>
#include <string.h>

#include "edges/edge_filter.h"

static void test_times(void **state)
{
    static const struct {
        const char *text;
        uint64_t ns;
    } valid[] = {{"0", 0},         {"1500", 1500},      {"7ns", 7},          {"1us", 1000},
                 {"1ms", 1000000}, {"0.5s", 500000000}, {"1.25ms", 1250000}, {"2s", 2000000000}};
    static const char *const invalid[] = {"",   "ms", "-1ms", "1 ms", "1m",
                                          "1h", "1e", "0x",   "nan",  "99999999999999s"};
    uint64_t ns;

    for (size_t i = 0; i < sizeof(valid) / sizeof(*valid); i++) {
        assert_int_equal(sl_edge_filter_time(valid[i].text, &ns), 0);
        assert_int_equal(ns, valid[i].ns);
    }
    for (size_t i = 0; i < sizeof(invalid) / sizeof(*invalid); i++)
        assert_int_equal(sl_edge_filter_time(invalid[i], &ns), -EINVAL);
}

static void test_steps(void **state)
{
    static const char *const invalid[] = {"", "x", "1..", "..2", "3..2", "1...2", "1..2..3", "-1"};
    struct sl_edge_filter f = {.kind = -1};

    assert_int_equal(sl_edge_filter_steps(&f, "7"), 0);
    assert_int_equal(f.first_step, 7);
    assert_int_equal(f.last_step, 7);
    assert_int_equal(sl_edge_filter_steps(&f, "100..103"), 0);
    assert_int_equal(f.first_step, 100);
    assert_int_equal(f.last_step, 103);
    for (size_t i = 0; i < sizeof(invalid) / sizeof(*invalid); i++)
        assert_int_equal(sl_edge_filter_steps(&f, invalid[i]), -EINVAL);
}

static int has(struct sl_intern *names, const struct sl_edge_filter *f, const char *line,
               const char *step)
{
    const struct sl_edge_where where = {.line = sl_intern_put(names, line, strlen(line)),
                                        .step = sl_intern_put(names, step, strlen(step))};
    const struct sl_edge edge = {.kind = SL_EDGE_COPY};

    return sl_edge_filter_has(f, names, &edge, &where);
}

static void test_selection(void **state)
{
    static const char *const inside[] = {"train.py", "py:21", "/a/*.py:21 main", "main",
                                         "?rain",    "*",     "n.py:2* m"};
    static const char *const outside[] = {"test.py", "py:22", "main ", "?/a/", "t*q"};
    struct sl_edge_filter f = {.kind = -1};
    struct sl_intern *names;

    assert_int_equal(sl_intern_create(&names, 1 << 20), 0);
    for (size_t i = 0; i < sizeof(inside) / sizeof(*inside); i++) {
        f.line = inside[i];
        assert_true(has(names, &f, "/a/train.py:21 main", "x"));
    }
    for (size_t i = 0; i < sizeof(outside) / sizeof(*outside); i++) {
        f.line = outside[i];
        assert_false(has(names, &f, "/a/train.py:21 main", "x"));
    }
    f = (struct sl_edge_filter){
        .kind = SL_EDGE_COPY, .has_steps = 1, .first_step = 9, .last_step = 11};
    assert_true(has(names, &f, "a", "ProfilerStep#10"));
    assert_false(has(names, &f, "a", "ProfilerStep#12"));
    assert_false(has(names, &f, "a", "10"));
    f.kind = SL_EDGE_FREE;
    assert_false(has(names, &f, "a", "ProfilerStep#10"));
    sl_intern_destroy(names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_selection),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
