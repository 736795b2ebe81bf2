/* cupti_calls_test.c - the recorder's calls of CUPTI: forced flushes, dropped records, clocks,
 * refusals. */
#include "base/clock.h"
#include "life.h"

#include "collect/cupti/buffer.h"
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
    UNTIL(status_now().windows_completed == 1); /* it closes although the kernel never ends */
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
    CHECK(stderr_has("CUPTI refused to record any kind"));
    CHECK(!fake.on[5]); /* CUPTI is left unchanged for other clients */
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

/* A clock that is an hour and half a second ahead. The measured offset may be some microseconds
 * smaller. */
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
    UNTIL(stderr_has("differs from CLOCK_REALTIME"));
    CHECK(stderr_has("another tool changed it"));
    CHECK(stderr_has("differs from CLOCK_REALTIME by 3600"));
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

static uint64_t monotonic(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* CUPTI's clock and ours are the same. It is set by `by_ns` after ours was calibrated. */
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

/* The clock is set inside a window. The window's end moves with the clock; if the clock is set
 * back, its beginning moves, too. */
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
    CHECK(in_file("1.pt.trace.json", KERNEL) == 4);
}

static void a_wall_clock_that_is_set_is_no_other_tool(void **state)
{
    static const int64_t by_ns[] = {3600000000000, -3600000000000};

    (void)state;
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

/* A kernel still runs when a window closes. The buffers of the forced flush are decoded before the
 * file is closed, so the kernel is in the file, marked as unfinished. */
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

/* Another client may end CUPTI before one of its functions returns. */
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

static void a_recorder_that_was_cut_off_calls_cupti_no_more(void **state)
{
    (void)state;
    in_child(play_cut_off);
}

/* Another client takes CUPTI and does not change its clock. */
static _Atomic int given; /* number of our buffers that were delivered */

static void thief_request(uint8_t **buffer, size_t *size, size_t *max_records)
{
    static uint64_t memory[8192];

    *buffer = (uint8_t *)memory;
    *size = sizeof(memory);
    *max_records = 0;
}

static void thief_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                           size_t valid)
{
    (void)context;
    (void)stream;
    (void)size;
    (void)valid;
    given += sl_cupti_pool_owns(buffer);
}

/* Takes CUPTI while it has a buffer of ours, as in a program that uses the GPU. */
static void steal(void)
{
    fake_launch("k_in_it", 1);
    pthread_mutex_lock(&fake.lock);
    fake.request = thief_request;
    fake.complete = thief_complete;
    pthread_mutex_unlock(&fake.lock);
    UNTIL(given);
}

static void play_stolen(void)
{
    CHECK(inject("SYNCLINE_WINDOW=run"));
    fake_launch("k_before", 1);
    UNTIL(status_now().records >= 2);
    steal();
    fake.disables = 0;
    fake_launch("k_theirs", 0); /* a forced flush would truncate this kernel */
    CHECK(sl_process_stop() == 0);
    UNTIL(status_now().windows_completed == 1 && status_now().state == SL_STATE_ARMED);
    sl_process_exit();
    CHECK(fake.forced_flushes == 0 && fake.disables == 0);
    CHECK(stderr_has("the 2 records in them are lost; if another profiler runs"));
    CHECK(in_file("1.pt.trace.json", "\"undelivered_buffers\":1,") == 1);
    CHECK(in_file("1.pt.trace.json", "k_before") == 1);
}

static void what_does_not_come_though_it_is_complete_is_not_forced(void **state)
{
    (void)state;
    in_child(play_stolen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_kernel_without_end_does_not_lose_the_rest),
        CASE(what_cupti_dropped_is_said_and_in_the_trace),
        CASE(kinds_that_are_refused_make_it_passive),
        CASE(a_clock_of_another_tool_is_said),
        CASE(a_clock_that_is_right_is_not_spoken_of),
        CASE(a_wall_clock_that_is_set_is_no_other_tool),
        CASE(a_kernel_that_runs_on_is_a_row_that_says_so),
        CASE(a_recorder_that_was_cut_off_calls_cupti_no_more),
        CASE(what_does_not_come_though_it_is_complete_is_not_forced),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
