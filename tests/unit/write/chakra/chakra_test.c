/* chakra_test.c - the files follow Chakra's rules, and a simulated replay of a file gives the
 * recorded times. */
#include "unit/test.h"

#include <errno.h>

#include "unit/write/chakra/fixture.h"

/* Adds the rows of a small program: a launch, its kernel, a stream synchronize, another launch. */
static void put_program(void)
{
    launch(10, 100, 105, 1);
    kernel(7, 107, 300, 1, "first");
    call("cudaStreamSynchronize", 10, 110, 306, 2);
    edge_to_call(1, 107, 300, 7, 2, 110, 306);
    launch(10, 310, 315, 3);
    kernel(7, 317, 400, 3, "second");
}

static void test_longer_kernels_move_what_waits(void **state)
{
    struct dom_file *d;
    struct dom_attr *duration;

    put_program();
    d = read_back();
    duration = (struct dom_attr *)dom_attr(dom_find(d, "first"), "duration_ns");
    duration->number *= 2;
    dom_replay(d);
    assert_int_equal(dom_find(d, "second")->replay_start, 317000 + 193000);
}

static void test_metadata_comes_first(void **state)
{
    struct dom_file *d;

    put_program();
    d = read_back();
    assert_string_equal(d->meta.name, "0.0.4");
    assert_string_equal(dom_attr(&d->meta, "host")->text, "node1");
    assert_int_equal(dom_number(&d->meta, "rank"), 3);
    assert_int_equal(dom_number(&d->meta, "device"), 0);
    assert_int_equal(dom_number(&d->meta, "clock_base_ns"), BASE);
    assert_int_equal(dom_attr(&d->meta, "rank")->field, 9);
}

static void test_micros_add_up(void **state)
{
    struct dom_file *d;
    uint64_t at = 0;

    for (unsigned i = 0; i < 100; i++)
        call_ns("call", 10, 1000 + i * 5700, 1000 + i * 5700 + 5700, 1 + i);
    d = read_back();
    for (size_t i = 0; i < d->nodes; i++) {
        assert_int_equal(d->node[i].start_us, at);
        at += d->node[i].duration_us;
    }
    assert_int_equal(at, (1000 + 100 * 5700 + 500) / 1000);
}

static void test_rows_without_times_are_left_out(void **state)
{
    struct sl_event ev = {.kind = SL_EV_RUNTIME, .thread = 10, .correlation = 5};

    put_event(&ev);
    ev.start_ns = BASE + 5000;
    ev.end_ns = BASE + 4000;
    put_event(&ev);
    assert_int_equal(read_back()->nodes, 0);
    assert_int_equal(counts().rows_invalid, 2);
}

static void test_more_rows_than_room_go_out_early(void **state)
{
    struct dom_file *d;

    reopen(12 << 20);
    for (unsigned i = 0; i < 100000; i++)
        call_ns("call", 10 + i % 3, 1000 + i * 10, 1000 + i * 10 + 5, 1 + i);
    d = read_back();
    assert_true(counts().forced > 0);
    assert_int_equal(dom_count(d, "call"), 100000);
    assert_replays(0);
}

/* A thread polls while another thread's operators arrive before their calls. The polls take no
 * memory from these calls, in whatever order the records of the polls come. */
