/*
 * api_test.c - requests of the program through the public API: ranges, marks and steps, before the
 * injection, in a window, and when nothing is recorded; also a status whose text is truncated.
 */
#include "life.h"

#include <pthread.h>

#include "collect/nvtx/calls.h"
#include "process/process_impl.h"

static void play_before(void)
{
    CHECK(sl_process_start() == -EAGAIN);
    CHECK(sl_process_stop() == -EAGAIN);
    CHECK(sl_process_dump() == -EAGAIN);
    CHECK(sl_process_hand_over() == -EAGAIN);
    CHECK(sl_process_take_back() == -EAGAIN);
    CHECK(sl_process_step(SL_STEP_JOB) == -EAGAIN);
    CHECK(sl_process_range_push("name") == -EAGAIN);
    CHECK(sl_process_range_push(NULL) == -EAGAIN);
    CHECK(sl_process_range_pop() == -EAGAIN);
    CHECK(sl_process_mark("name") == -EAGAIN);
}

static void before_the_injection_all_is_to_be_tried_again(void **state)
{
    (void)state;
    in_child(play_before);
}

static void play_passive(void)
{
    inject("SYNCLINE_ENABLED=0");
    CHECK(sl_process_start() == -ENODEV);
    CHECK(sl_process_dump() == -ENODEV);
    CHECK(sl_process_hand_over() == -ENODEV);
    CHECK(sl_process_step(SL_STEP_JOB) == -ENODEV);
    CHECK(sl_process_range_push("name") == -ENODEV);
    CHECK(sl_process_range_pop() == -ENODEV);
    CHECK(sl_process_mark("name") == -ENODEV);
    CHECK(sl_lanes_used() == 0);
}

static void where_nothing_is_recorded_nothing_is_kept(void **state)
{
    (void)state;
    in_child(play_passive);
}

static void start_window(void)
{
    CHECK(sl_process_start() == 0);
    UNTIL(status_now().state == SL_STATE_RECORDING);
}

static void stop_window(void)
{
    uint64_t completed = status_now().windows_completed;

    CHECK(sl_process_stop() == 0);
    UNTIL(status_now().windows_completed == completed + 1);
}

#define TRACE "1.pt.trace.json"

static void play_ranges(void)
{
    const struct sl_nvtx_event theirs = {.message = {.text = "theirs", .length = 6}};

    CHECK(inject("SYNCLINE_WINDOW=demand"));
    fake_launch("k_before", 1);
    start_window();
    CHECK(sl_process_range_pop() == 0); /* there is no open range */
    CHECK(sl_process_range_push(NULL) == -EINVAL);
    CHECK(sl_process_mark(NULL) == -EINVAL);
    CHECK(sl_process_range_push("ours \"1\"") == 0);
    sl_nvtx_push(0, &theirs);
    CHECK(sl_process_range_push("inner") == 0);
    CHECK(sl_nvtx_pop(0, NULL) == 0);
    CHECK(sl_nvtx_pop(0, NULL) == -2); /* the application's pop does not end our ranges */
    CHECK(sl_process_mark("a moment") == 0);
    CHECK(sl_process_range_pop() == 0);
    CHECK(sl_process_range_pop() == 0);
    stop_window();
    CHECK(in_file(TRACE, "\"name\":\"ours \\\"1\\\"\"") == 1);
    CHECK(in_file(TRACE, "\"name\":\"inner\"") == 1);
    CHECK(in_file(TRACE, "\"name\":\"theirs\"") == 1);
    CHECK(in_file(TRACE, "\"name\":\"a moment\"") == 1);
    sl_process_exit();
}

static void ranges_have_a_nesting_of_their_own(void **state)
{
    (void)state;
    in_child(play_ranges);
}

/* A program without GPU work requests a window. It gets a file with its own ranges and marks. */
static void play_no_gpu(void)
{
    CHECK(inject("SYNCLINE_WINDOW=demand"));
    start_window();
    CHECK(sl_process_range_push("on the CPU alone") == 0);
    CHECK(sl_process_range_pop() == 0);
    CHECK(sl_process_mark("a moment") == 0);
    stop_window();
    CHECK(in_file(TRACE, "\"name\":\"on the CPU alone\"") == 1);
    CHECK(in_file(TRACE, "\"name\":\"a moment\"") == 1);
    sl_process_exit();
}

static void ranges_of_a_program_that_has_not_used_the_gpu(void **state)
{
    (void)state;
    in_child(play_no_gpu);
}

static void play_steps(void)
{
    CHECK(inject("SYNCLINE_WINDOW=demand"));
    fake_launch("k", 1);
    start_window();
    for (int i = 0; i < 4; i++)
        CHECK(sl_process_step(SL_STEP_JOB) == 0);
    stop_window();
    CHECK(in_file(TRACE, "\"name\":\"ProfilerStep#") == 3);
    sl_process_exit();
}

static void steps_are_rows(void **state)
{
    (void)state;
    in_child(play_steps);
}

/* The caller's struct has room for a shorter text. The text is truncated and terminated. */
static void play_cut_status(void)
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
        CHECK(sl_process_status(&s) == 0);
        CHECK(s.windows_completed == 1);
        CHECK(s.last_file[room] == 'x'); /* no byte is written after the text */
        CHECK(memchr(s.last_file, '\0', room) || room == 0);
    }
    sl_process_exit();
}

static void a_text_that_is_cut_ends(void **state)
{
    (void)state;
    in_child(play_cut_status);
}

static void *range_without_end(void *user)
{
    CHECK(sl_process_range_push("its thread ended it") == 0);
    return user;
}

static void play_threads(void)
{
    pthread_t thread;

    CHECK(inject("SYNCLINE_WINDOW=demand"));
    fake_launch("k", 1);
    start_window();
    for (int i = 0; i < 200; i++) {
        CHECK(pthread_create(&thread, NULL, range_without_end, NULL) == 0);
        pthread_join(thread, NULL);
    }
    stop_window();
    CHECK(in_file(TRACE, "\"name\":\"its thread ended it\"") == 200);
    CHECK(in_file(TRACE, "\"cut ") == 0);
    sl_process_exit();
}

static void ranges_end_with_their_threads(void **state)
{
    (void)state;
    in_child(play_threads);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(before_the_injection_all_is_to_be_tried_again),
        CASE(where_nothing_is_recorded_nothing_is_kept),
        CASE(ranges_have_a_nesting_of_their_own),
        CASE(ranges_of_a_program_that_has_not_used_the_gpu),
        CASE(steps_are_rows),
        CASE(a_text_that_is_cut_ends),
        CASE(ranges_end_with_their_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
