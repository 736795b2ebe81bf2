/* ownership_test.c - another client takes CUPTI and leaves its clock alone: nothing of ours
 * that would spoil its trace is done without a sign that CUPTI works for us. What looks like it and
 * is not loses nothing. */
#include "life.h"

#include "collect/cupti/buffer.h"

enum {
    CALLS = 5,
    KERNELS = 10
};

/* ---- turning kinds off ---- */

static void play_idle(void)
{
    CHECK(inject("SYNCLINE_WINDOW=demand"));
    fake_launch("k_context", 1);
    record_window("k_first", 1);
    UNTIL(sl_cupti_pool_outstanding() == 0);
    CHECK(sl_process_start() == 0);
    UNTIL(status_now().state == SL_STATE_RECORDING);
    fake.disables = 0;
    CHECK(sl_process_stop() == 0);
    UNTIL(status_now().windows_completed == 2 && status_now().state == SL_STATE_ARMED);
    CHECK(sl_process_start() == 0);
    UNTIL(status_now().state == SL_STATE_RECORDING);
    CHECK(fake.disables == 0 && fake.on[KERNELS]);
    fake_launch("k_third", 1);
    UNTIL(sl_cupti_pool_outstanding() == 0);
    CHECK(sl_process_stop() == 0);
    UNTIL(status_now().windows_completed == 3);
    CHECK(in_file("3.pt.trace.json", "k_third") == 1);
    fake_launch("k_sign", 1);
    UNTIL(!fake.on[KERNELS]);
    CHECK(fake.on[CALLS]);
    sl_process_exit();
    CHECK(in_file("3.pt.trace.json", KERNEL) == 1);
}

static void kinds_go_off_when_cupti_asks_for_a_buffer(void **state)
{
    (void)state;
    in_child(play_idle);
}

/* ---- forced flushes ---- */

static _Atomic int given; /* buffers of ours */

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

/* With a buffer of ours, as in a program that has the GPU at work. */
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
    fake_launch("k_theirs", 0); /* force would cut it off */
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
        CASE(kinds_go_off_when_cupti_asks_for_a_buffer),
        CASE(what_does_not_come_though_it_is_complete_is_not_forced),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
