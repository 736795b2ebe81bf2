/*
 * event_sort_test.c - sorts events in memory, or with temporary files, with the same result. A full
 * disk is reported.
 *
 * Threads: one. The sort owns its memory.
 */
#include "unit/test.h"
#include <errno.h>

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "read/event_sort.h"

static int by_correlation(const void *x, const void *y)
{
    const struct sl_event *a = x, *b = y;

    return (a->correlation > b->correlation) - (a->correlation < b->correlation);
}

/* Sorts all numbers below `count`. They are added in an order that is far from sorted (`step` is
 * coprime to `count`). */
static void sorts(size_t run_events, uint64_t count, uint64_t step)
{
    struct sl_event_sort *s;
    struct sl_event ev = {.kind = SL_EV_KERNEL};

    assert_int_equal(sl_event_sort_create(&s, run_events, by_correlation), 0);
    for (uint64_t i = 0; i < count; i++) {
        ev.correlation = i * step % count;
        ev.start_ns = ev.correlation * 3;
        assert_int_equal(sl_event_sort_put(s, &ev), 0);
    }
    assert_int_equal(sl_event_sort_end(s), 0);
    for (uint64_t i = 0; i < count / 2; i++) /* a first pass, which is not finished */
        assert_int_equal(sl_event_sort_next(s, &ev), 1);
    assert_int_equal(sl_event_sort_rewind(s), 0);
    for (uint64_t i = 0; i < count; i++) {
        assert_int_equal(sl_event_sort_next(s, &ev), 1);
        assert_int_equal(ev.correlation, i);
        assert_int_equal(ev.start_ns, i * 3);
        assert_int_equal(ev.kind, SL_EV_KERNEL);
    }
    assert_int_equal(sl_event_sort_next(s, &ev), 0);
    assert_int_equal(sl_event_sort_next(s, &ev), 0);
    assert_int_equal(sl_event_sort_rewind(s), 0); /* after the end */
    assert_int_equal(sl_event_sort_next(s, &ev), count > 0);
    sl_event_sort_destroy(s);
}

static void test_in_memory(void **state)
{
    sorts(1000, 0, 1);
    sorts(1000, 1, 1);
    sorts(1000, 999, 7);
    sorts(1000, 1000, 7); /* the run (a sorted part) is full, but not yet written */
}

static void test_through_the_disk(void **state)
{
    sorts(1000, 1001, 8);
    sorts(1000, 100003, 77);
    sorts(64, 64 * 63 + 1, 11); /* one event of each run is in memory */
}

static void test_too_many_runs(void **state)
{
    struct sl_event_sort *s;
    struct sl_event ev = {.kind = SL_EV_KERNEL};
    int rc = 0;

    assert_int_equal(sl_event_sort_create(&s, 1, by_correlation), 0);
    for (int i = 0; i < 5000 && rc == 0; i++)
        rc = sl_event_sort_put(s, &ev);
    assert_int_equal(rc, -EFBIG);
    assert_int_equal(sl_event_sort_put(s, &ev), -EFBIG);
    assert_int_equal(sl_event_sort_end(s), -EFBIG);
    assert_int_equal(sl_event_sort_next(s, &ev), -EFBIG);
    sl_event_sort_destroy(s);
}

static void test_no_folder(void **state)
{
    struct sl_event_sort *s;
    struct sl_event ev = {.kind = SL_EV_KERNEL};

    setenv("TMPDIR", "/nonexistent/folder", 1);
    assert_int_equal(sl_event_sort_create(&s, 2, by_correlation), 0);
    assert_int_equal(sl_event_sort_put(s, &ev), 0);
    assert_int_equal(sl_event_sort_put(s, &ev), 0);
    assert_int_equal(sl_event_sort_put(s, &ev), -ENOENT);
    assert_int_equal(sl_event_sort_end(s), -ENOENT);
    sl_event_sort_destroy(s);
    unsetenv("TMPDIR");
}

/* A limit on file sizes imitates a full disk. */
static void test_full_disk(void **state)
{
    struct rlimit before, limit;
    struct sl_event_sort *s;
    struct sl_event ev = {.kind = SL_EV_KERNEL};
    int rc = 0;

    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = (struct rlimit){4096, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_int_equal(sl_event_sort_create(&s, 32, by_correlation), 0);
    for (int i = 0; i < 1000 && rc == 0; i++)
        rc = sl_event_sort_put(s, &ev);
    assert_int_equal(rc, -EFBIG);
    sl_event_sort_destroy(s);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_memory),     cmocka_unit_test(test_through_the_disk),
        cmocka_unit_test(test_too_many_runs), cmocka_unit_test(test_no_folder),
        cmocka_unit_test(test_full_disk),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
