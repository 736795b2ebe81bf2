/* window_test.c - sequences of times and requests, and the actions that the window requests from
 * the recorder. */
#include <errno.h>
#include <stdlib.h>

#include "unit/control/window_rig.h"

static void begin(enum sl_window_mode mode, uint64_t on_since_ns)
{
    struct sl_config config = {
        .window_mode = mode, .window_ns = 2 * S, .period_ns = 60 * S, .lead_in_ns = 1 * S};

    sl_window_init(&w, &config, at(T0), on_since_ns);
}

static void run_opens_at_once_and_begins_where_the_kinds_came_on(void **state)
{
    begin(SL_WINDOW_RUN, T0 - 5 * S);
    assert_int_equal(step(T0), SL_ACT_OPEN);
    assert_int_equal(w.number, 1);
    assert_int_equal(w.opened_ns, T0 - 5 * S);
    assert_int_equal(w.reason, SL_REASON_RUN);
    assert_true(deadline_of() == UINT64_MAX);
    assert_int_equal(step(T0 + 100000 * S), SL_ACT_NONE);
    assert_int_equal(sl_window_start(&w), -EALREADY);
}

static void run_whose_enabling_failed_at_first_has_a_lead_in(void **state)
{
    begin(SL_WINDOW_RUN, 0);
    assert_int_equal(step(T0), SL_ACT_ENABLE);
    assert_int_equal(step(T0 + 4 * S), SL_ACT_NONE); /* enabling the kinds took 4 s */
    assert_int_equal(deadline_of(), T0 + 5 * S);
    assert_int_equal(step(T0 + 5 * S), SL_ACT_OPEN);
    assert_int_equal(w.opened_ns, T0 + 5 * S);
}

static void run_can_be_stopped_at_once_and_begun_again(void **state)
{
    begin(SL_WINDOW_RUN, T0 - 5 * S);
    assert_int_equal(sl_window_start(&w), -EALREADY); /* recording since the injection */
    assert_int_equal(sl_window_stop(&w), 0);
    assert_int_equal(step(T0), SL_ACT_OPEN);
    assert_int_equal(step(T0 + 1), SL_ACT_DRAIN);
    assert_int_equal(w.opened_ns, T0 - 5 * S);
    assert_int_equal(w.closed_ns, T0 + 1);
    assert_int_equal(sl_window_step(&w, at(T0 + 2), 1), SL_ACT_CLOSE | SL_ACT_DISABLE);
    assert_int_equal(step(T0 + 100 * S), SL_ACT_NONE);
    assert_int_equal(sl_window_start(&w), 0);
    assert_int_equal(step(T0 + 200 * S), SL_ACT_ENABLE);
    step(T0 + 200 * S);
    assert_int_equal(step(T0 + 201 * S), SL_ACT_OPEN);
    assert_int_equal(w.opened_ns, T0 + 201 * S);
    assert_int_equal(w.reason, SL_REASON_API);
}

/* Memory is short from the third second to the 50th. The window ends, and another one begins as
 * soon as there is memory again. */
static void a_run_pauses_while_memory_is_short(void **state)
{
    begin(SL_WINDOW_RUN, T0 - 5 * S);
    step(T0);
    w.is_barred = 1;
    assert_int_equal(step(T0 + 3 * S), SL_ACT_DRAIN);
    assert_int_equal(w.closed_ns, T0 + 3 * S);
    assert_int_equal(w.close_reason, SL_REASON_MEMORY);
    assert_int_equal(sl_window_step(&w, at(T0 + 4 * S), 1), SL_ACT_CLOSE | SL_ACT_DISABLE);
    assert_int_equal(step(T0 + 5 * S), SL_ACT_NONE);
    assert_true(deadline_of() == UINT64_MAX);
    w.is_barred = 0;
    assert_int_equal(step(T0 + 50 * S), SL_ACT_ENABLE);
    step(T0 + 50 * S);
    w.is_barred = 1; /* in the lead-in */
    assert_int_equal(step(T0 + 50 * S + 1), SL_ACT_DISABLE);
    w.is_barred = 0;
    assert_int_equal(step(T0 + 52 * S), SL_ACT_ENABLE);
    step(T0 + 52 * S);
    assert_int_equal(step(T0 + 53 * S), SL_ACT_OPEN);
    assert_int_equal(w.number, 2);
    w.is_barred = 1;
    assert_int_equal(sl_window_stop(&w), 0);
    assert_int_equal(step(T0 + 54 * S), SL_ACT_DRAIN);
    sl_window_step(&w, at(T0 + 55 * S), 1);
    w.is_barred = 0;
    assert_int_equal(step(T0 + 60 * S), SL_ACT_NONE); /* the program ended the window */
}

