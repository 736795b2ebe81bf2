/*
 * window_starts_test.c - the start of a window on the first of its ranks.
 */
#include "unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "convert/window_starts.h"

static char folder[] = "/tmp/sl-starts-XXXXXX";
static char path[4][128];

static char *put(unsigned i, const char *rank, const char *name, const char *header, const char *ts)
{
    char text[64];
    FILE *f;

    snprintf(text, sizeof(text), "%s/%s", folder, rank);
    (void)mkdir(text, 0700);
    snprintf(path[i], sizeof(path[i]), "%s/%s", text, name);
    f = fopen(path[i], "w");
    assert_non_null(f);
    assert_true(fprintf(f,
                        "{%s\"baseTimeNanoseconds\":1790857026000000000,\"traceEvents\":["
                        "{\"name\":\"process_name\",\"ph\":\"M\",\"ts\":%s,\"pid\":1,\"tid\":0,"
                        "\"args\":{\"name\":\"python\"}}]}",
                        header, ts) > 0);
    assert_int_equal(fclose(f), 0);
    return path[i];
}

static void test_a_window_has_the_start_of_its_first_rank(void **state)
{
    static const char own[] = "\"generator\":\"syncline 0.1.0\",";
    char *paths[4];
    struct sl_window_starts w;

    assert_non_null(mkdtemp(folder));
    paths[0] = put(0, "r0", "1.pt.trace.json", own, "500.250");
    paths[1] = put(1, "r1", "1.pt.trace.json", own, "499.125");
    paths[2] = put(2, "r1", "2.pt.trace.json", own, "10.000");
    paths[3] = put(3, "r1", "theirs.json", "", "1.000");
    assert_int_equal(sl_window_starts_read(&w, paths, 4), 0);
    assert_int_equal(sl_window_starts_earliest(&w, paths[0]), 1790857026000499125);
    assert_int_equal(sl_window_starts_earliest(&w, paths[1]), 1790857026000499125);
    assert_int_equal(sl_window_starts_earliest(&w, paths[2]), 1790857026000010000);
    assert_int_equal(sl_window_starts_earliest(&w, paths[3]), 0);
    sl_window_starts_free(&w);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(unlink(paths[i]), 0);
    for (unsigned i = 0; i < 2; i++) {
        char rank[64];

        snprintf(rank, sizeof(rank), "%s/r%u", folder, i);
        assert_int_equal(rmdir(rank), 0);
    }
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_window_has_the_start_of_its_first_rank),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
