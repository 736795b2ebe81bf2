/* folder_test.c - a process's folder belongs to this process alone, and is found again whatever the
 * host does to it. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/folder.h"
#include "base/log.h"
#include "base/stats.h"
#include "unit/child.h"
#include "unit/folder.h"

#define PROCESSES 8

static struct sl_folder f;

static const char *in_folder(const char *name)
{
    static char path[4][256];
    static int at;

    at = (at + 1) % 4;
    snprintf(path[at], sizeof(path[at]), "%s/%s", folder, name);
    return path[at];
}

static int set_up(void **state)
{
    if (folder_make())
        return -1;
    sl_log_set_level(SL_LOG_OFF);
    sl_folder_init(&f, folder, "job", "host-0-1", 0600);
    return 0;
}

static int tear_down(void **state)
{
    sl_folder_close(&f);
    return folder_remove();
}

static int mode_of(const char *name)
{
    struct stat st;

    return lstat(in_folder(name), &st) == 0 ? (int)(st.st_mode & 07777) : -1;
}

static int put_file(const char *name)
{
    struct sl_own_file file;
    int error = sl_folder_create(&f, &file, name);

    if (!error)
        sl_own_file_close(&file);
    return error;
}

static void made_when_it_is_needed(void **state)
{
    struct stat st;

    assert_int_equal(sl_folder_stat(&f, "x", &st), -ENOENT);
    assert_int_equal(mode_of("job"), -1);
    assert_int_equal(put_file("x"), 0);
    assert_string_equal(f.path, in_folder("job/host-0-1"));
    assert_int_equal(mode_of("job"), 0700);
    assert_int_equal(mode_of("job/host-0-1"), 0700);
    assert_int_equal(mode_of("job/host-0-1/x"), 0600);
    assert_true(f.own.fd >= 512 && fcntl(f.own.fd, F_GETFD) & FD_CLOEXEC);
}

static void missing_folders_above_are_made(void **state)
{
    umask(0077);
    sl_folder_init(&f, in_folder("a/b//c"), "job", "p", 0640);
    assert_int_equal(put_file("x"), 0);
    assert_int_equal(mode_of("a"), 0750);
    assert_int_equal(mode_of("a/b/c/job/p"), 0750);
    assert_int_equal(mode_of("a/b/c/job/p/x"), 0640);
    umask(0);
}

static void a_folder_of_another_process_is_left_alone(void **state)
{
    struct sl_folder g = f;

    assert_int_equal(sl_folder_make(&f), 0);
    assert_int_equal(sl_folder_make(&g), 0);
    assert_string_equal(g.path, in_folder("job/host-0-1-2"));
    sl_folder_close(&g);
    sl_folder_init(&g, folder, "job", "host-0-1", 0600);
    assert_int_equal(symlink("nowhere", in_folder("job/host-0-1-3")), 0);
    assert_int_equal(sl_folder_make(&g), 0);
    assert_string_equal(g.path, in_folder("job/host-0-1-4"));
    assert_int_equal(sl_folder_make(&g), 0); /* its own folder stays */
    assert_string_equal(g.path, in_folder("job/host-0-1-4"));
    sl_folder_close(&g);
}

