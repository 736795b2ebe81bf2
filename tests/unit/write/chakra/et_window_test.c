/* et_window_test.c - a window's two files: what happens to one leaves the other alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/stats.h"
#include "event/op_detail.h"
#include "event/ops.h"
#include "write/edge_rows.h"

#define OPENED 1700000000000000000u

static char folder[64];
static struct sl_shape_table *shapes;
static struct sl_kineto *kineto;
static struct sl_et_window *et;
static struct sl_edge_rows *rows;
static struct sl_trace_meta meta;
static uint8_t delivery_flags;

/* Kineto's file. */
static int sink_error;
static size_t sink_bytes;

static int sink_write(struct sl_sink *sink, const void *data, size_t size)
{
    (void)sink;
    (void)data;
    sink_bytes += size;
    return sink_error;
}

static int sink_close(struct sl_sink *sink, int complete)
{
    (void)sink;
    (void)complete;
    return sink_error;
}

static struct sl_sink sink = {.write = sink_write, .close = sink_close};

static void make(size_t cap, enum sl_compression compression)
{
    const struct sl_et_window_options opt = {
        .chakra = {.shapes = shapes, .cap_bytes = cap},
        .compression = compression,
        .folder = folder,
    };

    assert_int_equal(sl_et_window_create(&et, &opt), 0);
    assert_int_equal(
        sl_edge_rows_create(
            &rows, &(struct sl_edge_rows_options){.shapes = shapes, .kineto = kineto, .et = et}),
        0);
}

static int set_up(void **state)
{
    const struct sl_kineto_options opt = {.detail = SL_DETAIL_DEFAULT};

    (void)state;
    strcpy(folder, "/tmp/sl_et_window_XXXXXX");
    sink_error = 0;
    sink_bytes = 0;
    delivery_flags = 0;
    meta = (struct sl_trace_meta){.rank = 3, .window = 1, .opened_ns = OPENED};
    sl_stats_reset();
    return !mkdtemp(folder) || sl_shape_create(&shapes, 1 << 20) || sl_kineto_create(&kineto, &opt);
}

static int tear_down(void **state)
{
    char command[128];

    (void)state;
    sl_edge_rows_destroy(rows);
    sl_et_window_destroy(et);
    sl_kineto_destroy(kineto);
    sl_shape_destroy(shapes);
    rows = NULL;
    et = NULL;
    snprintf(command, sizeof(command), "rm -rf %.32s", folder);
    return system(command);
}

static void open_window(void)
{
    assert_int_equal(sl_kineto_begin(kineto, &sink, &meta), 0);
    sl_et_window_open(et, &meta);
    sl_edge_rows_open(rows, OPENED, 1);
}

/* Launches, and the word that all is in. */
static int give(unsigned from, unsigned count)
{
    struct sl_event ev[3];
    int error = 0;

    for (unsigned i = from; i < from + count; i++) {
        memset(ev, 0, sizeof(ev));
        ev[0].kind = SL_EV_RUNTIME;
        ev[0].thread = 10;
        ev[0].correlation = i;
        ev[0].start_ns = OPENED + i * 1000;
        ev[0].end_ns = ev[0].start_ns + 500;
        ev[1] = ev[0];
        ev[1].kind = SL_EV_KERNEL;
        ev[1].start_ns = ev[0].start_ns + 100;
        ev[2].kind = SL_EV_DELIVERED;
        ev[2].flags = delivery_flags;
        ev[2].end_ns = ev[0].end_ns + 1;
        error = sl_edge_rows_events(rows, ev, 3) ? -1 : error;
    }
    return error;
}

static long size_of(const char *name)
{
    char path[128];
    struct stat st;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return stat(path, &st) == 0 ? (long)st.st_size : -1;
}

