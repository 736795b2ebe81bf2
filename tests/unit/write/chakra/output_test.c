/* output_test.c - writes the Chakra execution trace of each window. A failure of one output of a
 * window does not affect the other outputs. */
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

#include "base/stats.h"
#include "event/op_detail.h"
#include "event/ops.h"
#include "write/chakra/output.h"
#include "write/edge_rows.h"

#define OPENED 1700000000000000000u

static char folder[64], first_folder[64];
static struct sl_folder trace_folder, first_trace_folder;
static struct sl_shape_table *shapes;
static struct sl_outputs outputs;
static struct sl_edge_rows *rows;
static struct sl_trace_meta meta;
static uint8_t delivery_flags;

/* ---- a fake output, which precedes the Chakra output in the list ---- */

static int first_error;
static unsigned first_events, first_failures;

static struct sl_window_file *first_file;

static int first_open(void *user, const struct sl_trace_meta *its, struct sl_window_file *file)
{
    first_file = file;
    return 0;
}

static int first_take_events(void *user, const struct sl_event *ev, size_t count)
{
    first_events += (unsigned)count;
    return first_error;
}

static int first_take_edges(void *user, const struct sl_output_edges *edges)
{
    return 0;
}

static int first_complete(void *user, const struct sl_output_progress *progress)
{
    return 0;
}

static int first_sync(void *user)
{
    return 0;
}

static int first_close(void *user, uint64_t closed_ns)
{
    return sl_window_file_close(first_file, 1);
}

static void first_fail(void *user)
{
    first_error = 0;
    first_failures++;
}

static void first_destroy(void *user)
{
}

static const struct sl_output_functions first = {
    .lost = "",
    .remedy = "",
    .open = first_open,
    .events = first_take_events,
    .edges = first_take_edges,
    .complete = first_complete,
    .sync = first_sync,
    .close = first_close,
    .fail = first_fail,
    .destroy = first_destroy,
};

/* ---- */

static void make_with(const struct sl_chakra_output_options *opt)
{
    struct sl_output et;

    assert_int_equal(sl_chakra_output_create(&et, opt), 0);
    sl_outputs_add(&outputs,
                   &(struct sl_output){.functions = &first,
                                       .file = {.folder = &first_trace_folder, .ending = ".json"}});
    sl_outputs_add(&outputs, &et);
    assert_int_equal(
        sl_edge_rows_create(&rows,
                            &(struct sl_edge_rows_options){.shapes = shapes, .outputs = &outputs}),
        0);
}

static void make(enum sl_compression compression)
{
    make_with(&(struct sl_chakra_output_options){
        .chakra = {.shapes = shapes},
        .file = {.folder = &trace_folder, .compression = compression},
    });
}

static int set_up(void **state)
{
    strcpy(folder, "/tmp/sl_chakra_output_XXXXXX");
    first_error = 0;
    first_events = first_failures = 0;
    delivery_flags = 0;
    meta = (struct sl_trace_meta){.rank = 3, .window = 1, .opened_ns = OPENED};
    sl_stats_reset();
    if (!mkdtemp(folder))
        return -1;
    sprintf(first_folder, "%.40s/first", folder);
    assert_int_equal(sl_folder_open(&trace_folder, folder, 0600), 0);
    assert_int_equal(sl_folder_open(&first_trace_folder, first_folder, 0600), 0);
    return sl_shape_create(&shapes, 1 << 20);
}

static int tear_down(void **state)
{
    char command[128];

    sl_edge_rows_destroy(rows);
    sl_outputs_destroy(&outputs);
    sl_folder_close(&trace_folder);
    sl_folder_close(&first_trace_folder);
    sl_shape_destroy(shapes);
    rows = NULL;
    snprintf(command, sizeof(command), "rm -rf %.28s", folder);
    return system(command);
}

