/* recorder_test.c - the recorder's own thread opens, drains and closes windows, on request and at
 * given times. */
#include "life.h"

static void demand_records_between_start_and_stop(void)
{
    char last[64];

    CHECK(inject("SYNCLINE_WINDOW=demand"));
    CHECK(!fake.on[10] && fake.on[5]);
    CHECK(sl_stop() == -EALREADY);
    fake_launch("k_before", 1);
    record_window("k_first", 50);
    /* another thread enables the record kinds, because this may take seconds */
    CHECK(fake.enabling_thread != syscall(SYS_gettid));
    fake_launch("k_between", 1);
    UNTIL(!fake.on[10]);
    CHECK(fake.on[5]); /* else the nodes of graphs that are captured now would never be reported */
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

static void a_window_without_work_closes_too(void)
{
    CHECK(inject("SYNCLINE_WINDOW=demand"));
    fake_launch("k_context", 1);
    record_window("k_none", 0);
    record_window("k_some", 3);
    CHECK(in_file("2.pt.trace.json", "k_some") == 3);
    CHECK(status_now().window == 2);
    sl_process_exit();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LIFE(demand_records_between_start_and_stop),
        LIFE(a_window_without_work_closes_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