static void test_polls_cost_no_other_row_its_place(void **state)
{
    const unsigned polls = 200000, launches = 100;
    struct sl_event op = {.kind = SL_EV_CPU_OP, .name = text("op"), .thread = 10};
    struct sl_event poll = {.kind = SL_EV_RUNTIME, .name = text("query"), .thread = 11};
    struct dom_file *d;

    reopen(12 << 20);
    op.u.row.sequence = -1;
    poll.u.call.cbid = EVENT_QUERY;
    poll.u.call.result = SL_RESULT_NOT_READY;
    for (unsigned i = 0; i < launches; i++) {
        op.start_ns = BASE + 10000 + i * 20000;
        op.end_ns = op.start_ns + 15000;
        op.order++;
        put_event(&op);
    }
    for (unsigned i = 0; i < polls; i++) {
        /* records of a thread arrive in blocks, of which two are exchanged */
        poll.correlation = 1000 + (i / 1000 % 2 ? i - 1000 : i + 1000);
        poll.start_ns = BASE + poll.correlation * 10;
        poll.end_ns = poll.start_ns + 5;
        put_event(&poll);
    }
    for (unsigned i = 0; i < launches; i++) {
        launch(10, 12 + i * 20, 14 + i * 20, 1 + i);
        kernel(7, 15 + i * 20, 18 + i * 20, 1 + i, "k");
    }
    d = read_back();
    assert_int_equal(counts().forced, 0);
    assert_int_equal(counts().rows_late, 0);
    assert_int_equal(counts().gpu_without_launch, 0);
    assert_int_equal(dom_count(d, "launch"), launches);
    assert_int_equal(dom_count(d, "query"), 1);
    assert_int_equal(dom_number(dom_find(d, "query"), "queries"), polls);
}

/* A simulator adds up `duration_micros`. Time that two threads spent at once counts once, and time
 * of a thread that launches nothing counts only until another thread has launched. */
static void test_host_time_counts_once(void **state)
{
    uint64_t sum = 0, watched = 0;
    struct dom_file *d;

    call("early", 11, 5, 10, 1);
    launch(10, 20, 30, 2);
    kernel(7, 31, 40, 2, "k");
    call("poll", 11, 50, 52, 3);
    launch(12, 60, 65, 4);
    kernel(8, 66, 70, 4, "k");
    call("work", 10, 80, 90, 5);
    call("work", 12, 85, 100, 6);
    call("poll", 11, 300, 302, 7);
    d = read_back();
    for (size_t i = 0; i < d->nodes; i++) {
        const struct dom_node *n = &d->node[i];

        if (!dom_number(n, "is_cpu_op"))
            continue;
        sum += n->duration_us;
        if (dom_number(n, "tid") == 11 && dom_number(n, "start_ns") >= 10000)
            watched += n->duration_us;
    }
    assert_int_equal(sum, 100);
    assert_int_equal(watched, 0);
}

/* The files of all ranks have the base of the first rank. Their first node lasts up to the window.
 */
static void test_a_base_before_the_window(void **state)
{
    struct sl_chakra_options opt = {.intern = f.intern, .shapes = f.shapes};
    struct dom_file *d;

    close_file();
    opt.base_ns = BASE - 250000;
    assert_int_equal(sl_chakra_create(&f.chakra, &opt), 0);
    assert_int_equal(sl_chakra_begin(f.chakra, &f.sink, &f.meta), 0);
    launch(10, 10, 15, 1);
    kernel(7, 20, 30, 1, "k");
    call("other", 11, 40, 45, 2);
    d = read_back();
    assert_int_equal(dom_number(&d->meta, "clock_base_ns"), BASE - 250000);
    assert_int_equal(dom_number(&d->node[0], "start_ns"), 0);
    assert_int_equal(dom_number(&d->node[0], "duration_ns"), 250000);
    assert_int_equal(dom_number(dom_find(d, "k"), "start_ns"), 270000);
    assert_int_equal(dom_find(d, "k")->replay_end, 280000);
    for (size_t i = 1; i < d->nodes; i++)
        assert_true(d->node[i].deps > 0);
    assert_int_equal(dom_count(d, "gap"), 3);
}

/* Driver calls arrive later than the operations that they launched. The writer does not write the
 * operations before their launches have arrived. */
