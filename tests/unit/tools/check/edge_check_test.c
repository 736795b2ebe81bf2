/*
 * edge_check_test.c - edges that agree with their rows pass. Each disagreement is found.
 *
 * Threads: one. Memory: the check's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "check/edge_check.h"

static struct sl_findings findings;
static struct sl_edge_check *check;

static int set_up(void **state)
{
    (void)state;
    memset(&findings, 0, sizeof(findings));
    return sl_edge_check_create(&check, &findings);
}

static int tear_down(void **state)
{
    (void)state;
    sl_edge_check_destroy(check);
    return 0;
}

static struct sl_text text(const char *word)
{
    return (struct sl_text){word, strlen(word)};
}

static void slice(enum sl_row_category category, int64_t correlation, int64_t stream, int64_t from,
                  int64_t to)
{
    const struct sl_trace_row row = {.phase = 'X',
                                     .category = (uint8_t)category,
                                     .correlation = correlation,
                                     .stream = stream,
                                     .ts_ns = from,
                                     .dur_ns = to - from};

    sl_edge_check_row(check, &row, 0);
}

/* Adds a node of the graph that call 5 launched. */
static void node(int64_t node, int64_t stream, int64_t from, int64_t to)
{
    const struct sl_trace_row row = {.phase = 'X',
                                     .category = SL_CAT_KERNEL,
                                     .correlation = 5,
                                     .stream = stream,
                                     .has = SL_HAS_GRAPH_NODE,
                                     .graph_node = node,
                                     .ts_ns = from,
                                     .dur_ns = to - from};

    sl_edge_check_row(check, &row, 0);
}

static struct sl_row_edge to_call(int64_t source, int64_t call, int64_t wait, int64_t wake)
{
    return (struct sl_row_edge){.has = 0xff & ~(1u << SL_ROW_EDGE_DST_STREAM),
                                .number = {source, 7, 0, call, 42, 0, wait, wake},
                                .released = wait > 0,
                                .kind = text("stream_sync"),
                                .src_name = text("k"),
                                .dst_name = text("cudaStreamSynchronize"),
                                .dst_point = text("end"),
                                .basis = text("exact")};
}

static void tell(const struct sl_row_edge *edge)
{
    const struct sl_trace_row row = {.phase = 'M', .edge = edge};

    sl_edge_check_row(check, &row, 0);
}

static void arrow_end(char phase, int64_t id, int64_t ns)
{
    const struct sl_trace_row row = {
        .phase = phase, .category_text = text("sync"), .id = id, .ts_ns = ns};

    sl_edge_check_row(check, &row, 0);
}

static uint64_t found(enum sl_finding_id id)
{
    uint64_t others = 0;

    for (int i = 0; i < SL_FIND_COUNT; i++)
        others += i == (int)id ? 0 : findings.of[i].count;
    assert_int_equal(others, 0);
    return findings.of[id].count;
}

/* Adds a kernel until 60000 ns and a call from 20000 to 66000 ns. */
static void two_rows(void)
{
    slice(SL_CAT_KERNEL, 5, 7, 15000, 60000);
    slice(SL_CAT_RUNTIME, 6, 0, 20000, 66000);
}

static void what_agrees_passes(void **state)
{
    struct sl_row_edge edge = to_call(5, 6, 40000, 6000);
    (void)state;
    two_rows();
    tell(&edge);
    arrow_end('s', 1, 59999);
    arrow_end('f', 1, 65999);
    slice(SL_CAT_KERNEL, 8, 9, 61000, 90000);
    edge = to_call(5, 8, 0, 900);
    edge.has |= 1u << SL_ROW_EDGE_DST_STREAM;
    edge.number[SL_ROW_EDGE_DST_STREAM] = 9;
    edge.dst_point = text("start");
    edge.kind = text("stream_wait");
    tell(&edge);
    edge = to_call(1, 2, 77, 88); /* this edge is between rows that are not in the file */
    tell(&edge);
    sl_edge_check_end(check);
    assert_int_equal(found(SL_FIND_EDGE_TIMES), 0);
}

static void numbers_that_rows_contradict(void **state)
{
    struct sl_row_edge edge = to_call(5, 6, 40001, 6000);
    (void)state;
    two_rows();
    tell(&edge);
    edge = to_call(5, 6, 40000, 6001);
    edge.released = 0;
    tell(&edge);
    sl_edge_check_end(check);
    assert_int_equal(found(SL_FIND_EDGE_TIMES), 2);
}

