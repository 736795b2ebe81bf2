/* sink_file_test.c - the sink that writes a file: names and modes of files, files with the same
 * name, and a full disk. */
#include "unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "write/sink/sink.h"

static char folder[64];
static struct sl_folder place;

static int make_folder(void **state)
{
    strcpy(folder, "/tmp/sl_sink_XXXXXX");
    return mkdtemp(folder) ? sl_folder_open(&place, folder, 0600) : -1;
}

static int remove_folder(void **state)
{
    char command[128];

    sl_folder_close(&place);
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command);
}

static const char *in_folder(const char *name)
{
    static char path[4][256];
    static int at;

    at = (at + 1) % 4;
    snprintf(path[at], sizeof(path[at]), "%s/%s", folder, name);
    return path[at];
}

static long size_of(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 ? (long)st.st_size : -1;
}

static int mode_of(const char *path)
{
    struct stat st;

    assert_int_equal(lstat(path, &st), 0);
    return (int)(st.st_mode & 0777);
}

static void a_complete_file_gets_its_name(void **state)
{
    const char *path = in_folder("c.json"), *part = in_folder("c.json.part");
    struct sl_sink *s;

    assert_int_equal(sl_sink_file_open(&s, &place, "c.json"), 0);
    assert_int_equal(s->write(s, "hello", 5), 0);
    assert_int_equal(mode_of(part), 0600);
    assert_int_equal(size_of(path), -1);
    assert_int_equal(s->close(s, 1), 0);
    assert_int_equal(size_of(path), 5);
    assert_int_equal(size_of(part), -1);
}

/* The file is created with its first bytes, so a file that gets none never exists, unless it is
 * complete. */
static void a_file_is_created_with_its_first_bytes(void **state)
{
    struct sl_sink *s;

    assert_int_equal(sl_sink_file_open(&s, &place, "x"), 0);
    assert_int_equal(s->write(s, "", 0), 0);
    assert_int_equal(s->sync(s), 0);
    assert_int_equal(size_of(in_folder("x.part")), -1);
    assert_int_equal(s->close(s, 0), 0);
    assert_int_equal(size_of(in_folder("x.part")), -1);
    assert_int_equal(sl_sink_file_open(&s, &place, "x"), 0);
    assert_int_equal(s->close(s, 1), 0);
    assert_int_equal(size_of(in_folder("x")), 0);
}

static void an_incomplete_file_keeps_part(void **state)
{
    struct sl_sink *s;

    assert_int_equal(sl_sink_file_open(&s, &place, "x"), 0);
    assert_int_equal(s->write(s, "hello", 5), 0);
    assert_int_equal(s->close(s, 0), 0);
    assert_int_equal(size_of(in_folder("x")), -1);
    assert_int_equal(size_of(in_folder("x.part")), 5);
}

static void nothing_is_ever_overwritten(void **state)
{
    struct sl_sink *s, *t;

    assert_int_equal(sl_sink_file_open(&s, &place, "x"), 0);
    assert_int_equal(s->write(s, "hello", 5), 0);
    assert_int_equal(sl_sink_file_open(&t, &place, "x"), 0);
    assert_int_equal(t->write(t, "you", 3), -EEXIST);
    assert_int_equal(t->close(t, 1), -EEXIST);
    /* Another program creates a file with the final name while syncline writes its own. */
    assert_int_equal(close(open(in_folder("x"), O_CREAT | O_WRONLY, 0600)), 0);
    assert_int_equal(s->close(s, 1), -EEXIST);
    assert_int_equal(size_of(in_folder("x")), 0);
    assert_int_equal(size_of(in_folder("x.part")), 5);
}

static void a_planted_link_is_not_followed(void **state)
{
    struct sl_sink *s;

    assert_int_equal(symlink(in_folder("elsewhere"), in_folder("x.part")), 0);
    assert_int_equal(sl_sink_file_open(&s, &place, "x"), 0);
    assert_int_equal(s->write(s, "hello", 5), -EEXIST);
    assert_int_equal(s->close(s, 1), -EEXIST);
    assert_int_equal(size_of(in_folder("elsewhere")), -1);
}

