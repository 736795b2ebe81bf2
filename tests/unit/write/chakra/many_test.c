/* many_test.c - a job uses more threads and streams than the writer's tables can hold. */
#include "unit/test.h"

#include "unit/write/chakra/fixture.h"

/* Threads run one after the other; each runs for this time, in us. */
#define AWAKE 10

/* For each lane (a thread or stream), by number: the time in ns up to which nodes were written, and
 * the last node. */
struct lanes {
    uint64_t *until_ns, *last;
};

static struct lanes lanes_of(size_t most)
{
    return (struct lanes){calloc(most + 1, sizeof(uint64_t)), calloc(most + 1, sizeof(uint64_t))};
}

static void free_lanes(struct lanes *l)
{
    free(l->until_ns);
    free(l->last);
}

/* Checks that the nodes of a thread do not overlap in time. */
static void assert_time_stands_once(const struct dom_file *d, size_t most)
{
    struct lanes l = lanes_of(most);

    for (size_t i = 0; i < d->nodes; i++) {
        const struct dom_node *n = &d->node[i];
        uint64_t start = (uint64_t)dom_number(n, "start_ns");
        size_t lane;

        if (!dom_number(n, "is_cpu_op"))
            continue;
        lane = (size_t)dom_number(n, "tid");
        if (start < l.until_ns[lane])
            fail_msg("thread %zu: its time from %llu ns on stands twice", lane,
                     (unsigned long long)start);
        l.until_ns[lane] = start + (uint64_t)dom_number(n, "duration_ns");
    }
    free_lanes(&l);
}

/* Returns the number of nodes that do not depend on the previous node of their thread or stream. */
static size_t breaks(const struct dom_file *d, const char *what, size_t most)
{
    struct lanes l = lanes_of(most);
    size_t found = 0;

    for (size_t i = 0; i < d->nodes; i++) {
        const struct dom_node *n = &d->node[i];
        size_t lane;

        if (!dom_attr(n, what))
            continue;
        lane = (size_t)dom_number(n, what);
        found += l.last[lane] && !dom_depends(n, &d->node[l.last[lane] - 1]);
        l.last[lane] = n->id;
    }
    free_lanes(&l);
    return found;
}

/* In each round, all threads launch one after the other, each on its own stream. */
static void take_turns(uint32_t threads, unsigned rounds)
{
    uint64_t at = AWAKE;
    uint64_t id = 1;

    for (unsigned round = 0; round < rounds; round++)
        for (uint32_t t = 1; t <= threads; t++, at += AWAKE, id++) {
            launch(t, at, at + 5, id);
            kernel(t, at + 5, at + 5 + AWAKE, id, "k");
        }
}

static void test_thousands_of_threads_that_take_turns(void **state)
{
    struct dom_file *d;

    take_turns(5000, 3);
    d = read_back();
    assert_time_stands_once(d, 5000);
    assert_int_equal(counts().lanes_forgotten, 0);
    assert_int_equal(breaks(d, "tid", 5000), 0);
    assert_int_equal(breaks(d, "stream", 5000), 0);
    assert_int_equal(d->node[d->nodes - 1].replay_end, (15000 * AWAKE + 5 + AWAKE) * 1000);
}

static void range(const char *name, uint32_t thread, uint64_t start, uint64_t end)
{
    struct sl_event ev = {.kind = SL_EV_RANGE, .thread = thread, .name = text(name)};

    ev.start_ns = BASE + start * 1000;
    ev.end_ns = BASE + end * 1000;
    ev.u.row.sequence = -1;
    assert_int_equal(sl_chakra_events(f.chakra, &ev, 1), 0);
}

/* Returns the number of the thread's nodes that do not depend on the previous node. The result is 0
 * if the chain is complete. */
static size_t breaks_of(const struct dom_file *d, int64_t thread)
{
    uint64_t last = 0;
    size_t found = 0;

    for (size_t i = 0; i < d->nodes; i++) {
        const struct dom_node *n = &d->node[i];

        if (!dom_number(n, "is_cpu_op") || dom_number(n, "tid") != thread)
            continue;
        found += last && !dom_depends(n, &d->node[last - 1]);
        last = n->id;
    }
    return found;
}

/* Each thread makes calls twice. In between, 19 999 other threads make calls, so the writer has
 * forgotten the thread. The thread's chain of nodes continues at the right time. */
static void test_a_thread_that_was_forgotten_goes_on_where_it_was(void **state)
{
    const uint32_t threads = 20000, steady = 20001;
    const uint64_t end = 2 * threads * AWAKE;
    struct dom_file *d;

    range("all the time", steady, 1, end);
    for (uint32_t i = 1; i < 2 * threads; i++) {
        call("call", 1 + i % threads, i * AWAKE, i * AWAKE + 5, i);
        if (i % 1000 == 0)
            call("inside", steady, i * AWAKE, i * AWAKE + 5, 2 * threads + i);
        if (i % 5000 == 0)
            advance((i - 1) * AWAKE);
    }
    d = read_back();
    assert_time_stands_once(d, steady);
    assert_int_equal(counts().rows_late + counts().rows_cut + counts().rows_full, 0);
    assert_int_equal(dom_count(d, "call"), 2 * threads - 1);
    assert_true(counts().lanes_forgotten > threads);
    assert_int_equal(breaks_of(d, steady), 0); /* a range was open on this thread */
    for (size_t i = 0; i < d->nodes; i++)      /* a replay of the file gives the recorded times */
        assert_int_equal(d->node[i].replay_start, dom_number(&d->node[i], "start_ns"));
}

