/* own_file_test.c - syncline writes to a file only while the descriptor and the name still belong
 * to that file. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own_file.h"
#include "base/stats.h"
#include "unit/child.h"
#include "unit/folder.h"

/* What the host does while own_file.c opens a file; each test sets it. own_file.c calls getrlimit()
 * right after open(), so the getrlimit() of this file calls the function. ThreadSanitizer calls
 * getrlimit() before it can check accesses. */
static void (*meanwhile)(void);

__attribute__((no_sanitize("thread"))) int getrlimit(__rlimit_resource_t resource,
                                                     struct rlimit *limit)
{
    if (meanwhile)
        meanwhile();
    return prlimit(0, resource, NULL, limit);
}

static const char *in_folder(const char *name)
{
    static char path[4][128];
    static int at;

    at = (at + 1) % 4;
    snprintf(path[at], sizeof(path[at]), "%s/%s", folder, name);
    return path[at];
}

static int set_up(void **state)
{
    umask(0);
    meanwhile = NULL;
    sl_stats_reset();
    return folder_make();
}

static int tear_down(void **state)
{
    return folder_remove();
}

static int put(struct sl_own_file *f, const char *text)
{
    struct iovec part = {(void *)(uintptr_t)text, strlen(text)};

    return sl_own_file_write(f, &part, 1);
}

static long size_of(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 ? (long)st.st_size : -1;
}

static int is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

/* Opens a file of the host with 4 bytes. The file offset is at the end of the file. */
static int open_hosts(void)
{
    int fd = open(in_folder("host"), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd > STDERR_FILENO);
    assert_int_equal(write(fd, "host", 4), 4);
    return fd;
}

/* ---- opening ---- */

