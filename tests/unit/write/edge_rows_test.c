/*
 * edge_rows_test.c - the row of a waiting call says what it waited for, edges of the window are
 * written as rows, and every delayed row is written in the end.
 */
#include "unit/write/kineto/fixture.h"

#include "write/edge_rows.h"

#define LAUNCH 211
#define SYNC   131
#define US     1000u

static struct sl_edge_rows *rows;
static struct sl_outputs outputs;

/* ---- the fixture's Kineto writer, used as an output of the pipeline ---- */

static int out_open(void *user, const struct sl_trace_meta *meta, struct sl_window_file *file)
{
    return 0;
}

static int out_events(void *user, const struct sl_event *ev, size_t count)
{
    return sl_kineto_events(f.kineto, ev, count);
}

static int out_edges(void *user, const struct sl_output_edges *edges)
{
    return sl_kineto_edges(f.kineto, edges);
}

static int out_complete(void *user, const struct sl_output_progress *progress)
{
    return sl_kineto_complete(f.kineto, progress);
}

static const struct sl_output_functions functions = {
    .open = out_open, .events = out_events, .edges = out_edges, .complete = out_complete};

static int make(void **state)
{
    set_up(state);
    sl_stats_reset();
    f.meta.has_edges = 1;
    outputs = (struct sl_outputs){0};
    sl_outputs_add(&outputs, &(struct sl_output){.functions = &functions});
    const struct sl_edge_rows_options opt = {
        .cap_bytes = 1 << 20, .shapes = f.shapes, .outputs = &outputs};

    return sl_edge_rows_create(&rows, &opt);
}

static int drop(void **state)
{
    sl_edge_rows_destroy(rows);
    return tear_down(state);
}

static void take(struct sl_event ev)
{
    sl_edge_rows_events(rows, &ev, 1);
}

static struct sl_event called(uint32_t cbid, uint64_t id, uint64_t from, uint64_t to)
{
    struct sl_event ev = call(SL_EV_RUNTIME, id, cbid);

    ev.start_ns = BASE + from * US;
    ev.end_ns = BASE + to * US;
    return ev;
}

static struct sl_event ran(uint64_t id, uint64_t from, uint64_t to)
{
    struct sl_event ev = kernel_named("k", 1, id);

    ev.start_ns = BASE + from * US;
    ev.end_ns = BASE + to * US;
    return ev;
}

static struct sl_event synced(uint64_t id, uint64_t from, uint64_t to)
{
    struct sl_event ev = event(SL_EV_SYNC, id, from * US, to * US);

    ev.u.sync.type = SL_SYNC_STREAM;
    return ev;
}

/* Adds a kernel from 15 us to 60 us, and a wait for the kernel that returns at 66 us. */
static void wait_for_kernel(uint64_t id, uint16_t flags)
{
    struct sl_event launch = called(LAUNCH, id, 10, 12), kernel = ran(id, 15, 60);

    launch.flags = kernel.flags = flags;
    take(launch);
    take(called(SYNC, id + 1, 20, 66));
    take(synced(id + 1, 21, 65));
    take(kernel);
}

static void delivered(uint64_t us, uint16_t flags)
{
    struct sl_event ev = event(SL_EV_DELIVERED, 0, 0, us * US);

    ev.flags = flags;
    take(ev);
}

static void open_at(uint64_t us)
{
    begin();
    sl_outputs_open(&outputs, &f.meta, 0);
    sl_edge_rows_open(rows, BASE + us * US);
}

static void close_at(uint64_t us)
{
    sl_edge_rows_close(rows, BASE + us * US);
    end();
}

static int count(const char *key, const char *value)
{
    int n = 0;

    while (find(key, value, n))
        n++;
    return n;
}

/* Returns the number of edges in the rows of calls, and the last of them in *edge. */
static int count_edges(const struct json **edge)
{
    int n = 0;

    for (const struct json *row = f.events->child; row; row = row->next) {
        const struct json *args = json_get(row, "args");
        const struct json *edges = args ? json_get(args, "sync_edges") : NULL;

        n += edges ? (int)edges->count : 0;
        if (edges && edge)
            *edge = edges->last;
    }
    return n;
}

