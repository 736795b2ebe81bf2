/* window_steps_test.c - windows that begin and end at training steps. A window opens with its step
 * or is missed and counted, whenever the recorder looks. */
#include <stdlib.h>

#include "unit/control/window_rig.h"

enum {
    LOOKS = 2000
};

static struct sl_window_steps told;

static void begin_steps(uint64_t count, uint64_t period, uint64_t on_since_ns)
{
    struct sl_config config = {.window_mode = SL_WINDOW_STEPS,
                               .window_steps = count,
                               .period_steps = period,
                               .lead_in_ns = 1 * S};

    told = (struct sl_window_steps){0};
    sl_window_init(&w, &config, at(T0), on_since_ns);
}

/* Step `number` has begun at began_ns, and the recorder looks at now_ns. Steps are a second long.
 */
static uint32_t look(uint64_t number, uint64_t began_ns, uint64_t now_ns, int drained)
{
    uint64_t await = w.await_step;

    told.running = number;
    told.length_ns = 1 * S;
    told.number = await <= number ? await : 0;
    told.began_ns = await <= number ? began_ns - (number - await) * S : 0;
    sl_window_tell(&w, &told);
    return sl_window_step(&w, at(now_ns), drained);
}

/* Step `number` has begun a tenth of a second ago. */
static uint32_t step_begun(uint64_t number, uint64_t now_ns)
{
    return look(number, now_ns - S / 10, now_ns, 0);
}

static uint32_t drained_in(uint64_t number, uint64_t now_ns)
{
    return look(number, now_ns - S / 10, now_ns, 1);
}

static void windows_of_steps_lie_on_their_boundaries(void **state)
{
    begin_steps(3, 500, T0 - S);
    assert_int_equal(w.state, SL_WIN_LEAD_IN); /* the kinds are on before the first step */
    assert_int_equal(step(T0), SL_ACT_NONE);
    assert_int_equal(w.await_step, 1);
    assert_int_equal(step_begun(1, T0 + 5 * S), SL_ACT_OPEN);
    sl_window_ready(&w, at(T0 + 5 * S + 1)); /* the step has already begun */
    assert_true(w.opened_ns == T0 + 5 * S - S / 10 && w.number == 1 && w.step == 1);
    assert_int_equal(w.reason, SL_REASON_STEPS);
    assert_int_equal(step_begun(2, T0 + 6 * S), SL_ACT_NONE);
    assert_int_equal(w.await_step, 4);
    assert_int_equal(step_begun(4, T0 + 9 * S), SL_ACT_DRAIN);
    assert_true(w.closed_ns == T0 + 9 * S - S / 10);
    assert_int_equal(w.close_reason, SL_REASON_STEPS);
    assert_true(w.await_step == UINT64_MAX);
    assert_int_equal(drained_in(5, T0 + 10 * S), SL_ACT_CLOSE | SL_ACT_DISABLE);
    assert_int_equal(w.await_step, 500);
    assert_true(deadline_of() == UINT64_MAX);
    assert_int_equal(step_begun(500, T0 + 900 * S), SL_ACT_ENABLE);
    assert_int_equal(step_begun(500, T0 + 900 * S + S / 4), SL_ACT_NONE);
    assert_int_equal(w.await_step, 501);
    assert_int_equal(step_begun(501, T0 + 902 * S), SL_ACT_OPEN);
    assert_int_equal(w.await_step, 504);
    assert_int_equal(w.missed, 0);
}

static void a_late_look_changes_no_bounds(void **state)
{
    begin_steps(3, 10, T0 - S);
    /* Steps 1 to 7 have begun before the first look. */
    assert_int_equal(look(7, T0 + 6 * S, T0 + 7 * S, 0), SL_ACT_OPEN);
    assert_true(w.opened_ns == T0 && w.step == 1 && w.has_begun);
    assert_int_equal(look(7, T0 + 6 * S, T0 + 7 * S, 0), SL_ACT_DRAIN);
    assert_true(w.closed_ns == T0 + 3 * S);
    assert_int_equal(drained_in(8, T0 + 8 * S), SL_ACT_CLOSE | SL_ACT_DISABLE);
    assert_int_equal(w.await_step, 10);
    assert_int_equal(w.missed, 0);
}

