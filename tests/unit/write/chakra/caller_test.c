/* caller_test.c - operators, and threads that work for other threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "unit/write/chakra/fixture.h"

static void row(uint8_t kind, const char *name, uint32_t thread, uint64_t start, uint64_t end,
                int64_t sequence, uint32_t forward)
{
    struct sl_event ev = {.kind = kind, .thread = thread, .context = forward};

    ev.name = text(name);
    ev.start_ns = BASE + start * 1000;
    ev.end_ns = BASE + end * 1000;
    ev.u.row.sequence = sequence;
    assert_int_equal(sl_chakra_events(f.chakra, &ev, 1), 0);
}

/* Returns when the last node of this name ends in a replay, in us. */
static uint64_t end_of(const struct dom_file *d, const char *name)
{
    uint64_t end = 0;

    for (size_t i = 0; i < d->nodes; i++)
        if (strcmp(d->node[i].name, name) == 0)
            end = d->node[i].replay_end / 1000;
    return end;
}

static int follows(const struct dom_file *d, const char *name, const char *parent)
{
    for (size_t i = 0; i < d->nodes; i++)
        for (size_t k = 0; strcmp(d->node[i].name, name) == 0 && k < d->node[i].deps; k++)
            if (strcmp(d->node[d->node[i].dep[k] - 1].name, parent) == 0)
                return 1;
    return 0;
}

static void test_a_backward_pass_joins_two_threads(void **state)
{
    struct dom_file *d;

    (void)state;
    row(SL_EV_CPU_OP, "forward", 10, 10, 20, 5, 0);
    row(SL_EV_CPU_OP, "backward", 11, 30, 50, 5, 1);
    row(SL_EV_CPU_OP, "inner", 11, 35, 40, -1, 0);
    row(SL_EV_CPU_OP, "backward2", 11, 60, 70, 4, 1);
    row(SL_EV_CPU_OP, "after", 10, 90, 95, -1, 0);
    d = read_back();
    assert_int_equal(counts().handovers, 1);
    assert_true(follows(d, "backward", "gap")); /* the gap of thread 10 from 20 to 30 */
    assert_int_equal(end_of(d, "backward2"), 70);
    assert_int_equal(end_of(d, "after"), 95);
    for (size_t i = 0; i < d->nodes; i++) {
        /* Thread 10 has no nodes for the time in which it waited. */
        if (dom_number(&d->node[i], "tid") == 10)
            assert_true(dom_number(&d->node[i], "start_ns") < 30000 ||
                        dom_number(&d->node[i], "start_ns") >= 70000);
    }
    assert_true(follows(d, "gap", "backward2"));
}

static void test_a_caller_that_goes_on_waits_for_nothing(void **state)
{
    struct dom_file *d;

    (void)state;
    row(SL_EV_CPU_OP, "forward", 10, 10, 20, 5, 0);
    row(SL_EV_CPU_OP, "backward", 11, 30, 80, 5, 1);
    row(SL_EV_CPU_OP, "meanwhile", 10, 40, 50, -1, 0);
    row(SL_EV_CPU_OP, "after", 10, 90, 95, -1, 0);
    d = read_back();
    assert_false(follows(d, "after", "backward"));
    assert_false(follows(d, "meanwhile", "backward"));
    assert_int_equal(end_of(d, "meanwhile"), 50);
    assert_int_equal(end_of(d, "after"), 95);
}

static void test_a_busy_thread_called_nobody(void **state)
{
    (void)state;
    row(SL_EV_CPU_OP, "forward", 10, 10, 90, 5, 0);
    row(SL_EV_CPU_OP, "backward", 11, 30, 50, 5, 1);
    row(SL_EV_CPU_OP, "other", 12, 60, 70, 6, 1); /* its forward operator was not recorded */
    row(SL_EV_CPU_OP, "own", 10, 91, 95, 5, 1);   /* it is on the thread of its forward operator */
    read_back();
    assert_int_equal(counts().handovers, 0);
}

static void test_a_range_around_it_does_not_make_its_thread_busy(void **state)
{
    struct dom_file *d;

    (void)state;
    row(SL_EV_RANGE, "step", 10, 0, 100, -1, 0);
    row(SL_EV_CPU_OP, "forward", 10, 10, 20, 5, 0);
    row(SL_EV_CPU_OP, "backward", 11, 30, 50, 5, 1);
    d = read_back();
    assert_int_equal(counts().handovers, 1);
    assert_true(follows(d, "backward", "step"));
    assert_true(follows(d, "step", "backward"));
    assert_int_equal(end_of(d, "step"), 100);
}

/* Adds a step: a forward operator on `thread`, then autograd on thread 20. `forward` is PyTorch's
 * number of the forward thread. */
static void step(uint32_t thread, uint64_t at, int64_t sequence, uint32_t forward)
{
    row(SL_EV_CPU_OP, "forward", thread, at, at + 10, sequence, 0);
    row(SL_EV_CPU_OP, "evaluate", 20, at + 20, at + 50, sequence, forward);
    row(SL_EV_CPU_OP, "Backward", 20, at + 25, at + 45, sequence, forward);
    row(SL_EV_CPU_OP, "after", thread, at + 60, at + 70, -1, 0);
}

/* Two threads run forward operators with the same sequence number. Autograd names one of them by
 * PyTorch's number. */
static void collide(uint64_t at, uint32_t forward)
{
    row(SL_EV_CPU_OP, "forward", 10, at, at + 10, 70, 0);
    row(SL_EV_CPU_OP, "forward", 11, at + 2, at + 12, 70, 0);
    row(SL_EV_CPU_OP, "backward", 20, at + 20, at + 50, 70, forward);
    row(SL_EV_CPU_OP, "caller", 10, at + 60, at + 70, -1, 0);
    row(SL_EV_CPU_OP, "sleeper", 11, at + 60, at + 70, -1, 0);
}

