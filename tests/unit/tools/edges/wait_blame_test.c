/*
 * wait_blame_test.c - finds the operation on which a wait's time was really spent, if a short copy
 * released the wait. The search follows the stream and the edges between streams. Also tests rows
 * that arrive late, forgotten operations, and random operations beside a search step by step.
 *
 * The name of an operation is its correlation id. Threads: one. The test owns the memory of the
 * table.
 */
#include "unit/test.h"

#include "edges/wait_blame.h"

enum {
    FORGOTTEN_AFTER = 524288,
    WAITS_MOST = 1 << 16
};

static struct sl_wait_blame *spent;

/* The expected names, indexed by the number of the wait. */
static uint32_t expected[WAITS_MOST];
static uint32_t waits, reported;

static int setup(void **state)
{
    waits = reported = 0;
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

static void expect_of(const struct sl_edge *edge, uint32_t name)
{
    const struct sl_edge_where where = {.place = waits};

    sl_wait_blame_wait(spent, edge, &where);
    expected[waits++] = name;
}

/* Adds a wait of `wait_ns`, which the operation with this stream and correlation id released. The
 * time must have been spent on the operation `name`. */
static void expect(uint32_t stream, uint32_t correlation, uint64_t wait_ns, uint32_t name)
{
    const struct sl_edge edge = edge_from(stream, correlation, wait_ns);

    expect_of(&edge, name);
}

static void report(void *user, const struct sl_edge *edge, const struct sl_edge_where *where)
{
    assert_int_equal(where->spent_on, expected[where->place]);
    reported++;
}

static void check(void)
{
    assert_int_equal(sl_wait_blame_end(spent, report, NULL), 0);
    assert_int_equal(reported, waits);
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
    expect(13, 3, 51, 1);
    /* The order of the rows does not matter. */
    kernel(14, 12, 20, 30);
    copy(14, 13, 100, 101);
    kernel(14, 11, 10, 100);
    expect(14, 13, 51, 11);
    check();
}

static void test_the_longer_part(void **state)
{
    kernel(7, 10, 1000, 2000);
    copy(7, 11, 2010, 2110);
    expect(7, 11, 1110, 10);
    /* Only the part of an operation that is inside the wait is counted. The kernel was nearly
     * completed when the wait began. */
    expect(7, 11, 211, 10);
    expect(7, 11, 210, 11);
    /* The kernel had ended before the wait began. */
    expect(7, 11, 105, 11);
    /* A wait that a kernel released was spent on that kernel. */
    expect(7, 10, 1000, 10);
    check();
}

static void test_idle_time_is_nobodys(void **state)
{
    kernel(7, 10, 1000, 1050);
    copy(7, 11, 9000, 9100);
    expect(7, 11, 8100, 11);
    check();
}

static void test_many_short_ones_count_together(void **state)
{
    for (uint32_t i = 0; i < 100; i++)
        kernel(7, 10 + i, 1000 + 10 * i, 1008 + 10 * i);
    copy(7, 200, 2000, 2500);
    expect(7, 200, 1500, 109); /* the last of equal kernels */
    expect(7, 200, 900, 200);  /* only 40 of the kernels are inside the wait */
    check();
}

static void test_copies_count_together_too(void **state)
{
    kernel(7, 10, 1000, 1300);
    copy(7, 11, 1300, 1600);
    add(SL_EV_MEMSET, 7, 12, 1600, 1610);
    copy(7, 13, 1610, 1620);
    expect(7, 13, 620, 13);
    copy(7, 14, 1620, 1630);
    expect(7, 14, 630, 14);
    kernel(7, 15, 1630, 1700);
    copy(7, 16, 1700, 1701);
    expect(7, 16, 701, 10); /* 370 ns of kernels, of which 300 of kernel 10, 331 ns of others */
    check();
}

static void test_a_kernel_that_runs_at_the_same_time_counts_once(void **state)
{
    /* Several nodes of a graph have the same stream number. */
    kernel(7, 10, 1000, 1100);
    kernel(7, 10, 1000, 1100);
    kernel(7, 10, 1000, 1100);
    copy(7, 11, 1100, 1250);
    expect(7, 11, 250, 11);
    check();
}

static void test_over_edges_between_streams(void **state)
{
    kernel(20, 10, 1000, 1900);
    kernel(21, 11, 1000, 2000);
    kernel(22, 12, 1000, 3000); /* no operation waited for this kernel */
    kernel(7, 13, 1000, 1010);
    copy(7, 14, 2010, 2020);
    order(21, 11, 7, 14);
    order(20, 10, 7, 14); /* ended before */
    expect(7, 14, 1020, 11);
    /* The previous operation on stream 7 ended later than kernel 12. */
    kernel(7, 15, 2020, 4000);
    copy(7, 16, 4000, 4010);
    order(22, 12, 7, 16);
    expect(7, 16, 2000, 15);
    check();
}

static void test_edges_that_end_at_calls_order_nothing(void **state)
{
    struct sl_edge edge = edge_from(20, 10, 500);

    kernel(20, 10, 1000, 2000);
    copy(7, 11, 2010, 2020);
    edge.dst_op = (struct sl_edge_op){.correlation = 11, .stream = 7};
    sl_wait_blame_edge(spent, &edge);
    expect(7, 11, 1020, 11);
    check();
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
    expect(7, 12, 1020, 12);
    check();
}

static void test_what_waits_is_an_operation(void **state)
{
    struct sl_edge edge = edge_from(7, 11, 1010);

    kernel(7, 10, 1000, 2000);
    copy(7, 11, 2000, 2010);
    expect_of(&edge, 10);
    edge.at_start = 1;
    expect_of(&edge, 11);
    check();
}

static void test_without_a_row(void **state)
{
    kernel(7, 10, 1000, 2000);
    copy(8, 12, 2000, 2010);
    expect(7, 12, 1010, 12); /* copy 12 is on another stream */
    expect(7, 11, 1010, 11);
    expect(7, 0, 1010, 0);
    order(7, 10, 7, 99);
    order(7, 99, 8, 12);
    expect(8, 12, 1010, 12);
    /* A wait of an impossible length. */
    expect(8, 12, UINT64_MAX, 12);
    check();
}

static void test_rows_that_come_late(void **state)
{
    copy(7, 12, 2000, 2010);
    kernel(7, 11, 1500, 2000);
    kernel(7, 10, 1000, 1500);
    kernel(7, 13, 2010, 2011);
    copy(7, 14, 2011, 2100);
    expect(7, 12, 1010, 11);
    expect(7, 14, 1100, 11); /* of equal kernels, the last */
    check();
}

static void test_equal_parts(void **state)
{
    kernel(7, 13, 1000, 1010);
    copy(7, 14, 2010, 2020);
    expect(7, 14, 1020, 14); /* both have 10 ns, so the copy is blamed */
    check();
}

/* All rows of one thread reach the file after those of another thread, which began later. */
static void test_a_hundred_thousand_late_rows(void **state)
{
    for (uint32_t i = 0; i < 100000; i++)
        copy(7, 200000 + i, 2000000 + 10 * i, 2000005 + 10 * i);
    for (uint32_t i = 0; i < 100000; i++)
        kernel(7, 100000 + i, 1000000 + 10 * i, 1000006 + 10 * i);
    expect(7, 299999, 1999995, 199999);
    expect(7, 299999, 1000000, 299999);
    expect(7, 299999, 999995 + 833330, 299999); /* 5 * 100000 ns of copies, 499998 ns of kernels */
    expect(7, 299999, 999995 + 833340, 199999);
    check();
}

/* The search of the documentation, step by step. */
struct step {
    uint64_t start_ns, end_ns;
    uint32_t stream;
    int is_kernel, before, source;
};

enum {
    STEPS = 400
};

static uint32_t random_number(void)
{
    static uint32_t state = 1;

    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state >> 1;
}

static uint32_t searched(const struct step *op, int at, uint64_t wait_ns)
{
    uint64_t until_ns = op[at].end_ns, since_ns = until_ns - wait_ns, ran[2] = {0, 0};
    uint64_t longest_ns = 0;
    uint32_t kernel = 0, copy = 1000 + (uint32_t)at;

    while (at >= 0 && op[at].end_ns > since_ns) {
        uint64_t from_ns = op[at].start_ns > since_ns ? op[at].start_ns : since_ns;
        uint64_t to_ns = op[at].end_ns < until_ns ? op[at].end_ns : until_ns;
        int before = op[at].before, source = op[at].source;

        if (to_ns > from_ns) {
            ran[op[at].is_kernel] += to_ns - from_ns;
            if (op[at].is_kernel && to_ns - from_ns > longest_ns) {
                longest_ns = to_ns - from_ns;
                kernel = 1000 + (uint32_t)at;
            }
        }
        until_ns = from_ns < until_ns ? from_ns : until_ns;
        at = before < 0 || (source >= 0 && op[source].end_ns > op[before].end_ns) ? source : before;
    }
    return ran[1] > ran[0] ? kernel : copy;
}

static void test_random_operations(void **state)
{
    struct step op[STEPS];
    int order_of[STEPS], last[4] = {-1, -1, -1, -1};

    for (int i = 0; i < STEPS; i++) {
        struct step *o = &op[i];

        *o = (struct step){.start_ns = 100000 + 10 * (uint64_t)i + random_number() % 10,
                           .stream = random_number() % 4,
                           .is_kernel = (int)(random_number() % 2),
                           .source = -1};
        o->end_ns = o->start_ns + random_number() % 60;
        o->before = last[o->stream];
        if (o->before < 0 || op[o->before].end_ns <= o->end_ns)
            last[o->stream] = i;
        order_of[i] = i;
    }
    for (int i = STEPS - 1; i > 0; i--) { /* the rows are in any order */
        int other = (int)(random_number() % (uint32_t)(i + 1)), at = order_of[i];

        order_of[i] = order_of[other];
        order_of[other] = at;
    }
    for (int i = 0; i < STEPS; i++) {
        const struct step *o = &op[order_of[i]];

        add(o->is_kernel ? SL_EV_KERNEL : SL_EV_MEMCPY, o->stream, 1000 + (uint32_t)order_of[i],
            o->start_ns, o->end_ns);
    }
    for (int i = 0; i < STEPS; i++) {
        int to = 1 + (int)(random_number() % (STEPS - 1));
        int from = (int)(random_number() % (uint32_t)to);
        struct step *o = &op[to];

        if (o->source >= 0 && op[from].end_ns == op[o->source].end_ns)
            continue; /* either may be the predecessor */
        order(op[from].stream, 1000 + (uint32_t)from, o->stream, 1000 + (uint32_t)to);
        if (o->source < 0 || op[from].end_ns > op[o->source].end_ns)
            o->source = from;
    }
    for (int i = 0; i < STEPS; i++)
        for (uint64_t ns = 1; ns < 4200 && !op[i].is_kernel; ns += 1 + random_number() % 150)
            expect(op[i].stream, 1000 + (uint32_t)i, ns, searched(op, i, ns));
    check();
}

static void test_edges_that_go_round(void **state)
{
    kernel(20, 10, 1000, 1000);
    copy(7, 11, 1000, 1000);
    order(20, 10, 7, 11);
    order(7, 11, 20, 10);
    expect(7, 11, 500, 11);
    check();
}

static void test_what_is_forgotten(void **state)
{
    kernel(7, 10, 1000, 2000);
    copy(7, 11, 2000, 2010);
    kernel(9, 12, 1000, 2000);
    copy(9, 13, 2000, 3010);
    for (uint32_t i = 0; i < FORGOTTEN_AFTER - 3; i++)
        kernel(100 + i % 1000, 1000 + i, 1001, 1002);
    /* Between the start of kernel 10 and the end of copy 11, so many others begin. */
    copy(7, 14, 2010, 2011);
    expect(7, 14, 1011, 14);
    expect(9, 13, 10, 13);
    /* The stream continues. */
    kernel(7, 15, 4000, 5000);
    copy(7, 16, 5000, 5010);
    expect(7, 16, 1010, 15);
    check();
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
        TEST(test_equal_parts),
        TEST(test_a_hundred_thousand_late_rows),
        TEST(test_random_operations),
        TEST(test_edges_that_go_round),
        TEST(test_what_is_forgotten),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
