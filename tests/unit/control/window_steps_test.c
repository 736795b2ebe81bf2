/* window_steps_test.c - windows that begin and end at training steps: which step the window waits
 * for, and which actions it requests when that step has begun. */
#include "unit/control/window_rig.h"

static void begin_steps(uint64_t count, uint64_t period, uint64_t on_since_ns)
{
    struct sl_config config = {.window_mode = SL_WINDOW_STEPS,
                               .window_steps = count,
                               .period_steps = period,
                               .lead_in_ns = 1 * S};

    sl_window_init(&w, &config, at(T0), on_since_ns);
}

/* Reports that the awaited step, or a later one, has begun. */
static uint32_t step_begun(uint64_t number, uint64_t now_ns)
{
    sl_window_tell(&w, number, now_ns - S / 10);
    return step(now_ns);
}

static void windows_of_steps_lie_on_their_boundaries(void **state)
{
    begin_steps(3, 500, T0 - S);
    assert_int_equal(step(T0), SL_ACT_NONE); /* the window's lead-in is the time before the first
                                              * step */
    assert_int_equal(w.await_step, 1);
    assert_int_equal(step_begun(1, T0 + 5 * S), SL_ACT_OPEN);
    sl_window_ready(&w, at(T0 + 5 * S + 1)); /* the step has already begun */
    assert_true(w.opened_ns == T0 + 5 * S - S / 10 && w.number == 1);
    assert_int_equal(w.reason, SL_REASON_STEPS);
    assert_int_equal(step(T0 + 6 * S), SL_ACT_NONE);
    assert_int_equal(w.await_step, 4);
    assert_int_equal(step_begun(4, T0 + 9 * S), SL_ACT_DRAIN);
    assert_true(w.closed_ns == T0 + 9 * S - S / 10);
    assert_int_equal(w.close_reason, SL_REASON_STEPS);
    assert_true(w.await_step == UINT64_MAX);
    assert_int_equal(sl_window_step(&w, at(T0 + 10 * S), 1), SL_ACT_CLOSE | SL_ACT_DISABLE);
    assert_int_equal(w.await_step, 500);
    assert_true(deadline_of() == UINT64_MAX);
    assert_int_equal(step_begun(500, T0 + 900 * S), SL_ACT_ENABLE);
    assert_int_equal(step(T0 + 901 * S), SL_ACT_NONE);
    assert_int_equal(w.await_step, 501);
    assert_int_equal(step_begun(501, T0 + 902 * S), SL_ACT_OPEN);
    assert_int_equal(w.await_step, 504);
}

static void a_window_of_steps_that_opens_late_is_as_long_and_the_next_is_where_it_was(void **state)
{
    begin_steps(3, 10, T0 - S);
    assert_int_equal(step_begun(1, T0), SL_ACT_OPEN);
    /* the window was not checked during steps 2 to 6 */
    assert_int_equal(step_begun(7, T0 + S), SL_ACT_DRAIN);
    assert_int_equal(sl_window_step(&w, at(T0 + 2 * S), 1), SL_ACT_CLOSE | SL_ACT_DISABLE);
    assert_int_equal(w.await_step, 10);
    assert_int_equal(step_begun(12, T0 + 3 * S), SL_ACT_ENABLE);
    assert_int_equal(step(T0 + 3 * S), SL_ACT_NONE);
    assert_int_equal(w.await_step, 11);
    assert_int_equal(step_begun(14, T0 + 4 * S), SL_ACT_OPEN);
    assert_int_equal(w.await_step, 17);
    assert_int_equal(step_begun(17, T0 + 5 * S), SL_ACT_DRAIN);
    assert_int_equal(sl_window_step(&w, at(T0 + 6 * S), 1), SL_ACT_CLOSE | SL_ACT_DISABLE);
    assert_int_equal(w.await_step, 20);
}

