/*
 * edge_test.c - the parts of a file that describe an edge: its row, its arrow, and the call's args.
 */
#include "unit/write/kineto/fixture.h"

/* Returns the edge of a stream synchronization (until 60000 ns) that waited for a kernel (until
 * 50000 ns). */
static struct sl_edge wait_for_kernel(const char *name, uint64_t source, uint64_t call)
{
    struct sl_event ev = kernel_named(name, strlen(name), source);

    return (struct sl_edge){
        .source = {.correlation = source,
                   .start_ns = BASE + 20000,
                   .end_ns = BASE + 50000,
                   .name = ev.name,
                   .shape = ev.shape,
                   .context = 1,
                   .stream = 7,
                   .kind = SL_EV_KERNEL},
        .kind = SL_EDGE_STREAM_SYNC,
        .released = 1,
        .wait_ns = 20000,
        .wake_ns = 10000,
        .dst_correlation = call,
        .dst_start_ns = BASE + 30000,
        .dst_end_ns = BASE + 60000,
        .dst_thread = 4300,
        .dst_cbid = 131,
        .dst_domain = SL_EV_RUNTIME,
    };
}

static void put_edge(struct sl_edge edge, int arrow)
{
    assert_int_equal(sl_kineto_edge(f.kineto, &edge, arrow), 0);
}

/* Returns the name with this number, from its own row. */
static const char *name_of(const char *number)
{
    const struct json *row = find("id", number, 0);

    assert_non_null(row);
    assert_string_equal(json_text(row, "name"), "sync_name");
    return arg(row, "name");
}

static void a_row_has_all_of_an_edge(void **state)
{
    const struct json *row;
    struct sl_edge edge;

    (void)state;
    begin();
    put_edge(wait_for_kernel("k\"1", 77, 78), 0);
    edge = wait_for_kernel("other", 79, 80);
    edge.at_start = 1;
    edge.kind = SL_EDGE_LEGACY_DEFAULT;
    edge.basis = SL_BASIS_OVERLAPPING;
    edge.dst_op = edge.source;
    edge.dst_op.device = 1;
    edge.dst_op.stream = 13;
    edge.dst_op.shape = 0;
    put_edge(edge, 0);
    end();

    row = find("name", "sync_edge", 0);
    assert_string_equal(json_text(row, "ph"), "M");
    assert_string_equal(json_text(row, "pid"), "4242");
    assert_string_equal(json_text(row, "tid"), "4300");
    assert_string_equal(arg(row, "kind"), "stream_sync");
    assert_string_equal(arg(row, "src_correlation"), "77");
    assert_string_equal(name_of(arg(row, "src_name")), "k\"1");
    assert_string_equal(arg(row, "src_stream"), "7");
    assert_string_equal(arg(row, "src_device"), "0");
    assert_string_equal(arg(row, "dst_correlation"), "78");
    assert_string_equal(arg(row, "dst_name"), "cudaStreamSynchronize");
    assert_string_equal(arg(row, "dst_point"), "end");
    assert_string_equal(arg(row, "dst_thread"), "4300");
    assert_int_equal(json_get(json_get(row, "args"), "dst_stream")->type, JSON_NULL);
    assert_string_equal(arg(row, "wait_ns"), "20000");
    assert_string_equal(arg(row, "wake_ns"), "10000");
    assert_int_equal(json_get(json_get(row, "args"), "released")->type, JSON_BOOL);
    assert_string_equal(arg(row, "basis"), "exact");

    row = find("name", "sync_edge", 1);
    assert_string_equal(json_text(row, "pid"), "1");
    assert_string_equal(json_text(row, "tid"), "13");
    assert_string_equal(arg(row, "dst_point"), "start");
    assert_string_equal(arg(row, "dst_stream"), "13");
    assert_string_equal(name_of(arg(row, "dst_name")), "other");
    assert_null(find("name", "sync_name", 2)); /* each name has one row */
    assert_string_equal(arg(row, "basis"), "overlapping");
    assert_null(find("cat", "sync", 0));
}

