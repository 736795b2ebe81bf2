/*
 * wait_blame_test.c - finds the operation on which a wait's time was really spent, if a short copy
 * released the wait. The search follows the stream and the edges between streams. Also tests rows
 * that arrive late, and forgotten operations.
 *
 * The name of an operation is its correlation id. Threads: one. The test owns the memory of the
 * table.
 */
#include "unit/test.h"

#include "edges/wait_blame.h"

enum {
    FORGOTTEN_AFTER = 131072,
    LATE_MOST = 1024
};

static struct sl_wait_blame *spent;

static int setup(void **state)
{
    return sl_wait_blame_create(&spent);
}

static int teardown(void **state)
{
    sl_wait_blame_destroy(spent);
    return 0;
}

static void add(enum sl_event_kind kind, uint32_t stream, uint32_t correlation, uint64_t from_ns,
                uint64_t to_ns)
{
    const struct sl_event ev = {.kind = (uint8_t)kind,
                                .correlation = correlation,
                                .name = correlation,
                                .stream = stream,
                                .context = 1,
                                .start_ns = from_ns,
                                .end_ns = to_ns};

    sl_wait_blame_event(spent, &ev);
}

static void kernel(uint32_t stream, uint32_t correlation, uint64_t from_ns, uint64_t to_ns)
{
    add(SL_EV_KERNEL, stream, correlation, from_ns, to_ns);
}

static void copy(uint32_t stream, uint32_t correlation, uint64_t from_ns, uint64_t to_ns)
{
    add(SL_EV_MEMCPY, stream, correlation, from_ns, to_ns);
}

static struct sl_edge edge_from(uint32_t stream, uint32_t correlation, uint64_t wait_ns)
{
    struct sl_edge edge = {.kind = SL_EDGE_COPY, .released = 1, .wait_ns = wait_ns};

    edge.source.correlation = correlation;
    edge.source.name = correlation;
    edge.source.stream = stream;
    return edge;
}

/* Returns the name of the operation on which a wait of `wait_ns` was spent. The operation with this
 * stream and correlation id released the wait. */
static uint32_t on(uint32_t stream, uint32_t correlation, uint64_t wait_ns)
{
    const struct sl_edge edge = edge_from(stream, correlation, wait_ns);

    return sl_wait_blame_on(spent, &edge);
}

static void order(uint32_t stream, uint32_t correlation, uint32_t to_stream, uint32_t to)
{
    struct sl_edge edge = edge_from(stream, correlation, 0);

    edge.kind = SL_EDGE_STREAM_WAIT;
    edge.at_start = 1;
    edge.dst_op = (struct sl_edge_op){.correlation = to, .stream = to_stream};
    sl_wait_blame_edge(spent, &edge);
}

/* Kernels of one stream overlap. The copy waited for the kernel that ended last. */
static void test_kernels_that_overlap(void **state)
{
    kernel(13, 1, 10, 100);
    kernel(13, 2, 20, 30);
    copy(13, 3, 100, 101);
    assert_int_equal(on(13, 3, 51), 1);
    /* The order of the rows does not matter. */
    kernel(14, 12, 20, 30);
    copy(14, 13, 100, 101);
    kernel(14, 11, 10, 100);
    assert_int_equal(on(14, 13, 51), 11);
}

static void test_the_longer_part(void **state)
{
    kernel(7, 10, 1000, 2000);
    copy(7, 11, 2010, 2110);
    assert_int_equal(on(7, 11, 1110), 10);
    /* Only the part of an operation that is inside the wait is counted. The kernel was nearly
     * completed when the wait began. */
    assert_int_equal(on(7, 11, 211), 10);
    assert_int_equal(on(7, 11, 210), 11);
    /* The kernel had ended before the wait began. */
    assert_int_equal(on(7, 11, 105), 11);
    /* A wait that a kernel released was spent on that kernel. */
    assert_int_equal(on(7, 10, 1000), 10);
}