static void a_step_whose_records_may_be_gone_has_no_window(void **state)
{
    begin_steps(3, 10, T0 - S);
    sl_window_seen(&w, T0 + S); /* records made before are decoded and dropped */
    assert_int_equal(look(1, T0 + S - 1, T0 + 2 * S, 0), SL_ACT_DISABLE);
    assert_int_equal(w.missed, 1);
    assert_int_equal(w.due_step, 11);

    begin_steps(3, 10, T0 - S);
    sl_window_seen(&w, T0 + S);
    assert_int_equal(look(1, T0 + S, T0 + 2 * S, 0), SL_ACT_OPEN);
    assert_int_equal(w.missed, 0);
}

static void kinds_that_are_on_too_late_miss_the_window_and_go_on_earlier(void **state)
{
    begin_steps(3, 100, T0 - S);
    assert_int_equal(step_begun(1, T0), SL_ACT_OPEN);
    assert_int_equal(step_begun(4, T0 + 3 * S), SL_ACT_DRAIN);
    assert_int_equal(drained_in(5, T0 + 4 * S), SL_ACT_CLOSE | SL_ACT_DISABLE);
    assert_int_equal(w.await_step, 100); /* an assumed enabling of 50 ms, four times */
    assert_int_equal(step_begun(100, T0 + 100 * S), SL_ACT_ENABLE);
    /* turning the kinds on took five seconds */
    assert_int_equal(step_begun(105, T0 + 105 * S), SL_ACT_DISABLE);
    assert_int_equal(w.missed, 1);
    assert_int_equal(w.await_step, 201 - 20);
    assert_int_equal(step_begun(180, T0 + 180 * S), SL_ACT_NONE);
    assert_int_equal(step_begun(181, T0 + 181 * S), SL_ACT_ENABLE);
    assert_int_equal(step_begun(182, T0 + 182 * S), SL_ACT_NONE);
    assert_int_equal(step_begun(201, T0 + 201 * S), SL_ACT_OPEN);
    assert_int_equal(w.missed, 1); /* for the file of this window */
    assert_int_equal(w.step, 201);
}

/* The job's steps become shorter after the plan was made. */
static void the_lead_in_follows_the_length_of_the_steps(void **state)
{
    begin_steps(3, 1000, T0 - S);
    step_begun(1, T0);
    step_begun(4, T0 + 3 * S);
    drained_in(5, T0 + 4 * S);
    assert_int_equal(w.await_step, 1000);
    told.running = 700;
    told.length_ns = S / 1000; /* 200 steps in four times 50 ms */
    sl_window_tell(&w, &told);
    assert_int_equal(step(T0 + 5 * S), SL_ACT_NONE);
    assert_int_equal(w.await_step, 801);
    told.running = 801;
    sl_window_tell(&w, &told);
    assert_int_equal(step(T0 + 6 * S), SL_ACT_ENABLE);
}

static void between_near_windows_of_steps_the_kinds_stay_on(void **state)
{
    begin_steps(3, 5, T0 - S);
    assert_int_equal(step_begun(1, T0), SL_ACT_OPEN);
    assert_int_equal(step_begun(4, T0 + 3 * S), SL_ACT_DRAIN);
    assert_int_equal(drained_in(5, T0 + 4 * S), SL_ACT_CLOSE);
    assert_int_equal(w.state, SL_WIN_LEAD_IN);
    assert_int_equal(w.await_step, 6);
    assert_int_equal(step(T0 + 4 * S), SL_ACT_NONE);
    assert_int_equal(step_begun(6, T0 + 5 * S), SL_ACT_OPEN);
    assert_int_equal(w.number, 2);
}

static void a_window_that_is_due_while_another_drains_is_missed(void **state)
{
    begin_steps(3, 3, T0 - S);
    assert_int_equal(step_begun(1, T0), SL_ACT_OPEN);
    assert_int_equal(step_begun(4, T0 + 3 * S), SL_ACT_DRAIN); /* step 4 was due, too */
    assert_int_equal(drained_in(4, T0 + 3 * S + S / 5), SL_ACT_CLOSE | SL_ACT_DISABLE);
    assert_int_equal(w.missed, 1);
    assert_int_equal(w.await_step, 6);
    assert_int_equal(step_begun(6, T0 + 5 * S), SL_ACT_ENABLE);
    assert_int_equal(step_begun(6, T0 + 5 * S + S / 5), SL_ACT_NONE);
    assert_int_equal(step_begun(7, T0 + 6 * S), SL_ACT_OPEN);
    assert_int_equal(w.step, 7);
}

