/*
 * process_test.c - the life cycle as seen by the host and the public API: armed, forked, or
 * permanently passive.
 */
#include "life.h"

static void play_no_context(void)
{
    CHECK(sl_process_start() == -EAGAIN);
    CHECK(sl_process_stop() == -EAGAIN);
    CHECK(sl_process_status(&(struct sl_status){.size = sizeof(struct sl_status)}) == -EAGAIN);
    CHECK(inject("SYNCLINE_WINDOW=run"));
    CHECK(!inject("SYNCLINE_WINDOW=run")); /* the driver calls the entry point once, but others may
                                            * call it again */
    CHECK(threads() == 0);
    CHECK(status_now().state == SL_STATE_ARMED);
    sl_process_exit();
    CHECK(files("*") == 0);
    CHECK(!stderr_has("recording"));
}

static void without_a_context_no_thread_and_no_file(void **state)
{
    (void)state;
    in_child(play_no_context);
}

static void play_killed(void)
{
    CHECK(inject("SYNCLINE_WINDOW=run"));
    fake_launch("k_flushed", 1);
    UNTIL(files("1.pt.trace.json.part") == 1 &&
          in_file("1.pt.trace.json.part", "k_flushed") == 1); /* within about a second */
    _exit(0);
}

static void what_was_flushed_is_on_disk_without_an_exit(void **state)
{
    (void)state;
    in_child(play_killed);
    assert_int_equal(files("1.pt.trace.json.part"), 1);
    assert_int_equal(files("*"), 2);
}