static void test_idle_time_is_nobodys(void **state)
{
    kernel(7, 10, 1000, 1050);
    copy(7, 11, 9000, 9100);
    assert_int_equal(on(7, 11, 8100), 11);
}

static void test_many_short_ones_count_together(void **state)
{
    for (uint32_t i = 0; i < 100; i++)
        kernel(7, 10 + i, 1000 + 10 * i, 1008 + 10 * i);
    copy(7, 200, 2000, 2500);
    assert_int_equal(on(7, 200, 1500), 109); /* the last of the kernels */
    assert_int_equal(on(7, 200, 900), 200);  /* only 40 of the kernels are inside the wait */
}

static void test_copies_count_together_too(void **state)
{
    kernel(7, 10, 1000, 1300);
    copy(7, 11, 1300, 1600);
    add(SL_EV_MEMSET, 7, 12, 1600, 1610);
    copy(7, 13, 1610, 1620);
    assert_int_equal(on(7, 13, 620), 13);
    copy(7, 14, 1620, 1630);
    assert_int_equal(on(7, 14, 630), 14);
    kernel(7, 15, 1630, 1700);
    copy(7, 16, 1700, 1701);
    assert_int_equal(on(7, 16, 701), 15); /* 370 ns of kernels, 331 ns of copies and memsets */
}

static void test_a_kernel_that_runs_at_the_same_time_counts_once(void **state)
{
    /* Several nodes of a graph have the same stream number. */
    kernel(7, 10, 1000, 1100);
    kernel(7, 10, 1000, 1100);
    kernel(7, 10, 1000, 1100);
    copy(7, 11, 1100, 1250);
    assert_int_equal(on(7, 11, 250), 11);
}

static void test_over_edges_between_streams(void **state)
{
    kernel(20, 10, 1000, 1900);
    kernel(21, 11, 1000, 2000);
    kernel(22, 12, 1000, 3000); /* no operation waited for this kernel */
    kernel(7, 13, 1000, 1010);
    copy(7, 14, 2010, 2020);
    assert_int_equal(on(7, 14, 1020), 14); /* both have 10 ns, so the copy is blamed */
    order(21, 11, 7, 14);
    order(20, 10, 7, 14); /* ended before */
    assert_int_equal(on(7, 14, 1020), 11);
    /* The previous operation on stream 7 ended later than kernel 12. */
    kernel(7, 15, 2020, 4000);
    copy(7, 16, 4000, 4010);
    order(22, 12, 7, 16);
    assert_int_equal(on(7, 16, 2000), 15);
}

static void test_edges_that_end_at_calls_order_nothing(void **state)
{
    struct sl_edge edge = edge_from(20, 10, 500);

    kernel(20, 10, 1000, 2000);
    copy(7, 11, 2010, 2020);
    edge.dst_op = (struct sl_edge_op){.correlation = 11, .stream = 7};
    sl_wait_blame_edge(spent, &edge);
    assert_int_equal(on(7, 11, 1020), 11);
}

static void test_streams_of_contexts_and_devices(void **state)
{
    struct sl_event ev = {.kind = SL_EV_KERNEL, .stream = 7, .start_ns = 1000, .end_ns = 2000};

    ev.correlation = ev.name = 10;
    ev.context = 2;
    sl_wait_blame_event(spent, &ev);
    ev.correlation = ev.name = 11;
    ev.context = 1;
    ev.device = 1;
    sl_wait_blame_event(spent, &ev);
    copy(7, 12, 2010, 2020);
    assert_int_equal(on(7, 12, 1020), 12);
}

static void test_what_waits_is_an_operation(void **state)
{
    struct sl_edge edge = edge_from(7, 11, 1010);

    kernel(7, 10, 1000, 2000);
    copy(7, 11, 2000, 2010);
    assert_int_equal(sl_wait_blame_on(spent, &edge), 10);
    edge.at_start = 1;
    assert_int_equal(sl_wait_blame_on(spent, &edge), 11);
}

