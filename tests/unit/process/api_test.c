/*
 * api_test.c - a program uses the public API for ranges, marks and steps: before syncline is
 * injected, in a window, and when nothing is recorded. Also tests a status struct with too little
 * room for the file's name.
 */
#include "life.h"

#include <pthread.h>

#include "collect/nvtx/calls.h"
#include "process/process_impl.h"

static void before_the_injection_all_is_to_be_tried_again(void)
{
    CHECK(sl_start() == -EAGAIN);
    CHECK(sl_stop() == -EAGAIN);
    CHECK(sl_dump() == -EAGAIN);
    CHECK(sl_hand_over() == -EAGAIN);
    CHECK(sl_take_back() == -EAGAIN);
    CHECK(sl_process_step(SL_STEP_JOB) == -EAGAIN);
    CHECK(sl_range_push("name") == -EAGAIN);
    CHECK(sl_range_push(NULL) == -EAGAIN);
    CHECK(sl_range_pop() == -EAGAIN);
    CHECK(sl_mark("name") == -EAGAIN);
}

static void where_nothing_is_recorded_nothing_is_kept(void)
{
    inject("SYNCLINE_ENABLED=0");
    CHECK(sl_start() == -ENODEV);
    CHECK(sl_dump() == -ENODEV);
    CHECK(sl_hand_over() == -ENODEV);
    CHECK(sl_process_step(SL_STEP_JOB) == -ENODEV);
    CHECK(sl_range_push("name") == -ENODEV);
    CHECK(sl_range_pop() == -ENODEV);
    CHECK(sl_mark("name") == -ENODEV);
    CHECK(sl_lanes_used() == 0);
}

static void start_window(void)
{
    CHECK(sl_start() == 0);
    UNTIL(status_now().state == SL_STATE_RECORDING);
}

static void stop_window(void)
{
    uint64_t completed = status_now().windows_completed;

    CHECK(sl_stop() == 0);
    UNTIL(status_now().windows_completed == completed + 1);
}

#define TRACE "1.pt.trace.json"

/* The program requests a window without having used the GPU. The window's file contains the
 * program's ranges and marks. */
static void ranges_of_a_program_that_has_not_used_the_gpu(void)
{
    CHECK(inject("SYNCLINE_WINDOW=demand"));
    start_window();
    CHECK(sl_range_push(NULL) == -EINVAL);
    CHECK(sl_mark(NULL) == -EINVAL);
    CHECK(sl_range_push("on the CPU alone") == 0);
    CHECK(sl_range_pop() == 0);
    CHECK(sl_mark("a moment") == 0);
    stop_window();
    CHECK(in_file(TRACE, "\"name\":\"on the CPU alone\"") == 1);
    CHECK(in_file(TRACE, "\"name\":\"a moment\"") == 1);
    sl_process_exit();
}

/* The caller's struct has less room for the file's name. The truncated name still ends with a
 * NUL. */
static void a_text_that_is_cut_ends(void)
{
    struct sl_status s;

    CHECK(inject("SYNCLINE_WINDOW=demand"));
    fake_launch("k", 1);
    start_window();
    stop_window();
    CHECK(strlen(status_now().last_file) > 30);
    for (size_t room = 0; room <= 30; room++) {
        memset(&s, 'x', sizeof(s));
        s.size = offsetof(struct sl_status, last_file) + room;
        CHECK(sl_status(&s) == 0);
        CHECK(s.windows_completed == 1);
        CHECK(s.last_file[room] == 'x'); /* no byte is written after the text */
        CHECK(memchr(s.last_file, '\0', room) || room == 0);
    }
    sl_process_exit();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LIFE(before_the_injection_all_is_to_be_tried_again),
        LIFE(where_nothing_is_recorded_nothing_is_kept),
        LIFE(ranges_of_a_program_that_has_not_used_the_gpu),
        LIFE(a_text_that_is_cut_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
