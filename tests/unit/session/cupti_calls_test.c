/* cupti_calls_test.c - the collector's calls of CUPTI: forced flushes, drops, clocks, refusals.
 */
#include "life.h"

#include "collect/cupti/tables.h"

static void play_long_kernel(void)
{
    CHECK(inject("SYNCLINE_WINDOW=run"));
    for (int i = 0; i < 20; i++)
        fake_launch("k_short", 1);
    fake_launch("k_long", 0);
    for (int i = 0; i < 20; i++)
        fake_launch("k_short", 1);
    CHECK(sl_process_stop() == 0);
    UNTIL(status_now().windows_completed == 1); /* although the kernel never ends */
    CHECK(fake.forced_flushes == 1);
    CHECK(in_file("1.pt.trace.json", "k_short") == 40);
    sl_process_exit();
}

static void a_kernel_without_end_does_not_lose_the_rest(void **state)
{
    (void)state;
    in_child(play_long_kernel);
}

static void play_drops(void)
{
    CHECK(inject("SYNCLINE_WINDOW=run"));
    fake.drops = 7;
    fake_launch("k", 1);
    UNTIL(status_now().dropped == 7);
    sl_process_exit();
    CHECK(stderr_has("CUPTI dropped 7 records"));
    CHECK(in_file("1.pt.trace.json", "dropped_cupti") == 1);
}

static void what_cupti_dropped_is_said_and_in_the_trace(void **state)
{
    (void)state;
    in_child(play_drops);
}

static void play_enable_fails_later(void)
{
    CHECK(inject("SYNCLINE_WINDOW=demand"));
    fake.enable_result = 999;
    CHECK(sl_process_start() == 0);
    UNTIL(status_now().state == SL_STATE_PASSIVE);
    CHECK(stderr_has("CUPTI refused every kind"));
    CHECK(!fake.on[5]); /* CUPTI is as it was found, for others */
    CHECK(fake.attribute[SL_CUPTI_ATTR_ZEROED_OUT_ACTIVITY_BUFFER] == 0);
    CHECK(sl_process_start() == -ENODEV);
    sl_process_exit();
    CHECK(files("*") == 0);
}

static void kinds_that_are_refused_make_it_passive(void **state)
{
    (void)state;
    in_child(play_enable_fails_later);
}

/* An hour and half a second: the measured offset may be some microseconds less. */
static int ahead(uint64_t *ns)
{
    *ns = fake_now() + 3600500000000u;
    return 0;
}

static void play_clock(void)
{
    struct sl_cupti_functions functions = fake_functions;

    functions.GetTimestamp = ahead;
    CHECK(inject_cupti(&functions, "SYNCLINE_WINDOW=run"));
    fake_launch("k", 1);
    UNTIL(stderr_has("off CLOCK_REALTIME"));
    CHECK(stderr_has("another tool set its clock"));
    CHECK(stderr_has("CUPTI's clock is 3600"));
    sl_process_exit();
}

static void a_clock_of_another_tool_is_said(void **state)
{
    (void)state;
    in_child(play_clock);
}

static void play_right_clock(void)
{
    CHECK(inject("SYNCLINE_WINDOW=run"));
    fake_launch("k", 1);
    UNTIL(status_now().records >= 2);
    sl_process_exit();
    CHECK(!stderr_has("clock"));
}

static void a_clock_that_is_right_is_not_spoken_of(void **state)
{
    (void)state;
    in_child(play_right_clock);
}

/* Buffers that are back after a forced flush are decoded before the window's file is closed: the
 * kernel that ran on is there too, marked. */
static void play_still_running(void)
{
    CHECK(inject("SYNCLINE_WINDOW=demand"));
    fake_launch("k_context", 1);
    CHECK(sl_process_start() == 0);
    UNTIL(status_now().state == SL_STATE_RECORDING);
    fake_launch("k_long", 0);
    CHECK(sl_process_stop() == 0);
    UNTIL(status_now().windows_completed == 1);
    CHECK(fake.forced_flushes == 1);
    CHECK(in_file("1.pt.trace.json", "k_long") == 1);
    CHECK(in_file("1.pt.trace.json", "\"still running\":true") == 1);
    sl_process_exit();
}

static void a_kernel_that_runs_on_is_a_row_that_says_so(void **state)
{
    (void)state;
    in_child(play_still_running);
}

static _Atomic int holds, is_held, flushes;

static int hold(uint64_t *stamp)
{
    while (holds) {
        is_held = 1;
        usleep(1000);
    }
    return fake_GetTimestamp(stamp);
}

static int count_flush(uint32_t flag)
{
    flushes++;
    return fake_FlushAll(flag);
}

/* CUPTI may be gone by the time that one of its calls returns. */
static void play_cut_off(void)
{
    struct sl_cupti_functions functions = fake_functions;
    int before;

    functions.GetTimestamp = hold;
    functions.ActivityFlushAll = count_flush;
    CHECK(inject_cupti(&functions, "SYNCLINE_WINDOW=run"));
    fake_launch("k", 1);
    UNTIL(status_now().records >= 2);
    holds = 1;
    UNTIL(is_held);
    sl_process_exit();
    before = flushes;
    holds = 0;
    UNTIL(threads() == 0);
    CHECK(flushes == before);
}

static void a_collector_that_was_cut_off_calls_cupti_no_more(void **state)
{
    (void)state;
    in_child(play_cut_off);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_kernel_without_end_does_not_lose_the_rest),
        CASE(what_cupti_dropped_is_said_and_in_the_trace),
        CASE(kinds_that_are_refused_make_it_passive),
        CASE(a_clock_of_another_tool_is_said),
        CASE(a_clock_that_is_right_is_not_spoken_of),
        CASE(a_kernel_that_runs_on_is_a_row_that_says_so),
        CASE(a_collector_that_was_cut_off_calls_cupti_no_more),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