static void test_a_file_beside_the_other(void **state)
{
    (void)state;
    make(0, SL_COMPRESS_NONE);
    open_window();
    assert_int_equal(give(1, 100), 0);
    assert_int_equal(size_of("1.3.et"), -1);
    assert_true(size_of("1.3.et.part") >= 0);
    sl_edge_rows_close(rows, OPENED + 1000000);
    sl_et_window_close(et);
    assert_true(size_of("1.3.et") > 100 * 60);
    assert_int_equal(size_of("1.3.et.part"), -1);
    assert_true(sl_stats_get(SL_STAT_CHAKRA_NODES) >= 199); /* a gap before each but the first */
    assert_int_equal(sl_kineto_end(kineto, OPENED + 1000000), 0);
}

/* Each word may say that something was lost (CUPTI 13.2 tells a subscriber of no loss): nodes go
 * out all the same, and a killed process loses no more than a second of them. */
static void test_nodes_go_out_though_all_is_lossy(void **state)
{
    (void)state;
    make(0, SL_COMPRESS_NONE);
    open_window();
    delivery_flags = SL_EVF_RECORDS_LOST;
    assert_int_equal(give(1, 100), 0);
    assert_true(sl_stats_get(SL_STAT_CHAKRA_NODES) >= 190);
    assert_true(sl_et_window_sync(et) <= 1000000000u); /* there is something to sync, soon */
    sl_edge_rows_close(rows, OPENED + 1000000);
    sl_et_window_close(et);
    assert_int_equal(sl_kineto_end(kineto, OPENED + 1000000), 0);
}

static void test_the_other_file_fails(void **state)
{
    uint64_t before;

    (void)state;
    make(0, SL_COMPRESS_NONE);
    open_window();
    assert_int_equal(give(1, 10), 0);
    sink_error = -ENOSPC;
    assert_int_equal(sl_kineto_flush(kineto), -ENOSPC);
    sl_edge_rows_fail(rows);
    sl_kineto_end(kineto, OPENED);
    before = sl_stats_get(SL_STAT_CHAKRA_NODES);
    assert_int_equal(give(11, 10), 0);
    assert_true(sl_stats_get(SL_STAT_CHAKRA_NODES) > before);
    sl_edge_rows_close(rows, OPENED + 1000000);
    sl_et_window_close(et);
    assert_true(size_of("1.3.et") > 20 * 60);
    assert_int_equal(sl_stats_get(SL_STAT_CHAKRA_FAILED), 0);
}

static void test_it_cannot_be_made(void **state)
{
    (void)state;
    strcat(folder, "/file");
    close(open(folder, O_CREAT | O_WRONLY, 0600));
    make(0, SL_COMPRESS_NONE);
    open_window();
    assert_false(sl_et_window_is_open(et));
    sl_et_window_excuse(et, -ENOTDIR); /* nobody has to read about it here */
    assert_int_equal(give(1, 10), 0);
    assert_int_equal(sl_edge_rows_close(rows, OPENED + 1000000), 0);
    sl_et_window_close(et);
    assert_int_equal(sl_kineto_end(kineto, OPENED + 1000000), 0);
    assert_true(sink_bytes > 1000);
    assert_int_equal(sl_stats_get(SL_STAT_CHAKRA_FAILED), 1);
    assert_int_equal(sl_stats_get(SL_STAT_CHAKRA_NODES), 0);
}

static void test_the_next_window(void **state)
{
    (void)state;
    make(0, SL_COMPRESS_ZSTD);
    for (meta.window = 1; meta.window <= 2; meta.window++) {
        open_window();
        assert_int_equal(give(1, 5), 0);
        sl_edge_rows_close(rows, OPENED + 1000000);
        sl_et_window_close(et);
        sl_et_window_end(et);
        assert_int_equal(sl_kineto_end(kineto, OPENED + 1000000), 0);
    }
    assert_true(size_of("1.3.et.zst") > 0);
    assert_int_equal(size_of("1.3.et.zst"), size_of("2.3.et.zst"));
}