/* Memory is short in the lead-in of the second window and while the third one is due. */
static void windows_are_missed_while_memory_is_short(void **state)
{
    begin(SL_WINDOW_TIME, T0 - 1 * S);
    step(T0);
    step(T0 + 2 * S);
    sl_window_step(&w, at(T0 + 3 * S), 1);
    assert_int_equal(step(T0 + 59 * S), SL_ACT_ENABLE);
    step(T0 + 59 * S);
    w.is_barred = 1;
    assert_int_equal(step(T0 + 60 * S), SL_ACT_DISABLE);
    assert_int_equal(step(T0 + 61 * S), SL_ACT_NONE);
    assert_true(deadline_of() == UINT64_MAX);
    w.is_barred = 0;
    assert_int_equal(step(T0 + 130 * S), SL_ACT_NONE);
    assert_int_equal(deadline_of(), T0 + 179 * S);
    assert_int_equal(w.missed, 2);
    assert_int_equal(sl_window_start(&w), 0);
    w.is_barred = 1;
    assert_int_equal(step(T0 + 131 * S), SL_ACT_NONE); /* the request waits */
    w.is_barred = 0;
    assert_int_equal(step(T0 + 132 * S), SL_ACT_ENABLE);
}

static void time_windows_come_once_a_period(void **state)
{
    begin(SL_WINDOW_TIME, T0 - 1 * S);
    assert_int_equal(step(T0), SL_ACT_OPEN);
    assert_int_equal(w.opened_ns, T0 - 1 * S);
    assert_int_equal(deadline_of(), T0 + 2 * S);
    assert_int_equal(step(T0 + 1 * S), SL_ACT_NONE);
    assert_int_equal(step(T0 + 2 * S + 100), SL_ACT_DRAIN);
    assert_int_equal(w.closed_ns, T0 + 2 * S); /* a late check does not make the window longer */
    assert_int_equal(w.close_reason, SL_REASON_TIME);
    assert_int_equal(step(T0 + 2 * S + 200), SL_ACT_NONE);
    assert_int_equal(sl_window_step(&w, at(T0 + 3 * S), 1), SL_ACT_CLOSE | SL_ACT_DISABLE);

    assert_int_equal(deadline_of(), T0 + 59 * S);
    assert_int_equal(step(T0 + 58 * S), SL_ACT_NONE);
    assert_int_equal(step(T0 + 59 * S), SL_ACT_ENABLE);
    assert_int_equal(step(T0 + 59 * S), SL_ACT_NONE);
    assert_int_equal(step(T0 + 60 * S), SL_ACT_OPEN);
    assert_int_equal(w.number, 2);
    assert_int_equal(w.opened_ns, T0 + 60 * S);
    assert_int_equal(step(T0 + 62 * S), SL_ACT_DRAIN);
    assert_int_equal(sl_window_step(&w, at(T0 + 62 * S), 1), SL_ACT_CLOSE | SL_ACT_DISABLE);
    assert_int_equal(deadline_of(), T0 + 119 * S);
}

/* A window begins at its planned time, even if the recorder looks late, and ends at its planned
 * time. */
static void a_late_look_does_not_move_a_timed_window(void **state)
{
    begin(SL_WINDOW_TIME, T0 - 1 * S);
    assert_int_equal(step(T0), SL_ACT_OPEN);
    sl_window_ready(&w, at(T0 + S / 10));
    assert_int_equal(w.opened_ns, T0 - 1 * S); /* the kinds were already on */
    assert_int_equal(deadline_of(), T0 + 2 * S);
    step(T0 + 2 * S);
    sl_window_step(&w, at(T0 + 3 * S), 1);
    step(T0 + 59 * S);
    step(T0 + 59 * S);
    assert_int_equal(step(T0 + 60 * S + S / 10), SL_ACT_OPEN);
    sl_window_ready(&w, at(T0 + 60 * S + S / 5));
    assert_int_equal(w.opened_ns, T0 + 60 * S);
    assert_int_equal(deadline_of(), T0 + 62 * S);
    assert_int_equal(step(T0 + 62 * S + S / 10), SL_ACT_DRAIN);
    assert_int_equal(w.closed_ns, T0 + 62 * S);
    sl_window_step(&w, at(T0 + 63 * S), 1);
    assert_int_equal(deadline_of(), T0 + 119 * S);
    assert_int_equal(w.missed, 0);
}