static void an_arrow_ends_inside_its_rows(void **state)
{
    struct sl_edge edge = wait_for_kernel("k", 77, 78);

    (void)state;
    begin();
    put_edge(edge, 1);
    edge.at_start = 1;
    edge.dst_op = edge.source;
    edge.dst_op.stream = 13;
    edge.dst_start_ns = BASE + 50000;
    put_edge(edge, 1);
    edge.wait_ns = 0;
    put_edge(edge, 1);
    end();

    assert_string_equal(json_text(find("cat", "sync", 0), "ph"), "s");
    assert_string_equal(json_text(find("cat", "sync", 0), "ts"), "49.999");
    assert_string_equal(json_text(find("cat", "sync", 0), "tid"), "7");
    assert_string_equal(json_text(find("cat", "sync", 1), "ph"), "f");
    assert_string_equal(json_text(find("cat", "sync", 1), "bp"), "e");
    assert_string_equal(json_text(find("cat", "sync", 1), "ts"), "59.999");
    assert_string_equal(json_text(find("cat", "sync", 1), "tid"), "4300");
    assert_string_equal(json_text(find("cat", "sync", 0), "id"), "4503599627370496");
    assert_string_equal(json_text(find("cat", "sync", 1), "id"), "4503599627370496");
    assert_string_equal(json_text(find("cat", "sync", 2), "id"), "4503599627370497");
    assert_string_equal(json_text(find("cat", "sync", 3), "ts"), "50.000");
    assert_string_equal(json_text(find("cat", "sync", 3), "tid"), "13");
    assert_null(find("cat", "sync", 4));
}

/* Clocks differ by up to a tick. An arrow still never points to an earlier time. */
static void an_arrow_never_points_back(void **state)
{
    struct sl_edge edge = wait_for_kernel("k", 77, 78);

    (void)state;
    begin();
    edge.source.end_ns = BASE + 60500;
    put_edge(edge, 1);
    end();
    assert_string_equal(json_text(find("cat", "sync", 0), "ts"), "59.999");
    assert_string_equal(json_text(find("cat", "sync", 1), "ts"), "59.999");
}

static void lean_files_have_no_arrows(void **state)
{
    (void)state;
    sl_kineto_destroy(f.kineto);
    make_kineto(SL_DETAIL_LEAN, 0);
    begin();
    put_edge(wait_for_kernel("k", 77, 78), 1);
    end();
    assert_non_null(find("name", "sync_edge", 0));
    assert_null(find("cat", "sync", 0));
}

static void a_call_tells_what_it_waited_for(void **state)
{
    struct sl_edge edge = wait_for_kernel("k", 77, 78);
    struct sl_event ev = call(SL_EV_RUNTIME, 78, 131);
    const struct json *row;

    (void)state;
    begin();
    assert_int_equal(sl_kineto_call(f.kineto, &ev, &edge), 0);
    edge.wait_ns = 0;
    edge.basis = SL_BASIS_INFERRED;
    assert_int_equal(sl_kineto_call(f.kineto, &ev, &edge), 0);
    assert_int_equal(sl_kineto_call(f.kineto, &ev, NULL), 0);
    assert_int_equal(sl_kineto_written(f.kineto), 3);
    end();
    row = find("cat", "cuda_runtime", 0);
    assert_string_equal(arg(row, "wait_kind"), "stream_sync");
    assert_string_equal(arg(row, "wait_ns"), "20000");
    assert_string_equal(arg(row, "wake_ns"), "10000");
    assert_string_equal(arg(row, "released_by"), "77");
    assert_null(json_get(json_get(row, "args"), "wait_basis"));
    row = find("cat", "cuda_runtime", 1);
    assert_string_equal(arg(row, "wait_basis"), "inferred");
    assert_null(json_get(json_get(row, "args"), "released_by"));
    assert_null(json_get(json_get(find("cat", "cuda_runtime", 2), "args"), "wait_ns"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_row_has_all_of_an_edge),        CASE(an_arrow_ends_inside_its_rows),
        CASE(an_arrow_never_points_back),      CASE(lean_files_have_no_arrows),
        CASE(a_call_tells_what_it_waited_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
