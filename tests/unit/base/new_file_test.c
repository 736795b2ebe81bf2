/* new_file_test.c - new files are ours alone, and above the standard streams. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/new_file.h"

static char folder[] = "/tmp/sl_new_file_XXXXXX";

static const char *in_folder(const char *name)
{
    static char path[64];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static int set_up(void **state)
{
    (void)state;
    umask(0);
    return mkdtemp(folder) == NULL;
}

static int tear_down(void **state)
{
    char command[64];

    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) != 0;
}

static void ours_alone(void **state)
{
    int fd = sl_new_file_open(in_folder("file"));
    struct stat st;

    (void)state;
    assert_true(fd > STDERR_FILENO);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(write(fd, "x", 1), 1);
    close(fd);
}

static void what_is_there_stays(void **state)
{
    char target[64];

    (void)state;
    assert_int_equal(sl_new_file_open(in_folder("file")), -EEXIST);
    snprintf(target, sizeof target, "%s/aim", folder);
    assert_int_equal(symlink(target, in_folder("link")), 0);
    assert_int_equal(sl_new_file_open(in_folder("link")), -EEXIST);
    assert_int_equal(access(target, F_OK), -1);
    assert_int_equal(sl_new_file_open(in_folder("no/file")), -ENOENT);
}

static void not_where_the_host_may_print(void **state)
{
    int saved = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 10), fd, free_again;

    (void)state;
    close(STDOUT_FILENO);
    fd = sl_new_file_open(in_folder("moved"));
    free_again = fcntl(STDOUT_FILENO, F_GETFD) < 0;
    dup2(saved, STDOUT_FILENO);
    close(saved);
    assert_true(fd > STDERR_FILENO);
    assert_true(free_again);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ours_alone),
        cmocka_unit_test(what_is_there_stays),
        cmocka_unit_test(not_where_the_host_may_print),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
