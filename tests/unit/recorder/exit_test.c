/* exit_test.c - the end of the process: the last records are written within a time limit, whatever
 * CUPTI does. */
#include "life.h"

#include "base/clock.h"

static void a_cupti_that_hangs_does_not_keep_the_process(void)
{
    CHECK(inject("SYNCLINE_WINDOW=run"));
    for (int i = 0; i < 100; i++)
        fake_launch("k_before_hang", 1);
    UNTIL(files("1.pt.trace.json.part") == 1 &&
          in_file("1.pt.trace.json.part", "k_before_hang") == 100);
    fake.hang = 1;
    fake_launch("k_lost", 1);
    sl_process_exit(); /* the test passes if this call returns */
    CHECK(in_file("1.pt.trace.json", "k_before_hang") == 100);
    CHECK(in_file("1.pt.trace.json", "k_lost") == 0);
    CHECK(in_file("1.pt.trace.json", "\"undelivered_at_exit\":2,") == 1); /* a call and a kernel */
    CHECK(stderr_has("the 2 records in them are lost"));
    _exit(0); /* _exit(), because the hung thread is still inside CUPTI */
}

/* CUPTI still has an empty buffer at the exit. This is not reported as a loss. */
static void an_empty_buffer_that_stays_out_is_no_loss(void)
{
    CHECK(inject("SYNCLINE_WINDOW=run"));
    fake_launch("k_before_hang", 1);
    UNTIL(files("1.pt.trace.json.part") == 1 &&
          in_file("1.pt.trace.json.part", "k_before_hang") == 1);
    fake_empty_buffer();
    fake.hang = 1;
    sl_process_exit();
    CHECK(in_file("1.pt.trace.json", "\"undelivered_at_exit\":0,") == 1);
    CHECK(in_file("1.pt.trace.json", "\"undelivered_buffers\":0,") == 1);
    CHECK(!stderr_has("in them are lost"));
    _exit(0);
}

static void without_an_open_window_there_is_nothing_to_bring_in(void)
{
    CHECK(inject("SYNCLINE_WINDOW=demand"));
    fake_launch("k_context", 1);
    record_window("k_inside", 5);
    fake_launch("k_after", 1);
    sl_process_exit();
    CHECK(files("*") == 2); /* no window is open, so there are no more files */
    CHECK(in_file("1.pt.trace.json", "k_inside") == 5);
    CHECK(in_file("1.pt.trace.json", "k_after") == 0);
    /* CUPTI is not flushed, because no file would contain the records */
    CHECK(fake.forced_flushes == 0);
}

/* During the last flush, the whole machine stops for this time. Only the clock advances. */
static _Atomic uint64_t stood_still_ns;

static uint64_t monotonic_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec + stood_still_ns;
}

static int flush_and_stand_still(uint32_t flag)
{
    int err = fake_FlushAll(flag);

    if (flag)
        stood_still_ns = 1550000000;
    return err;
}

/* The last launches were never flushed. Only the flush at the exit delivers their records. */
static void an_open_window_gets_the_last_records_and_its_end(void)
{
    CHECK(inject("SYNCLINE_WINDOW=demand"));
    fake_launch("k_context", 1);
    CHECK(sl_start() == 0);
    UNTIL(status_now().state == SL_STATE_RECORDING);
    for (int i = 0; i < 30; i++)
        fake_launch("k_last", 1);
    fake_launch("k_long", 0);
    sl_process_exit();
    CHECK(files("*.part") == 0);
    CHECK(in_file("1.pt.trace.json", "k_last") == 30);
    CHECK(in_file("1.pt.trace.json", "\"still running\":true") == 1);
    CHECK(in_file("1.pt.trace.json", "\"undelivered_at_exit\":0,") == 1);
}

static void what_a_machine_brings_that_stood_still_is_in_the_file(void)
{
    static const struct sl_clock_source source = {fake_now, monotonic_ns, NULL};
    struct sl_cupti_functions functions = fake_functions;

    sl_clock_set_source(&source);
    functions.ActivityFlushAll = flush_and_stand_still;
    CHECK(inject_cupti(&functions, "SYNCLINE_WINDOW=run"));
    for (int i = 0; i < 30; i++)
        fake_launch("k_last", 1);
    sl_process_exit();
    CHECK(files("*.part") == 0);
    CHECK(in_file("1.pt.trace.json", "k_last") == 30);
    CHECK(in_file("1.pt.trace.json", "\"undelivered_at_exit\":0,") == 1);
}

static void a_status_after_the_end_does_not_read_what_is_gone(void)
{
    struct sl_status s;

    CHECK(inject("SYNCLINE_WINDOW=run"));
    fake_launch("k", 1);
    UNTIL(status_now().records >= 2);
    sl_process_exit();
    s = status_now();
    CHECK(s.state == SL_STATE_PASSIVE);
    CHECK(s.window == 1);
    CHECK(s.last_file[0] == '\0'); /* the status is no longer read from the pipeline */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LIFE(a_cupti_that_hangs_does_not_keep_the_process),
        LIFE(an_empty_buffer_that_stays_out_is_no_loss),
        LIFE(without_an_open_window_there_is_nothing_to_bring_in),
        LIFE(an_open_window_gets_the_last_records_and_its_end),
        LIFE(what_a_machine_brings_that_stood_still_is_in_the_file),
        LIFE(a_status_after_the_end_does_not_read_what_is_gone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
