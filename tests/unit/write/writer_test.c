/* writer_test.c - each window gives one complete file. If writing fails, the window's file is lost,
 * but the job is not affected. */
#include "unit/test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <zstd.h>

#include "base/stats.h"
#include "unit/write/json_dom.h"
#include "write/kineto/output.h"
#include "write/writer.h"

#define SECOND 1000000000ull
#define OPENED 1700000000123456789u

static char folder[32];
static struct sl_ring *ring;
static struct sl_outputs *outputs;
static struct sl_writer *writer;
static int left_behind; /* 1 if a writer thread was left running and still uses its arguments */
/* the objects that the running writer still uses */
static struct sl_outputs *volatile kept;
static struct sl_folder *place, *volatile kept_place;

static _Atomic int named_by_another;

/* Replaces glibc's function, which writes the name of another thread through a file descriptor that
 * the host may close and reuse. */
int pthread_setname_np(pthread_t thread, const char *name)
{
    if (!pthread_equal(thread, pthread_self()))
        named_by_another = 1;
    return prctl(PR_SET_NAME, name);
}

static int set_up(void **state)
{
    strcpy(folder, "/tmp/sl_writer_XXXXXX");
    outputs = calloc(1, sizeof(*outputs));
    place = calloc(1, sizeof(*place));
    sl_stats_reset();
    return !mkdtemp(folder) || sl_ring_create(&ring, 4096);
}

static int tear_down(void **state)
{
    char command[128];

    if (!left_behind) {
        sl_outputs_destroy(outputs);
        free(outputs);
        sl_folder_close(place);
        free(place);
        sl_ring_destroy(ring);
    } else {
        kept = outputs;
        kept_place = place;
    }
    left_behind = 0;
    snprintf(command, sizeof(command), "chmod -R u+w %s; rm -rf %s", folder, folder);
    return system(command);
}

static void start(enum sl_compression compression)
{
    const struct sl_kineto_options kineto = {.detail = SL_DETAIL_DEFAULT};
    const struct sl_window_file_options file = {.folder = place, .compression = compression};
    const struct sl_writer_options opt = {
        .ring = ring, .outputs = outputs, .meta = {.pid = 42, .world_size = 1}};
    struct sl_output output;

    if (!*place->output)
        assert_int_equal(sl_folder_open(place, folder, 0600), 0);
    assert_int_equal(sl_kineto_output_create(&output, &kineto, file), 0);
    sl_outputs_add(outputs, &output);
    assert_int_equal(sl_writer_start(&writer, &opt), 0);
}

/* The folder of the traces cannot be made. */
static void start_in_vain(void)
{
    sl_folder_init(place, "/proc/syncline-no-such-folder", "job", "p", 0600);
    start(SL_COMPRESS_ZSTD);
}

static void push(enum sl_event_kind kind, uint32_t number)
{
    struct sl_event ev;

    memset(&ev, 0, sizeof(ev));
    ev.kind = (uint8_t)kind;
    ev.start_ns = OPENED + number;
    ev.end_ns = kind == SL_EV_CPU_OP ? SL_END_UNKNOWN : OPENED + number + 10;
    if (kind == SL_EV_RUNTIME) {
        ev.correlation = number;
        ev.thread = 43;
    } else {
        ev.u.window.number = number;
    }
    while (sl_ring_push(ring, &ev) != 0)
        sl_writer_wake(writer);
}

static void push_window(uint32_t number, uint32_t rows)
{
    uint32_t i;

    push(SL_EV_WINDOW_OPEN, number);
    for (i = 1; i <= rows; i++)
        push(SL_EV_RUNTIME, i);
    push(SL_EV_WINDOW_CLOSE, number);
    sl_writer_wake(writer);
}

static char *read_file(const char *name, size_t *size)
{
    char path[256];
    char *data = malloc(8 << 20);
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    file = fopen(path, "rb");
    assert_non_null(file);
    *size = fread(data, 1, 8 << 20, file);
    fclose(file);
    return data;
}