static void a_name_that_is_too_long(void **state)
{
    char longer[512];
    struct sl_sink *s;

    memset(longer, 'a', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = 0;
    assert_int_equal(sl_sink_file_open(&s, &place, longer), -ENAMETOOLONG);
}

/* A limit on the file's size imitates a full disk. */
static void a_failed_write_keeps_what_was_synced(void **state)
{
    struct rlimit before, small = {5000, 5000};
    static char block[4000];
    struct sl_sink *s;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small.rlim_max = before.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(sl_sink_file_open(&s, &place, "x"), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(s->write(s, block, 1000), 0);
    assert_int_equal(s->sync(s), 0);
    assert_int_equal(s->write(s, block, 2000), 0);
    assert_int_equal(s->write(s, block, 4000), -EFBIG);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(s->write(s, block, 1), -EFBIG);
    assert_int_equal(s->sync(s), -EFBIG);
    assert_int_equal(s->close(s, 1), -EFBIG);
    assert_int_equal(size_of(in_folder("x.part")), 1000);
    assert_int_equal(size_of(in_folder("x")), -1);

    /* The disk is full before the first sync, so nothing of the file can be read. The file is
     * removed. */
    assert_int_equal(sl_sink_file_open(&s, &place, "y"), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(s->write(s, block, 4000), 0);
    assert_int_equal(s->write(s, block, 4000), -EFBIG);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(s->close(s, 1), -EFBIG);
    assert_int_equal(size_of(in_folder("y.part")), -1);
}

/* A daemon has closed its standard streams. The sink does not use descriptors 0 to 2, so that later
 * output to stdout or stderr does not get into the trace. */
static void the_standard_streams_are_not_taken(void **state)
{
    int saved[3], in_use;
    struct sl_sink *s;

    for (int fd = 0; fd < 3; fd++) {
        saved[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 10);
        close(fd);
    }
    in_use = sl_sink_file_open(&s, &place, "x");
    for (int fd = 0; fd < 3; fd++) {
        in_use |= fcntl(fd, F_GETFD) >= 0;
        dup2(saved[fd], fd);
        close(saved[fd]);
    }
    assert_int_equal(in_use, 0);
    assert_int_equal(s->write(s, "hello", 5), 0);
    assert_int_equal(s->close(s, 1), 0);
    assert_int_equal(size_of(in_folder("x")), 5);
}

/* Returns the descriptor of the file with this name in this process. */
static int fd_of(const char *path)
{
    struct stat file, st;

    assert_int_equal(lstat(path, &file), 0);
    for (int fd = 3; fd < 1024; fd++)
        if (fstat(fd, &st) == 0 && st.st_dev == file.st_dev && st.st_ino == file.st_ino)
            return fd;
    fail_msg("%s is not open", path);
    return -1;
}

/* The host closes unknown descriptors and opens its own files with the same numbers. syncline
 * writes nothing to the host's files. */
static void a_host_that_has_our_number_gets_no_byte(void **state)
{
    int host = open(in_folder("host"), O_RDWR | O_CREAT, 0600), ours;
    struct sl_sink *s;

    assert_int_equal(sl_sink_file_open(&s, &place, "x"), 0);
    assert_int_equal(s->write(s, "hello", 5), 0);
    ours = fd_of(in_folder("x.part"));
    assert_true(ours >= 512);
    assert_int_equal(dup2(host, ours), ours);
    assert_int_equal(s->write(s, "hello", 5), -EBADF);
    assert_int_equal(s->sync(s), -EBADF);
    assert_int_equal(s->close(s, 1), -EBADF);
    assert_int_equal(size_of(in_folder("host")), 0);
    assert_int_equal(write(ours, "host", 4), 4);
    assert_int_equal(size_of(in_folder("host")), 4);
    assert_int_equal(size_of(in_folder("x.part")), 5);
    assert_int_equal(size_of(in_folder("x")), -1);
    close(ours);
    close(host);
}

static void a_file_that_was_put_in_our_place_keeps_its_name(void **state)
{
    struct sl_sink *s;

    assert_int_equal(sl_sink_file_open(&s, &place, "x"), 0);
    assert_int_equal(s->write(s, "hello", 5), 0);
    assert_int_equal(close(open(in_folder("other"), O_CREAT | O_WRONLY, 0600)), 0);
    assert_int_equal(rename(in_folder("other"), in_folder("x.part")), 0);
    assert_int_equal(s->close(s, 1), -EBADF);
    assert_int_equal(size_of(in_folder("x.part")), 0);
    assert_int_equal(size_of(in_folder("x")), -1);
}

#define T(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_complete_file_gets_its_name),
        T(a_file_is_created_with_its_first_bytes),
        T(an_incomplete_file_keeps_part),
        T(nothing_is_ever_overwritten),
        T(a_planted_link_is_not_followed),
        T(a_name_that_is_too_long),
        T(a_failed_write_keeps_what_was_synced),
        T(the_standard_streams_are_not_taken),
        T(a_host_that_has_our_number_gets_no_byte),
        T(a_file_that_was_put_in_our_place_keeps_its_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
