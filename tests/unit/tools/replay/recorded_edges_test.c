/*
 * recorded_edges_test.c - sync edges that are in the trace file are sorted with the events, and get
 * the times of the rows that they refer to.
 */
#include "replay/recorded_edges.h"

#include "unit/test.h"

static struct sl_event kernel(uint64_t correlation, uint32_t stream, uint64_t node, uint64_t from)
{
    struct sl_event ev = {.kind = SL_EV_KERNEL,
                          .correlation = correlation,
                          .stream = stream,
                          .context = 2,
                          .device = 1,
                          .start_ns = from,
                          .end_ns = from + 10};

    ev.u.op.graph_node = node;
    return ev;
}

static void every_number_goes_through_the_sort(void **state)
{
    struct sl_edge edge = {.kind = SL_EDGE_GRAPH,
                           .basis = SL_BASIS_INFERRED,
                           .released = 1,
                           .at_start = 1,
                           .wait_ns = 1ull << 40,
                           .wake_ns = 7,
                           .source = {.correlation = 1ull << 33,
                                      .graph_node = 3ull << 32 | 1,
                                      .stream = 20,
                                      .device = 9},
                           .dst_correlation = (1ull << 33) + 1,
                           .dst_op = {.graph_node = 4ull << 32 | 2, .stream = 21}};
    struct sl_recorded_edges *f;

    assert_int_equal(sl_recorded_edges_create(&f), 0);
    for (int swapped = 0; swapped < 2; swapped++) {
        struct sl_event ev = sl_recorded_edges_event(&edge);
        struct sl_edge out = sl_recorded_edges_edge(f, &ev);

        assert_int_equal(ev.correlation, (1ull << 33) + 1); /* sorted after the rows of both ends */
        assert_int_equal(out.kind, edge.kind);
        assert_int_equal(out.basis, edge.basis);
        assert_int_equal(out.released, 1);
        assert_int_equal(out.at_start, 1);
        assert_int_equal(out.wait_ns, edge.wait_ns);
        assert_int_equal(out.wake_ns, edge.wake_ns);
        assert_int_equal(out.source.correlation, edge.source.correlation);
        assert_int_equal(out.source.graph_node, edge.source.graph_node);
        assert_int_equal(out.source.stream, 20);
        assert_int_equal(out.source.device, 9);
        assert_int_equal(out.dst_correlation, edge.dst_correlation);
        assert_int_equal(out.dst_op.graph_node, edge.dst_op.graph_node);
        assert_int_equal(out.dst_op.stream, 21);
        edge.dst_correlation = 1ull << 33;
        edge.source.correlation = (1ull << 33) + 1;
    }
    sl_recorded_edges_destroy(f);
}

static void ends_are_found_by_stream_and_node(void **state)
{
    struct sl_edge edge = {.source = {.correlation = 5, .graph_node = 8, .stream = 20},
                           .dst_correlation = 6,
                           .wait_ns = 4,
                           .wake_ns = 3};
    struct sl_event call = {
        .kind = SL_EV_RUNTIME, .correlation = 6, .start_ns = 1050, .end_ns = 1071, .thread = 77};
    struct sl_event ev, row;
    struct sl_edge out;
    struct sl_recorded_edges *f;

    assert_int_equal(sl_recorded_edges_create(&f), 0);
    row = kernel(5, 20, 7, 1000);
    sl_recorded_edges_row(f, &row);
    row = kernel(5, 20, 8, 1020);
    sl_recorded_edges_row(f, &row);
    sl_recorded_edges_row(f, &call);
    row = kernel(6, 21, 0, 1080); /* an operation of the waiting call has the same id as the call */
    sl_recorded_edges_row(f, &row);
    ev = sl_recorded_edges_event(&edge);
    out = sl_recorded_edges_edge(f, &ev);
    assert_int_equal(out.source.end_ns, 1030);
    assert_int_equal(out.source.context, 2);
    assert_int_equal(out.dst_start_ns, 1050);
    assert_int_equal(out.dst_end_ns, 1071);
    assert_int_equal(out.dst_thread, 77);

    edge.source.graph_node = 9; /* this node has no row in the file */
    ev = sl_recorded_edges_event(&edge);
    out = sl_recorded_edges_edge(f, &ev);
    assert_int_equal(out.source.end_ns, 1068);
    edge.wait_ns = 0; /* the source had ended before the wait, at an unknown time */
    ev = sl_recorded_edges_event(&edge);
    out = sl_recorded_edges_edge(f, &ev);
    assert_int_equal(out.source.end_ns, 0);

    edge.at_start = 1;
    edge.dst_op.stream = 21;
    ev = sl_recorded_edges_event(&edge);
    out = sl_recorded_edges_edge(f, &ev);
    assert_int_equal(out.dst_op.start_ns, 1080);
    assert_int_equal(out.dst_end_ns, 1090);
    sl_recorded_edges_destroy(f);
}

/* A wait for all streams has an edge from the last operation of a stream. This operation is found
 * even if it ended long ago. */
static void the_last_of_a_stream_is_found_however_old(void **state)
{
    struct sl_edge edge = {.source = {.correlation = 5, .stream = 20, .device = 1},
                           .dst_correlation = 1000001};
    struct sl_event ev = sl_recorded_edges_event(&edge), row;
    struct sl_edge out;
    struct sl_recorded_edges *f;

    assert_int_equal(sl_recorded_edges_create(&f), 0);
    row = kernel(5, 20, 0, 1000);
    sl_recorded_edges_row(f, &row);
    row = kernel(6, 20, 0, 1020); /* a stream with the same number in another context */
    row.context = 3;
    sl_recorded_edges_row(f, &row);
    for (uint64_t i = 7; i < 1000000; i++) {
        row = kernel(i, 21, 0, 1000 + 20 * i);
        sl_recorded_edges_row(f, &row);
    }
    out = sl_recorded_edges_edge(f, &ev);
    assert_int_equal(out.source.end_ns, 1010);
    assert_int_equal(out.source.context, 2);
    row = kernel(1000000, 20, 0, 90000000);
    sl_recorded_edges_row(f, &row);
    out = sl_recorded_edges_edge(f, &ev);
    assert_int_equal(out.source.end_ns, 0); /* the source is no longer its stream's last operation,
                                             * so it is forgotten */
    sl_recorded_edges_destroy(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_number_goes_through_the_sort),
        cmocka_unit_test(ends_are_found_by_stream_and_node),
        cmocka_unit_test(the_last_of_a_stream_is_found_however_old),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
