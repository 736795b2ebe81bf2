/* stdout_test.c - a stdout that is full, closed, replaced or no stdout at all does no harm. */
#include "unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "write/monitor/stdout.h"

static struct sl_stdout to;
static int saved;

/* Makes a file descriptor the process's stdout. */
static void become_stdout(int fd)
{
    assert_int_equal(dup2(fd, STDOUT_FILENO), STDOUT_FILENO);
    memset(&to, 0, sizeof(to));
    sl_stdout_open(&to);
}

static int set_up(void **state)
{
    fflush(stdout);
    saved = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 100);
    sl_log_set_level(SL_LOG_OFF);
    return saved < 0;
}

static int tear_down(void **state)
{
    return dup2(saved, STDOUT_FILENO) < 0 || close(saved) < 0;
}

static size_t read_all(int fd, char *out, size_t size)
{
    size_t length = 0;
    ssize_t n;

    while (length < size && (n = read(fd, out + length, size - length)) > 0)
        length += (size_t)n;
    return length;
}

static void put_lines(unsigned count)
{
    char line[1000];

    memset(line, 'x', sizeof(line));
    line[sizeof(line) - 1] = '\n';
    for (unsigned i = 0; i < count; i++) {
        line[0] = (char)('a' + i % 26);
        sl_stdout_put(&to, line, sizeof(line));
    }
}

/* Lines wait until the reader takes them, and are dropped whole if too many wait. */
static void a_full_pipe_makes_nobody_wait(void **state)
{
    static char text[1 << 20];
    int ends[2];
    size_t length;

    assert_int_equal(pipe(ends), 0);
    become_stdout(ends[1]);
    put_lines(500);
    sl_stdout_flush(&to);
    assert_false(to.is_shut);
    assert_true(to.dropped > 0 && to.used > 0);
    assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    length = read_all(ends[0], text, sizeof(text));
    while (to.used) {
        sl_stdout_flush(&to);
        length += read_all(ends[0], text + length, sizeof(text) - length);
    }
    assert_int_equal(length, (500 - to.dropped) * 1000);
    for (size_t i = 0; i < length; i += 1000)
        assert_true(text[i] == (char)('a' + i / 1000 % 26) && text[i + 999] == '\n');
    close(ends[0]);
    close(ends[1]);
}

static void a_line_may_be_longer_than_a_pipe_takes_at_once(void **state)
{
    static char line[30000], text[40000];
    int ends[2];

    memset(line, 'y', sizeof(line));
    line[sizeof(line) - 1] = '\n';
    assert_int_equal(pipe(ends), 0);
    become_stdout(ends[1]);
    sl_stdout_put(&to, line, sizeof(line));
    sl_stdout_put(&to, "{}\n", 3);
    sl_stdout_flush(&to);
    assert_int_equal(to.used, 0);
    assert_int_equal(read(ends[0], text, sizeof(text)), sizeof(line) + 3);
    assert_memory_equal(text, line, sizeof(line));
    close(ends[0]);
    close(ends[1]);
}

/* The writer thread blocks signals. */
static void a_reader_may_go_away(void **state)
{
    int ends[2];
    sigset_t pipe_signal;

    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    assert_int_equal(sigprocmask(SIG_BLOCK, &pipe_signal, NULL), 0);
    for (int is_socket = 0; is_socket < 2; is_socket++) {
        assert_int_equal(is_socket ? socketpair(AF_UNIX, SOCK_STREAM, 0, ends) : pipe(ends), 0);
        become_stdout(ends[1]);
        sl_stdout_put(&to, "{}\n", 3);
        sl_stdout_flush(&to);
        assert_int_equal(to.used, 0);
        close(ends[0]);
        sl_stdout_put(&to, "{}\n", 3);
        sl_stdout_flush(&to);
        assert_true(to.is_shut);
        close(ends[1]);
    }
}

/* Another file with the number 1 is the program's, and never gets a line. */
static void only_the_stdout_of_the_start_is_written(void **state)
{
    char path[2][32] = {"/tmp/sl_stdout_XXXXXX", "/tmp/sl_stdout_XXXXXX"};
    int fd[2] = {mkstemp(path[0]), mkstemp(path[1])};

    become_stdout(fd[0]);
    sl_stdout_put(&to, "{}\n", 3);
    sl_stdout_flush(&to);
    assert_int_equal(lseek(fd[0], 0, SEEK_END), 3);
    assert_int_equal(dup2(fd[1], STDOUT_FILENO), STDOUT_FILENO);
    sl_stdout_put(&to, "{}\n", 3);
    sl_stdout_flush(&to);
    assert_true(to.is_shut);
    assert_int_equal(lseek(fd[1], 0, SEEK_END), 0);
    /* a file that the program has opened, because it was started without stdout */
    assert_int_equal(fcntl(STDOUT_FILENO, F_SETFD, FD_CLOEXEC), 0);
    memset(&to, 0, sizeof(to));
    sl_stdout_open(&to);
    assert_true(to.is_shut);
    close(STDOUT_FILENO);
    memset(&to, 0, sizeof(to));
    sl_stdout_open(&to);
    assert_true(to.is_shut);
    sl_stdout_put(&to, "{}\n", 3);
    sl_stdout_close(&to);
    for (int i = 0; i < 2; i++) {
        close(fd[i]);
        unlink(path[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_full_pipe_makes_nobody_wait, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_line_may_be_longer_than_a_pipe_takes_at_once, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_reader_may_go_away, set_up, tear_down),
        cmocka_unit_test_setup_teardown(only_the_stdout_of_the_start_is_written, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
