/* ring_test.c - the ring buffer of events. Events are read in the order in which they were written:
 * where the ring wraps around, when the ring is full, and with two threads. Some slots are reserved
 * for control events. */
#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "event/ring.h"

static int push_number(struct sl_ring *r, uint64_t number)
{
    struct sl_event ev = {.start_ns = number, .end_ns = ~number};

    return sl_ring_push(r, &ev);
}

static void slots_are_a_power_of_two(void **state)
{
    struct sl_ring *r;

    assert_int_equal(sl_ring_create(&r, 1000), 0);
    assert_int_equal(sl_ring_slots(r), 1024);
    sl_ring_destroy(r);
    assert_int_equal(sl_ring_create(&r, SIZE_MAX / 2), -ENOMEM);
    sl_ring_destroy(NULL);
}

static void what_goes_in_comes_out_in_order_over_the_wrap(void **state)
{
    const struct sl_event *ev;
    uint64_t in = 0, out = 0;
    struct sl_ring *r;
    size_t count;

    assert_int_equal(sl_ring_create(&r, 64), 0);
    assert_null(sl_ring_peek(r, 10, &count));
    assert_int_equal(count, 0);
    while (in < 1000) {
        for (int i = 0; i < 37; i++)
            assert_int_equal(push_number(r, in++), 0);
        assert_int_equal(sl_ring_used(r), in - out);
        while ((ev = sl_ring_peek(r, 10, &count))) {
            assert_in_range(count, 1, 10);
            for (size_t i = 0; i < count; i++)
                assert_int_equal(ev[i].start_ns, out++);
            sl_ring_release(r, count);
        }
        assert_int_equal(out, in);
    }
    assert_int_equal(sl_ring_dropped(r), 0);
    sl_ring_destroy(r);
}

static void a_full_ring_drops_and_counts_but_takes_control(void **state)
{
    struct sl_event control = {.kind = SL_EV_WINDOW_CLOSE};
    const struct sl_event *ev;
    uint64_t taken = 0;
    struct sl_ring *r;
    size_t count, left = 0;

    assert_int_equal(sl_ring_create(&r, 128), 0);
    while (push_number(r, taken) == 0)
        taken++;
    assert_true(taken >= 100 && taken < 128);
    for (int i = 0; i < 9; i++)
        assert_int_equal(push_number(r, 999), -ENOBUFS);
    assert_int_equal(sl_ring_dropped(r), 10);

    for (uint64_t i = taken; i < 128; i++)
        assert_int_equal(sl_ring_push_control(r, &control), 0);
    assert_int_equal(sl_ring_push_control(r, &control), -ENOBUFS);
    assert_int_equal(sl_ring_dropped(r), 11);

    ev = sl_ring_peek(r, 1000, &count);
    assert_int_equal(count, 128);
    assert_int_equal(ev[0].start_ns, 0);
    assert_int_equal(ev[taken].kind, SL_EV_WINDOW_CLOSE);
    sl_ring_release(r, count);
    assert_int_equal(push_number(r, 7), 0);
    assert_non_null(sl_ring_peek(r, 1000, &left));
    assert_int_equal(left, 1);
    sl_ring_destroy(r);
}

#define EVENTS 300000u

static void *produce(void *arg)
{
    struct sl_ring *r = arg;

    for (uint64_t i = 0; i < EVENTS; i++) {
        while (push_number(r, i))
            sched_yield();
    }
    return NULL;
}

static void two_threads_lose_and_tear_nothing(void **state)
{
    const struct sl_event *ev;
    struct sl_ring *r;
    uint64_t next = 0;
    pthread_t thread;
    size_t count;

    assert_int_equal(sl_ring_create(&r, 256), 0);
    assert_int_equal(pthread_create(&thread, NULL, produce, r), 0);
    while (next < EVENTS) {
        ev = sl_ring_peek(r, 64, &count);
        if (!ev)
            sched_yield();
        for (size_t i = 0; i < count; i++, next++) {
            assert_int_equal(ev[i].start_ns, next);
            assert_int_equal(ev[i].end_ns, ~next);
        }
        sl_ring_release(r, count);
    }
    pthread_join(thread, NULL);
    assert_int_equal(sl_ring_used(r), 0);
    sl_ring_destroy(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slots_are_a_power_of_two),
        cmocka_unit_test(what_goes_in_comes_out_in_order_over_the_wrap),
        cmocka_unit_test(a_full_ring_drops_and_counts_but_takes_control),
        cmocka_unit_test(two_threads_lose_and_tear_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