static size_t rows_in(const struct json *trace)
{
    const struct json *e = json_get(trace, "traceEvents");
    size_t n = 0;

    assert_non_null(e);
    for (e = e->child; e; e = e->next)
        n += strcmp(json_text(e, "cat"), "cuda_runtime") == 0;
    return n;
}

static void expect_rows(const char *name, size_t rows)
{
    size_t size;
    char *data = read_file(name, &size);
    struct json *trace;

    if (strstr(name, ".zst")) {
        char *text = malloc(32 << 20);

        size = ZSTD_decompress(text, 32 << 20, data, size);
        assert_false(ZSTD_isError(size));
        free(data);
        data = text;
    }
    trace = json_parse(data, size);
    assert_non_null(trace);
    assert_int_equal(rows_in(trace), rows);
    json_free(trace);
    free(data);
}

static size_t files_in_folder(void)
{
    DIR *dir = opendir(folder);
    size_t n = 0;

    while (readdir(dir))
        n++;
    closedir(dir);
    return n - 2;
}

static void each_window_is_a_complete_file(void **state)
{
    char last[1024], expected[256];
    uint64_t windows = 0;

    start(SL_COMPRESS_ZSTD);
    sl_writer_last(writer, last, sizeof(last), &windows);
    assert_string_equal(last, "");
    push_window(1, 1000);
    push(SL_EV_RUNTIME, 1); /* this call is between windows, so it is counted but not written */
    push_window(2, 20000);
    snprintf(expected, sizeof(expected), "%s/2.pt.trace.json.zst", folder);
    while (windows < 2) { /* ctest's time limit ends this loop if the files never appear */
        sl_writer_last(writer, last, sizeof(last), &windows);
        usleep(1000);
    }
    assert_string_equal(last, expected);
    assert_int_equal(sl_writer_stop(writer, 10 * SECOND), 0);
    expect_rows("1.pt.trace.json.zst", 1000);
    expect_rows("2.pt.trace.json.zst", 20000);
    assert_int_equal(files_in_folder(), 2);
    assert_int_equal(sl_stats_get(SL_STAT_OUTSIDE_WINDOW), 1);
    assert_int_equal(sl_stats_get(SL_STAT_EVENTS_WRITTEN), 21000);
}

static void stop_drains_and_completes_the_open_window(void **state)
{
    uint32_t i;

    start(SL_COMPRESS_NONE);
    push(SL_EV_WINDOW_OPEN, 1);
    for (i = 1; i <= 3000; i++)
        push(SL_EV_RUNTIME, i);
    assert_int_equal(sl_writer_stop(writer, 10 * SECOND), 0);
    expect_rows("1.pt.trace.json", 3000);
}

/* The writer is stopped without time to write the remaining rows. The file is still complete, and
 * every row is either written or counted. */
static void a_stop_in_haste_counts_what_it_leaves(void **state)
{
    char path[128];
    struct json *trace;
    size_t size;
    char *data;
    int ended;

    push(SL_EV_WINDOW_OPEN, 1);
    for (uint32_t i = 1; i <= 4000; i++)
        push(SL_EV_RUNTIME, i);
    start(SL_COMPRESS_NONE);
    ended = sl_writer_stop(writer, 0);
    assert_true(ended == 0 || ended == -ETIMEDOUT);
    if (ended != 0)
        left_behind = 1;
    snprintf(path, sizeof(path), "%s/1.pt.trace.json", folder);
    while (access(path, F_OK) != 0) /* ctest's time limit ends this loop if no file appears */
        usleep(1000);
    data = read_file("1.pt.trace.json", &size);
    trace = json_parse(data, size);
    assert_non_null(trace);
    assert_int_equal(rows_in(trace) + sl_stats_get(SL_STAT_UNDELIVERED_AT_EXIT), 4000);
    json_free(trace);
    free(data);
}