static void between_near_windows_of_steps_the_kinds_stay_on(void **state)
{
    begin_steps(3, 4, T0 - S);
    assert_int_equal(step_begun(1, T0), SL_ACT_OPEN);
    assert_int_equal(step_begun(4, T0 + S), SL_ACT_DRAIN);
    assert_int_equal(sl_window_step(&w, at(T0 + 2 * S), 1), SL_ACT_CLOSE);
    assert_int_equal(w.state, SL_WIN_LEAD_IN);
    assert_int_equal(w.await_step, 5);
    assert_int_equal(step_begun(5, T0 + 3 * S), SL_ACT_OPEN);
    assert_int_equal(w.number, 2);
}

static void windows_of_steps_without_a_pause_follow_as_soon_as_can_be(void **state)
{
    begin_steps(3, 3, T0 - S);
    assert_int_equal(step_begun(1, T0), SL_ACT_OPEN);
    assert_int_equal(step_begun(4, T0 + S), SL_ACT_DRAIN);
    assert_int_equal(sl_window_step(&w, at(T0 + S), 1), SL_ACT_CLOSE);
    assert_int_equal(w.await_step, 5);
    assert_int_equal(step_begun(6, T0 + 2 * S), SL_ACT_OPEN);
    assert_int_equal(w.await_step, 9);
}

static void requests_between_windows_of_steps(void **state)
{
    begin_steps(3, 500, T0 - S);
    assert_int_equal(step_begun(1, T0), SL_ACT_OPEN);
    assert_int_equal(step_begun(4, T0 + S), SL_ACT_DRAIN);
    assert_int_equal(sl_window_step(&w, at(T0 + 2 * S), 1), SL_ACT_CLOSE | SL_ACT_DISABLE);
    assert_int_equal(sl_window_start(&w), 0);
    assert_int_equal(step(T0 + 3 * S), SL_ACT_ENABLE);
    assert_int_equal(step(T0 + 3 * S), SL_ACT_NONE);
    assert_int_equal(step(T0 + 4 * S), SL_ACT_OPEN);
    assert_int_equal(w.reason, SL_REASON_API);
    assert_true(w.await_step == UINT64_MAX);
    assert_int_equal(sl_window_stop(&w), 0);
    assert_int_equal(step(T0 + 5 * S), SL_ACT_DRAIN);
    assert_int_equal(sl_window_step(&w, at(T0 + 6 * S), 1), SL_ACT_CLOSE | SL_ACT_DISABLE);
    assert_int_equal(w.await_step, 500);
    /* A lead-in is cancelled. The window does not open this time. */
    assert_int_equal(step_begun(500, T0 + 7 * S), SL_ACT_ENABLE);
    assert_int_equal(step(T0 + 7 * S), SL_ACT_NONE);
    assert_int_equal(sl_window_stop(&w), 0);
    assert_int_equal(step(T0 + 8 * S), SL_ACT_DISABLE);
    assert_int_equal(w.await_step, 1000);
}

static void steps_before_the_kinds_are_on(void **state)
{
    begin_steps(2, 10, 0);
    assert_int_equal(step(T0), SL_ACT_NONE);
    assert_int_equal(w.await_step, 0);
    assert_int_equal(step_begun(1, T0 + S), SL_ACT_ENABLE);
    assert_int_equal(step(T0 + 2 * S), SL_ACT_NONE);
    assert_int_equal(step_begun(2, T0 + 3 * S), SL_ACT_OPEN);
    assert_int_equal(w.await_step, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_of_steps_lie_on_their_boundaries),
        cmocka_unit_test(a_window_of_steps_that_opens_late_is_as_long_and_the_next_is_where_it_was),
        cmocka_unit_test(between_near_windows_of_steps_the_kinds_stay_on),
        cmocka_unit_test(windows_of_steps_without_a_pause_follow_as_soon_as_can_be),
        cmocka_unit_test(requests_between_windows_of_steps),
        cmocka_unit_test(steps_before_the_kinds_are_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
