/* range_test.c - which range was open when, what the GPU did in it, and what a window shows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "event/range.h"

#define THREAD 7

static struct sl_ranges *ranges;
static struct sl_event out[4096];
static size_t outs;

static void take(void *user, const struct sl_event *ev)
{
    (void)user;
    assert_true(outs < sizeof(out) / sizeof(*out));
    out[outs++] = *ev;
}

static int create_with(size_t cap)
{
    const struct sl_ranges_options opt = {.cap_bytes = cap, .sink = take};

    outs = 0;
    return sl_ranges_create(&ranges, &opt);
}

static int create(void **state)
{
    int err = create_with(0);

    (void)state;
    if (!err)
        sl_ranges_window(ranges, 0, UINT64_MAX);
    return err;
}

static int destroy(void **state)
{
    (void)state;
    sl_ranges_destroy(ranges);
    return 0;
}

static void push(uint32_t domain, uint64_t ns, uint32_t name)
{
    const struct sl_range_look look = {.name = name};

    sl_ranges_push(ranges, THREAD, domain, ns, &look);
}

static void pop(uint32_t domain, uint64_t ns)
{
    sl_ranges_pop(ranges, THREAD, domain, ns);
}

/* Name of the innermost range around a call; 0: none. */
static uint32_t around(uint32_t thread, uint64_t ns)
{
    struct sl_event call = {.kind = SL_EV_RUNTIME, .start_ns = ns, .thread = thread};

    sl_ranges_call(ranges, &call);
    return call.u.call.range;
}

static void launch(uint32_t thread, uint64_t ns, uint32_t stream, uint64_t from, uint64_t to)
{
    struct sl_event call = {
        .kind = SL_EV_RUNTIME, .flags = SL_EVF_LAUNCH, .start_ns = ns, .thread = thread};
    struct sl_event flow = {.kind = SL_EV_FLOW,
                            .flags = SL_EVF_FLOW_FIRST,
                            .start_ns = ns,
                            .end_ns = from,
                            .thread = thread,
                            .stream = stream};

    flow.u.flow.op_end_ns = to;
    sl_ranges_call(ranges, &call);
    sl_ranges_flow(ranges, &flow);
}

static const struct sl_event *row(uint8_t kind, uint32_t name)
{
    const struct sl_event *found = NULL;

    for (size_t i = 0; i < outs; i++) {
        if (out[i].kind != kind || out[i].name != name)
            continue;
        assert_null(found);
        found = &out[i];
    }
    return found;
}

static void calls_that_come_late_find_their_range(void **state)
{
    (void)state;
    push(0, 10, 1);
    push(0, 20, 2);
    pop(0, 30);
    push(0, 40, 3);
    pop(0, 50);
    pop(0, 60);
    assert_int_equal(around(THREAD, 55), 1);
    assert_int_equal(around(THREAD, 45), 3);
    assert_int_equal(around(THREAD, 25), 2);
    assert_int_equal(around(THREAD, 35), 1);
    assert_int_equal(around(THREAD, 20), 2);
    assert_int_equal(around(THREAD, 5), 0);
    assert_int_equal(around(THREAD, 60), 0);
    assert_int_equal(around(THREAD + 1, 25), 0);
}

/* Two domains need not be nested in each other. */
static void domains_nest_on_their_own(void **state)
{
    (void)state;
    push(1, 10, 1);
    push(2, 20, 2);
    pop(1, 30);
    push(1, 40, 3);
    pop(2, 50);
    pop(1, 60);
    pop(1, 70); /* of nothing */
    assert_int_equal(row(SL_EV_NOTE, 1)->end_ns, 30);
    assert_int_equal(row(SL_EV_NOTE, 2)->end_ns, 50);
    assert_int_equal(row(SL_EV_NOTE, 3)->end_ns, 60);
    assert_int_equal(around(THREAD, 35), 2);
    assert_int_equal(around(THREAD, 55), 3);
}

static void started_ranges_end_in_any_order(void **state)
{
    const struct sl_range_look one = {.name = 1}, two = {.name = 2};
    uint32_t where;

    (void)state;
    sl_ranges_start(ranges, THREAD, 100, 10, 1000, &one);
    sl_ranges_start(ranges, THREAD, 200, 20, 1001, &two);
    assert_non_null(sl_ranges_started(ranges, 100, &where));
    assert_int_equal(where, 1000);
    sl_ranges_end(ranges, 100, 30);
    assert_null(sl_ranges_started(ranges, 100, &where));
    assert_int_equal(around(THREAD, 35), 2);
    sl_ranges_end(ranges, 200, 40);
    sl_ranges_end(ranges, 200, 50);
    assert_int_equal(row(SL_EV_NOTE, 1)->thread, 1000);
    assert_int_equal(row(SL_EV_NOTE, 2)->end_ns, 40);
    assert_int_equal(around(THREAD, 45), 0);
}

