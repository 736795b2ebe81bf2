/*
 * source_test.c - lines of the source by thread and time, against a list of all that was told.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "event/source.h"

static struct sl_sources *sources;

static int begin(void **state)
{
    (void)state;
    return sl_sources_create(&sources, 0);
}

static int end(void **state)
{
    (void)state;
    sl_sources_destroy(sources);
    return 0;
}

static void test_the_innermost_counts(void **state)
{
    (void)state;
    sl_sources_begin(sources, 7, 100, 1);
    sl_sources_begin(sources, 7, 120, 2);
    sl_sources_end(sources, 7, 140);
    sl_sources_end(sources, 7, 200);
    assert_int_equal(sl_sources_at(sources, 7, 99), 0);
    assert_int_equal(sl_sources_at(sources, 7, 100), 1);
    assert_int_equal(sl_sources_at(sources, 7, 120), 2);
    assert_int_equal(sl_sources_at(sources, 7, 139), 2);
    assert_int_equal(sl_sources_at(sources, 7, 140), 1);
    assert_int_equal(sl_sources_at(sources, 7, 200), 0);
    assert_int_equal(sl_sources_at(sources, 8, 120), 0);
}

static void test_calls_that_come_in_any_order(void **state)
{
    (void)state;
    for (uint32_t i = 1; i <= 1000; i++) {
        sl_sources_begin(sources, 7, i * 10, i);
        sl_sources_end(sources, 7, i * 10 + 5);
    }
    for (uint32_t i = 0; i < 3000; i++) {
        uint32_t at = i * 7919 % 1000 + 1;

        assert_int_equal(sl_sources_at(sources, 7, at * 10 + 4), at);
        assert_int_equal(sl_sources_at(sources, 7, at * 10 + 5), 0);
    }
}

static void test_what_is_open_is_known(void **state)
{
    (void)state;
    sl_sources_begin(sources, 7, 100, 1);
    assert_int_equal(sl_sources_at(sources, 7, 1000000), 1);
    sl_sources_end(sources, 7, 2000000);
    assert_int_equal(sl_sources_at(sources, 7, 1000000), 1);
    assert_int_equal(sl_sources_at(sources, 7, 2000000), 0);
}

static void test_ends_without_begins(void **state)
{
    (void)state;
    sl_sources_end(sources, 7, 50);
    sl_sources_begin(sources, 7, 100, 1);
    sl_sources_end(sources, 7, 110);
    sl_sources_end(sources, 7, 120);
    sl_sources_end_thread(sources, 9, 130);
    assert_int_equal(sl_sources_at(sources, 7, 105), 1);
}

static void test_a_thread_ends_with_all_it_had_open(void **state)
{
    (void)state;
    sl_sources_begin(sources, 7, 100, 1);
    sl_sources_begin(sources, 7, 110, 2);
    sl_sources_end_thread(sources, 7, 120);
    assert_int_equal(sl_sources_at(sources, 7, 115), 2);
    assert_int_equal(sl_sources_at(sources, 7, 120), 0);
    /* Its number may be another's now. */
    sl_sources_begin(sources, 7, 130, 3);
    assert_int_equal(sl_sources_at(sources, 7, 130), 3);
    sl_sources_end(sources, 7, 140);
    assert_int_equal(sl_sources_at(sources, 7, 140), 0);
}

/* The oldest give way, and nothing takes another's place in an answer. */
static void test_more_than_there_is_room_for(void **state)
{
    const uint32_t all = 400000;
    unsigned known = 0;

    (void)state;
    sl_sources_begin(sources, 3, 5, 77); /* stays open all along */
    for (uint32_t i = 1; i <= all; i++) {
        sl_sources_begin(sources, i % 5 + 10, i * 10ull, i);
        sl_sources_end(sources, i % 5 + 10, i * 10ull + 8);
    }
    for (uint32_t i = 1; i <= all; i++) {
        uint32_t line = sl_sources_at(sources, i % 5 + 10, i * 10ull + 4);

        assert_true(line == i || (line == 0 && !known));
        known += line == i;
    }
    assert_in_range(known, 100000, 140000);
    assert_int_equal(sl_sources_at(sources, 3, all), 0);
    sl_sources_end(sources, 3, all * 10ull + 10);
    sl_sources_begin(sources, 3, all * 10ull + 20, 78);
    assert_int_equal(sl_sources_at(sources, 3, all * 10ull + 20), 78);
}

static void test_threads_come_and_go(void **state)
{
    (void)state;
    for (uint32_t i = 1; i <= 100000; i++) {
        sl_sources_begin(sources, i, i * 10ull, i);
        assert_int_equal(sl_sources_at(sources, i, i * 10ull), i);
        sl_sources_end_thread(sources, i, i * 10ull + 5);
    }
}

static void test_too_little_memory(void **state)
{
    struct sl_sources *none = NULL;

    (void)state;
    assert_int_equal(sl_sources_create(&none, 4096), -EINVAL);
    assert_null(none);
    sl_sources_destroy(none);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_the_innermost_counts),
        TEST(test_calls_that_come_in_any_order),
        TEST(test_what_is_open_is_known),
        TEST(test_ends_without_begins),
        TEST(test_a_thread_ends_with_all_it_had_open),
        TEST(test_more_than_there_is_room_for),
        TEST(test_threads_come_and_go),
        cmocka_unit_test(test_too_little_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