static void a_wait_is_written_when_it_is_decided(void **state)
{
    const struct json *row;

    open_at(0);
    wait_for_kernel(5, 0);
    /* all rows except the row of the waiting call */
    assert_int_equal(sl_kineto_written(f.kineto), 3);
    delivered(66, 0);
    assert_int_equal(sl_kineto_written(f.kineto), 3);
    delivered(200, 0);
    assert_int_equal(sl_kineto_written(f.kineto), 4);
    close_at(300);
    row = find("cat", "cuda_runtime", 1);
    assert_string_equal(arg(row, "correlation"), "6");
    assert_string_equal(arg(row, "wait_ns"), "40000");
    assert_string_equal(arg(row, "released_by"), "5");
    assert_int_equal(count_edges(NULL), 1);
    assert_int_equal(count("cat", "sync"), 2);
    assert_string_equal(counter("edges"), "1");
    assert_string_equal(counter("edges_released"), "1");
}

/* A call's row has bounded length. Further edges have rows of their own. */
static void a_wait_for_very_many_streams(void **state)
{
    enum {
        MANY = 3000
    };
    static struct sl_edge edge[MANY];
    const struct sl_output_edges edges = {
        .edge = edge, .count = MANY, .by = edge, .ends_a_call = 1, .until_ns = UINT64_MAX};
    struct sl_event sync = called(SYNC, 6, 20, 66);
    int in_row;

    for (uint32_t i = 0; i < MANY; i++)
        edge[i] = (struct sl_edge){.kind = SL_EDGE_DEVICE_SYNC,
                                   .dst_correlation = 6,
                                   .dst_start_ns = sync.start_ns,
                                   .dst_end_ns = sync.end_ns,
                                   .source = {.correlation = i + 7, .stream = i + 7}};
    open_at(0);
    take(sync);
    assert_int_equal(sl_kineto_edges(f.kineto, &edges), 0);
    close_at(100);
    in_row = count_edges(NULL);
    assert_in_range(in_row, 1000, MANY - 1);
    assert_int_equal(count("name", "sync_edge"), MANY - in_row);
    assert_string_equal(arg(find("name", "sync_edge", MANY - in_row - 1), "src_stream"), "3006");
}

static void at_the_windows_end_nothing_is_held(void **state)
{
    open_at(0);
    wait_for_kernel(5, 0);
    take(called(SYNC, 7, 70, 80)); /* the record of this event never arrives */
    close_at(100);
    assert_string_equal(arg(find("cat", "cuda_runtime", 1), "released_by"), "5");
    assert_int_equal(count("cat", "cuda_runtime"), 3);
    assert_int_equal(count_edges(NULL), 1);
}

/* A kernel of the lead-in releases a wait of the window. The kernel has an edge but no row, so
 * there is no arrow. */
static void work_from_before_the_window(void **state)
{
    struct sl_event launch = called(LAUNCH, 5, 10, 12), kernel = ran(5, 15, 60);
    const struct json *edge;

    launch.flags = kernel.flags = SL_EVF_ONLY_EDGES;
    take(launch);
    open_at(18);
    take(kernel);
    take(called(SYNC, 6, 20, 66));
    take(synced(6, 21, 65));
    close_at(100);
    assert_int_equal(count("cat", "kernel"), 0);
    assert_int_equal(count_edges(&edge), 1);
    assert_string_equal(json_text(edge, "src_correlation"), "5");
    assert_string_equal(arg(find("cat", "cuda_runtime", 0), "wait_ns"), "40000");
    assert_int_equal(count("cat", "sync"), 0);
}

static void waits_of_another_window_are_not_told(void **state)
{
    struct sl_event sync = called(SYNC, 6, 20, 66), record = synced(6, 21, 65);

    take(called(LAUNCH, 5, 10, 12));
    take(ran(5, 15, 60));
    sync.flags = record.flags = SL_EVF_ONLY_EDGES;
    take(sync);
    take(record);
    open_at(25);
    delivered(200, 0);
    close_at(300);
    assert_int_equal(count_edges(NULL), 0);
    assert_int_equal(count("cat", "cuda_runtime"), 0);
}

