/* kinds_test.c - after a window, syncline disables its kinds as soon as a buffer request shows that
 * CUPTI belongs to syncline. If CUPTI only seems to belong to another client, no record is lost. */
#include "life.h"

#include "collect/cupti/buffer.h"

enum {
    CALLS = 5,
    KERNELS = 10
};

static void kinds_go_off_when_cupti_asks_for_a_buffer(void)
{
    CHECK(inject("SYNCLINE_WINDOW=demand"));
    fake_launch("k_context", 1);
    record_window("k_first", 1);
    UNTIL(sl_cupti_pool_outstanding() == 0);
    CHECK(sl_start() == 0);
    UNTIL(status_now().state == SL_STATE_RECORDING);
    fake.disables = 0;
    CHECK(sl_stop() == 0);
    UNTIL(status_now().windows_completed == 2 && status_now().state == SL_STATE_ARMED);
    CHECK(sl_start() == 0);
    UNTIL(status_now().state == SL_STATE_RECORDING);
    CHECK(fake.disables == 0 && fake.on[KERNELS]);
    fake_launch("k_third", 1);
    UNTIL(sl_cupti_pool_outstanding() == 0);
    CHECK(sl_stop() == 0);
    UNTIL(status_now().windows_completed == 3);
    CHECK(in_file("3.pt.trace.json", "k_third") == 1);
    fake_launch("k_sign", 1);
    UNTIL(!fake.on[KERNELS]);
    CHECK(fake.on[CALLS]);
    sl_process_exit();
    CHECK(in_file("3.pt.trace.json", KERNEL) == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LIFE(kinds_go_off_when_cupti_asks_for_a_buffer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
