/* cupti_calls_test.c - how the recorder calls CUPTI: forced flushes, dropped records, clocks, and
 * calls for which CUPTI returns an error. */
#include "base/clock.h"
#include "life.h"

#include "collect/cupti/buffer.h"
#include "collect/cupti/tables.h"

static void kinds_that_are_refused_make_it_passive(void)
{
    CHECK(inject("SYNCLINE_WINDOW=demand"));
    fake.enable_result = 999;
    CHECK(sl_start() == 0);
    UNTIL(status_now().state == SL_STATE_PASSIVE);
    CHECK(stderr_has("CUPTI refused to record any kind"));
    CHECK(!fake.on[5]); /* syncline leaves CUPTI unchanged for other clients */
    CHECK(fake.attribute[SL_CUPTI_ATTR_ZEROED_OUT_ACTIVITY_BUFFER] == 0);
    CHECK(sl_start() == -ENODEV);
    sl_process_exit();
    CHECK(files("*") == 0);
}

/* Returns a time that is an hour and half a second ahead. The half second is a margin, because the
 * measured offset may be some microseconds less than an hour. */
static int ahead(uint64_t *ns)
{
    *ns = fake_now() + 3600500000000u;
    return 0;
}

static void a_clock_of_another_tool_is_said(void)
{
    struct sl_cupti_functions functions = fake_functions;

    functions.GetTimestamp = ahead;
    CHECK(inject_cupti(&functions, "SYNCLINE_WINDOW=run"));
    fake_launch("k", 1);
    UNTIL(stderr_has("differs from CLOCK_REALTIME"));
    CHECK(stderr_has("another tool changed it"));
    CHECK(stderr_has("differs from CLOCK_REALTIME by 3600"));
    sl_process_exit();
}

static uint64_t monotonic(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* CUPTI and syncline use the same wall clock. Changes this clock by `by_ns`, after syncline has
 * calibrated its conversion from ticks to time. */
static void set_wall_clock(int64_t by_ns)
{
    struct sl_clock_line line;

    UNTIL(sl_clock_get_line(&line) == 0);
    fake.set_ns += by_ns;
}

static const struct sl_clock_source wall_clock = {fake_now, monotonic, monotonic};
static int64_t set_by_ns;

/* The clock is set between two windows. The second window begins immediately. */
static void play_set_between(void)
{
    sl_clock_set_source(&wall_clock);
    CHECK(inject("SYNCLINE_WINDOW=demand"));
    record_window("k_before", 3);
    set_wall_clock(set_by_ns);
    record_window("k_behind", 3);
    sl_process_exit();
    CHECK(!stderr_has("clock"));
    CHECK(in_file("1.pt.trace.json", "k_before") == in_file("2.pt.trace.json", "k_behind"));
    CHECK(in_file("2.pt.trace.json", "k_before") == 0);
    CHECK(in_file("2.pt.trace.json", KERNEL) == 3);
}

/* The clock is set inside a window. The window's end moves with the clock. If the clock is set
 * back, the window's beginning moves, too. */
static void play_set_within(void)
{
    sl_clock_set_source(&wall_clock);
    CHECK(inject("SYNCLINE_WINDOW=time:200s/400s"));
    fake_launch("k", 1);
    UNTIL(status_now().records >= 2);
    set_wall_clock(set_by_ns);
    for (int i = 0; i < 3; i++)
        fake_launch("k", 1);
    UNTIL(status_now().records >= 8);
    sl_process_exit();
    CHECK(!stderr_has("clock"));
    CHECK(in_file("*Z.pt.trace.json", KERNEL) == 4);
}

static void a_wall_clock_that_is_set_is_no_other_tool(void **state)
{
    static const int64_t by_ns[] = {3600000000000, -3600000000000};

    for (size_t i = 0; i < sizeof(by_ns) / sizeof(*by_ns); i++) {
        set_by_ns = by_ns[i];
        in_child(play_set_between);
        remove_folder(state);
        make_folder(state);
        in_child(play_set_within);
        remove_folder(state);
        make_folder(state);
    }
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

/* Another client may take CUPTI from syncline while syncline is inside a CUPTI call. The recorder
 * then makes no further call. */
static void a_recorder_that_was_cut_off_calls_cupti_no_more(void)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        LIFE(kinds_that_are_refused_make_it_passive),
        LIFE(a_clock_of_another_tool_is_said),
        CASE(a_wall_clock_that_is_set_is_no_other_tool),
        LIFE(a_recorder_that_was_cut_off_calls_cupti_no_more),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