static void test_threads_that_are_all_busy_stay(void **state)
{
    struct dom_file *d;

    for (uint32_t t = 1; t <= 9000; t++)
        call("busy", t, 10 + t, 20000 + t, t);
    call("later", 9001, 40000, 40001, 9001);
    d = read_back();
    assert_time_stands_once(d, 9001);
    assert_int_equal(dom_count(d, "busy") + counts().rows_full, 9000);
    assert_int_equal(counts().rows_full, 9000 - 8192);
    assert_int_equal(dom_count(d, "later"), 1);
}

static void test_rows_around_others_without_room(void **state)
{
    const uint32_t threads = 6000;
    struct dom_file *d;

    for (uint32_t t = 1; t <= threads; t++) {
        range("outer", t, 1, 20000);
        range("inner", t, 2, 19999);
        call("call", t, 10, 20, t);
    }
    call("again", 1, 30000, 30001, threads + 1); /* called after the end of all earlier rows */
    range("outer", 2, 30000, 40000);
    range("inner", 2, 30001, 39999);
    call("call", 2, 30010, 30020, threads + 2);
    d = read_back();
    assert_time_stands_once(d, threads);
    assert_int_equal(breaks(d, "tid", threads), 0);
    assert_int_equal(counts().rows_deep, 2 * threads - 8192);
    assert_int_equal(dom_count(d, "call"), threads + 1);
    assert_int_equal(counts().rows_late + counts().rows_cut, 0);
}

/* Two streams are used all the time, and thousands of other streams are used once. The operations
 * of the two streams stay in order. */
static void test_streams_that_are_in_use_keep_their_order(void **state)
{
    const uint32_t streams = 30000;
    struct dom_file *d;

    for (uint32_t i = 1; i <= streams; i++) {
        uint64_t at = (uint64_t)i * AWAKE;

        launch(1, at, at + 2, 2 * i);
        kernel(streams + 1 + i % 2, at + 3, at + 4, 2 * i, "in use");
        launch(1, at + 3, at + 5, 2 * i + 1);
        kernel(i, at + 6, at + 7, 2 * i + 1, "once");
    }
    d = read_back();
    assert_int_equal(breaks(d, "stream", streams + 2), 0);
    assert_true(counts().lanes_forgotten > 0);
    assert_replays(0);
}

/* Threads launch on each other's streams. The GPU's clock differs by 30 us. */
static void test_any_order_of_many(void **state)
{
    uint64_t random = 88172645463325252u, now = 200, busy[5] = {0}, done[3] = {0};

    for (unsigned i = 0; i < 5000; i++) {
        uint64_t thread, stream, begin, start;

        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        thread = random % 3;
        stream = (random >> 8) % 5;
        begin = now > done[thread] ? now : done[thread];
        done[thread] = begin + 1 + (random >> 16) % 40;
        start = begin + (random >> 24) % 3;
        start = start > busy[stream] ? start : busy[stream];
        busy[stream] = start + 1 + (random >> 32) % 30;
        now = begin + (random >> 40) % 9;
        launch(10 + (uint32_t)thread, begin, done[thread], 1 + i);
        kernel(7 + (uint32_t)stream, start - 30, busy[stream] - 30, 1 + i, "k");
        if (random >> 50 & 1)
            advance(now - 40);
    }
    read_back();
    assert_true(counts().gpu_overlaps > 1000);
    assert_int_equal(counts().gpu_without_launch + counts().gpu_late, 0);
    assert_int_equal(counts().rows_cut + counts().rows_late, 0);
}

static void test_more_streams_than_the_table_holds(void **state)
{
    struct dom_file *d;

    for (unsigned i = 0; i < 20000; i++)
        kernel(i, 10 + i, 12 + i, 1 + i, "k");
    d = read_back();
    assert_int_equal(d->nodes, 20000);
    assert_true(counts().lanes_forgotten > 0);
}

static void test_deep_nesting_loses_no_time(void **state)
{
    struct dom_file *d;

    for (unsigned i = 0; i < 80; i++)
        call("row", 10, 100 + i, 1000 - i, 1 + i);
    d = read_back();
    /* The last row ends at 1000 us, so the chain ends there. */
    assert_int_equal(d->node[d->nodes - 1].replay_end, 1000000);
    assert_true(counts().rows_late > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CHAKRA_TEST(test_thousands_of_threads_that_take_turns),
        CHAKRA_TEST(test_a_thread_that_was_forgotten_goes_on_where_it_was),
        CHAKRA_TEST(test_threads_that_are_all_busy_stay),
        CHAKRA_TEST(test_rows_around_others_without_room),
        CHAKRA_TEST(test_streams_that_are_in_use_keep_their_order),
        CHAKRA_TEST(test_any_order_of_many),
        CHAKRA_TEST(test_more_streams_than_the_table_holds),
        CHAKRA_TEST(test_deep_nesting_loses_no_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
