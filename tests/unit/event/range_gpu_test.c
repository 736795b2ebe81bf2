/* range_gpu_test.c - what the GPU did for a range: by device and stream, in the window, and when it
 * is known to be all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "event/range.h"

#define THREAD 7
#define SECOND 1000000000u

static struct sl_ranges *ranges;
static struct sl_event out[64];
static size_t outs;

static void take(void *user, const struct sl_event *ev)
{
    (void)user;
    assert_true(outs < sizeof(out) / sizeof(*out));
    if (ev->kind == SL_EV_NOTE_GPU)
        out[outs++] = *ev;
}

static int create(void **state)
{
    const struct sl_ranges_options opt = {.sink = take};

    (void)state;
    outs = 0;
    if (sl_ranges_create(&ranges, &opt))
        return -1;
    sl_ranges_window(ranges, 0, UINT64_MAX);
    return 0;
}

static int destroy(void **state)
{
    (void)state;
    sl_ranges_destroy(ranges);
    return 0;
}

static void push(uint64_t ns, uint32_t name)
{
    const struct sl_range_look look = {
        .name = name, .numbers = 2ull << 32 | 1, .more = name + 1000};

    sl_ranges_push(ranges, THREAD, 0, ns, &look);
}

static void pop(uint64_t ns)
{
    sl_ranges_pop(ranges, THREAD, 0, ns);
}

static struct sl_event call(uint64_t ns, uint8_t flags, uint32_t result)
{
    struct sl_event ev = {.kind = SL_EV_RUNTIME, .flags = flags, .start_ns = ns, .thread = THREAD};

    ev.u.call.result = result;
    sl_ranges_call(ranges, &ev);
    return ev;
}

/* An operation of the launch at that time; the launch's first if it is not said. */
static void operation(uint64_t launched_ns, uint16_t device, uint32_t stream, uint64_t from,
                      uint64_t to, uint8_t flags)
{
    struct sl_event flow = {.kind = SL_EV_FLOW,
                            .flags = flags,
                            .start_ns = launched_ns,
                            .end_ns = from,
                            .thread = THREAD,
                            .device = device,
                            .stream = stream};

    flow.u.flow.op_end_ns = to;
    sl_ranges_flow(ranges, &flow);
}

static void launch(uint64_t ns, uint16_t device, uint32_t stream, uint64_t from, uint64_t to)
{
    call(ns, SL_EVF_LAUNCH, 0);
    operation(ns, device, stream, from, to, SL_EVF_FLOW_FIRST);
}

static void assert_row(uint32_t name, uint16_t device, uint32_t stream, uint64_t from, uint64_t to)
{
    unsigned found = 0;

    for (size_t i = 0; i < outs; i++) {
        if (out[i].name != name || out[i].device != device || out[i].stream != stream)
            continue;
        assert_int_equal(out[i].start_ns, from);
        assert_int_equal(out[i].end_ns, to);
        assert_int_equal(out[i].thread, THREAD);
        assert_int_equal(out[i].correlation, 2ull << 32 | 1); /* the name's numbers */
        assert_int_equal(out[i].shape, name + 1000);
        found++;
    }
    assert_int_equal(found, 1);
}

static void a_row_for_each_stream_of_each_device(void **state)
{
    (void)state;
    push(100, 1);
    launch(110, 0, 7, 500, 600);
    launch(120, 0, 8, 520, 530);
    launch(130, 1, 7, 540, 550);
    launch(140, 0, 7, 400, 450); /* records come in any order */
    launch(150, 0, 7, 700, 800);
    pop(200);
    sl_ranges_complete(ranges, 10000);
    assert_int_equal(outs, 3);
    assert_row(1, 0, 7, 400, 800);
    assert_row(1, 0, 8, 520, 530);
    assert_row(1, 1, 7, 540, 550);
}