static void open_window(void)
{
    outputs.failed = 0; /* no window of these tests waits because an earlier window failed */
    sl_outputs_open(&outputs, &meta, 1);
    sl_edge_rows_open(rows, OPENED);
}

static void close_window(void)
{
    sl_edge_rows_close(rows, OPENED + 1000000);
    sl_outputs_close(&outputs, OPENED + 1000000);
}

/* Gives launches to the outputs, and then reports that all records up to this time have been
 * delivered. */
static void give(unsigned from, unsigned count)
{
    struct sl_event ev[3];

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
        sl_edge_rows_events(rows, ev, 3);
    }
}

static int saved_stderr, stderr_pipe[2];

static void catch_stderr(void)
{
    assert_int_equal(pipe2(stderr_pipe, O_NONBLOCK), 0);
    saved_stderr = dup(STDERR_FILENO);
    dup2(stderr_pipe[1], STDERR_FILENO);
}

static const char *caught_stderr(void)
{
    static char text[4096];
    ssize_t n = read(stderr_pipe[0], text, sizeof(text) - 1);

    text[n > 0 ? n : 0] = '\0';
    dup2(saved_stderr, STDERR_FILENO);
    close(saved_stderr);
    close(stderr_pipe[0]);
    close(stderr_pipe[1]);
    return text;
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
    make(SL_COMPRESS_NONE);
    open_window();
    give(1, 100);
    assert_int_equal(size_of("1.3.et"), -1);
    assert_int_equal(size_of("1.3.et.part"), -1); /* the header is not written yet */
    sl_outputs_sync(&outputs);
    assert_true(size_of("1.3.et.part") > 0);
    close_window();
    assert_true(size_of("1.3.et") > 100 * 60);
    assert_int_equal(size_of("1.3.et.part"), -1);
    /* 100 launches, and a gap before each launch except the first */
    assert_true(sl_stats_get(SL_STAT_CHAKRA_NODES) >= 199);
}

/* CUPTI 13.2 does not tell a subscriber about lost records, so each report of delivered records
 * says that records may be lost. Nodes are written all the same. A killed process loses the nodes
 * of at most one second. */
static void test_nodes_go_out_though_all_is_lossy(void **state)
{
    make(SL_COMPRESS_NONE);
    open_window();
    delivery_flags = SL_EVF_RECORDS_LOST;
    give(1, 100);
    assert_true(sl_stats_get(SL_STAT_CHAKRA_NODES) >= 190);
    sl_outputs_sync(&outputs);
    assert_true(size_of("1.3.et.part") > 0);
    close_window();
}

static void test_the_other_file_fails(void **state)
{
    uint64_t before;

    make(SL_COMPRESS_NONE);
    open_window();
    give(1, 10);
    first_error = -ENOSPC;
    catch_stderr();
    give(11, 1);
    assert_non_null(
        strstr(caught_stderr(), "first/1.json: No space left on device; the rest of window 1 is"));
    assert_int_equal(first_failures, 1);
    before = sl_stats_get(SL_STAT_CHAKRA_NODES);
    give(12, 9);
    assert_int_equal(first_events, 40); /* later windows need the events */
    assert_true(sl_stats_get(SL_STAT_CHAKRA_NODES) > before);
    close_window();
    assert_true(size_of("1.3.et") > 20 * 60);
    assert_int_equal(sl_stats_get(SL_STAT_CHAKRA_FAILED), 0);
}

/* The Chakra file of the window cannot be created. If `fails_too` is not 0, the fake output fails,
 * too, with this error. */
