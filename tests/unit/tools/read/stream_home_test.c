/*
 * stream_home_test.c - finds the context of a stream number, if only one context has a stream with
 * this number. Also finds the device of a context.
 */
#include "unit/test.h"

#include "event/event.h"
#include "read/stream_home.h"

static struct sl_stream_home home;

static int setup(void **state)
{
    sl_stream_home_init(&home);
    return 0;
}

static int teardown(void **state)
{
    sl_stream_home_free(&home);
    return 0;
}

/* Returns the context of the stream, or -1 if the context is unknown. */
static int64_t where(uint32_t stream)
{
    uint32_t context = 77;

    return sl_stream_home_find(&home, stream, &context) == 0 ? (int64_t)context : -1;
}

static int device_of(uint32_t context)
{
    uint8_t device = 77;

    return sl_stream_home_find_device(&home, context, &device) == 0 ? device : -1;
}

static void test_one_context_has_them_all(void **state)
{
    assert_int_equal(where(13), -1);
    sl_stream_home_see(&home, 5, SL_STREAM_NONE);
    assert_int_equal(where(13), 5);
    assert_int_equal(where(7), 5);
    sl_stream_home_see(&home, 5, 13);
    assert_int_equal(where(14), 5);
}

static void test_of_two_contexts_the_one_that_has_it(void **state)
{
    sl_stream_home_see(&home, 1, 7);
    sl_stream_home_see(&home, 1, 13);
    sl_stream_home_see(&home, 1, 14);
    sl_stream_home_see(&home, 2, 14);
    sl_stream_home_see(&home, 2, 15);
    sl_stream_home_see(&home, 1, 13);
    assert_int_equal(where(13), 1);
    assert_int_equal(where(15), 2);
    assert_int_equal(where(14), -1);
    assert_int_equal(where(16), -1);
    assert_int_equal(where(7), -1); /* both contexts have a stream 7 */
}

static void test_operations_tell_the_device_of_their_context(void **state)
{
    sl_stream_home_see(&home, 1, 13);
    assert_int_equal(device_of(1), -1);
    sl_stream_home_see_operation(&home, 3, 1, 13);
    sl_stream_home_see_operation(&home, 0, 2, 14);
    sl_stream_home_see_operation(&home, 3, 1, 7);
    assert_int_equal(device_of(1), 3);
    assert_int_equal(device_of(2), 0);
    assert_int_equal(where(14), 2);
}

static void test_operations_that_name_no_device(void **state)
{
    sl_stream_home_see_operation(&home, SL_DEVICE_NONE, 1, 13);
    assert_int_equal(device_of(1), SL_DEVICE_NONE);
    sl_stream_home_see_operation(&home, 3, 1, 13);
    assert_int_equal(device_of(1), 3);
    sl_stream_home_see_operation(&home, SL_DEVICE_NONE, 1, 13);
    assert_int_equal(device_of(1), 3);
    sl_stream_home_see_operation(&home, 4, 1, 13);
    assert_int_equal(device_of(1), -1);
}

/* Context ids are unique only in a process. If a context id occurs with two devices, there are two
 * contexts of two processes. */
static void test_a_context_of_two_devices_is_of_two_processes(void **state)
{
    sl_stream_home_see_operation(&home, 0, 1, 13);
    sl_stream_home_see_operation(&home, 1, 1, 14);
    assert_int_equal(device_of(1), -1);
    sl_stream_home_see_operation(&home, 0, 1, 13);
    assert_int_equal(device_of(1), -1);
}

static void test_contexts_that_have_operations(void **state)
{
    size_t at = 0;
    uint32_t context, sum = 0;
    uint8_t device;
    assert_int_equal(sl_stream_home_next(&home, &at, &context, &device), 0);
    sl_stream_home_see(&home, 1, 13);
    sl_stream_home_see_operation(&home, 3, 2, 13);
    sl_stream_home_see_operation(&home, SL_DEVICE_NONE, 4, 13);
    sl_stream_home_see_operation(&home, 0, 8, 13);
    sl_stream_home_see_operation(&home, 1, 8, 14);
    for (at = 0; sl_stream_home_next(&home, &at, &context, &device); sum += context)
        assert_int_equal(device, context == 2 ? 3 : SL_DEVICE_NONE);
    assert_int_equal(sum, 2 + 4);
}

static void test_streams_without_end(void **state)
{
    for (uint32_t i = 0; i < 1000000; i++)
        sl_stream_home_see_operation(&home, 0, 1 + i % 2, 100 + i);
    assert_int_equal(where(100), 1);
    for (uint32_t i = 0; i < 1000000; i++)
        sl_stream_home_see_operation(&home, 1, 3 + i, 100);
    assert_true(home.store.used_bytes <= 8u << 20);
    assert_int_equal(where(101), 2);
    assert_int_equal(where(999999), -1);
    /* Streams in the full table are still updated: stream 100 now has several contexts. */
    assert_int_equal(where(100), -1);
    assert_int_equal(device_of(3), 1);
    assert_int_equal(device_of(999999), -1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_one_context_has_them_all),
        TEST(test_of_two_contexts_the_one_that_has_it),
        TEST(test_operations_tell_the_device_of_their_context),
        TEST(test_operations_that_name_no_device),
        TEST(test_a_context_of_two_devices_is_of_two_processes),
        TEST(test_contexts_that_have_operations),
        TEST(test_streams_without_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
