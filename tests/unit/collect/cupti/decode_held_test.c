/* decode_held_test.c - tests collect/cupti/decode_held.c, which delays records of waits. The record
 * of a wait can arrive before the record of its context, because each thread has its own
 * buffers. */
#include "test.h"

#include "collect/cupti/decode_impl.h"
#include "unit/collect/cupti/record.h"

static void add_wait(struct record_rig *b, uint32_t context, uint64_t end_ns)
{
    const struct sl_cupti_sync_layout *at = b->layout->sync;
    uint8_t *r = record_add(b, SL_CUPTI_KIND_SYNCHRONIZATION);

    put32(r, at->type, SL_SYNC_STREAM);
    put64(r, at->start, end_ns - 10);
    put64(r, at->end, end_ns);
    put32(r, at->correlation, (uint32_t)end_ns);
    put32(r, at->context, context);
    put32(r, at->stream, 13);
}

static void add_context(struct record_rig *b, uint32_t context, uint32_t device)
{
    uint8_t *r = record_add(b, SL_CUPTI_KIND_CONTEXT);

    put32(r, b->layout->context->context, context);
    put32(r, b->layout->context->device, device);
    put16(r, b->layout->context->null_stream, 7);
}

static void settle(struct record_rig *b, uint64_t complete_ns)
{
    b->events = 0;
    sl_decode_settle(b->decode, complete_ns, record_sink, b);
}

static void a_wait_gets_the_device_of_a_context_that_comes_later(void **state)
{
    struct record_rig *b = record_open(130001, 0);

    add_wait(b, 2, 1000);
    add_wait(b, 2, 2000);
    record_decode(b);
    assert_null(record_event(b, SL_EV_SYNC, 0));
    add_context(b, 2, 1);
    record_decode(b);
    assert_int_equal(record_event(b, SL_EV_SYNC, 0)->end_ns, 1000);
    assert_int_equal(record_event(b, SL_EV_SYNC, 0)->device, 1);
    assert_int_equal(record_event(b, SL_EV_SYNC, 1)->device, 1);
    assert_int_equal(record_event(b, SL_EV_META_STREAM, 1)->device, 1);
    assert_int_equal(record_event(b, SL_EV_META_STREAM, 1)->stream, 13);
    settle(b, UINT64_MAX);
    assert_int_equal(b->events, 0);
    record_close(b);
}

static void it_is_held_no_longer_than_the_context_may_be_late(void **state)
{
    struct record_rig *b = record_open(130001, 0);

    add_wait(b, 2, 1000);
    add_wait(b, 2, 2000);
    record_decode(b);
    settle(b, 999);
    assert_int_equal(b->events, 0);
    settle(b, 1000);
    assert_int_equal(b->events, 1);
    assert_int_equal(b->event[0].end_ns, 1000);
    assert_int_equal(b->event[0].device, 0);
    settle(b, UINT64_MAX);
    assert_int_equal(b->event[0].end_ns, 2000);
    /* When the wait's record arrived, the context's device was unknown. syncline did not assume
     * device 0. */
    add_wait(b, 2, 3000);
    add_context(b, 2, 1);
    record_decode(b);
    assert_int_equal(record_event(b, SL_EV_SYNC, 0)->device, 1);
    record_close(b);
}

static void more_than_can_be_held_go_out_in_order(void **state)
{
    struct record_rig *b = record_open(130001, 0);
    uint64_t seen = 0;

    for (uint64_t i = 1; i <= SL_DECODE_HELD + 30; i++) {
        add_wait(b, 2, i * 100);
        record_decode(b);
        if (b->events)
            assert_int_equal(b->event[0].end_ns, ++seen * 100);
    }
    assert_int_equal(seen, 30);
    settle(b, UINT64_MAX);
    assert_int_equal(b->events, SL_DECODE_HELD);
    record_close(b);
}

static void a_stream_that_comes_before_its_context_is_told_with_it(void **state)
{
    struct record_rig *b = record_open(130001, 0);
    const struct sl_cupti_stream_layout *at = b->layout->stream;
    const struct sl_event *ev;
    uint8_t *r = record_add(b, SL_CUPTI_KIND_STREAM);

    put32(r, at->context, 2);
    put32(r, at->stream, 13);
    put32(r, at->flag, 2);
    record_decode(b);
    assert_null(record_event(b, SL_EV_META_STREAM, 0));
    add_context(b, 2, 1);
    record_decode(b);
    ev = record_event(b, SL_EV_META_STREAM, 0);
    assert_int_equal(ev->stream, 13);
    assert_int_equal(ev->device, 1);
    assert_int_equal(ev->u.meta.flags, 2);
    record_close(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_gets_the_device_of_a_context_that_comes_later),
        cmocka_unit_test(it_is_held_no_longer_than_the_context_may_be_late),
        cmocka_unit_test(more_than_can_be_held_go_out_in_order),
        cmocka_unit_test(a_stream_that_comes_before_its_context_is_told_with_it),
    };

    return cmocka_run_group_tests_name("cupti_decode_held", tests, NULL, NULL);
}