static void cannot_be_made(int fails_too)
{
    const char *text;

    strcat(folder, "/file");
    close(open(folder, O_CREAT | O_WRONLY, 0600));
    sl_folder_close(&trace_folder);
    sl_folder_init(&trace_folder, folder, "job", "p", 0600);
    make(SL_COMPRESS_NONE);
    open_window();
    give(1, 10);
    assert_int_equal(first_events, 20);
    assert_int_equal(sl_stats_get(SL_STAT_CHAKRA_FAILED), 1);
    assert_int_equal(sl_stats_get(SL_STAT_CHAKRA_NODES), 0);
    catch_stderr();
    first_error = fails_too;
    give(11, 1);
    close_window();
    text = caught_stderr();
    assert_int_equal(strstr(text, "first/1.json") != NULL, fails_too != 0);
    assert_int_equal(strstr(text, "1.3.et: Not a directory; the rest of window 1's execution") !=
                         NULL,
                     fails_too != -ENOTDIR);
}

static void test_it_cannot_be_made(void **state)
{
    cannot_be_made(0);
}

static void test_both_fail(void **state)
{
    cannot_be_made(-ENOSPC);
}

/* Both outputs fail for the same reason. Only one message is printed, by the output that failed
 * first. */
static void test_both_fail_by_the_same(void **state)
{
    cannot_be_made(-ENOTDIR);
}

static void test_the_next_window(void **state)
{
    make(SL_COMPRESS_ZSTD);
    for (meta.window = 1; meta.window <= 2; meta.window++) {
        open_window();
        give(1, 5);
        close_window();
    }
    assert_true(size_of("1.3.et.zst") > 0);
    assert_int_equal(size_of("1.3.et.zst"), size_of("2.3.et.zst"));
}

static void test_a_name_that_is_taken(void **state)
{
    char path[128];

    snprintf(path, sizeof(path), "%s/1.3.et", folder);
    close(open(path, O_CREAT | O_WRONLY, 0600));
    make(SL_COMPRESS_NONE);
    open_window();
    give(1, 5);
    close_window();
    assert_int_equal(size_of("1.3.et"), 0);
    assert_true(size_of("1-2.3.et") > 0);
}

static void test_too_little_memory(void **state)
{
    const struct sl_chakra_output_options opt = {
        .chakra = {.shapes = shapes, .cap_bytes = 11 << 20}};
    struct sl_output et;

    assert_int_equal(sl_chakra_output_create(&et, &opt), -EINVAL);
}

/* Adds a call inside a collective, whose group is the first `ranks` even ranks. */
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
    ev.place = sl_intern_put(intern, (const char *)&place, sizeof(place));
    ev.start_ns = OPENED + 1000;
    ev.end_ns = OPENED + 1500;
    sl_outputs_events(&outputs, &ev, 1);
}

/* The execution trace fits on the disk, but the list of groups does not. */
static void test_groups_that_do_not_fit(void **state)
{
    struct rlimit limit, small;
    struct sl_intern *intern;

    assert_int_equal(sl_intern_create(&intern, 1 << 20), 0);
    make_with(&(struct sl_chakra_output_options){
        .chakra = {.shapes = shapes, .intern = intern},
        .file = {.folder = &trace_folder, .compression = SL_COMPRESS_ZSTD},
        .details = intern,
    });
    meta.world_size = 4000;
    open_window();
    give_collective(intern, 2000);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    small = (struct rlimit){4096, limit.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    catch_stderr();
    setrlimit(RLIMIT_FSIZE, &small);
    close_window();
    setrlimit(RLIMIT_FSIZE, &limit);
    assert_non_null(strstr(caught_stderr(), "File too large"));
    assert_true(size_of("1.3.et.zst") > 0);
    assert_int_equal(size_of("1.comm_groups.json"), -1);
    sl_edge_rows_destroy(rows);
    sl_outputs_destroy(&outputs);
    rows = NULL;
    sl_intern_destroy(intern);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_file_beside_the_other),
        TEST(test_the_other_file_fails),
        TEST(test_it_cannot_be_made),
        TEST(test_the_next_window),
        TEST(test_a_name_that_is_taken),
        TEST(test_too_little_memory),
        TEST(test_groups_that_do_not_fit),
        TEST(test_nodes_go_out_though_all_is_lossy),
        TEST(test_both_fail),
        TEST(test_both_fail_by_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