/* A window that cannot begin in time begins later, and still ends in time. */
static void a_timed_window_without_its_first_records_begins_late(void **state)
{
    begin(SL_WINDOW_TIME, T0 - 1 * S);
    step(T0);
    step(T0 + 2 * S);
    sl_window_step(&w, at(T0 + 3 * S), 1);
    step(T0 + 59 * S);
    assert_int_equal(step(T0 + 60 * S + S / 2), SL_ACT_OPEN); /* turning on the kinds took 1.5 s */
    assert_int_equal(w.opened_ns, T0 + 60 * S + S / 2);
    assert_int_equal(deadline_of(), T0 + 62 * S);
    step(T0 + 62 * S);
    assert_int_equal(sl_window_step(&w, at(T0 + 63 * S), 1), SL_ACT_CLOSE | SL_ACT_DISABLE);
    /* Four times this duration is added to the lead-in of the next window. */
    assert_int_equal(deadline_of(), T0 + 120 * S - 7 * S);
    assert_int_equal(step(T0 + 113 * S), SL_ACT_ENABLE);
    assert_int_equal(step(T0 + 113 * S), SL_ACT_NONE);
    sl_window_seen(&w, T0 + 120 * S + 5); /* records made before are decoded and dropped */
    assert_int_equal(step(T0 + 120 * S + 6), SL_ACT_OPEN);
    assert_int_equal(w.opened_ns, T0 + 120 * S + 5);
    assert_int_equal(w.missed, 0);
}

/* All ranks record the same seconds, whenever they were started. */
static void timed_windows_are_due_at_multiples_of_the_period(void **state)
{
    struct sl_config config = {.window_mode = SL_WINDOW_TIME,
                               .window_ns = 2 * S,
                               .period_ns = 60 * S,
                               .lead_in_ns = 1 * S};

    sl_window_init(&w, &config, at(T0 + 17 * S), T0 + 16 * S);
    step(T0 + 17 * S);
    assert_int_equal(deadline_of(), T0 + 19 * S);
    step(T0 + 19 * S);
    sl_window_step(&w, at(T0 + 20 * S), 1);
    assert_int_equal(deadline_of(), T0 + 59 * S);

    /* The first window is open when the next is due. */
    sl_window_init(&w, &config, at(T0 - 1 * S), T0 - 2 * S);
    step(T0 - 1 * S);
    assert_int_equal(step(T0 + 1 * S), SL_ACT_DRAIN);
    assert_int_equal(sl_window_step(&w, at(T0 + 1 * S + 5), 1), SL_ACT_CLOSE);
    assert_int_equal(step(T0 + 1 * S + 6), SL_ACT_OPEN);
    assert_int_equal(w.opened_ns, T0 + 1 * S + 6);
    assert_int_equal(deadline_of(), T0 + 2 * S);
}

/* The wall clock is set between windows. Another window is due next, and none is missed. */
static void a_wall_clock_set_between_windows_moves_the_next(void **state)
{
    begin(SL_WINDOW_TIME, T0);
    step(T0);
    step(T0 + 2 * S);
    sl_window_step(&w, at(T0 + 3 * S), 1);
    ahead += 1000 * S;
    assert_int_equal(step(T0 + 1010 * S), SL_ACT_NONE);
    assert_int_equal(deadline_of(), T0 + 1019 * S);
    assert_int_equal(step(T0 + 1019 * S), SL_ACT_ENABLE);
    step(T0 + 1019 * S);
    ahead -= 1000 * S; /* in the lead-in */
    assert_int_equal(step(T0 + 19 * S + S / 2), SL_ACT_DISABLE);
    assert_int_equal(deadline_of(), T0 + 59 * S);
    assert_int_equal(w.missed, 0);
}

