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
        sl_launches_add(l, 5, 100 * i, 100 * i + 10)->text = i + 1;
    assert_true(sl_launches_any(l));
    for (uint32_t i = 2 * SL_LAUNCHES_SPANS; i < 3 * SL_LAUNCHES_SPANS; i++) {
        assert_int_equal(sl_launches_find(l, 5, 100 * i)->text, i + 1);
        assert_int_equal(sl_launches_find(l, 5, 100 * i + 10)->text, i + 1);
        assert_null(sl_launches_find(l, 5, 100 * i + 11));
    }
    assert_null(sl_launches_find(l, 5, 100));
    assert_null(sl_launches_find(l, 6, 100 * 2 * SL_LAUNCHES_SPANS));
    sl_launches_destroy(l);
}

static void threads_replace_the_oldest(void **state)
{
    struct sl_launches *l;

    assert_int_equal(sl_launches_create(&l), 0);
    for (uint32_t thread = 1; thread <= 10 * SL_LAUNCHES_THREADS; thread++)
        assert_non_null(sl_launches_add(l, thread, 10 * thread, 10 * thread + 5));
    for (uint32_t thread = 9 * SL_LAUNCHES_THREADS + 1; thread <= 10 * SL_LAUNCHES_THREADS;
         thread++)
        assert_non_null(sl_launches_find(l, thread, 10 * thread));
    assert_null(sl_launches_find(l, 1, 10));
    assert_null(sl_launches_add(l, 0, 1, 2));
    sl_launches_destroy(l);
    sl_launches_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_time_finds_its_span),
        cmocka_unit_test(threads_replace_the_oldest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
