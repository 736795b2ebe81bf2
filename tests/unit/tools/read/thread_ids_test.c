/*
 * thread_ids_test.c - replaces thread ids that are too large for an event by small numbers.
 *
 * Threads: one. The test owns the memory of the table.
 */
#include "unit/test.h"

#include "read/thread_ids.h"

static struct sl_thread_ids ids;

static int setup(void **state)
{
    sl_thread_ids_init(&ids);
    return 0;
}

static int teardown(void **state)
{
    sl_thread_ids_free(&ids);
    assert_int_equal(ids.store.used_bytes, 0);
    return 0;
}

static void test_those_of_the_system_stay(void **state)
{
    assert_int_equal(sl_thread_ids_put(&ids, 1), 1);
    assert_int_equal(sl_thread_ids_put(&ids, INT32_MAX), INT32_MAX);
    assert_int_equal(sl_thread_ids_get(&ids, 1), 1);
    assert_int_equal(sl_thread_ids_get(&ids, INT32_MAX), INT32_MAX);
    assert_int_equal(ids.store.used_bytes, 0);
}

static void test_others_come_back(void **state)
{
    static const int64_t other[] = {0, -1, INT32_MIN, INT64_MIN, INT64_MAX, 1ll << 31, 1ll << 32};
    const size_t count = sizeof(other) / sizeof(*other);
    uint32_t thread[sizeof(other) / sizeof(*other)];

    for (size_t i = 0; i < count; i++) {
        thread[i] = sl_thread_ids_put(&ids, other[i]);
        assert_true(thread[i] > INT32_MAX);
        for (size_t j = 0; j < i; j++)
            assert_int_not_equal(thread[i], thread[j]);
    }
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(sl_thread_ids_put(&ids, other[i]), thread[i]);
        assert_true(sl_thread_ids_get(&ids, thread[i]) == other[i]);
    }
}

static void test_more_than_there_is_room_for(void **state)
{
    for (int64_t i = 0; i < SL_THREAD_IDS_MOST; i++)
        assert_int_not_equal(sl_thread_ids_put(&ids, -i), 0);
    assert_int_equal(sl_thread_ids_put(&ids, 1ll << 40), 0);
    assert_true(sl_thread_ids_get(&ids, sl_thread_ids_put(&ids, -77777)) == -77777);
    assert_int_equal(sl_thread_ids_put(&ids, 77777), 77777);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_those_of_the_system_stay),
        TEST(test_others_come_back),
        TEST(test_more_than_there_is_room_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
