/* launches_test.c - finds the span of a thread that contains a time. */
#include "test.h"

#include "event/launches.h"

static void a_time_finds_its_span(void **state)
{
    struct sl_launches *l;

    assert_int_equal(sl_launches_create(&l), 0);
    assert_false(sl_launches_any(l));
    assert_null(sl_launches_find(l, 5, 10));
    for (uint32_t i = 0; i < 3 * SL_LAUNCHES_SPANS; i++)
        sl_launches_add(l, 5, 100ull * i, 100ull * i + 10)->text = i + 1;
    assert_true(sl_launches_any(l));
    for (uint32_t i = 2 * SL_LAUNCHES_SPANS; i < 3 * SL_LAUNCHES_SPANS; i++) {
        assert_int_equal(sl_launches_find(l, 5, 100ull * i)->text, i + 1);
        assert_int_equal(sl_launches_find(l, 5, 100ull * i + 10)->text, i + 1);
        assert_null(sl_launches_find(l, 5, 100ull * i + 11));
    }
    assert_null(sl_launches_find(l, 5, 100));
    assert_null(sl_launches_find(l, 6, 100ull * 2 * SL_LAUNCHES_SPANS));
    sl_launches_destroy(l);
}

static void each_launch_may_have_a_thread(void **state)
{
    struct sl_launches *l;

    assert_int_equal(sl_launches_create(&l), 0);
    for (uint32_t thread = 1; thread <= 10000; thread++)
        assert_non_null(sl_launches_add(l, thread, 10 * thread, 10 * thread + 25));
    for (uint32_t thread = 1; thread <= 10000; thread++) {
        assert_int_equal(sl_launches_find(l, thread, 10 * thread)->thread, thread);
        assert_int_equal(sl_launches_find(l, thread, 10 * thread + 25)->thread, thread);
        assert_null(sl_launches_find(l, thread, 10 * thread - 1));
        assert_null(sl_launches_find(l, thread, 10 * thread + 26));
    }
    assert_null(sl_launches_find(l, 10001, 20000));
    /* a span that ends before others that were added, and a long one */
    sl_launches_add(l, 20001, 100, 110);
    sl_launches_add(l, 20002, 120, 200000);
    assert_non_null(sl_launches_find(l, 20001, 105));
    assert_null(sl_launches_find(l, 20001, 111));
    assert_non_null(sl_launches_find(l, 20002, 120));
    assert_non_null(sl_launches_find(l, 20002, 200000));
    assert_null(sl_launches_find(l, 20002, 119));
    assert_null(sl_launches_add(l, 0, 1, 2));
    sl_launches_destroy(l);
    sl_launches_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_time_finds_its_span),
        cmocka_unit_test(each_launch_may_have_a_thread),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
