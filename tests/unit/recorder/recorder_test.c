/* recorder_test.c - windows on the recorder's own thread: opened, drained and closed, by request
 * and by time. */
#include "life.h"

static void play_demand(void)
{
    char last[64];

    CHECK(inject("SYNCLINE_WINDOW=demand"));
    CHECK(!fake.on[10] && fake.on[5]);
    CHECK(sl_process_stop() == -EALREADY);
    fake_launch("k_before", 1);
    record_window("k_first", 50);
    CHECK(fake.enabling_thread != syscall(SYS_gettid)); /* another thread enables, because it may
                                                         * take seconds */
    fake_launch("k_between", 1);
    UNTIL(!fake.on[10]);
    CHECK(fake.on[5]); /* otherwise graphs captured now would never have nodes */
    record_window("k_second", 70);
    CHECK(in_file("1.pt.trace.json", "k_first") == 50);
    CHECK(in_file("1.pt.trace.json", KERNEL) == 50);
    CHECK(in_file("1.pt.trace.json", "cudaLaunchKernel") == 50);
    CHECK(in_file("2.pt.trace.json", "k_second") == 70);
    CHECK(in_file("2.pt.trace.json", KERNEL) == 70);
    snprintf(last, sizeof(last), "/2.pt.trace.json");
    CHECK(strstr(status_now().last_file, last));
    CHECK(status_now().dropped == 0);
    sl_process_exit();
    CHECK(files("*") == 4);
}

static void demand_records_between_start_and_stop(void **state)
{
    (void)state;
    in_child(play_demand);
}

static void play_time(void)
{
    uint64_t launched = 0;

    CHECK(inject("SYNCLINE_WINDOW=time:30ms/120ms"));
    while (status_now().windows_completed < 3) {
        fake_launch("k_time", 1);
        launched++;
        usleep(500);
    }
    CHECK(files("1.pt.trace.json") == 1 && files("2.pt.trace.json") == 1 &&
          files("3.pt.trace.json") == 1);
    CHECK(fake.disables > 0);
    CHECK(in_file("2.pt.trace.json", KERNEL) > 0);
    CHECK(in_file("2.pt.trace.json", KERNEL) + in_file("3.pt.trace.json", KERNEL) < (int)launched);
    sl_process_exit();
    CHECK(files("*.part") == 0);
}

static void time_windows_are_files_of_their_own(void **state)
{
    (void)state;
    in_child(play_time);
}

static void play_empty_window(void)
{
    CHECK(inject("SYNCLINE_WINDOW=demand"));
    fake_launch("k_context", 1);
    record_window("k_none", 0);
    record_window("k_some", 3);
    CHECK(in_file("2.pt.trace.json", "k_some") == 3);
    CHECK(status_now().window == 2);
    sl_process_exit();
}

static void a_window_without_work_closes_too(void **state)
{
    (void)state;
    in_child(play_empty_window);
}

/* The process exits before the recorder's first check. The run's only window still opens. */
static void play_short_run(void)
{
    CHECK(inject("SYNCLINE_WINDOW=run"));
    fake_launch("k_only", 1);
    sl_process_exit();
    CHECK(in_file("1.pt.trace.json", "k_only") == 1);
    CHECK(in_file("1.pt.trace.json", KERNEL) == 1);
}

static void a_process_that_ends_at_once_has_its_file(void **state)
{
    (void)state;
    in_child(play_short_run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(demand_records_between_start_and_stop),
        CASE(time_windows_are_files_of_their_own),
        CASE(a_window_without_work_closes_too),
        CASE(a_process_that_ends_at_once_has_its_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