static void a_collision_gets_another_name(void **state)
{
    char name[128];

    snprintf(name, sizeof(name), "%s/1.pt.trace.json", folder);
    assert_int_equal(close(open(name, O_CREAT | O_WRONLY, 0600)), 0);
    start(SL_COMPRESS_NONE);
    push_window(1, 5);
    assert_int_equal(sl_writer_stop(writer, 10 * SECOND), 0);
    expect_rows("1-2.pt.trace.json", 5);
}

static int saved_stderr;
static char stderr_name[64];

static void catch_stderr(void)
{
    int fd;

    strcpy(stderr_name, "/tmp/sl_writer_err_XXXXXX");
    fd = mkstemp(stderr_name);
    fflush(stderr);
    saved_stderr = dup(2);
    dup2(fd, 2);
    close(fd);
}

static char *caught_stderr(void)
{
    static char text[4096];
    FILE *file;
    size_t n;

    dup2(saved_stderr, 2);
    close(saved_stderr);
    file = fopen(stderr_name, "r");
    n = fread(text, 1, sizeof(text) - 1, file);
    text[n] = 0;
    fclose(file);
    unlink(stderr_name);
    return text;
}

static void a_folder_that_cannot_be_made_is_said_once_per_window(void **state)
{
    const char *text, *line;
    int lines = 0;

    catch_stderr();
    start_in_vain();
    push_window(1, 500);
    assert_int_equal(sl_writer_stop(writer, 10 * SECOND), 0);
    text = caught_stderr();
    for (line = text; (line = strchr(line, '\n')) != NULL; line++)
        lines++;
    assert_int_equal(lines, 1);
    assert_non_null(strstr(text, "/proc/syncline-no-such-folder/job/p/1.pt.trace.json.zst"));
    assert_non_null(strstr(text, "the job is not affected"));
    assert_non_null(strstr(text, "SYNCLINE_OUTPUT"));
    assert_int_equal(sl_stats_get(SL_STAT_DROPPED_WRITE), 500);
    assert_int_equal(sl_stats_get(SL_STAT_EVENTS_WRITTEN), 0);
}

/* Waits until the window has a file, and returns its descriptor. */
static int wait_for_file(uint32_t window)
{
    char name[128];
    struct stat file, st;

    snprintf(name, sizeof(name), "%s/%u.pt.trace.json.part", folder, window);
    while (stat(name, &file) != 0 || file.st_size == 0) /* ctest's time limit ends this loop */
        usleep(1000);
    for (int fd = 512;; fd++)
        if (fstat(fd, &st) == 0 && st.st_ino == file.st_ino)
            return fd;
}

static void a_file_that_the_host_closed_costs_its_window(void **state)
{
    uint64_t renew_ns;
    const char *text;
    size_t size;
    char *data;

    catch_stderr();
    start(SL_COMPRESS_NONE);
    for (uint32_t window = 1; window <= 2; window++) {
        push(SL_EV_WINDOW_OPEN, window);
        push(SL_EV_RUNTIME, 1);
        sl_writer_wake(writer);
        /* syscall(), because ThreadSanitizer would report close() as a race */
        syscall(SYS_close, wait_for_file(window));
        push(SL_EV_RUNTIME, 2);
        push(SL_EV_WINDOW_CLOSE, window);
        sl_writer_wake(writer);
        while (sl_writer_lost_window(writer, &renew_ns) < window)
            usleep(1000);
    }
    push_window(3, 5);
    assert_int_equal(sl_writer_stop(writer, 10 * SECOND), 0);
    text = caught_stderr();
    /* Only one line is printed for all windows. */
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
    assert_non_null(
        strstr(text, "the program closed or replaced the descriptor of a trace file of window 1"));
    assert_int_equal(sl_stats_get(SL_STAT_FILES_LOST), 2);
    assert_int_equal(sl_stats_get(SL_STAT_DROPPED_WRITE), 2);
    expect_rows("3.pt.trace.json", 5);
    data = read_file("3.pt.trace.json", &size);
    data[size] = 0;
    assert_non_null(strstr(data, "\"files_lost\":2"));
    free(data);
}

/* One output needs the beginning of an operator before the operator's row. If the operator is lost,
 * it is counted only once. */