static void a_recorder_held_up_for_minutes_skips_windows(void **state)
{
    begin(SL_WINDOW_TIME, T0);
    step(T0);
    step(T0 + 2 * S);
    assert_int_equal(sl_window_step(&w, at(T0 + 200 * S), 1), SL_ACT_CLOSE | SL_ACT_DISABLE);
    assert_int_equal(deadline_of(), T0 + 239 * S);
    assert_int_equal(w.missed, 3);
}

/* A window is over before the last one is complete. */
static void windows_that_drain_for_longer_than_a_period_are_missed(void **state)
{
    struct sl_config config = {
        .window_mode = SL_WINDOW_TIME, .window_ns = S / 100, .period_ns = S / 50};

    sl_window_init(&w, &config, at(T0), T0);
    step(T0);
    assert_int_equal(step(T0 + S / 100), SL_ACT_DRAIN);
    assert_int_equal(sl_window_step(&w, at(T0 + S / 100 * 3 + 1), 1),
                     SL_ACT_CLOSE | SL_ACT_DISABLE);
    assert_int_equal(w.missed, 1);
    assert_int_equal(deadline_of(), T0 + S / 50 * 2);
}

static void windows_without_room_between_keep_the_kinds_on(void **state)
{
    struct sl_config config = {
        .window_mode = SL_WINDOW_TIME, .window_ns = 2 * S, .period_ns = 3 * S, .lead_in_ns = 1 * S};

    sl_window_init(&w, &config, at(T0), T0);
    assert_int_equal(step(T0), SL_ACT_OPEN);
    assert_int_equal(step(T0 + 2 * S), SL_ACT_DRAIN);
    assert_int_equal(sl_window_step(&w, at(T0 + 2 * S + 1), 1), SL_ACT_CLOSE);
    assert_int_equal(step(T0 + 2 * S + 2), SL_ACT_NONE);
    assert_int_equal(w.state, SL_WIN_LEAD_IN);
    assert_int_equal(deadline_of(), T0 + 3 * S);
    assert_int_equal(step(T0 + 3 * S), SL_ACT_OPEN);
    assert_int_equal(w.opened_ns, T0 + 3 * S);
}

static void back_to_back_windows_have_no_pause(void **state)
{
    struct sl_config config = {
        .window_mode = SL_WINDOW_TIME, .window_ns = 2 * S, .period_ns = 2 * S, .lead_in_ns = 1 * S};

    sl_window_init(&w, &config, at(T0), T0);
    step(T0);
    assert_int_equal(step(T0 + 2 * S), SL_ACT_DRAIN);
    assert_int_equal(sl_window_step(&w, at(T0 + 2 * S + 5), 1), SL_ACT_CLOSE);
    assert_int_equal(step(T0 + 2 * S + 6), SL_ACT_OPEN);
    assert_int_equal(w.opened_ns, T0 + 2 * S + 6);
    assert_int_equal(w.number, 2);
}

/* The recorder looks at random moments, and enabling and draining take random times. Each due
 * window is recorded within its planned time, or counted as missed. */
static void every_due_time_is_recorded_or_missed(void **state)
{
    unsigned seed = 1;

    for (int run = 0; run < 200; run++) {
        uint64_t length = 1 + (uint64_t)rand_r(&seed) % 5, period = length + rand_r(&seed) % 20;
        struct sl_config config = {.window_mode = SL_WINDOW_TIME,
                                   .window_ns = length * S,
                                   .period_ns = period * S,
                                   .lead_in_ns = (uint64_t)rand_r(&seed) % (3 * S)};
        uint64_t now = T0 + (uint64_t)rand_r(&seed) % (100 * S), first, recorded = 0, missed = 0;
        uint64_t decoded_ns = 0;

        sl_window_init(&w, &config, at(now), now);
        assert_int_equal(step(now), SL_ACT_OPEN);
        first = w.due_real_ns;
        assert_true(first > now && first <= now + period * S && first % (period * S) == 0);
        for (int i = 0; i < 1000; i++) {
            enum sl_window_state before;
            uint64_t missed_before;
            uint32_t actions;

            do {
                before = w.state;
                missed_before = w.missed;
                actions = sl_window_step(&w, at(now), rand_r(&seed) % 3 == 0);
                missed += w.missed - missed_before;
                if (actions & SL_ACT_OPEN) {
                    uint64_t due_ns = w.opened_ns / (period * S) * (period * S);

                    sl_window_ready(&w, at(now));
                    assert_true(w.opened_ns < due_ns + length * S);
                    assert_true(w.opened_ns == due_ns || w.opened_ns >= decoded_ns);
                    assert_true(deadline_of() == due_ns + length * S);
                    recorded++;
                }
                if (actions & SL_ACT_DRAIN)
                    assert_true(w.closed_ns <= now);
                if (actions & SL_ACT_ENABLE)
                    now += (uint64_t)rand_r(&seed) % (2 * S);
            } while (actions || w.state != before || (w.state == SL_WIN_LEAD_IN && !w.ready_ns));
            if (rand_r(&seed) % 2) {
                sl_window_seen(&w, now);
                if (w.state != SL_WIN_RECORDING)
                    decoded_ns = now;
            }
            now += (uint64_t)rand_r(&seed) % (2 * S);
        }
        assert_true(recorded + missed == (w.due_real_ns - first) / (period * S));
        assert_true(recorded > 0);
    }
}

