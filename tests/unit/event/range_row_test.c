/* range_row_test.c - the rows of ranges, truncated to the window. */
#include "event/range_rig.h"

static void windows_cut(void **state)
{
    struct sl_ranges_counts counts;
    const struct sl_event *ev;

    sl_ranges_window(ranges, UINT64_MAX, UINT64_MAX);
    push(0, 10, 1);
    sl_ranges_window(ranges, 100, UINT64_MAX);
    push(0, 110, 2);
    launch(THREAD, 120, 5, 150, 160);
    sl_ranges_close(ranges, 200);
    sl_ranges_close(ranges, 200); /* reported again */
    ev = row(SL_EV_NVTX_RANGE, 1);
    assert_int_equal(ev->start_ns, 100);
    assert_int_equal(ev->end_ns, 200);
    assert_int_equal(ev->flags, SL_EVF_CUT_START | SL_EVF_CUT_END);
    assert_int_equal(row(SL_EV_NVTX_RANGE, 2)->flags, SL_EVF_CUT_END);
    assert_int_equal(row(SL_EV_NVTX_RANGE_GPU, 2)->end_ns, 160);
    outs = 0;
    pop(0, 250);
    assert_int_equal(outs, 0);
    sl_ranges_window(ranges, 300, UINT64_MAX);
    pop(0, 350);
    assert_int_equal(outs, 1);
    assert_int_equal(row(SL_EV_NVTX_RANGE, 1)->flags, SL_EVF_CUT_START);
    sl_ranges_get_counts(ranges, &counts);
    assert_int_equal(counts.cut, 3);
    assert_int_equal(counts.lost, 0);
}

/* An output may request the beginnings of ranges, before the rows. Each beginning is reported once,
 * and the row that follows later refers to the beginning. */
static void beginnings_are_told_where_they_are_wanted(void **state)
{
    const struct sl_ranges_options opt = {.sink = take, .begins = 1};
    const struct sl_range_look look = {.name = 9};

    outs = 0;
    assert_int_equal(sl_ranges_create(&ranges, &opt), 0);
    push(0, 10, 1);
    push(0, 20, 2);
    push(0, 30, 3);
    pop(0, 40);
    assert_int_equal(outs, 0); /* no window is open */
    sl_ranges_window(ranges, 100, UINT64_MAX);
    assert_int_equal(outs, 2);
    push(0, 110, 4);
    sl_ranges_start(ranges, THREAD, 77, 115, 5000, &look); /* any thread may end this range */
    assert_int_equal(outs, 3);
    for (size_t i = 0; i < 3; i++) {
        static const uint32_t name[] = {1, 2, 4};
        static const uint64_t start[] = {100, 100, 110};

        assert_int_equal(out[i].kind, SL_EV_NVTX_RANGE);
        assert_int_equal(out[i].name, name[i]);
        assert_int_equal(out[i].start_ns, start[i]);
        assert_true(out[i].end_ns == SL_END_UNKNOWN);
        assert_true(out[i].order != 0 && (i == 0 || out[i].order != out[i - 1].order));
    }
    pop(0, 120);
    assert_int_equal(outs, 4);
    assert_int_equal(out[3].flags, SL_EVF_BEGUN);
    assert_int_equal(out[3].order, out[2].order);
    /* the range's end is known, so its beginning is not reported again */
    sl_ranges_window(ranges, 100, 130);
    assert_int_equal(outs, 4);
    sl_ranges_close(ranges, 130);
    assert_int_equal(outs, 7);
    assert_int_equal(out[4].name, 1); /* the outer range first */
    assert_int_equal(out[5].name, 2);
    assert_int_equal(out[5].flags, SL_EVF_BEGUN | SL_EVF_CUT_START | SL_EVF_CUT_END);
    assert_int_equal(out[5].order, out[1].order);
    assert_int_equal(out[6].flags & SL_EVF_BEGUN, 0);
    outs = 0;
    sl_ranges_window(ranges, 200, UINT64_MAX);
    assert_int_equal(outs, 2);
    sl_ranges_destroy(ranges);
}

/* A range ended before the window opened, but the end was not known then, so the range's beginning
 * was reported. In this case the end is reported, too. */
static void what_was_begun_is_ended(void **state)
{
    const struct sl_ranges_options opt = {.sink = take, .begins = 1};

    outs = 0;
    assert_int_equal(sl_ranges_create(&ranges, &opt), 0);
    push(0, 10, 1);
    sl_ranges_window(ranges, 100, UINT64_MAX);
    pop(0, 90);
    assert_int_equal(outs, 2);
    assert_int_equal(out[1].flags & SL_EVF_BEGUN, SL_EVF_BEGUN);
    assert_true(out[1].start_ns == 100 && out[1].end_ns == 100);
    sl_ranges_destroy(ranges);
}

static void a_range_that_was_over_is_cut_like_others(void **state)
{
    const struct sl_range_look look[] = {{.name = 1}, {.name = 2}, {.name = 3}, {.name = 4}};

    sl_ranges_window(ranges, 100, 200);
    sl_ranges_past(ranges, 1000, 50, 150, &look[0]);
    sl_ranges_past(ranges, 1000, 150, 250, &look[1]);
    sl_ranges_past(ranges, 1000, 20, 60, &look[2]);   /* before the range */
    sl_ranges_past(ranges, 1000, 180, 170, &look[3]); /* the range's end is before its beginning */
    assert_int_equal(outs, 2);
    assert_int_equal(row(SL_EV_NVTX_RANGE, 1)->start_ns, 100);
    assert_int_equal(row(SL_EV_NVTX_RANGE, 1)->end_ns, 150);
    assert_int_equal(row(SL_EV_NVTX_RANGE, 1)->flags, SL_EVF_CUT_START);
    assert_int_equal(row(SL_EV_NVTX_RANGE, 1)->thread, 1000);
    assert_int_equal(row(SL_EV_NVTX_RANGE, 2)->end_ns, 200);
    assert_int_equal(row(SL_EV_NVTX_RANGE, 2)->flags, SL_EVF_CUT_END);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(windows_cut, create, destroy),
        cmocka_unit_test(beginnings_are_told_where_they_are_wanted),
        cmocka_unit_test(what_was_begun_is_ended),
        cmocka_unit_test_setup_teardown(a_range_that_was_over_is_cut_like_others, create, destroy),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
