/* attach_test.c - which CUPTI record kinds are enabled when InitializeInjection returns, and which
 * of CUPTI's two interfaces is used. A message is printed if a part of the injection fails. */
#include "life.h"

enum {
    CALLS = 5,
    KERNELS = 10
};

static void play_run(void)
{
    CHECK(inject("SYNCLINE_WINDOW=run"));
    CHECK(fake.on[CALLS] && fake.on[KERNELS]); /* no record of the window is lost */
    CHECK(fake.enabling_thread == syscall(SYS_gettid));
    sl_process_exit();
}

static void play_demand(void)
{
    CHECK(inject("SYNCLINE_WINDOW=demand"));
    CHECK(fake.on[CALLS] && !fake.on[KERNELS]);
    sl_process_exit();
}

static void what_the_first_window_needs_is_on_at_once(void **state)
{
    in_child(play_run);
    in_child(play_demand);
}

static void a_cupti_that_lacks_something_is_left_alone(void)
{
    struct sl_cupti_functions functions = fake_functions;

    functions.ActivityEnable = NULL;
    CHECK(!inject_cupti(&functions, "SYNCLINE_WINDOW=run"));
    CHECK(status_now().state == SL_STATE_PASSIVE);
    CHECK(strstr(status_now().reason, "cannot be used"));
    CHECK(!fake.request && !fake.enables); /* CUPTI was left unchanged */
    sl_process_exit();
}

#define VARIABLE "NVTX_INJECTION64_PATH"

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(what_the_first_window_needs_is_on_at_once),
        LIFE(a_cupti_that_lacks_something_is_left_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