static void play_fork(void)
{
    pid_t child;
    int status;

    CHECK(inject("SYNCLINE_WINDOW=run"));
    pthread_atfork(NULL, NULL, sl_process_fork_child);
    fake_launch("k_parent", 1);
    UNTIL(files("*.part") == 2);
    child = fork();
    if (child == 0) {
        struct sl_status s = status_now();

        CHECK(s.state == SL_STATE_PASSIVE);
        CHECK(strstr(s.reason, "fork"));
        CHECK(sl_process_start() == -ENODEV);
        CHECK(sl_process_stop() == -ENODEV);
        CHECK(threads() == 0);
        fake_launch("k_child", 1); /* CUDA does not work in the child, but nothing may crash */
        sl_process_exit();
        CHECK(files("*.part") == 2); /* the parent's files, which are still open */
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    fake_launch("k_parent", 1);
    sl_process_exit();
    CHECK(files("*") == 2);
    CHECK(in_file("1.pt.trace.json", "k_parent") == 2);
    CHECK(in_file("1.pt.trace.json", "k_child") == 0);
}

/* A child is created by a bare clone(), so no fork handler runs in it. */
static void play_bare_clone(void)
{
    pid_t child;
    int status;

    CHECK(inject("SYNCLINE_WINDOW=demand"));
    child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (child == 0) {
        struct sl_status s = status_now();

        CHECK(s.state == SL_STATE_PASSIVE && strstr(s.reason, "fork"));
        CHECK(sl_process_start() == -ENODEV);
        CHECK(threads() == 0);
        sl_process_exit();
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(sl_process_start() == 0);
    sl_process_exit();
}

static void a_child_of_a_bare_clone_does_nothing(void **state)
{
    (void)state;
    in_child(play_bare_clone);
}

static void a_forked_child_does_nothing(void **state)
{
    (void)state;
    in_child(play_fork);
}

static void check_passive(const char *reason)
{
    fake_launch("k", 1);
    CHECK(status_now().state == SL_STATE_PASSIVE);
    CHECK(strstr(status_now().reason, reason));
    CHECK(sl_process_start() == -ENODEV);
    CHECK(sl_process_stop() == -ENODEV);
    CHECK(threads() == 0);
    sl_process_exit();
    CHECK(files("*") == 0);
}

static void play_other_profiler(void)
{
    fake.register_result = 39;
    CHECK(!inject("SYNCLINE_WINDOW=run"));
    CHECK(stderr_has("another profiler uses CUPTI"));
    check_passive("another profiler uses CUPTI");
}

static void play_nothing_enabled(void)
{
    fake.enable_result = 999;
    CHECK(!inject("SYNCLINE_WINDOW=run"));
    CHECK(stderr_has("nothing is recorded, the job is not affected"));
    check_passive("CUPTI refused");
}

static void play_disabled(void)
{
    CHECK(!inject("SYNCLINE_ENABLED=0"));
    CHECK(!fake.request);
    CHECK(!stderr_has("syncline"));
    CHECK(status_now().state == SL_STATE_PASSIVE);
    CHECK(strstr(status_now().reason, "SYNCLINE_ENABLED"));
}

static void play_window_off(void)
{
    CHECK(!inject("SYNCLINE_WINDOW=off"));
    CHECK(!fake.request);
    CHECK(!stderr_has("syncline"));
    check_passive("SYNCLINE_WINDOW=off");
    CHECK(stderr_has("start() failed: SYNCLINE_WINDOW=off records nothing"));
}

/* The window's value is invalid. Nothing is recorded until start() is called, as on demand. */
static void play_window_invalid(void)
{
    CHECK(inject("SYNCLINE_WINDOW=steps:3"));
    CHECK(stderr_has("recording waits for start()"));
    fake_launch("k_before", 1);
    record_window("k_inside", 2);
    sl_process_exit();
    CHECK(files("*") == 2);
    CHECK(in_file("1.pt.trace.json", "k_before") == 0);
    CHECK(in_file("1.pt.trace.json", "k_inside") > 0);
}

static void a_window_that_is_off_or_invalid_records_nothing_by_itself(void **state)
{
    (void)state;
    in_child(play_window_off);
    in_child(play_window_invalid);
}

static void whatever_is_wrong_the_host_runs_on_unprofiled(void **state)
{
    (void)state;
    in_child(play_other_profiler);
    in_child(play_nothing_enabled);
    in_child(play_disabled);
}

static void play_no_disk(void)
{
    struct sl_status s;
    char path[64];

    /* A file is in the place of the job's folder. Not even root can create files there. */
    snprintf(path, sizeof(path), "%s/local", folder);
    close(open(path, O_CREAT | O_WRONLY, 0600));
    CHECK(inject("SYNCLINE_WINDOW=run"));
    fake_launch("k", 1);
    UNTIL(stderr_has("cannot write"));
    sl_process_exit();
    s = status_now();
    CHECK(s.windows_completed == 0);
    CHECK(s.dropped > 0);
}

static void an_unwritable_folder_is_one_line(void **state)
{
    (void)state;
    in_child(play_no_disk);
}

static void play_status(void)
{
    struct {
        struct sl_status s;
        char guard[16];
    } old = {.s.size = offsetof(struct sl_status, reason)};

    CHECK(inject("SYNCLINE_WINDOW=run"));
    memset(old.s.reason, 'x', sizeof(old.s.reason));
    memset(old.guard, 'g', sizeof(old.guard));
    CHECK(sl_process_status(&old.s) == 0); /* an older, shorter struct */
    CHECK(old.s.size == offsetof(struct sl_status, reason));
    CHECK(old.s.reason[0] == 'x');
    old.s.size = sizeof(old); /* a newer, longer struct */
    CHECK(sl_process_status(&old.s) == 0);
    CHECK(old.s.reason[0] == '\0');
    CHECK(old.guard[0] == 'g');
    old.s.size = 8;
    CHECK(sl_process_status(&old.s) == -EINVAL);
    CHECK(sl_process_status(NULL) == -EINVAL);
    sl_process_exit();
}

static void status_fills_what_fits(void **state)
{
    (void)state;
    in_child(play_status);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(without_a_context_no_thread_and_no_file),
        CASE(what_was_flushed_is_on_disk_without_an_exit),
        CASE(a_child_of_a_bare_clone_does_nothing),
        CASE(a_forked_child_does_nothing),
        CASE(whatever_is_wrong_the_host_runs_on_unprofiled),
        CASE(a_window_that_is_off_or_invalid_records_nothing_by_itself),
        CASE(an_unwritable_folder_is_one_line),
        CASE(status_fills_what_fits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