static void what_began_after_the_window_is_no_row_of_it(void **state)
{
    struct sl_event launch = called(LAUNCH, 7, 68, 70), kernel = ran(7, 71, 90);

    open_at(0);
    wait_for_kernel(5, 0);
    launch.flags = kernel.flags = SL_EVF_ONLY_EDGES;
    take(launch);
    take(kernel);
    struct sl_event sync = called(SYNC, 8, 75, 95), record = synced(8, 76, 94);

    sync.flags = record.flags = SL_EVF_ONLY_EDGES;
    take(sync);
    take(record);
    delivered(300, 0);
    close_at(67);
    assert_int_equal(count_edges(NULL), 1);
    assert_int_equal(count("cat", "cuda_runtime"), 2);
}

static void after_a_loss_rows_go_out_bare(void **state)
{
    open_at(0);
    wait_for_kernel(5, 0);
    delivered(200, SL_EVF_RECORDS_LOST);
    assert_int_equal(sl_kineto_written(f.kineto), 4);
    close_at(300);
    assert_null(json_get(json_get(find("cat", "cuda_runtime", 1), "args"), "wait_ns"));
    assert_int_equal(count_edges(NULL), 0);
    assert_string_equal(counter("edges_lost_gave_up"), "1");
}

/* The row of a wait is delayed until the record of its event has arrived, or can no longer arrive.
 * Here each report of delivered records says that records may be lost. */
static void rows_go_out_though_all_is_lossy(void **state)
{
    struct sl_event sync = synced(6, 21, 65);

    sync.u.sync.type = SL_SYNC_EVENT;
    sync.u.sync.event_sync_id = 3;
    open_at(0);
    take(sync);
    delivered(60, SL_EVF_RECORDS_LOST);
    assert_int_equal(sl_kineto_written(f.kineto), 0);
    delivered(200, SL_EVF_RECORDS_LOST);
    assert_int_equal(sl_kineto_written(f.kineto), 1);
    close_at(300);
}

static void a_pause_is_the_end_of_what_is_known(void **state)
{
    take(called(LAUNCH, 5, 10, 12));
    take(ran(5, 15, 60));
    take(event(SL_EV_KINDS_ON, 0, 0, 0));
    open_at(18);
    take(called(SYNC, 6, 20, 66));
    take(synced(6, 21, 65));
    close_at(100);
    assert_int_equal(count_edges(NULL), 0);
    assert_string_equal(counter("edges_lost_before_window"), "1");
}

static void a_full_table_lets_the_oldest_go(void **state)
{
    const uint64_t calls = 4000;

    open_at(0);
    for (uint64_t i = 0; i < calls; i++)
        take(called(SYNC, 10 + i, 100 + i, 101 + i));
    assert_in_range(sl_kineto_written(f.kineto), 1, calls - 1);
    close_at(9000);
    assert_int_equal(count("cat", "cuda_runtime"), (int)calls);
    assert_true(atoi(counter("waits_unannotated")) > 0);
}

static void calls_that_do_not_wait_go_through(void **state)
{
    struct sl_event failed = called(SYNC, 7, 20, 22);

    open_at(0);
    take(called(LAUNCH, 5, 10, 12));
    take(called(147, 6, 14, 16)); /* cudaStreamWaitEvent */
    failed.u.call.result = 600;
    take(failed);
    assert_int_equal(sl_kineto_written(f.kineto), 3);
    close_at(100);
}

#define ROWS_TEST(name) cmocka_unit_test_setup_teardown(name, make, drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROWS_TEST(a_wait_is_written_when_it_is_decided),
        ROWS_TEST(a_wait_for_very_many_streams),
        ROWS_TEST(at_the_windows_end_nothing_is_held),
        ROWS_TEST(work_from_before_the_window),
        ROWS_TEST(waits_of_another_window_are_not_told),
        ROWS_TEST(what_began_after_the_window_is_no_row_of_it),
        ROWS_TEST(after_a_loss_rows_go_out_bare),
        ROWS_TEST(rows_go_out_though_all_is_lossy),
        ROWS_TEST(a_pause_is_the_end_of_what_is_known),
        ROWS_TEST(a_full_table_lets_the_oldest_go),
        ROWS_TEST(calls_that_do_not_wait_go_through),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