static void a_rows_beginning_is_no_row(void **state)
{
    catch_stderr();
    start_in_vain();
    push(SL_EV_RUNTIME, 1); /* this call is before any window, so it is not written */
    push(SL_EV_CPU_OP, 1);
    push(SL_EV_WINDOW_OPEN, 1);
    for (uint32_t i = 1; i <= 500; i++) {
        push(SL_EV_CPU_OP, i);
        push(SL_EV_RUNTIME, i);
    }
    push(SL_EV_WINDOW_CLOSE, 1);
    assert_int_equal(sl_writer_stop(writer, 10 * SECOND), 0);
    caught_stderr();
    assert_int_equal(sl_stats_get(SL_STAT_DROPPED_WRITE), 500);
    assert_int_equal(sl_stats_get(SL_STAT_OUTSIDE_WINDOW), 1);
}

/* Finds the thread with this name, and reads its signal mask. The thread must block all signals. */
static int find_thread(const char *name, unsigned long long *mask)
{
    char path[300], line[256], wanted[64];
    struct dirent *entry;
    int found = 0;
    DIR *dir;

    snprintf(wanted, sizeof(wanted), "Name:\t%s\n", name);
    dir = opendir("/proc/self/task");
    while (!found && (entry = readdir(dir)) != NULL) {
        FILE *file;

        snprintf(path, sizeof(path), "/proc/self/task/%s/status", entry->d_name);
        file = fopen(path, "r");
        found = file && fgets(line, sizeof(line), file) && strcmp(line, wanted) == 0;
        while (found && fgets(line, sizeof(line), file))
            sscanf(line, "SigBlk: %llx", mask);
        if (file)
            fclose(file);
    }
    closedir(dir);
    return found;
}

static void the_thread_takes_no_signals(void **state)
{
    unsigned long long mask = 0;

    start(SL_COMPRESS_NONE);
    while (!find_thread("syncline-write", &mask)) /* ctest's time limit ends this loop */
        usleep(1000);
    assert_int_equal(sl_writer_stop(writer, 10 * SECOND), 0);
    assert_true(mask >> (SIGINT - 1) & 1);
    assert_true(mask >> (SIGXFSZ - 1) & 1);
    assert_true(mask >> (SIGUSR1 - 1) & 1);
    assert_false(named_by_another);
}

/* A second after events were given to the writer, they can be read from the file, although the
 * window is still open. */
static void an_open_window_can_be_read_soon(void **state)
{
    static char text[1 << 20];
    char path[128];
    size_t size = 0;
    int fd;

    start(SL_COMPRESS_ZSTD);
    push(SL_EV_WINDOW_OPEN, 1);
    push(SL_EV_RUNTIME, 77);
    sl_writer_wake(writer);
    snprintf(path, sizeof(path), "%s/1.pt.trace.json.zst.part", folder);
    while (size == 0) { /* ctest's time limit ends this loop if the frame never appears */
        struct stat st;

        usleep(1000);
        if (stat(path, &st) == 0)
            size = (size_t)st.st_size;
    }
    usleep(1000);
    fd = open(path, O_RDONLY);
    size = (size_t)read(fd, text, sizeof(text) / 2);
    close(fd);
    size = ZSTD_decompress(text + sizeof(text) / 2, sizeof(text) / 2, text, size);
    assert_false(ZSTD_isError(size));
    text[sizeof(text) / 2 + size] = 0;
    assert_non_null(strstr(text + sizeof(text) / 2, "\"correlation\":77"));
    assert_int_equal(sl_writer_stop(writer, 10 * SECOND), 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(each_window_is_a_complete_file),
        T(stop_drains_and_completes_the_open_window),
        T(a_collision_gets_another_name),
        T(a_folder_that_cannot_be_made_is_said_once_per_window),
        T(a_file_that_the_host_closed_costs_its_window),
        T(a_rows_beginning_is_no_row),
        T(a_stop_in_haste_counts_what_it_leaves),
        T(the_thread_takes_no_signals),
        T(an_open_window_can_be_read_soon),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
