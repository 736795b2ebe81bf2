/* assemble_test.c - joins records into rows: records in any order, correlation ids that wrap
 * around, and more records than fit into memory. */
#include "event/correlation.h"
#include "unit/event/assemble_rig.h"

static struct log truth, input;

/* ---- the same records in many orders ---- */

static void expect_row(struct sl_event ev, uint64_t wide)
{
    ev.correlation = wide;
    keep(&truth, &ev);
}

static void expect_flow(const struct sl_event *call, const struct sl_event *op, uint64_t wide)
{
    struct sl_event flow;

    memset(&flow, 0, sizeof(flow));
    flow.kind = SL_EV_FLOW;
    flow.correlation = wide;
    flow.start_ns = call->start_ns;
    flow.thread = call->thread;
    flow.u.flow.head_ns = op->start_ns;
    flow.u.flow.op_end_ns = op->end_ns;
    flow.stream = op->stream;
    keep(&truth, &flow);
}

/* Adds the records of one of six patterns, with correlation ids from `first + i` on, and the
 * expected rows. Id 0 means that there is no id; its pattern is a failed launch, whose row is
 * unchanged. */
static void add_pattern(uint64_t first, uint32_t i)
{
    uint64_t wide = first + i, t = 1000000 + 1000 * (uint64_t)i;
    uint32_t id = (uint32_t)wide, k;
    struct sl_event outer = launch(SL_EV_RUNTIME, id, t, t + 500);
    struct sl_event inner = launch(SL_EV_DRIVER, id, t + 100, t + 400);
    struct sl_event kernel = row(SL_EV_KERNEL, id, t + 600, t + 700);

    switch (i % 6) {
    case 0: /* a launch and its kernel */
    case 1: /* a launch and its kernel, with a driver call inside */
        keep(&input, &outer);
        keep(&input, &kernel);
        if (i % 6 == 1)
            keep(&input, &inner);
        expect_row(outer, wide);
        expect_row(kernel, wide);
        expect_flow(&outer, &kernel, wide);
        break;
    case 2: /* a driver call without a runtime call */
        keep(&input, &inner);
        keep(&input, &kernel);
        expect_row(inner, wide);
        expect_row(kernel, wide);
        expect_flow(&inner, &kernel, wide);
        break;
    case 3: /* a graph: one launch, many operations */
        keep(&input, &outer);
        expect_row(outer, wide);
        for (k = 0; k < 5; k++) {
            kernel = node(id, t + 600 + 20 * k, k + 1);
            keep(&input, &kernel);
            expect_row(kernel, wide);
            expect_flow(&outer, &kernel, wide);
        }
        break;
    case 4: /* a failed launch */
        outer.u.call.result = 1;
        keep(&input, &outer);
        expect_row(outer, id ? wide : 0);
        break;
    case 5: /* a wait */
        outer.flags = 0;
        kernel = row(SL_EV_SYNC, id, t, t + 400);
        keep(&input, &outer);
        keep(&input, &kernel);
        expect_row(outer, wide);
        expect_row(kernel, wide);
        break;
    }
}

static uint64_t random_state;

static uint32_t pick(uint32_t below)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 33) % below;
}

static void shuffle(uint32_t reach)
{
    size_t i;

    for (i = input.count; i > 1; i--) {
        uint32_t span = reach < i ? reach : (uint32_t)i;
        size_t j = i - 1 - pick(span);
        struct sl_event swap = input.event[i - 1];

        input.event[i - 1] = input.event[j];
        input.event[j] = swap;
    }
}

static int by_bytes(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct sl_event));
}

static void check_order(uint64_t first, uint32_t patterns, uint64_t seed, uint32_t reach)
{
    struct sl_assemble_counts counts;
    struct sl_assemble *a = make(0);
    size_t i, firsts = 0, ids_with_flow = 0;

    input.count = truth.count = 0;
    for (i = 0; i < patterns; i++)
        add_pattern(first, (uint32_t)i);
    random_state = seed;
    shuffle(reach);
    /* The first delivered id is from before the wrap-around. */
    feed(a, row(SL_EV_SYNC, (uint32_t)first - 1, 1, 2), 0);
    got.count = 0;
    for (i = 0; i < input.count; i++)
        sl_assemble_event(a, &input.event[i], 0);
    sl_assemble_flush(a);

    for (i = 0; i < got.count; i++) {
        if (got.event[i].kind != SL_EV_FLOW)
            continue;
        firsts += got.event[i].flags & SL_EVF_FLOW_FIRST;
        got.event[i].flags = 0;
    }
    for (i = 0; i < patterns; i++)
        ids_with_flow += i % 6 < 4;
    assert_int_equal(firsts, ids_with_flow);
    assert_int_equal(got.count, truth.count);
    qsort(got.event, got.count, sizeof(got.event[0]), by_bytes);
    qsort(truth.event, truth.count, sizeof(truth.event[0]), by_bytes);
    assert_memory_equal(got.event, truth.event, got.count * sizeof(got.event[0]));

    sl_assemble_get_counts(a, &counts);
    assert_int_equal(counts.nested_dropped, patterns / 6);
    assert_int_equal(counts.duplicates, 0);
    assert_int_equal(counts.late_outer, 0);
    assert_int_equal(counts.gpu_without_call, 0);
    sl_assemble_destroy(a);
}

static void any_order_gives_the_same_set(void **state)
{
    uint64_t seed;

    check_order(1000, 1200, 1, 1); /* in the order in which they happened */
    for (seed = 1; seed <= 30; seed++) {
        check_order(1000, 1200, seed, 50);
        check_order(1000, 1200, seed, UINT32_MAX);
    }
}