static void processes_that_race(void **state)
{
    struct stat st;

    for (int i = 0; i < PROCESSES; i++)
        if (fork() == 0)
            _exit(put_file("x") != 0);
    for (int i = 0, status; i < PROCESSES; i++) {
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    assert_int_equal(stat(in_folder("job/host-0-1/x"), &st), 0);
    for (int i = 2; i <= PROCESSES; i++) {
        char name[64];

        snprintf(name, sizeof(name), "job/host-0-1-%d/x", i);
        assert_int_equal(stat(in_folder(name), &st), 0);
    }
}

static void a_lost_descriptor_is_opened_again(void **state)
{
    int host = open("/dev/null", O_RDONLY | O_CLOEXEC), number;

    assert_int_equal(sl_folder_make(&f), 0);
    close(f.own.fd);
    assert_int_equal(put_file("x"), 0);
    number = f.own.fd;
    assert_int_equal(dup2(host, number), number); /* the host's file now */
    assert_int_equal(put_file("y"), 0);
    assert_string_equal(f.path, in_folder("job/host-0-1"));
    assert_int_equal(mode_of("job/host-0-1/y"), 0600);
    assert_true(f.own.fd != number && fcntl(number, F_GETFD) >= 0);
    close(number);
    close(host);
}

/* The host closes the descriptor, and another folder is at the path. */
static void another_folder_at_the_path_is_not_used(void **state)
{
    struct stat st;

    assert_int_equal(put_file("x"), 0);
    close(f.own.fd);
    assert_int_equal(rename(in_folder("job/host-0-1"), in_folder("aside")), 0);
    assert_int_equal(mkdir(in_folder("job/host-0-1"), 0700), 0);
    assert_int_equal(sl_folder_stat(&f, "x", &st), -ENOENT);
    assert_int_equal(put_file("y"), 0);
    assert_string_equal(f.path, in_folder("job/host-0-1-2"));
    assert_int_equal(rmdir(in_folder("job/host-0-1")), 0);
}

static void a_moved_folder_keeps_its_open_files(void **state)
{
    struct sl_own_file file;

    assert_int_equal(sl_folder_create(&f, &file, "x"), 0);
    assert_int_equal(rename(in_folder("job"), in_folder("moved")), 0);
    assert_int_equal(sl_folder_rename(&f, &file, "x", "y"), 0);
    assert_int_equal(mode_of("moved/host-0-1/y"), 0600);
    sl_folder_unlink(&f, &file, "y");
    assert_int_equal(mode_of("moved/host-0-1/y"), -1);
    sl_own_file_close(&file);
    assert_int_equal(put_file("z"), 0); /* a new file needs a folder at the path */
    assert_int_equal(mode_of("job/host-0-1/z"), 0600);
}

static void a_removed_folder_is_made_again(void **state)
{
    char command[128];

    assert_int_equal(put_file("x"), 0);
    snprintf(command, sizeof(command), "rm -rf %s/job", folder);
    assert_int_equal(system(command), 0);
    assert_int_equal(put_file("y"), 0);
    assert_int_equal(mode_of("job/host-0-1/y"), 0600);
    assert_true(fcntl(513, F_GETFD) < 0); /* the removed folder's descriptor is closed */
}

static void links_below_the_output_folder_are_refused(void **state)
{
    assert_int_equal(mkdir(in_folder("aim"), 0700), 0);
    assert_int_equal(symlink(in_folder("aim"), in_folder("job")), 0);
    assert_int_equal(put_file("x"), -ELOOP);
    assert_int_equal(rmdir(in_folder("aim")), 0); /* it is empty */
    assert_int_equal(put_file("x"), -ELOOP);
    sl_folder_init(&f, in_folder("output"), "job", "p", 0600);
    assert_int_equal(mkdir(in_folder("disk"), 0700), 0);
    assert_int_equal(symlink(in_folder("disk"), in_folder("output")), 0);
    assert_int_equal(put_file("x"), 0);
    assert_int_equal(mode_of("disk/job/p/x"), 0600);
}

static void errors(void **state)
{
    assert_int_equal(close(open(in_folder("file"), O_CREAT | O_WRONLY, 0600)), 0);
    sl_folder_init(&f, in_folder("file"), "job", "p", 0600);
    assert_int_equal(put_file("x"), -ENOTDIR);
    sl_folder_init(&f, in_folder("file/below"), "job", "p", 0600);
    assert_int_equal(put_file("x"), -ENOTDIR);
    sl_folder_init(&f, "/proc/no/such", "job", "p", 0600);
    assert_int_equal(put_file("x"), -ENOENT);
    sl_folder_init(&f, "relative", "job", "p", 0600);
    assert_int_equal(put_file("x"), -ENOENT);
    sl_folder_init(&f, folder, "file", "p", 0600);
    assert_int_equal(put_file("x"), -ENOTDIR);
}

/* A host with few descriptors keeps them. */
static void use_few_descriptors(void)
{
    struct rlimit limit = {8, 8};
    struct stat st;

    for (int fd = 3; fd < 1024; fd++)
        close(fd);
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    CHECK(put_file("x") == 0 && put_file("y") == 0);
    CHECK(sl_folder_stat(&f, "x", &st) == 0 && f.own.fd == -1);
    for (int fd = 3; fd < 8; fd++)
        CHECK(fcntl(fd, F_GETFD) < 0);
}

static void few_descriptors_are_the_hosts(void **state)
{
    in_child(use_few_descriptors);
    assert_int_equal(mode_of("job/host-0-1/y"), 0600);
}

/* After a chroot, the open window's files are completed in the old place. */
static void change_root(void)
{
    struct sl_own_file file;
    struct stat st;

    CHECK(sl_folder_create(&f, &file, "x") == 0);
    CHECK(mkdir(in_folder("root"), 0700) == 0);
    CHECK(!sl_folder_has_left(&f));
    CHECK(chroot(in_folder("root")) == 0);
    CHECK(sl_folder_has_left(&f));
    CHECK(sl_folder_make(&f) == -EXDEV);
    CHECK(put_file("y") == 0);
    CHECK(sl_folder_rename(&f, &file, "x", "z") == 0);
    sl_folder_close(&f);
    CHECK(put_file("w") == -EXDEV);
    CHECK(sl_folder_stat(&f, "z", &st) == -EXDEV);
    CHECK(access("/tmp", F_OK) != 0); /* the old path is not made here */
    _exit(0);                         /* LeakSanitizer needs /proc at an exit() */
}

static void the_host_changes_its_root(void **state)
{
    if (geteuid() != 0)
        skip();
    in_child(change_root);
    assert_int_equal(mode_of("job/host-0-1/y"), 0600);
    assert_int_equal(mode_of("job/host-0-1/z"), 0600);
    assert_int_equal(mode_of("job/host-0-1/w"), -1);
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(made_when_it_is_needed),
        T(missing_folders_above_are_made),
        T(a_folder_of_another_process_is_left_alone),
        T(processes_that_race),
        T(a_lost_descriptor_is_opened_again),
        T(another_folder_at_the_path_is_not_used),
        T(a_moved_folder_keeps_its_open_files),
        T(a_removed_folder_is_made_again),
        T(links_below_the_output_folder_are_refused),
        T(errors),
        T(few_descriptors_are_the_hosts),
        T(the_host_changes_its_root),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