static void test_a_name_that_is_taken(void **state)
{
    char path[128];

    (void)state;
    snprintf(path, sizeof(path), "%s/1.3.et", folder);
    close(open(path, O_CREAT | O_WRONLY, 0600));
    make(0, SL_COMPRESS_NONE);
    open_window();
    give(1, 5);
    sl_edge_rows_close(rows, OPENED + 1000000);
    sl_et_window_close(et);
    assert_int_equal(sl_kineto_end(kineto, OPENED + 1000000), 0);
    assert_int_equal(size_of("1.3.et"), 0);
    assert_true(size_of("1-1700000000000000000.3.et") > 0);
}

static void test_too_little_memory(void **state)
{
    const struct sl_et_window_options opt = {.chakra = {.shapes = shapes, .cap_bytes = 11 << 20}};

    (void)state;
    assert_int_equal(sl_et_window_create(&et, &opt), -EINVAL);
    assert_null(et);
}

/* A call in a collective of the even ranks, of which there are `ranks`. */
static void give_collective(struct sl_intern *intern, unsigned ranks)
{
    static char text[1 << 14], packed[1 << 14];
    struct sl_op_place place = {0};
    struct sl_op_detail detail = {.more = text};
    struct sl_event ev = {.kind = SL_EV_RUNTIME, .correlation = 1, .thread = 10};
    size_t at = (size_t)sprintf(text,
                                "\"Collective name\":\"allreduce\",\"dtype\":\"Float\","
                                "\"In msg nelems\":8,\"Group size\":%u,"
                                "\"Process Group Ranks\":\"[0",
                                ranks);

    for (unsigned i = 1; i < ranks; i++)
        at += (size_t)sprintf(text + at, ", %u", 2 * i);
    detail.more_length = at + (size_t)sprintf(text + at, "]\"");
    place.collective = sl_intern_put(intern, packed, sl_op_detail_pack(packed, &detail));
    ev.stream = sl_intern_put(intern, (const char *)&place, sizeof(place));
    ev.start_ns = OPENED + 1000;
    ev.end_ns = OPENED + 1500;
    sl_et_window_events(et, &ev, 1);
}

/* Standard error's; ends with a NUL. */
static void read_back(int reader, char *text, size_t size)
{
    ssize_t n = read(reader, text, size - 1);

    assert_true(n >= 0);
    text[n] = '\0';
}

/* The disk takes the execution trace, and not all of the list of groups. */
static void test_groups_that_do_not_fit(void **state)
{
    struct rlimit limit, small;
    struct sl_intern *intern;
    char text[1024];
    int end[2], error_output = dup(STDERR_FILENO);

    (void)state;
    assert_int_equal(sl_intern_create(&intern, 1 << 20), 0);
    assert_int_equal(sl_et_window_create(&et,
                                         &(struct sl_et_window_options){
                                             .chakra = {.shapes = shapes, .intern = intern},
                                             .details = intern,
                                             .compression = SL_COMPRESS_ZSTD,
                                             .world_size = 4000,
                                             .folder = folder,
                                         }),
                     0);
    sl_et_window_open(et, &meta);
    give_collective(intern, 2000);
    assert_true(getrlimit(RLIMIT_FSIZE, &limit) == 0 && pipe2(end, O_NONBLOCK) == 0);
    small = (struct rlimit){4096, limit.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    dup2(end[1], STDERR_FILENO);
    sl_et_window_close(et);
    sl_et_window_end(et);
    dup2(error_output, STDERR_FILENO);
    setrlimit(RLIMIT_FSIZE, &limit);
    read_back(end[0], text, sizeof(text));
    assert_non_null(strstr(text, "File too large"));
    assert_true(size_of("1.3.et.zst") > 0);
    assert_int_equal(size_of("1.comm_groups.json"), -1);
    close(end[0]);
    close(end[1]);
    close(error_output);
    sl_et_window_destroy(et);
    et = NULL;
    sl_intern_destroy(intern);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_file_beside_the_other), TEST(test_the_other_file_fails),
        TEST(test_it_cannot_be_made),       TEST(test_the_next_window),
        TEST(test_a_name_that_is_taken),    TEST(test_too_little_memory),
        TEST(test_groups_that_do_not_fit),  TEST(test_nodes_go_out_though_all_is_lossy),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