static void the_gpu_is_shown_once_all_of_it_is_in(void **state)
{
    const struct sl_event *gpu;

    (void)state;
    push(0, 10, 1);
    push(0, 20, 2);
    launch(THREAD, 25, 5, 100, 200);
    launch(THREAD, 26, 6, 110, 120);
    pop(0, 30);
    pop(0, 40);
    sl_ranges_complete(ranges, 150);
    assert_null(row(SL_EV_NOTE_GPU, 1)); /* an operation ends after that */
    sl_ranges_complete(ranges, 250);
    assert_int_equal(outs, 2 + 4); /* both ranges, each on two streams */
    gpu = &out[outs - 1];
    assert_int_equal(gpu->kind, SL_EV_NOTE_GPU);
    assert_int_equal(gpu->start_ns, gpu->stream == 5 ? 100 : 110);
    assert_int_equal(gpu->end_ns, gpu->stream == 5 ? 200 : 120);
}

static void a_worker_works_for_the_one_that_has_a_range(void **state)
{
    const struct sl_range_look look = {.name = 9};

    (void)state;
    push(0, 10, 1);
    launch(50, 20, 5, 100, 200); /* not known as a worker yet */
    sl_ranges_worker(ranges, 50);
    launch(50, 30, 5, 300, 400);
    assert_int_equal(around(50, 30), 1);
    sl_ranges_push(ranges, THREAD + 1, 0, 35, &look); /* now there are two */
    assert_int_equal(around(50, 36), 0);
    pop(0, 40);
    sl_ranges_close(ranges, 500);
    assert_int_equal(row(SL_EV_NOTE_GPU, 1)->start_ns, 300);
    assert_null(row(SL_EV_NOTE_GPU, 9));
}

static void windows_cut(void **state)
{
    struct sl_ranges_counts counts;
    const struct sl_event *ev;

    (void)state;
    sl_ranges_window(ranges, UINT64_MAX, UINT64_MAX);
    push(0, 10, 1);
    sl_ranges_window(ranges, 100, UINT64_MAX);
    push(0, 110, 2);
    launch(THREAD, 120, 5, 150, 160);
    sl_ranges_close(ranges, 200);
    sl_ranges_close(ranges, 200); /* told again */
    ev = row(SL_EV_NOTE, 1);
    assert_int_equal(ev->start_ns, 100);
    assert_int_equal(ev->end_ns, 200);
    assert_int_equal(ev->flags, SL_EVF_CUT_START | SL_EVF_CUT_END);
    assert_int_equal(row(SL_EV_NOTE, 2)->flags, SL_EVF_CUT_END);
    assert_int_equal(row(SL_EV_NOTE_GPU, 2)->end_ns, 160);
    outs = 0;
    pop(0, 250);
    assert_int_equal(outs, 0);
    sl_ranges_window(ranges, 300, UINT64_MAX);
    pop(0, 350);
    assert_int_equal(outs, 1);
    assert_int_equal(row(SL_EV_NOTE, 1)->flags, SL_EVF_CUT_START);
    sl_ranges_get_counts(ranges, &counts);
    assert_int_equal(counts.cut, 3);
    assert_int_equal(counts.lost, 0);
}

static void a_thread_takes_its_ranges_along(void **state)
{
    (void)state;
    push(0, 10, 1);
    push(3, 20, 2);
    sl_ranges_end_thread(ranges, THREAD, 30);
    assert_int_equal(row(SL_EV_NOTE, 1)->end_ns, 30);
    assert_int_equal(row(SL_EV_NOTE, 2)->end_ns, 30);
    assert_int_equal(around(THREAD, 40), 0);
}