static void a_process_first_seen_at_a_later_step_begins_with_the_next_window(void **state)
{
    begin_steps(3, 100, T0 - S);
    /* The job begins with the name ProfilerStep#730. */
    told = (struct sl_window_steps){.running = 730, .number = 730, .began_ns = T0};
    sl_window_tell(&w, &told);
    assert_int_equal(step(T0 + 1), SL_ACT_DISABLE);
    assert_int_equal(w.await_step, 800);
    assert_int_equal(w.missed, 0);
    assert_int_equal(step_begun(800, T0 + 70 * S), SL_ACT_ENABLE);
    assert_int_equal(step_begun(800, T0 + 70 * S + 1), SL_ACT_NONE);
    assert_int_equal(step_begun(801, T0 + 71 * S), SL_ACT_OPEN);

    /* Its first step is due itself. */
    begin_steps(3, 100, T0 - S);
    told = (struct sl_window_steps){.running = 701, .number = 701, .began_ns = T0};
    sl_window_tell(&w, &told);
    step(T0 + 1);
    told.number = 701;
    sl_window_tell(&w, &told);
    assert_true(w.state == SL_WIN_RECORDING && w.step == 701);
    assert_int_equal(w.missed, 0);
}

static void a_step_that_does_not_exist_has_no_window(void **state)
{
    begin_steps(2, 10, T0 - S);
    step_begun(1, T0);
    step_begun(3, T0 + 2 * S);
    drained_in(5, T0 + 4 * S);
    assert_int_equal(step_begun(10, T0 + 9 * S), SL_ACT_ENABLE);
    step_begun(10, T0 + 9 * S + 1);
    /* The job's names go from 10 to 12. */
    told = (struct sl_window_steps){
        .running = 12, .length_ns = S, .number = 12, .began_ns = T0 + 10 * S};
    sl_window_tell(&w, &told);
    assert_int_equal(step(T0 + 10 * S), SL_ACT_DISABLE);
    assert_int_equal(w.missed, 1);
    assert_int_equal(w.due_step, 21);
}

static void requests_between_windows_of_steps(void **state)
{
    begin_steps(3, 500, T0 - S);
    assert_int_equal(step_begun(1, T0), SL_ACT_OPEN);
    assert_int_equal(step_begun(4, T0 + S), SL_ACT_DRAIN);
    assert_int_equal(drained_in(5, T0 + 2 * S), SL_ACT_CLOSE | SL_ACT_DISABLE);
    assert_int_equal(sl_window_start(&w), 0);
    assert_int_equal(step_begun(6, T0 + 3 * S), SL_ACT_ENABLE);
    assert_int_equal(step_begun(6, T0 + 3 * S), SL_ACT_NONE);
    assert_int_equal(step_begun(7, T0 + 4 * S), SL_ACT_OPEN);
    assert_int_equal(w.reason, SL_REASON_API);
    assert_true(w.await_step == UINT64_MAX && w.step == 0);
    assert_int_equal(sl_window_stop(&w), 0);
    assert_int_equal(step_begun(8, T0 + 5 * S), SL_ACT_DRAIN);
    assert_int_equal(drained_in(9, T0 + 6 * S), SL_ACT_CLOSE | SL_ACT_DISABLE);
    assert_int_equal(w.await_step, 500);
    /* A lead-in is cancelled. The window does not open this time. */
    assert_int_equal(step_begun(500, T0 + 7 * S), SL_ACT_ENABLE);
    assert_int_equal(step_begun(500, T0 + 7 * S), SL_ACT_NONE);
    assert_int_equal(sl_window_stop(&w), 0);
    assert_int_equal(step_begun(500, T0 + 8 * S), SL_ACT_DISABLE);
    assert_int_equal(w.await_step, 1000);
    assert_int_equal(w.missed, 1);
    /* A requested window is open when the next one is due. */
    assert_int_equal(sl_window_start(&w), 0);
    step_begun(990, T0 + 9 * S);
    step_begun(991, T0 + 10 * S);
    assert_int_equal(step_begun(992, T0 + 11 * S), SL_ACT_OPEN);
    assert_int_equal(step_begun(1002, T0 + 21 * S), SL_ACT_NONE);
    sl_window_stop(&w);
    step_begun(1002, T0 + 22 * S);
    assert_int_equal(drained_in(1003, T0 + 23 * S), SL_ACT_CLOSE | SL_ACT_DISABLE);
    assert_int_equal(w.missed, 2);
}

