/*
 * stream_flags_test.c - stores a flag of two bits for each stream, up to the memory limit.
 */
#include "sync/stream_flags.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void each_stream_has_its_own(void **state)
{
    struct sl_store store = {.cap_bytes = 1 << 20};
    struct sl_flags f;
    int lost;
    (void)state;

    sl_flags_init(&f, &store);
    for (uint32_t i = 0; i < 5000; i++) {
        sl_flags_put(&f, 1, i, 1 + i % 3);
        sl_flags_put(&f, 2, i, 1 + (i + 1) % 3);
    }
    sl_flags_put(&f, 1, 7, 2); /* the same flag again */
    for (uint32_t i = 0; i < 5000; i++) {
        assert_int_equal(sl_flags_get(&f, 1, i, &lost), i == 7 ? 2 : 1 + i % 3);
        assert_int_equal(sl_flags_get(&f, 2, i, &lost), 1 + (i + 1) % 3);
    }
    assert_int_equal(sl_flags_get(&f, 3, 13, &lost), 0);
    assert_int_equal(lost, 0);
    assert_int_equal(sl_flags_get(&f, 1, UINT32_MAX, &lost), 0);
    sl_flags_free(&f);
    assert_int_equal(store.used_bytes, 0);
}

static void the_oldest_are_forgotten_and_that_is_said(void **state)
{
    enum {
        STREAMS = 1000000
    };
    struct sl_store store = {.cap_bytes = 1 << 20};
    size_t early = 0;
    struct sl_flags f;
    int lost;
    (void)state;

    sl_flags_init(&f, &store);
    for (uint32_t i = 0; i < STREAMS; i++) {
        sl_flags_put(&f, 0, i, 1 + i % 2);
        if (i == STREAMS / 2)
            early = store.used_bytes;
    }
    assert_int_equal(store.used_bytes, early);
    assert_true(early <= store.cap_bytes / 4);
    assert_int_equal(sl_flags_get(&f, 0, STREAMS - 1, &lost), 2);
    assert_int_equal(lost, 0);
    assert_int_equal(sl_flags_get(&f, 0, 5, &lost), 0);
    assert_int_equal(lost, 1);
    assert_int_equal(sl_flags_get(&f, 0, STREAMS + 5000, &lost), 0);
    assert_int_equal(lost, 0);
    sl_flags_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_stream_has_its_own),
        cmocka_unit_test(the_oldest_are_forgotten_and_that_is_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