static void demand_waits_for_a_start(void **state)
{
    begin(SL_WINDOW_DEMAND, 0);
    assert_int_equal(step(T0), SL_ACT_NONE);
    assert_true(deadline_of() == UINT64_MAX);
    assert_int_equal(sl_window_stop(&w), -EALREADY);
    assert_int_equal(sl_window_start(&w), 0);
    assert_int_equal(sl_window_start(&w), -EALREADY);
    assert_int_equal(step(T0 + 1 * S), SL_ACT_ENABLE);
    assert_int_equal(step(T0 + 2 * S), SL_ACT_NONE);
    assert_int_equal(w.state, SL_WIN_LEAD_IN);
    assert_int_equal(sl_window_start(&w), -EALREADY);
    assert_int_equal(step(T0 + 3 * S), SL_ACT_OPEN);
    assert_int_equal(w.reason, SL_REASON_API);
    assert_int_equal(sl_window_stop(&w), 0);
    assert_int_equal(sl_window_stop(&w), -EALREADY);
    assert_int_equal(step(T0 + 4 * S), SL_ACT_DRAIN);
    assert_int_equal(w.closed_ns, T0 + 4 * S);
    assert_int_equal(sl_window_step(&w, at(T0 + 4 * S), 1), SL_ACT_CLOSE | SL_ACT_DISABLE);
    assert_int_equal(step(T0 + 1000 * S), SL_ACT_NONE);
    assert_int_equal(w.number, 1);
}

static void without_lead_in_it_opens_at_once(void **state)
{
    struct sl_config config = {.window_mode = SL_WINDOW_DEMAND};

    sl_window_init(&w, &config, at(T0), 0);
    sl_window_start(&w);
    assert_int_equal(step(T0), SL_ACT_ENABLE);
    assert_int_equal(w.state, SL_WIN_LEAD_IN);
    assert_int_equal(step(T0 + 3 * S), SL_ACT_OPEN);
    assert_int_equal(w.opened_ns, T0 + 3 * S);
}

static void a_stop_takes_back_a_start_that_was_not_acted_on(void **state)
{
    begin(SL_WINDOW_DEMAND, 0);
    sl_window_start(&w);
    assert_int_equal(sl_window_stop(&w), 1);
    assert_int_equal(step(T0), SL_ACT_NONE);
    assert_int_equal(w.number, 0);
}

/* The window has all records since the kinds were on that were not dropped yet. */
static void a_stop_in_the_lead_in_keeps_what_was_recorded(void **state)
{
    for (int seen = 0; seen < 2; seen++) {
        begin(SL_WINDOW_DEMAND, 0);
        sl_window_start(&w);
        assert_int_equal(step(T0), SL_ACT_ENABLE);
        step(T0 + 1);
        if (seen)
            sl_window_seen(&w, T0 + 2);
        assert_int_equal(sl_window_stop(&w), 0);
        assert_int_equal(step(T0 + S / 2), SL_ACT_OPEN);
        sl_window_ready(&w, at(T0 + S / 2 + 1));
        assert_int_equal(w.opened_ns, T0 + 1 + (uint64_t)seen);
        assert_int_equal(w.is_short, 1);
        assert_int_equal(step(T0 + S / 2 + 2), SL_ACT_DRAIN);
        assert_int_equal(w.closed_ns, T0 + S / 2 + 2);
        assert_int_equal(sl_window_step(&w, at(T0 + S), 1), SL_ACT_CLOSE | SL_ACT_DISABLE);
        assert_int_equal(w.number, 1);
        assert_int_equal(w.state, SL_WIN_PAUSED);
    }
}