static void test_late_launches_are_waited_for(void **state)
{
    const unsigned late = 25000, count = 60000;
    struct sl_event op = {.kind = SL_EV_KERNEL, .stream = 7, .context = 1};

    reopen(12 << 20);
    for (unsigned i = 0; i < count + late; i++) {
        if (i < count) {
            op.correlation = 1 + i;
            op.start_ns = BASE + 1005 + i * 10;
            op.end_ns = op.start_ns + 5;
            put_event(&op);
        }
        if (i >= late)
            call_ns("call", 10, 1000 + (i - late) * 10, 1005 + (i - late) * 10, 1 + i - late);
    }
    read_back();
    assert_true(counts().forced > 0);
    assert_int_equal(counts().gpu_nodes, count);
    assert_int_equal(counts().gpu_without_launch, 0);
}

/* Operations were written before their launches arrived, because memory was full. The launches are
 * still written with their own times. */
static void test_launches_that_come_too_late_have_their_time(void **state)
{
    const unsigned count = 60000;
    struct sl_event op = {.kind = SL_EV_KERNEL, .stream = 7, .context = 1};

    reopen(12 << 20);
    launch(10, 1, 2, 1);
    kernel(7, 3, 4, 1, "first");
    for (unsigned i = 0; i < count; i++) {
        op.correlation = 2 + i;
        op.start_ns = BASE + 100000 + i * 100000ull;
        op.end_ns = op.start_ns + 5000;
        put_event(&op);
    }
    for (unsigned i = 0; i < count; i++)
        call_ns("call", 10, 90000 + i * 100000ull, 95000 + i * 100000ull, 2 + i);
    read_back();
    assert_true(counts().gpu_without_launch > 0);
    assert_int_equal(counts().rows_late, 0);
    assert_int_equal(counts().rows_cut, 0);
}

static void test_second_file_starts_anew(void **state)
{
    struct dom_file *d;

    put_program();
    read_back();
    reopen(0);
    launch(10, 500, 505, 9);
    kernel(7, 507, 600, 9, "third");
    d = read_back();
    assert_int_equal(d->nodes, 3);
    assert_replays(0);
}

static void test_sink_failure_is_sticky(void **state)
{
    f.sink_fails = 1;
    put_program();
    /* the writer still has the row */
    assert_int_equal(sl_chakra_advance(f.chakra, UINT64_MAX), 0);
    assert_int_equal(sl_chakra_flush(f.chakra), -ENOSPC);
    assert_int_equal(sl_chakra_flush(f.chakra), -ENOSPC);
    assert_int_equal(sl_chakra_end(f.chakra), -ENOSPC);
    f.open = 0;
}

static void test_too_small_a_cap_is_refused(void **state)
{
    struct sl_chakra_options opt = {.cap_bytes = 1 << 20};
    struct sl_chakra *c;

    assert_int_equal(sl_chakra_create(&c, &opt), -EINVAL);
}

static void test_one_file_at_a_time(void **state)
{
    assert_int_equal(sl_chakra_begin(f.chakra, &f.sink, &f.meta), -EBUSY);
    read_back();
    assert_int_equal(sl_chakra_end(f.chakra), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CHAKRA_TEST(test_longer_kernels_move_what_waits),
        CHAKRA_TEST(test_metadata_comes_first),
        CHAKRA_TEST(test_micros_add_up),
        CHAKRA_TEST(test_rows_without_times_are_left_out),
        CHAKRA_TEST(test_more_rows_than_room_go_out_early),
        CHAKRA_TEST(test_polls_cost_no_other_row_its_place),
        CHAKRA_TEST(test_host_time_counts_once),
        CHAKRA_TEST(test_a_base_before_the_window),
        CHAKRA_TEST(test_late_launches_are_waited_for),
        CHAKRA_TEST(test_launches_that_come_too_late_have_their_time),
        CHAKRA_TEST(test_second_file_starts_anew),
        CHAKRA_TEST(test_sink_failure_is_sticky),
        CHAKRA_TEST(test_too_small_a_cap_is_refused),
        CHAKRA_TEST(test_one_file_at_a_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
