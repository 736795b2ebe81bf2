/* log_test.c - the lines that a user sees on stderr. Writing a line never harms the host
 * process. */
#include "unit/stderr.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"

static void a_line_is_prefixed_and_ended(void **state)
{
    sl_log_set_level(SL_LOG_WARN);
    listen_to_stderr();
    sl_log(SL_LOG_ERROR, "disk %s is full", "sda");
    sl_log(SL_LOG_WARN, "two");
    sl_log(SL_LOG_INFO, "not at this level");
    assert_string_equal(stop_listening(), "syncline: disk sda is full\nsyncline: two\n");
}

static void off_says_nothing(void **state)
{
    sl_log_set_level(SL_LOG_OFF);
    listen_to_stderr();
    sl_log(SL_LOG_ERROR, "silence");
    assert_string_equal(stop_listening(), "");
    sl_log_set_level(SL_LOG_WARN);
}

static void a_long_line_is_cut_and_still_ended(void **state)
{
    char longer[3000];

    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    listen_to_stderr();
    sl_log(SL_LOG_ERROR, "%s", longer);
    assert_int_equal(strlen(stop_listening()), 1024);
    assert_int_equal(said[1022], 'x');
    assert_int_equal(said[1023], '\n');
}

/* Messages contain values of environment variables. Control characters in a value are replaced, so
 * that the value cannot forge a line or control a terminal. */
static void control_characters_stay_out(void **state)
{
    listen_to_stderr();
    sl_log(SL_LOG_ERROR, "JOB=%s is bad", "a\nsyncline: b\033[31m\x7f\xc3\xa4");
    assert_string_equal(stop_listening(), "syncline: JOB=a?syncline: b?[31m?\xc3\xa4 is bad\n");
}

/* U+009B begins an escape sequence on some terminals, as a lone byte 0x9b does. U+202E shows text
 * backwards. */
static void names_do_not_control_the_terminal(void **state)
{
    listen_to_stderr();
    sl_log(SL_LOG_ERROR, "%s",
           "a\xc2\x9b"
           "31m\xe2\x80\xae"
           "b\x9b"
           "c\xe2\x82\xac\xff\xe2\x80");
    assert_string_equal(stop_listening(), "syncline: a?31m?b?c\xe2\x82\xac\xff\xe2?\n");
}

static void once_is_once(void **state)
{
    int flag = 0;

    listen_to_stderr();
    for (int i = 0; i < 3; i++)
        sl_log_once(&flag, SL_LOG_ERROR, "number %d", i);
    assert_string_equal(stop_listening(), "syncline: number 0\n");
}

static void errno_is_kept(void **state)
{
    listen_to_stderr();
    close(STDERR_FILENO);
    errno = ECHILD;
    sl_log(SL_LOG_ERROR, "into nothing");
    assert_int_equal(errno, ECHILD);
    stop_listening();
}

/* stderr is a closed pipe. No signal is raised. Runs in a child, because the default action of
 * SIGPIPE would end the test. */
static void a_broken_stderr_raises_no_signal(void **state)
{
    int end[2], status;
    pid_t child;

    assert_int_equal(pipe(end), 0);
    child = fork();
    if (child == 0) {
        sigset_t pending;

        signal(SIGPIPE, SIG_DFL);
        close(end[0]);
        dup2(end[1], STDERR_FILENO);
        sl_log(SL_LOG_ERROR, "nobody reads this");
        sigpending(&pending);
        _exit(sigismember(&pending, SIGPIPE) ? 2 : 0);
    }
    close(end[0]);
    close(end[1]);
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* stderr is a full pipe that no process reads. The line is lost, and the caller is not blocked. */
static void a_stalled_stderr_does_not_block(void **state)
{
    char fill[4096] = {0};
    int flags;

    listen_to_stderr();
    flags = fcntl(STDERR_FILENO, F_GETFL);
    fcntl(STDERR_FILENO, F_SETFL, flags | O_NONBLOCK);
    while (write(STDERR_FILENO, fill, sizeof(fill)) > 0)
        ;
    fcntl(STDERR_FILENO, F_SETFL, flags);
    sl_log(SL_LOG_ERROR, "no room");
    stop_listening(); /* the test passes if this line is reached */
    assert_int_equal(said[0], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_prefixed_and_ended),
        cmocka_unit_test(off_says_nothing),
        cmocka_unit_test(a_long_line_is_cut_and_still_ended),
        cmocka_unit_test(control_characters_stay_out),
        cmocka_unit_test(names_do_not_control_the_terminal),
        cmocka_unit_test(once_is_once),
        cmocka_unit_test(errno_is_kept),
        cmocka_unit_test(a_broken_stderr_raises_no_signal),
        cmocka_unit_test(a_stalled_stderr_does_not_block),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