/* An edge names a graph node whose row is missing, because it began after the window. It is not
 * compared with the rows of other nodes. */
static void nodes_of_a_graph_are_told_apart(void **state)
{
    struct sl_row_edge edge = to_call(5, 6, 40000, 6000);
    (void)state;
    node(91, 7, 15000, 30000);
    slice(SL_CAT_RUNTIME, 6, 0, 20000, 66000);
    edge.has |= 1u << SL_ROW_EDGE_SRC_NODE;
    edge.number[SL_ROW_EDGE_SRC_NODE] = 92;
    tell(&edge);
    assert_int_equal(found(SL_FIND_EDGE_TIMES), 0);
    edge.number[SL_ROW_EDGE_SRC_NODE] = 91;
    edge.released = 0;
    tell(&edge);
    sl_edge_check_end(check);
    assert_int_equal(found(SL_FIND_EDGE_TIMES), 1);
}

/* A query waits for nothing, so its edge must have a wait of 0. */
static void a_query_that_waited(void **state)
{
    struct sl_row_edge edge = to_call(5, 6, 0, 6000);
    (void)state;
    two_rows();
    edge.kind = text("event_query");
    tell(&edge);
    assert_int_equal(found(SL_FIND_EDGE_TIMES), 0);
    edge = to_call(5, 6, 40000, 6000);
    edge.kind = text("stream_query");
    tell(&edge);
    sl_edge_check_end(check);
    assert_int_equal(found(SL_FIND_EDGE_TIMES), 1);
}

static void source_that_ends_after_its_wait(void **state)
{
    struct sl_row_edge edge = to_call(5, 6, 48000, 0);
    (void)state;
    slice(SL_CAT_KERNEL, 5, 7, 15000, 68000);
    slice(SL_CAT_RUNTIME, 6, 0, 20000, 66000);
    tell(&edge);
    sl_edge_check_end(check);
    assert_int_equal(found(SL_FIND_EDGE_TIMES), 1);
}

static void one_edge_released_a_wait(void **state)
{
    struct sl_row_edge edge = to_call(5, 6, 40000, 6000);
    (void)state;
    two_rows();
    tell(&edge);
    tell(&edge); /* both edges are marked as released */
    edge = to_call(1, 2, 70, 80);
    edge.released = 0;
    tell(&edge); /* none is marked */
    edge = to_call(1, 3, 0, 80);
    tell(&edge); /* none is marked, correctly */
    sl_edge_check_end(check);
    assert_int_equal(found(SL_FIND_EDGE_RELEASED), 2);
}

static void rows_without_sense(void **state)
{
    struct sl_row_edge edge = to_call(5, 6, 40000, 6000);
    (void)state;
    edge.kind = text("stream_snyc");
    tell(&edge);
    edge = to_call(5, 6, 40000, 6000);
    edge.has &= ~(1u << SL_ROW_EDGE_WAIT_NS);
    tell(&edge);
    edge = to_call(5, 6, 40000, 6000);
    edge.dst_point = text("middle");
    tell(&edge);
    edge = to_call(-5, 6, 40000, 6000);
    tell(&edge);
    sl_edge_check_end(check);
    assert_int_equal(found(SL_FIND_EDGE_INVALID), 4);
}

static void arrows_in_the_wrong_place(void **state)
{
    struct sl_row_edge edge = to_call(5, 6, 40000, 6000);
    (void)state;
    two_rows();
    arrow_end('s', 1, 59999); /* without an edge */
    tell(&edge);
    arrow_end('s', 2, 60000); /* its slice has ended */
    arrow_end('f', 3, 65999); /* of another call */
    edge = to_call(5, 6, 0, 6000);
    slice(SL_CAT_RUNTIME, 6, 0, 62000, 68000);
    tell(&edge);
    arrow_end('s', 4, 59999); /* the edge has a wait of 0 */
    sl_edge_check_end(check);
    assert_int_equal(found(SL_FIND_EDGE_ARROW), 4);
}

#define EDGE_CHECK_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EDGE_CHECK_TEST(what_agrees_passes),
        EDGE_CHECK_TEST(numbers_that_rows_contradict),
        EDGE_CHECK_TEST(nodes_of_a_graph_are_told_apart),
        EDGE_CHECK_TEST(a_query_that_waited),
        EDGE_CHECK_TEST(source_that_ends_after_its_wait),
        EDGE_CHECK_TEST(one_edge_released_a_wait),
        EDGE_CHECK_TEST(rows_without_sense),
        EDGE_CHECK_TEST(arrows_in_the_wrong_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