static void any_order_is_right_across_the_wrap(void **state)
{
    uint64_t seed;

    for (seed = 1; seed <= 20; seed++)
        check_order((1ull << 32) - 604, 1200, seed, UINT32_MAX);
}

static void the_wrap_is_counted_once(void **state)
{
    struct sl_assemble *a = make(0);
    struct sl_assemble_counts counts;

    feed(a, row(SL_EV_SYNC, 0xfffffff0, 1, 2), 0);
    feed(a, row(SL_EV_SYNC, 3, 3, 4), 0);
    feed(a, row(SL_EV_SYNC, 0xfffffff1, 5, 6), 0);
    feed(a, row(SL_EV_SYNC, 4, 7, 8), 0);
    sl_assemble_get_counts(a, &counts);
    assert_int_equal(counts.wraps, 1);
    assert_int_equal(got.event[1].correlation, (1ull << 32) + 3);
    assert_int_equal(got.event[2].correlation, 0xfffffff1);
    assert_int_equal(got.event[3].correlation, (1ull << 32) + 4);
    sl_assemble_destroy(a);
}

static void ids_from_before_the_first_one_seen_keep_their_bits(void **state)
{
    struct sl_assemble *a = make(0);

    feed(a, launch(SL_EV_RUNTIME, 5, 1, 2), 0);
    feed(a, launch(SL_EV_RUNTIME, 0xfffffff0, 3, 4), 0);
    feed(a, row(SL_EV_KERNEL, 0xfffffff0, 5, 6), 0);
    assert_int_equal(got.event[1].correlation, 0xfffffff0);
    assert_int_equal(got.event[2].correlation, 0xfffffff0);
    assert_int_equal(got.event[3].kind, SL_EV_FLOW);
    sl_assemble_destroy(a);
}

static void events_without_an_id_pass(void **state)
{
    struct sl_assemble *a = make(0);
    struct sl_event thread = row(SL_EV_META_THREAD, 0, 0, 0);

    feed(a, thread, 0);
    feed(a, row(SL_EV_OVERHEAD, 0, 5, 6), 0);
    feed(a, row(SL_EV_OVERHEAD, 0, 6, 7), 0);
    assert_int_equal(got.count, 3);
    feed(a, row(SL_EV_OVERHEAD, 0, 5, 6), 0); /* delivered twice */
    assert_int_equal(got.count, 3);
    assert_memory_equal(&got.event[0], &thread, sizeof(thread));
    sl_assemble_destroy(a);
}

static void at_the_cap_the_done_go_first_and_the_waiting_are_counted(void **state)
{
    struct sl_assemble_counts counts;
    struct sl_assemble *a = make(512 * 1024);
    /* Each id is on another page of the table, and not all pages fit into memory. */
    uint32_t id, launches = 2048;
    uint64_t lost;

    /* One launch waits for the record of its operation. Very many launches without a missing
     * operation follow. The waiting launch is not forgotten. */
    feed(a, launch(SL_EV_RUNTIME, 1, 10, 20), 0);
    for (id = 1000; id < 1000000; id += 100) {
        got.count = 0;
        feed(a, launch(SL_EV_RUNTIME, id, 10, 20), 0);
        feed(a, row(SL_EV_KERNEL, id, 30, 40), 0);
        assert_int_equal(got.count, 3);
    }
    got.count = 0;
    feed(a, row(SL_EV_KERNEL, 1, 30, 40), 0);
    assert_int_equal(got.count, 2); /* the operation's row and its arrow */
    sl_assemble_get_counts(a, &counts);
    assert_int_equal(counts.call_without_gpu, 0);

    /* More launches wait for their operations than fit in memory. The oldest launches are
     * forgotten, and each is counted. */
    for (id = 2000000; id < 2000000 + launches * SL_CORR_PAGE_IDS; id += SL_CORR_PAGE_IDS)
        feed(a, launch(SL_EV_RUNTIME, id, 10, 20), 0);
    sl_assemble_get_counts(a, &counts);
    lost = counts.call_without_gpu;
    assert_true(lost > 0 && lost < launches);
    got.count = 0;
    feed(a, row(SL_EV_KERNEL, id - SL_CORR_PAGE_IDS, 30, 40), 0);
    assert_int_equal(got.count, 2); /* the newest launch is kept */
    feed(a, row(SL_EV_KERNEL, 2000000, 30, 40), 0);
    assert_int_equal(got.count, 3); /* the oldest launch was forgotten, so this row has no arrow */
    sl_assemble_get_counts(a, &counts);
    assert_true(counts.gpu_without_call >= 1);
    sl_assemble_destroy(a);
}

static void wrong_options_are_refused(void **state)
{
    struct sl_assemble_options opt = {0};
    struct sl_assemble *a;

    assert_true(sl_assemble_create(&a, &opt) < 0);
    opt.sink = keep;
    opt.cap_bytes = 1000;
    assert_true(sl_assemble_create(&a, &opt) < 0);
    sl_assemble_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_order_gives_the_same_set),
        cmocka_unit_test(any_order_is_right_across_the_wrap),
        cmocka_unit_test(the_wrap_is_counted_once),
        cmocka_unit_test(ids_from_before_the_first_one_seen_keep_their_bits),
        cmocka_unit_test(events_without_an_id_pass),
        cmocka_unit_test(at_the_cap_the_done_go_first_and_the_waiting_are_counted),
        cmocka_unit_test(wrong_options_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