static void steps_before_the_kinds_are_on(void **state)
{
    begin_steps(2, 10, 0);
    assert_int_equal(step(T0), SL_ACT_ENABLE);                   /* the first step is near */
    assert_int_equal(step_begun(1, T0 + 2 * S), SL_ACT_DISABLE); /* it began too early */
    assert_int_equal(w.missed, 1);
    assert_int_equal(w.due_step, 11);
}

static void a_clock_that_is_set_back_holds_up_no_window_of_steps(void **state)
{
    begin_steps(3, 10, T0);
    sl_window_seen(&w, T0 + 5 * S);
    ahead -= 500 * S;
    assert_int_equal(step(T0 - 490 * S), SL_ACT_NONE);
    assert_int_equal(look(1, T0 - 480 * S, T0 - 480 * S, 0), SL_ACT_OPEN);
    ahead += 500 * S;
}

/* The recorder looks at random moments, enabling and draining take random times, and records are
 * decoded at random moments. Each due step is recorded with exactly its bounds, or counted as
 * missed. */
static void every_due_step_is_recorded_or_missed(void **state)
{
    unsigned seed = 1;

    for (int run = 0; run < 200; run++) {
        uint64_t count = 1 + (uint64_t)rand_r(&seed) % 4;
        uint64_t period = count + (uint64_t)rand_r(&seed) % 12, now = T0 + S / 2;
        uint64_t seen_ns = 0, recorded = 0, missed = 0, decoded_ns = 0;

        begin_steps(count, period, T0);
        for (int i = 0; i < LOOKS; i++) {
            uint64_t running = now <= T0 + S ? 0 : (now - T0) / S; /* step N begins at T0 + N S */
            enum sl_window_state before;
            uint64_t await, missed_before;
            uint32_t actions;

            do {
                await = w.await_step;
                told = (struct sl_window_steps){.running = running, .length_ns = S};
                told.number = await <= running && await > 0 ? await : 0;
                told.began_ns = told.number ? T0 + told.number * S : 0;
                sl_window_tell(&w, &told);
                before = w.state;
                missed_before = w.missed;
                actions = sl_window_step(&w, at(now), rand_r(&seed) % 3 == 0);
                missed += w.missed - missed_before;
                if (actions & SL_ACT_OPEN) {
                    sl_window_ready(&w, at(now));
                    assert_int_equal((w.step - 1) % period, 0);
                    assert_true(w.opened_ns == T0 + w.step * S);
                    assert_true(w.opened_ns >= decoded_ns);
                    recorded++;
                }
                if (actions & SL_ACT_DRAIN)
                    assert_true(w.closed_ns == T0 + (w.step + count) * S);
                if (actions & SL_ACT_ENABLE)
                    now += (uint64_t)rand_r(&seed) % (2 * S);
            } while (actions || w.await_step != await || w.state != before ||
                     (w.state == SL_WIN_LEAD_IN && !w.ready_ns));
            /* Records made before now are decoded. */
            if (rand_r(&seed) % 2) {
                seen_ns = now;
                sl_window_seen(&w, seen_ns);
                if (w.state != SL_WIN_RECORDING)
                    decoded_ns = seen_ns;
            }
            now += (uint64_t)rand_r(&seed) % (2 * S);
        }
        /* The due steps before the next one that is planned. */
        assert_true(recorded + missed == (w.due_step - 1) / period);
        assert_true(recorded > 0 || period < count + 3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_of_steps_lie_on_their_boundaries),
        cmocka_unit_test(a_late_look_changes_no_bounds),
        cmocka_unit_test(a_step_whose_records_may_be_gone_has_no_window),
        cmocka_unit_test(kinds_that_are_on_too_late_miss_the_window_and_go_on_earlier),
        cmocka_unit_test(the_lead_in_follows_the_length_of_the_steps),
        cmocka_unit_test(between_near_windows_of_steps_the_kinds_stay_on),
        cmocka_unit_test(a_window_that_is_due_while_another_drains_is_missed),
        cmocka_unit_test(a_process_first_seen_at_a_later_step_begins_with_the_next_window),
        cmocka_unit_test(a_step_that_does_not_exist_has_no_window),
        cmocka_unit_test(requests_between_windows_of_steps),
        cmocka_unit_test(steps_before_the_kinds_are_on),
        cmocka_unit_test(a_clock_that_is_set_back_holds_up_no_window_of_steps),
        cmocka_unit_test(every_due_step_is_recorded_or_missed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
