/*
 * process_test.c - the life cycle of syncline, observed through the public API: waiting for a
 * window, in a forked child, or permanently off.
 */
#include "life.h"

/* clone() makes this child without calling the fork handlers. */
static void a_child_of_a_bare_clone_does_nothing(void)
{
    pid_t child;
    int status;

    CHECK(inject("SYNCLINE_WINDOW=demand"));
    child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (child == 0) {
        struct sl_status s = status_now();

        CHECK(s.state == SL_STATE_PASSIVE && strstr(s.reason, "fork"));
        CHECK(sl_start() == -ENODEV);
        CHECK(threads() == 0);
        sl_process_exit();
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(sl_start() == 0);
    sl_process_exit();
}

static void status_fills_what_fits(void)
{
    struct {
        struct sl_status s;
        char guard[16];
    } old = {.s.size = offsetof(struct sl_status, reason)};

    CHECK(inject("SYNCLINE_WINDOW=run"));
    /* the driver calls this function once, and other callers may call it again */
    CHECK(!inject("SYNCLINE_WINDOW=run"));
    memset(old.s.reason, 'x', sizeof(old.s.reason));
    memset(old.guard, 'g', sizeof(old.guard));
    CHECK(sl_status(&old.s) == 0); /* an older, shorter struct */
    CHECK(old.s.size == offsetof(struct sl_status, reason));
    CHECK(old.s.reason[0] == 'x');
    old.s.size = sizeof(old); /* a newer, longer struct */
    CHECK(sl_status(&old.s) == 0);
    CHECK(old.s.reason[0] == '\0');
    CHECK(old.guard[0] == 'g');
    old.s.size = 8;
    CHECK(sl_status(&old.s) == -EINVAL);
    CHECK(sl_status(NULL) == -EINVAL);
    sl_process_exit();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LIFE(a_child_of_a_bare_clone_does_nothing),
        LIFE(status_fills_what_fits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
