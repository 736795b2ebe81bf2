/* attach_test.c - which kinds are on when the injection returns, which of CUPTI's two interfaces is
 * used, and the message if a part of it fails. */
#include "life.h"

enum {
    CALLS = 5,
    KERNELS = 10
};

static void play_run(void)
{
    CHECK(inject("SYNCLINE_WINDOW=run"));
    CHECK(fake.on[CALLS] && fake.on[KERNELS]); /* nothing of the window is lost */
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
    (void)state;
    in_child(play_run);
    in_child(play_demand);
}

static void play_missing_function(void)
{
    struct sl_cupti_functions functions = fake_functions;

    functions.ActivityEnable = NULL;
    CHECK(!inject_cupti(&functions, "SYNCLINE_WINDOW=run"));
    CHECK(status_now().state == SL_STATE_PASSIVE);
    CHECK(strstr(status_now().reason, "cannot be used"));
    CHECK(!fake.request && !fake.enables); /* CUPTI was left unchanged */
    sl_process_exit();
}

static void a_cupti_that_lacks_something_is_left_alone(void **state)
{
    (void)state;
    in_child(play_missing_function);
}

/* The fake CUPTI has version 13.0, which has no subscribers. */
static void play_no_subscribers(void)
{
    CHECK(inject("SYNCLINE_CUPTI_API=v2"));
    CHECK(stderr_has("lacks the subscriber interface of CUPTI 13.2: using SYNCLINE_CUPTI_API=v1"));
    fake_launch("k", 1);
    sl_process_exit();
    CHECK(in_file("1.pt.trace.json", "\"cat\":\"kernel\",\"name\":\"k\"") == 1);
}

static void play_auto(void)
{
    CHECK(inject("SYNCLINE_CUPTI_API=auto"));
    CHECK(!stderr_has("SYNCLINE_CUPTI_API"));
    fake_launch("k", 1);
    sl_process_exit();
    CHECK(in_file("1.pt.trace.json", "\"cat\":\"kernel\",\"name\":\"k\"") == 1);
}

static void without_subscribers_the_older_way_is_taken(void **state)
{
    (void)state;
    in_child(play_no_subscribers);
}

static void of_two_ways_one_is_chosen_without_a_word(void **state)
{
    (void)state;
    in_child(play_auto);
}

#define VARIABLE "NVTX_INJECTION64_PATH"

static void play_nvtx_off(void)
{
    unsetenv(VARIABLE);
    CHECK(inject("SYNCLINE_NVTX=off"));
    CHECK(!getenv(VARIABLE));
    sl_process_exit();
}

static void play_nvtx_on(void)
{
    glob_t found;
    int alone;

    CHECK(glob("/proc/self/task/*", 0, NULL, &found) == 0);
    alone = found.gl_pathc == 1; /* a sanitizer may have a thread of its own */
    globfree(&found);
    unsetenv(VARIABLE);
    CHECK(inject("SYNCLINE_NVTX=on"));
    CHECK(!getenv(VARIABLE) == !alone);
    sl_process_exit();
}

static void nvtx_is_invited_if_it_is_wanted(void **state)
{
    (void)state;
    in_child(play_nvtx_off);
    in_child(play_nvtx_on);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(what_the_first_window_needs_is_on_at_once),
        CASE(a_cupti_that_lacks_something_is_left_alone),
        CASE(without_subscribers_the_older_way_is_taken),
        CASE(of_two_ways_one_is_chosen_without_a_word),
        CASE(nvtx_is_invited_if_it_is_wanted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