static void test_without_a_row(void **state)
{
    kernel(7, 10, 1000, 2000);
    copy(8, 12, 2000, 2010);
    assert_int_equal(on(7, 12, 1010), 12); /* copy 12 is on another stream */
    assert_int_equal(on(7, 11, 1010), 11);
    assert_int_equal(on(7, 0, 1010), 0);
    order(7, 10, 7, 99);
    order(7, 99, 8, 12);
    assert_int_equal(on(8, 12, 1010), 12);
    /* A wait of an impossible length. */
    assert_int_equal(on(8, 12, UINT64_MAX), 12);
}

static void test_rows_that_come_late(void **state)
{
    copy(7, 12, 2000, 2010);
    kernel(7, 11, 1500, 2000);
    kernel(7, 10, 1000, 1500);
    kernel(7, 13, 2010, 2011);
    copy(7, 14, 2011, 2100);
    assert_int_equal(on(7, 12, 1010), 11);
    assert_int_equal(on(7, 14, 1100), 13);
}

static void test_rows_that_come_too_late(void **state)
{
    for (uint32_t i = 0; i <= LATE_MOST; i++)
        copy(7, 100 + i, 10000 + i, 10001 + i);
    kernel(7, 10, 1000, 9000);
    assert_int_equal(on(7, 100 + LATE_MOST, 10000), 100 + LATE_MOST);
    /* After late rows, rows in time are used again. */
    kernel(7, 11, 20000, 30000);
    copy(7, 12, 30000, 30010);
    assert_int_equal(on(7, 12, 10000), 11);
}

static void test_so_many_are_looked_at(void **state)
{
    kernel(7, 10, 1000, 100000);
    for (uint32_t i = 0; i < SL_WAIT_BLAME_MOST - 2; i++)
        copy(7, 100 + i, 100000 + i, 100001 + i);
    copy(7, 11, 200000, 200001);
    assert_int_equal(on(7, 11, 199001), 10);
    copy(7, 12, 200001, 200002);
    assert_int_equal(on(7, 12, 199002), 12);
}

static void test_edges_that_go_round(void **state)
{
    kernel(20, 10, 1000, 1000);
    copy(7, 11, 1000, 1000);
    order(20, 10, 7, 11);
    order(7, 11, 20, 10);
    assert_int_equal(on(7, 11, 500), 11);
}

static void test_what_is_forgotten(void **state)
{
    kernel(7, 10, 1000, 2000);
    copy(7, 11, 2000, 2010);
    for (uint32_t i = 0; i < FORGOTTEN_AFTER - 2; i++)
        kernel(100 + i, 1000 + i, 1000, 3000);
    assert_int_equal(on(7, 11, 1010), 10);
    kernel(8, 12, 1000, 3000); /* replaces the first stream */
    assert_int_equal(on(7, 11, 1010), 11);
    kernel(8, 13, 1000, 3000);
    assert_int_equal(on(7, 11, 1010), 11);
    /* The stream continues. */
    kernel(7, 14, 4000, 5000);
    copy(7, 15, 5000, 5010);
    assert_int_equal(on(7, 15, 1010), 14);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_kernels_that_overlap),
        TEST(test_the_longer_part),
        TEST(test_idle_time_is_nobodys),
        TEST(test_many_short_ones_count_together),
        TEST(test_copies_count_together_too),
        TEST(test_a_kernel_that_runs_at_the_same_time_counts_once),
        TEST(test_over_edges_between_streams),
        TEST(test_edges_that_end_at_calls_order_nothing),
        TEST(test_streams_of_contexts_and_devices),
        TEST(test_what_waits_is_an_operation),
        TEST(test_without_a_row),
        TEST(test_rows_that_come_late),
        TEST(test_rows_that_come_too_late),
        TEST(test_so_many_are_looked_at),
        TEST(test_edges_that_go_round),
        TEST(test_what_is_forgotten),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
