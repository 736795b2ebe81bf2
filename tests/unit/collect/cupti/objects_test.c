/* objects_test.c - each thread and stream is reported once, although the tables have a fixed size.
 * Twenty thousand objects are far more than fit. No object is reported twice, and every search in
 * the full table ends. */
#include "test.h"

#include "base/stats.h"
#include "collect/cupti/objects.h"

enum {
    MANY = 20000,
    REMEMBERED = 16384
};

static unsigned told[SL_EV_KIND_COUNT];

static void sink(void *user, const struct sl_event *ev)
{
    (void)user;
    told[ev->kind]++;
}

static void full_tables_stop_telling_and_count(void **state)
{
    struct sl_cupti_objects_options opt = {.sink = sink};
    struct sl_cupti_objects *s;

    sl_stats_reset();
    assert_int_equal(sl_intern_create(&opt.intern, 1 << 20), 0);
    assert_int_equal(sl_cupti_objects_create(&s, &opt), 0);
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 1; i <= MANY; i++) {
            /* The thread ids belong to no process, so that no search for thread names succeeds. */
            sl_cupti_objects_thread(s, 1, UINT32_MAX - i);
            assert_int_equal(sl_cupti_objects_stream(s, 0, 1, i), SL_PRIORITY_UNKNOWN);
        }
    }
    assert_int_equal(told[SL_EV_META_THREAD], REMEMBERED);
    assert_int_equal(told[SL_EV_META_CONTEXT], 1);
    assert_int_equal(told[SL_EV_META_STREAM], REMEMBERED - 1);
    assert_true(sl_stats_get(SL_STAT_NAMES_LOST) > 0);

    /* A stream in the table can still be described. */
    sl_cupti_objects_describe_stream(s, 1, 5, 2, -4, 0);
    assert_int_equal(told[SL_EV_META_STREAM], REMEMBERED);
    assert_int_equal(sl_cupti_objects_stream(s, 0, 1, 5), -4);

    /* The flags of a stream that did not fit into the table are reported, too. */
    sl_cupti_objects_describe_stream(s, 1, MANY + 1, 2, 0, 0);
    assert_int_equal(told[SL_EV_META_STREAM], REMEMBERED + 1);
    sl_cupti_objects_destroy(s);
    sl_cupti_objects_destroy(NULL);
    sl_intern_destroy(opt.intern);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(full_tables_stop_telling_and_count),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