/* Says whether the thread has no node in this time. */
static int is_cut(const struct dom_file *d, uint32_t thread, int64_t start, int64_t end)
{
    int has = 0;

    for (size_t i = 0; i < d->nodes; i++)
        has |= dom_number(&d->node[i], "tid") == thread &&
               dom_number(&d->node[i], "start_ns") < end * 1000 &&
               dom_number(&d->node[i], "start_ns") + dom_number(&d->node[i], "duration_ns") >
                   start * 1000;
    return !has;
}

static void test_numbers_of_several_threads_collide(void **state)
{
    struct dom_file *d;

    (void)state;
    step(10, 100, 3, 1);
    step(10, 200, 4, 1);
    collide(300, 1);
    d = read_back();
    assert_int_equal(counts().handovers, 3);
    assert_int_equal(counts().callers_unknown, 0);
    assert_true(is_cut(d, 10, 320, 350));
    assert_false(is_cut(d, 11, 320, 350));
    assert_int_equal(end_of(d, "backward"), 350);
}

static void test_a_caller_that_is_not_known_is_none(void **state)
{
    struct dom_file *d;

    (void)state;
    step(10, 100, 3, 1);
    collide(300, 1); /* one operator with a single sequence number is not enough evidence */
    d = read_back();
    assert_int_equal(counts().handovers, 1);
    assert_int_equal(counts().callers_unknown, 1);
    assert_false(is_cut(d, 10, 320, 350));
    assert_false(is_cut(d, 11, 320, 350));
}

static void test_a_caller_that_ran_no_forward_code_is_none(void **state)
{
    (void)state;
    step(12, 100, 3, 1);
    step(12, 200, 4, 1);
    collide(300, 1);     /* thread 12 ran no operator with this number */
    step(11, 400, 5, 1); /* its own forward operator was before the window */
    read_back();
    assert_int_equal(counts().handovers, 2);
    assert_int_equal(counts().callers_unknown, 2); /* the inner row is not counted again */
}

static void test_a_wrong_lesson_does_not_stick(void **state)
{
    struct dom_file *d;

    (void)state;
    step(11, 100, 2, 1); /* the forward operator was before the window; another thread's operator
                          * has its number */
    step(10, 200, 3, 1);
    step(10, 300, 4, 1);
    step(10, 400, 5, 1);
    collide(500, 1);
    d = read_back();
    assert_int_equal(counts().callers_unknown, 0);
    assert_true(is_cut(d, 10, 520, 550));
    assert_false(is_cut(d, 11, 520, 550));
}

static void test_two_numbers_are_not_one_thread(void **state)
{
    (void)state;
    step(10, 100, 3, 1);
    step(10, 200, 4, 1);
    step(10, 300, 5, 2); /* a thread with two numbers: neither is known then */
    step(10, 400, 6, 2);
    collide(500, 1);
    collide(600, 2);
    read_back();
    assert_int_equal(counts().handovers, 4);
    assert_int_equal(counts().callers_unknown, 2);
}

static void test_what_any_thread_may_end_is_no_node(void **state)
{
    struct sl_event ev = {.kind = SL_EV_RANGE, .flags = SL_EVF_ASYNC, .thread = 10};
    struct dom_file *d;

    (void)state;
    ev.name = text("nccl:all_reduce");
    ev.start_ns = BASE + 15000;
    ev.end_ns = BASE + 35000;
    ev.u.row.sequence = -1;
    row(SL_EV_CPU_OP, "launch", 10, 10, 20, -1, 0);
    assert_int_equal(sl_chakra_events(f.chakra, &ev, 1), 0);
    ev.kind = SL_EV_CPU_OP;
    assert_int_equal(sl_chakra_events(f.chakra, &ev, 1), 0);
    row(SL_EV_CPU_OP, "next", 10, 30, 40, -1, 0);
    d = read_back();
    assert_int_equal(dom_count(d, "nccl:all_reduce"), 0);
    assert_int_equal(dom_count(d, "launch"), 1);
}

static void test_operators_go_out_before_they_end(void **state)
{
    struct dom_file *d;

    (void)state;
    row(SL_EV_RANGE, "step", 10, 0, 1000, -1, 0);
    call("call", 10, 10, 20, 1);
    advance(500);
    assert_int_equal(counts().nodes, 0); /* the header's device is not known yet */
    kernel(7, 15, 30, 1, "k");
    advance(500);
    assert_true(counts().nodes >= 1);
    call("later", 10, 600, 700, 2);
    d = read_back();
    assert_int_equal(counts().rows_late + counts().rows_cut, 0);
    assert_int_equal(dom_count(d, "step"), 3);
    assert_int_equal(end_of(d, "step"), 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CHAKRA_TEST(test_a_backward_pass_joins_two_threads),
        CHAKRA_TEST(test_a_caller_that_goes_on_waits_for_nothing),
        CHAKRA_TEST(test_a_busy_thread_called_nobody),
        CHAKRA_TEST(test_a_range_around_it_does_not_make_its_thread_busy),
        CHAKRA_TEST(test_numbers_of_several_threads_collide),
        CHAKRA_TEST(test_a_caller_that_is_not_known_is_none),
        CHAKRA_TEST(test_a_caller_that_ran_no_forward_code_is_none),
        CHAKRA_TEST(test_a_wrong_lesson_does_not_stick),
        CHAKRA_TEST(test_two_numbers_are_not_one_thread),
        CHAKRA_TEST(test_what_any_thread_may_end_is_no_node),
        CHAKRA_TEST(test_operators_go_out_before_they_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