static void memory_is_bounded(void **state)
{
    struct sl_ranges_counts counts;
    const struct sl_range_look look = {.name = 1};

    (void)state;
    sl_ranges_destroy(ranges);
    assert_int_equal(create_with(512 * 1024), 0);
    /* Ended ones make room, and threads come and go. */
    for (uint32_t i = 0; i < 100000; i++) {
        sl_ranges_push(ranges, i + 1, 0, i * 10, &look);
        sl_ranges_pop(ranges, i + 1, 0, i * 10 + 5);
    }
    sl_ranges_get_counts(ranges, &counts);
    assert_int_equal(counts.lost, 0);
    /* Open ones do not. */
    for (uint32_t i = 0; i < 100000; i++)
        push(0, 2000000 + i, 1);
    sl_ranges_get_counts(ranges, &counts);
    assert_true(counts.lost > 0 && counts.lost < 100000);
}

/* Who writes while ranges are open is told when they begin, and which row belongs to that. */
static void beginnings_are_told_where_they_are_wanted(void **state)
{
    const struct sl_ranges_options opt = {.sink = take, .begins = 1};
    const struct sl_range_look look = {.name = 9};

    (void)state;
    outs = 0;
    assert_int_equal(sl_ranges_create(&ranges, &opt), 0);
    push(0, 10, 1);
    push(0, 20, 2);
    push(0, 30, 3);
    pop(0, 40);
    assert_int_equal(outs, 0); /* no window */
    sl_ranges_window(ranges, 100, UINT64_MAX);
    assert_int_equal(outs, 2);
    push(0, 110, 4);
    sl_ranges_start(ranges, THREAD, 77, 115, 5000, &look); /* any thread may end it */
    assert_int_equal(outs, 3);
    for (size_t i = 0; i < outs; i++) {
        static const uint32_t name[] = {1, 2, 4};
        static const uint64_t start[] = {100, 100, 110};

        assert_int_equal(out[i].kind, SL_EV_NOTE);
        assert_int_equal(out[i].name, name[i]);
        assert_int_equal(out[i].start_ns, start[i]);
        assert_true(out[i].end_ns == SL_END_UNKNOWN);
        assert_true(out[i].stream != 0 && (i == 0 || out[i].stream != out[i - 1].stream));
    }
    pop(0, 120);
    assert_int_equal(outs, 4);
    assert_int_equal(out[3].flags, SL_EVF_BEGUN);
    assert_int_equal(out[3].stream, out[2].stream);
    sl_ranges_window(ranges, 100, 130); /* it is known when it ends: nothing is told again */
    assert_int_equal(outs, 4);
    sl_ranges_close(ranges, 130);
    assert_int_equal(outs, 7);
    assert_int_equal(out[4].name, 1); /* the outer one first */
    assert_int_equal(out[5].name, 2);
    assert_int_equal(out[5].flags, SL_EVF_BEGUN | SL_EVF_CUT_START | SL_EVF_CUT_END);
    assert_int_equal(out[5].stream, out[1].stream);
    assert_int_equal(out[6].flags & SL_EVF_BEGUN, 0);
    outs = 0;
    sl_ranges_window(ranges, 200, UINT64_MAX);
    assert_int_equal(outs, 2);
    sl_ranges_destroy(ranges);
}

/* It had ended before the window opened, which was not known yet. */
static void what_was_begun_is_ended(void **state)
{
    const struct sl_ranges_options opt = {.sink = take, .begins = 1};

    (void)state;
    outs = 0;
    assert_int_equal(sl_ranges_create(&ranges, &opt), 0);
    push(0, 10, 1);
    sl_ranges_window(ranges, 100, UINT64_MAX);
    pop(0, 90);
    assert_int_equal(outs, 2);
    assert_int_equal(out[1].flags & SL_EVF_BEGUN, SL_EVF_BEGUN);
    assert_true(out[1].start_ns == 100 && out[1].end_ns == 100);
    sl_ranges_destroy(ranges);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(calls_that_come_late_find_their_range, create, destroy),
        cmocka_unit_test_setup_teardown(domains_nest_on_their_own, create, destroy),
        cmocka_unit_test_setup_teardown(started_ranges_end_in_any_order, create, destroy),
        cmocka_unit_test_setup_teardown(the_gpu_is_shown_once_all_of_it_is_in, create, destroy),
        cmocka_unit_test_setup_teardown(a_worker_works_for_the_one_that_has_a_range, create,
                                        destroy),
        cmocka_unit_test_setup_teardown(windows_cut, create, destroy),
        cmocka_unit_test_setup_teardown(a_thread_takes_its_ranges_along, create, destroy),
        cmocka_unit_test_setup_teardown(memory_is_bounded, create, destroy),
        cmocka_unit_test(beginnings_are_told_where_they_are_wanted),
        cmocka_unit_test(what_was_begun_is_ended),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