static void ours_alone(void **state)
{
    struct sl_own_file f;
    struct stat st;

    assert_int_equal(sl_own_file_open(&f, AT_FDCWD, in_folder("file"), 0600), 0);
    assert_true(f.fd >= 512);
    assert_int_equal(fstat(f.fd, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_true(fcntl(f.fd, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(put(&f, "hello"), 0);
    assert_int_equal(sl_own_file_close(&f), 0);
    assert_int_equal(f.fd, -1);
    assert_int_equal(size_of(in_folder("file")), 5);
    assert_int_equal(sl_stats_get(SL_STAT_FILES_LOST), 0);
}

static void what_is_there_stays(void **state)
{
    struct sl_own_file f;

    close(open(in_folder("file"), O_WRONLY | O_CREAT, 0600));
    assert_int_equal(sl_own_file_open(&f, AT_FDCWD, in_folder("file"), 0600), -EEXIST);
    assert_int_equal(symlink(in_folder("aim"), in_folder("link")), 0);
    assert_int_equal(sl_own_file_open(&f, AT_FDCWD, in_folder("link"), 0600), -EEXIST);
    assert_int_equal(access(in_folder("aim"), F_OK), -1);
    assert_int_equal(sl_own_file_open(&f, AT_FDCWD, in_folder("no/file"), 0600), -ENOENT);
}

static int open_under(int limit, const char *name)
{
    struct rlimit lower = {(rlim_t)limit, (rlim_t)limit};
    struct sl_own_file f;
    int error;

    CHECK(setrlimit(RLIMIT_NOFILE, &lower) == 0);
    error = sl_own_file_open(&f, AT_FDCWD, in_folder(name), 0600);
    if (!error)
        CHECK(put(&f, "hello") == 0);
    return error ? error : f.fd;
}

static void below_a_low_limit_as_high_as_fits(void)
{
    close(STDIN_FILENO);
    for (int fd = 3; fd < 1024; fd++)
        close(fd);
    CHECK(open_under(600, "a") == 512);
    CHECK(open_under(600, "b") == 513);
    CHECK(open_under(513, "c") == 511);
    CHECK(open_under(100, "d") == 99);
    CHECK(open_under(100, "e") == 98);
    CHECK(open_under(5, "f") == 4);
    CHECK(open_under(5, "g") == 3);
    /* Only descriptor 0 is free when the file is opened. */
    CHECK(open_under(5, "h") == -EMFILE);
    CHECK(!is_open(STDIN_FILENO));
    CHECK(size_of(in_folder("h")) == -1);
}

static void not_where_the_host_may_print(void)
{
    struct sl_own_file f;

    for (int fd = 0; fd < 2; fd++)
        close(fd);
    CHECK(sl_own_file_open(&f, AT_FDCWD, in_folder("file"), 0600) == 0);
    CHECK(f.fd > STDERR_FILENO && !is_open(0) && !is_open(1));
    CHECK(sl_own_file_close(&f) == 0);
}

/* ---- files that the host closes or replaces while they are opened ---- */

static void close_all(void)
{
    for (int fd = 3; fd < 1024; fd++)
        close(fd);
}

static void close_all_and_open(void)
{
    close_all();
    CHECK(open_hosts() == 3);
}

static void open_while_closed(void)
{
    struct sl_own_file f;

    meanwhile = close_all;
    CHECK(sl_own_file_open(&f, AT_FDCWD, in_folder("file"), 0600) == -EBADF);
    CHECK(f.fd == -1 && put(&f, "hello") == -EBADF);
    CHECK(sl_stats_get(SL_STAT_FILES_LOST) == 1);
}

static void open_while_reused(void)
{
    struct sl_own_file f;

    close_all();
    meanwhile = close_all_and_open;
    CHECK(sl_own_file_open(&f, AT_FDCWD, in_folder("other"), 0600) == -EBADF);
    CHECK(f.fd == -1 && put(&f, "hello") == -EBADF);
    CHECK(sl_stats_get(SL_STAT_FILES_LOST) == 1);
    CHECK(write(3, "host", 4) == 4 && size_of(in_folder("host")) == 8);
    for (int fd = 4; fd < 1024; fd++)
        CHECK(!is_open(fd));
}

static void lost_in_the_moment_of_opening(void **state)
{
    in_child(open_while_closed);
    in_child(open_while_reused);
}

static void read_while_reused(void)
{
    char text[16];

    close_all();
    meanwhile = close_all_and_open;
    CHECK(sl_own_file_read("/proc/self/comm", text, sizeof(text)) == -EBADF);
    CHECK(write(3, "host", 4) == 4 && size_of(in_folder("host")) == 8);
    for (int fd = 4; fd < 1024; fd++)
        CHECK(!is_open(fd));
    CHECK(sl_stats_get(SL_STAT_FILES_LOST) == 0); /* a file that is only read is not counted */
}

static void remove_name(void)
{
    unlink(in_folder("gone"));
}

/* The file disappears while it is opened, like the file with a thread's name in /proc when the
 * thread ends. No descriptor stays open. */
static void a_name_that_vanishes(void **state)
{
    int lowest = dup(STDERR_FILENO);
    struct sl_own_file f;
    char text[16];

    close(lowest);
    meanwhile = remove_name;
    assert_int_equal(sl_own_file_open(&f, AT_FDCWD, in_folder("gone"), 0600), -ENOENT);
    assert_false(is_open(lowest) || is_open(512));
    close(open(in_folder("gone"), O_WRONLY | O_CREAT, 0600));
    assert_int_equal(sl_own_file_read(in_folder("gone"), text, sizeof(text)), -ENOENT);
    assert_false(is_open(lowest) || is_open(512));
}

static void small_files_are_read_as_carefully(void **state)
{
    char text[64] = "";
    int lowest = dup(STDERR_FILENO);

    close(lowest);
    assert_true(sl_own_file_read("/proc/self/comm", text, sizeof(text)) > 0);
    assert_non_null(strstr(text, "own_file"));
    assert_int_equal(sl_own_file_read("/proc/self/no", text, sizeof(text)), -ENOENT);
    assert_false(is_open(lowest));
    assert_false(is_open(512));
    in_child(read_while_reused);
}

/* ---- files that the host closes or replaces later ---- */

static void closed_under_us(void **state)
{
    struct sl_own_file f;

    assert_int_equal(sl_own_file_open(&f, AT_FDCWD, in_folder("file"), 0600), 0);
    assert_int_equal(put(&f, "hello"), 0);
    close(f.fd);
    assert_int_equal(put(&f, "hello"), -EBADF);
    assert_int_equal(put(&f, "hello"), -EBADF);
    assert_int_equal(sl_own_file_truncate(&f, 0), -EBADF);
    assert_int_equal(sl_own_file_close(&f), -EBADF);
    assert_int_equal(sl_stats_get(SL_STAT_FILES_LOST), 1);
    assert_int_equal(size_of(in_folder("file")), 5);
    /* The name still belongs to the file. */
    assert_int_equal(sl_own_file_rename(&f, AT_FDCWD, in_folder("file"), in_folder("new")), 0);
    sl_own_file_unlink(&f, AT_FDCWD, in_folder("new"));
    assert_int_equal(size_of(in_folder("new")), -1);
}

static int use_write(struct sl_own_file *f)
{
    return put(f, "hello");
}

static int use_truncate(struct sl_own_file *f)
{
    return sl_own_file_truncate(f, 0);
}

static void reused_by_another_file(void **state)
{
    static int (*const use[])(struct sl_own_file *) = {use_write, use_truncate, sl_own_file_close};

    for (size_t i = 0; i < sizeof(use) / sizeof(use[0]); i++) {
        char name[] = "file0";
        struct sl_own_file f;
        int hosts = open_hosts(), high;

        name[4] = (char)('0' + i);
        assert_int_equal(sl_own_file_open(&f, AT_FDCWD, in_folder(name), 0600), 0);
        high = f.fd;
        assert_int_equal(dup2(hosts, high), high);
        assert_int_equal(use[i](&f), -EBADF);
        assert_int_equal(sl_own_file_close(&f), -EBADF);
        assert_int_equal(sl_stats_get(SL_STAT_FILES_LOST), i + 1);
        assert_int_equal(size_of(in_folder("host")), 4);
        assert_int_equal(write(high, "host", 4), 4);
        assert_int_equal(size_of(in_folder("host")), 8);
        close(high);
        close(hosts);
    }
}

/* The host opens another file with the same descriptor number. syncline never uses a lost file
 * again. */
static void lost_for_good(void **state)
{
    int hosts = open_hosts(), ours, high;
    struct sl_own_file f;

    assert_int_equal(sl_own_file_open(&f, AT_FDCWD, in_folder("file"), 0600), 0);
    high = f.fd;
    ours = dup(high);
    dup2(hosts, high);
    assert_int_equal(put(&f, "hello"), -EBADF);
    dup2(ours, high);
    assert_int_equal(put(&f, "hello"), -EBADF);
    assert_int_equal(size_of(in_folder("file")), 0);
    close(high);
    close(ours);
    close(hosts);
}

/* ---- the file's name ---- */

static void a_replaced_name_is_left_alone(void **state)
{
    struct sl_own_file f;

    assert_int_equal(sl_own_file_open(&f, AT_FDCWD, in_folder("a"), 0600), 0);
    assert_int_equal(put(&f, "hello"), 0);
    close(open_hosts());
    assert_int_equal(rename(in_folder("host"), in_folder("a")), 0);
    assert_int_equal(sl_own_file_close(&f), 0);
    assert_int_equal(sl_own_file_rename(&f, AT_FDCWD, in_folder("a"), in_folder("b")), -EBADF);
    sl_own_file_unlink(&f, AT_FDCWD, in_folder("a"));
    assert_int_equal(size_of(in_folder("a")), 4);
    assert_int_equal(size_of(in_folder("b")), -1);
    assert_true(sl_stats_get(SL_STAT_FILES_LOST) > 0);
}

static void a_name_is_never_taken_from_another(void **state)
{
    struct sl_own_file f;

    assert_int_equal(sl_own_file_open(&f, AT_FDCWD, in_folder("a"), 0600), 0);
    assert_int_equal(sl_own_file_close(&f), 0);
    close(open_hosts());
    assert_int_equal(sl_own_file_rename(&f, AT_FDCWD, in_folder("a"), in_folder("host")), -EEXIST);
    assert_int_equal(size_of(in_folder("host")), 4);
    /* Another program has removed the file. */
    assert_int_equal(unlink(in_folder("a")), 0);
    assert_int_equal(sl_own_file_rename(&f, AT_FDCWD, in_folder("a"), in_folder("b")), -ENOENT);
    assert_int_equal(sl_stats_get(SL_STAT_FILES_LOST), 0);
}

/* ---- modes and folders ---- */

static int mode_of(const char *name)
{
    struct stat st;

    assert_int_equal(lstat(in_folder(name), &st), 0);
    return st.st_mode & 07777;
}

static void the_mode_does_not_depend_on_the_umask(void **state)
{
    struct sl_own_file f, d;

    umask(0777);
    assert_int_equal(sl_own_file_open(&f, AT_FDCWD, in_folder("file"), 0644), 0);
    assert_int_equal(mode_of("file"), 0644);
    assert_int_equal(sl_own_file_close(&f), 0);
    umask(0022);
    assert_int_equal(mkdir(in_folder("folder"), 02770), 0);
    assert_int_equal(chmod(in_folder("folder"), 02700), 0); /* set-group-id is inherited */
    assert_int_equal(sl_own_file_open_folder(&d, AT_FDCWD, in_folder("folder"), O_NOFOLLOW, 0770),
                     0);
    assert_int_equal(mode_of("folder"), 02770);
    assert_int_equal(sl_own_file_close(&d), 0);
    assert_int_equal(umask(0), 0022);
}

static void files_below_a_folder(void **state)
{
    struct sl_own_file d, f;

    assert_int_equal(sl_own_file_open_folder(&d, AT_FDCWD, folder, 0, 0), 0);
    assert_true(d.fd >= 512 && fcntl(d.fd, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(sl_own_file_open(&f, d.fd, "a", 0600), 0);
    assert_int_equal(put(&f, "hello"), 0);
    assert_int_equal(sl_own_file_close(&f), 0);
    assert_int_equal(sl_own_file_rename(&f, d.fd, "a", "b"), 0);
    assert_int_equal(size_of(in_folder("b")), 5);
    sl_own_file_unlink(&f, d.fd, "b");
    assert_int_equal(size_of(in_folder("b")), -1);
    assert_true(sl_own_file_is_open(&d));
    close(d.fd);
    assert_false(sl_own_file_is_open(&d));
    assert_int_equal(d.fd, -1);
    assert_int_equal(sl_stats_get(SL_STAT_FILES_LOST), 0);
}

static void a_folder_that_is_a_link(void **state)
{
    struct sl_own_file d;

    assert_int_equal(symlink(folder, in_folder("link")), 0);
    assert_int_equal(sl_own_file_open_folder(&d, AT_FDCWD, in_folder("link"), O_NOFOLLOW, 0),
                     -ELOOP);
    assert_int_equal(d.fd, -1);
    assert_int_equal(sl_own_file_open_folder(&d, AT_FDCWD, in_folder("link"), 0, 0), 0);
    assert_int_equal(sl_own_file_close(&d), 0);
    close(open(in_folder("file"), O_WRONLY | O_CREAT, 0600));
    assert_int_equal(sl_own_file_open_folder(&d, AT_FDCWD, in_folder("file"), O_NOFOLLOW, 0),
                     -ENOTDIR);
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(ours_alone),
        T(what_is_there_stays),
        CHILD_WITH(below_a_low_limit_as_high_as_fits, set_up, tear_down),
        CHILD_WITH(not_where_the_host_may_print, set_up, tear_down),
        T(lost_in_the_moment_of_opening),
        T(a_name_that_vanishes),
        T(small_files_are_read_as_carefully),
        T(closed_under_us),
        T(reused_by_another_file),
        T(lost_for_good),
        T(a_replaced_name_is_left_alone),
        T(a_name_is_never_taken_from_another),
        T(the_mode_does_not_depend_on_the_umask),
        T(files_below_a_folder),
        T(a_folder_that_is_a_link),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