/* The stop came while the kinds were being turned on. The window is empty, and its file says why.
 */
static void a_stop_before_the_kinds_are_on_gives_an_empty_window(void **state)
{
    begin(SL_WINDOW_DEMAND, 0);
    sl_window_start(&w);
    assert_int_equal(step(T0), SL_ACT_ENABLE);
    assert_int_equal(sl_window_stop(&w), 0);
    assert_int_equal(step(T0 + 3 * S), SL_ACT_OPEN);
    assert_int_equal(w.opened_ns, T0 + 3 * S);
    assert_int_equal(w.is_short, 1);
    assert_int_equal(step(T0 + 3 * S), SL_ACT_DRAIN);
    assert_int_equal(w.closed_ns, w.opened_ns);
}

/* On a busy machine the recorder does not check between the end of the lead-in and the stop. The
 * window still opens where it was due, and then closes. */
static void a_stop_seen_late_does_not_take_back_what_was_due(void **state)
{
    begin(SL_WINDOW_DEMAND, 0);
    sl_window_start(&w);
    step(T0);
    step(T0);
    assert_int_equal(sl_window_stop(&w), 0);
    assert_int_equal(step(T0 + 3 * S), SL_ACT_OPEN);
    assert_int_equal(w.opened_ns, T0 + 1 * S);
    sl_window_ready(&w, at(T0 + 3 * S + 1));
    assert_int_equal(w.opened_ns, T0 + 1 * S);
    assert_int_equal(w.is_short, 0);
    assert_int_equal(step(T0 + 3 * S + 2), SL_ACT_DRAIN);
    assert_int_equal(w.closed_ns, at(T0 + 3 * S + 2).real_ns);
    assert_int_equal(sl_window_step(&w, at(T0 + 3 * S + 3), 1), SL_ACT_CLOSE | SL_ACT_DISABLE);
    assert_int_equal(w.number, 1);
}

static void a_stopped_lead_in_of_a_timed_window_loses_that_turn(void **state)
{
    begin(SL_WINDOW_TIME, T0);
    step(T0);
    step(T0 + 2 * S);
    sl_window_step(&w, at(T0 + 2 * S), 1);
    assert_int_equal(step(T0 + 59 * S), SL_ACT_ENABLE);
    step(T0 + 59 * S);
    assert_int_equal(sl_window_stop(&w), 0);
    assert_int_equal(step(T0 + 59 * S + 1), SL_ACT_DISABLE);
    assert_int_equal(deadline_of(), T0 + 119 * S);
    assert_int_equal(w.missed, 1);
}

static void a_start_while_closing_is_kept_and_needs_no_lead_in(void **state)
{
    begin(SL_WINDOW_DEMAND, 0);
    sl_window_start(&w);
    step(T0);
    step(T0);
    step(T0 + 1 * S);
    assert_int_equal(sl_window_stop(&w), 0);
    /* the stop was requested, but no check has seen it yet */
    assert_int_equal(sl_window_start(&w), -EBUSY);
    assert_int_equal(step(T0 + 2 * S), SL_ACT_DRAIN);
    assert_int_equal(sl_window_start(&w), -EALREADY);
    assert_int_equal(sl_window_stop(&w), 0);
    assert_int_equal(sl_window_start(&w), -EBUSY);
    assert_int_equal(sl_window_step(&w, at(T0 + 2 * S), 1), SL_ACT_CLOSE);
    assert_int_equal(step(T0 + 2 * S), SL_ACT_OPEN);
    assert_int_equal(w.number, 2);
    assert_int_equal(w.opened_ns, T0 + 2 * S);
}

