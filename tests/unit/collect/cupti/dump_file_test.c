/* dump_file_test.c - a dump file consists of complete chunks, whatever happens to the disk. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "collect/cupti/dump_file.h"

static char folder[] = "/tmp/sl_dump_file_XXXXXX";
static char given[128], path[128];
static struct sl_cupti_dump_file file;
static struct sl_cupti_dump_header header;

static int init(void **state)
{
    (void)state;
    sl_log_set_level(SL_LOG_ERROR);
    memset(&header, 0x21, sizeof(header));
    return !mkdtemp(folder);
}

static int end(void **state)
{
    (void)state;
    return rmdir(folder);
}

static int open_file(void **state)
{
    (void)state;
    snprintf(given, sizeof(given), "%s/dump-%%p.bin", folder);
    snprintf(path, sizeof(path), "%s/dump-4242.bin", folder);
    return sl_cupti_dump_file_open(&file, given, 4242, &header);
}

static int remove_file(void **state)
{
    (void)state;
    sl_cupti_dump_file_close(&file);
    return unlink(path);
}

static struct stat status(void)
{
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    return st;
}

static void write_chunk(char fill, size_t first, size_t second)
{
    static char bytes[10000];
    const struct iovec piece[] = {{bytes, first}, {bytes, second}};

    memset(bytes, fill, sizeof(bytes));
    sl_cupti_dump_file_write(&file, SL_CUPTI_DUMP_BUFFER, piece, 2);
}

static void chunks_follow_the_header(void **state)
{
    struct sl_cupti_dump_chunk chunk;
    char bytes[512];
    FILE *f;

    (void)state;
    write_chunk('a', 3, 8);
    write_chunk('b', 0, 1);
    f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fread(bytes, 1, sizeof(bytes), f),
                     sizeof(header) + 2 * sizeof(chunk) + 16 + 8);
    fclose(f);
    assert_memory_equal(bytes, &header, sizeof(header));
    memcpy(&chunk, bytes + sizeof(header), sizeof(chunk));
    assert_int_equal(chunk.type, SL_CUPTI_DUMP_BUFFER);
    assert_int_equal(chunk.bytes, 16);
    /* Each piece is padded to a multiple of 8 bytes. */
    assert_memory_equal(bytes + sizeof(header) + sizeof(chunk), "aaa\0\0\0\0\0aaaaaaaa", 16);
    memcpy(&chunk, bytes + sizeof(header) + sizeof(chunk) + 16, sizeof(chunk));
    assert_int_equal(chunk.bytes, 8);
}

/* The file is readable only for its user, because a dump may contain private data of the
 * program. */
static void nobody_else_may_read_it(void **state)
{
    (void)state;
    assert_int_equal(status().st_mode & 0777, 0600);
}

static void a_file_that_is_there_is_left_alone(void **state)
{
    struct sl_cupti_dump_file other;
    off_t size = status().st_size;

    (void)state;
    assert_true(sl_cupti_dump_file_open(&other, path, 1, &header) < 0);
    assert_int_equal(status().st_size, size);
}

/* A limit on file sizes imitates a full disk. A chunk that does not fit is not written at all. */
static void a_chunk_that_does_not_fit_is_no_part(void **state)
{
    struct rlimit limit, small;
    off_t whole;

    (void)state;
    write_chunk('a', 100, 100);
    whole = status().st_size;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    small = (struct rlimit){(rlim_t)whole + 5000, limit.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    write_chunk('b', 3000, 9000);
    setrlimit(RLIMIT_FSIZE, &limit);
    assert_int_equal(status().st_size, whole);
    assert_int_equal(file.own.fd, -1);
    write_chunk('c', 8, 8); /* there is room again, but the dump has ended */
    assert_int_equal(status().st_size, whole);
}

/* The host closes the dump's descriptor and gets the same number for its own file. Nothing is
 * written to the host's file. */
static void a_host_that_has_our_number_gets_no_byte(void **state)
{
    FILE *host = tmpfile();
    off_t whole = status().st_size;
    int ours = file.own.fd;
    struct stat st;

    (void)state;
    assert_true(ours >= 512);
    assert_int_equal(dup2(fileno(host), ours), ours);
    write_chunk('a', 100, 100);
    assert_int_equal(file.own.fd, -1);
    write_chunk('b', 100, 100);
    sl_cupti_dump_file_close(&file);
    assert_int_equal(fstat(ours, &st), 0);
    assert_int_equal(st.st_size, 0);
    assert_int_equal(status().st_size, whole);
    close(ours);
    fclose(host);
}

static void a_path_that_is_too_long(void **state)
{
    static char longer[PATH_MAX + 16];
    struct sl_cupti_dump_file other = {.own = {.fd = -1}};

    (void)state;
    memset(longer, 'p', sizeof(longer) - 1);
    assert_int_equal(sl_cupti_dump_file_open(&other, longer, 1, &header), -ENAMETOOLONG);
    memcpy(longer + PATH_MAX - 8, "%p", 2); /* with the process id the path would be too long */
    longer[PATH_MAX - 4] = '\0';
    assert_int_equal(sl_cupti_dump_file_open(&other, longer, 4000000000u, &header), -ENAMETOOLONG);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, open_file, remove_file)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(chunks_follow_the_header),
        CASE(nobody_else_may_read_it),
        CASE(a_file_that_is_there_is_left_alone),
        CASE(a_chunk_that_does_not_fit_is_no_part),
        CASE(a_host_that_has_our_number_gets_no_byte),
        CASE(a_path_that_is_too_long),
    };

    return cmocka_run_group_tests(tests, init, end);
}