static void what_is_inside_counts_for_what_is_around(void **state)
{
    (void)state;
    push(100, 1);
    launch(110, 0, 7, 500, 510);
    push(120, 2);
    launch(130, 0, 7, 600, 610);
    pop(140);
    launch(150, 0, 7, 700, 710);
    pop(160);
    launch(170, 0, 7, 800, 810); /* in none */
    sl_ranges_complete(ranges, 10000);
    assert_int_equal(outs, 2);
    assert_row(1, 0, 7, 500, 710);
    assert_row(2, 0, 7, 600, 610);
}

static void a_call_has_the_innermost_range_and_its_numbers(void **state)
{
    struct sl_event ev;

    (void)state;
    push(100, 1);
    push(120, 2);
    ev = call(130, 0, 0);
    assert_int_equal(ev.u.call.range, 2);
    assert_int_equal(ev.context, 1);
    assert_int_equal(ev.shape, 2);
    assert_int_equal(call(110, 0, 0).u.call.range, 1);
    assert_int_equal(call(90, 0, 0).u.call.range, 0);
}

/* A row goes out once: not before the last launch's operation is in. */
static void a_launch_is_waited_for(void **state)
{
    (void)state;
    push(100, 1);
    launch(110, 0, 7, 500, 510);
    call(120, SL_EVF_LAUNCH, 0);
    pop(200);
    sl_ranges_complete(ranges, 10000);
    assert_int_equal(outs, 0);
    operation(120, 0, 7, 9000, 9100, SL_EVF_FLOW_FIRST);
    sl_ranges_complete(ranges, 9100);
    assert_int_equal(outs, 0);
    sl_ranges_complete(ranges, 10001);
    assert_row(1, 0, 7, 500, 9100);
}

static void a_launch_that_failed_is_not_waited_for(void **state)
{
    (void)state;
    push(100, 1);
    launch(110, 0, 7, 500, 510);
    call(120, SL_EVF_LAUNCH, 700);
    call(130, 0, 0); /* and what launches nothing */
    pop(200);
    sl_ranges_complete(ranges, 10000);
    assert_row(1, 0, 7, 500, 510);
}

/* How many operations a graph has is not known: a while after the last one it is taken for all. */
static void a_graph_may_have_more(void **state)
{
    (void)state;
    push(100, 1);
    launch(110, 0, 7, 500, 510);
    operation(110, 0, 7, 520, 530, 0);
    pop(200);
    sl_ranges_complete(ranges, SECOND);
    assert_int_equal(outs, 0);
    operation(110, 0, 7, 900, 910, 0);
    sl_ranges_complete(ranges, SECOND + 911);
    assert_row(1, 0, 7, 500, 910);
}

static void what_began_outside_of_the_window_is_no_part(void **state)
{
    (void)state;
    sl_ranges_window(ranges, 1000, 2000);
    push(900, 1);
    launch(910, 0, 7, 950, 1010);
    launch(920, 0, 7, 1100, 2500); /* ends when it likes */
    launch(930, 0, 7, 2000, 2100);
    launch(940, 0, 8, 2000, 2100);
    pop(1500);
    sl_ranges_close(ranges, 2000);
    assert_int_equal(outs, 1);
    assert_row(1, 0, 7, 1100, 2500);
}

/* Those with most streams find no room for all; the others' rows are right. */
static void more_streams_than_there_is_room_for(void **state)
{
    struct sl_ranges_counts counts;
    uint32_t stream = 0;

    (void)state;
    push(100, 1);
    do {
        launch(110, 0, ++stream, 500, 600);
        sl_ranges_get_counts(ranges, &counts);
    } while (!counts.lost && stream < 1000000);
    assert_in_range(stream, 1000, 999999);
    launch(120, 0, 1, 700, 800); /* is known */
    sl_ranges_get_counts(ranges, &counts);
    assert_int_equal(counts.lost, 1);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, create, destroy)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_row_for_each_stream_of_each_device),
        CASE(what_is_inside_counts_for_what_is_around),
        CASE(a_call_has_the_innermost_range_and_its_numbers),
        CASE(a_launch_is_waited_for),
        CASE(a_launch_that_failed_is_not_waited_for),
        CASE(a_graph_may_have_more),
        CASE(what_began_outside_of_the_window_is_no_part),
        CASE(more_streams_than_there_is_room_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