static void an_application_window_inside_a_timed_pause(void **state)
{
    begin(SL_WINDOW_TIME, T0);
    step(T0);
    step(T0 + 2 * S);
    sl_window_step(&w, at(T0 + 2 * S), 1);
    sl_window_start(&w);
    assert_int_equal(step(T0 + 10 * S), SL_ACT_ENABLE);
    step(T0 + 10 * S);
    assert_int_equal(step(T0 + 11 * S), SL_ACT_OPEN);
    assert_true(deadline_of() == UINT64_MAX); /* the window ends only by a stop */
    sl_window_stop(&w);
    assert_int_equal(step(T0 + 20 * S), SL_ACT_DRAIN);
    assert_int_equal(sl_window_step(&w, at(T0 + 20 * S), 1), SL_ACT_CLOSE | SL_ACT_DISABLE);
    assert_int_equal(deadline_of(), T0 + 59 * S); /* the timed window's start does not move */
}

/* The kinds were not on at the injection, and a window is requested before the first timed one. */
static void an_application_window_before_the_first_timed_one(void **state)
{
    begin(SL_WINDOW_TIME, 0);
    sl_window_start(&w);
    assert_int_equal(step(T0 + 7 * S), SL_ACT_ENABLE);
    step(T0 + 7 * S);
    assert_int_equal(step(T0 + 8 * S), SL_ACT_OPEN);
    sl_window_stop(&w);
    step(T0 + 9 * S);
    assert_int_equal(sl_window_step(&w, at(T0 + 9 * S), 1), SL_ACT_CLOSE | SL_ACT_DISABLE);
    assert_int_equal(deadline_of(), T0 + 59 * S);
    assert_int_equal(w.missed, 0);
}

static void draining_gives_up_after_its_bound(void **state)
{
    uint64_t deadline;

    begin(SL_WINDOW_TIME, T0);
    step(T0);
    step(T0 + 2 * S);
    deadline = deadline_of();
    assert_in_range(deadline, T0 + 3 * S, T0 + 12 * S);
    assert_int_equal(step(deadline - 1), SL_ACT_NONE);
    assert_int_equal(step(deadline), SL_ACT_CLOSE | SL_ACT_DISABLE);
}

/* The wall clock is set back by an hour in the middle of a window. The window still ends after two
 * seconds, and rows with the new times belong to it. */
static void a_wall_clock_set_back_stalls_nothing(void **state)
{
    const uint64_t hour = 3600 * S, before = ahead;
    uint64_t from_ns, until_ns, t0 = 2 * hour;

    ahead = t0 - 100 * S;
    sl_window_init(&w,
                   &(struct sl_config){.window_mode = SL_WINDOW_TIME,
                                       .window_ns = 2 * S,
                                       .period_ns = 60 * S,
                                       .lead_in_ns = 1 * S},
                   at(t0), t0);
    assert_int_equal(step(t0), SL_ACT_OPEN);
    sl_window_bounds(&w, at(t0 + 1 * S), &from_ns, &until_ns);
    assert_int_equal(from_ns, t0);
    assert_int_equal(until_ns, t0 + 2 * S);

    ahead -= hour;
    t0 -= hour;
    assert_int_equal(step(t0 + 1 * S), SL_ACT_NONE);
    sl_window_bounds(&w, at(t0 + 1 * S), &from_ns, &until_ns);
    assert_int_equal(from_ns, t0);
    assert_int_equal(until_ns, t0 + 2 * S);
    assert_int_equal(step(t0 + 2 * S + 5), SL_ACT_DRAIN);
    assert_int_equal(w.closed_ns, t0 + 2 * S);
    assert_int_equal(sl_window_step(&w, at(t0 + 3 * S), 1), SL_ACT_CLOSE | SL_ACT_DISABLE);
    assert_int_equal(step(t0 + 59 * S), SL_ACT_ENABLE);
    step(t0 + 59 * S);
    assert_int_equal(step(t0 + 60 * S), SL_ACT_OPEN);
    assert_int_equal(w.opened_ns, t0 + 60 * S);

    /* The clock is set forward by an hour. The window does not end early and loses no rows. */
    ahead += hour;
    t0 += hour;
    assert_int_equal(step(t0 + 61 * S), SL_ACT_NONE);
    sl_window_bounds(&w, at(t0 + 61 * S), &from_ns, &until_ns);
    assert_int_equal(from_ns, t0 + 60 * S - hour);
    assert_int_equal(until_ns, t0 + 62 * S);
    ahead = before;
}

static void a_slewed_clock_is_not_a_set_one(void **state)
{
    uint64_t from_ns, until_ns;

    begin(SL_WINDOW_TIME, T0);
    step(T0);
    sl_window_bounds(&w, (struct sl_window_now){T0 + S - ahead, T0 + S + 1000}, &from_ns,
                     &until_ns);
    assert_int_equal(from_ns, T0);
    assert_int_equal(until_ns, T0 + 2 * S);
}

static void exit_closes_what_is_open_and_opens_nothing(void **state)
{
    begin(SL_WINDOW_RUN, T0);
    step(T0);
    assert_int_equal(sl_window_exit(&w, at(T0 + 7 * S)), SL_ACT_DRAIN | SL_ACT_CLOSE);
    assert_int_equal(w.closed_ns, T0 + 7 * S);
    assert_int_equal(w.close_reason, SL_REASON_EXIT);
    assert_int_equal(step(T0 + 1000 * S), SL_ACT_NONE);

    begin(SL_WINDOW_DEMAND, 0);
    sl_window_start(&w);
    assert_int_equal(sl_window_exit(&w, at(T0)), SL_ACT_NONE);
    assert_int_equal(step(T0 + 1), SL_ACT_NONE);

    begin(SL_WINDOW_TIME, T0);
    step(T0);
    step(T0 + 2 * S);
    assert_int_equal(sl_window_exit(&w, at(T0 + 3 * S)), SL_ACT_DRAIN | SL_ACT_CLOSE);
    assert_int_equal(w.closed_ns, T0 + 2 * S);
}

static void requests_survive_packing(void **state)
{
    struct sl_window other = {0};

    for (int s = SL_WIN_PAUSED; s <= SL_WIN_DRAINING; s++) {
        for (int want = 0; want < 4; want++) {
            w.state = (enum sl_window_state)s;
            w.want_start = want & 1;
            w.want_stop = want >> 1;
            sl_window_unpack(&other, sl_window_pack(&w));
            assert_int_equal(other.state, s);
            assert_int_equal(other.want_start, want & 1);
            assert_int_equal(other.want_stop, want >> 1);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(run_opens_at_once_and_begins_where_the_kinds_came_on),
        cmocka_unit_test(run_whose_enabling_failed_at_first_has_a_lead_in),
        cmocka_unit_test(run_can_be_stopped_at_once_and_begun_again),
        cmocka_unit_test(a_run_pauses_while_memory_is_short),
        cmocka_unit_test(windows_are_missed_while_memory_is_short),
        cmocka_unit_test(time_windows_come_once_a_period),
        cmocka_unit_test(a_late_look_does_not_move_a_timed_window),
        cmocka_unit_test(a_timed_window_without_its_first_records_begins_late),
        cmocka_unit_test(timed_windows_are_due_at_multiples_of_the_period),
        cmocka_unit_test(a_wall_clock_set_between_windows_moves_the_next),
        cmocka_unit_test(windows_that_drain_for_longer_than_a_period_are_missed),
        cmocka_unit_test(a_recorder_held_up_for_minutes_skips_windows),
        cmocka_unit_test(windows_without_room_between_keep_the_kinds_on),
        cmocka_unit_test(back_to_back_windows_have_no_pause),
        cmocka_unit_test(every_due_time_is_recorded_or_missed),
        cmocka_unit_test(demand_waits_for_a_start),
        cmocka_unit_test(without_lead_in_it_opens_at_once),
        cmocka_unit_test(a_stop_takes_back_a_start_that_was_not_acted_on),
        cmocka_unit_test(a_stop_in_the_lead_in_keeps_what_was_recorded),
        cmocka_unit_test(a_stop_before_the_kinds_are_on_gives_an_empty_window),
        cmocka_unit_test(a_stop_seen_late_does_not_take_back_what_was_due),
        cmocka_unit_test(a_stopped_lead_in_of_a_timed_window_loses_that_turn),
        cmocka_unit_test(a_start_while_closing_is_kept_and_needs_no_lead_in),
        cmocka_unit_test(an_application_window_inside_a_timed_pause),
        cmocka_unit_test(an_application_window_before_the_first_timed_one),
        cmocka_unit_test(draining_gives_up_after_its_bound),
        cmocka_unit_test(a_wall_clock_set_back_stalls_nothing),
        cmocka_unit_test(a_slewed_clock_is_not_a_set_one),
        cmocka_unit_test(exit_closes_what_is_open_and_opens_nothing),
        cmocka_unit_test(requests_survive_packing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
