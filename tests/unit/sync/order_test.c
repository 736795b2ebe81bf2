/* order_test.c - a list of items that are taken in the order of their correlation ids. All items of
 * one call are taken together, ordered by their starts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>

#include "sync/order.h"

static struct sl_store store;
static struct sl_order order;

static int make(void **state)
{
    (void)state;
    store = (struct sl_store){.cap_bytes = 4 << 20};
    sl_order_init(&order, &store);
    return 0;
}

static int drop(void **state)
{
    (void)state;
    sl_order_free(&order);
    return store.used_bytes != 0;
}

static int put_item(const struct sl_item *item)
{
    struct sl_item *slot = sl_order_next(&order);

    if (!slot)
        return -ENOMEM;
    *slot = *item;
    sl_order_put(&order);
    return 0;
}

static void put(uint64_t correlation, uint64_t id)
{
    struct sl_item item = {.correlation = correlation, .id = id, .start_ns = id};

    assert_int_equal(put_item(&item), 0);
}

static void a_call_comes_out_whole(void **state)
{
    const struct sl_item *item;
    size_t count;
    (void)state;

    assert_null(sl_order_peek(&order, 0, &count));
    put(20, 3);
    put(10, 2);
    put(20, 0); /* an item without a time comes last */
    put(20, 1);
    /* Nothing can be taken before the list is sorted. */
    assert_null(sl_order_peek(&order, 0, &count));
    assert_int_equal(sl_order_sort(&order), 0);
    item = sl_order_peek(&order, 0, &count);
    assert_int_equal(count, 1);
    assert_int_equal(item->id, 2);
    item = sl_order_peek(&order, 1, &count);
    assert_int_equal(count, 3);
    assert_int_equal(item[0].id, 1);
    assert_int_equal(item[1].id, 3);
    assert_int_equal(item[2].id, 0);
    sl_order_take(&order, 1);
    put(15, 4); /* a lower id than all others in the list */
    assert_int_equal(sl_order_sort(&order), 0);
    assert_int_equal(sl_order_peek(&order, 0, &count)->id, 4);
    sl_order_take(&order, 4);
    assert_null(sl_order_peek(&order, 0, &count));
}

/* Items are inserted, sorted and taken in a random sequence. Each taken item has the lowest id in
 * the list. */
static void any_order_of_coming_gives_one_order(void **state)
{
    static uint8_t waiting[5000];
    uint64_t lowest = 0;
    size_t there = 0;
    (void)state;

    srand(7);
    for (int round = 0; round < 200; round++) {
        for (int i = rand() % 100; i > 0; i--) {
            uint64_t correlation = lowest + (uint64_t)rand() % (5000 - lowest);

            put(correlation, 0);
            waiting[correlation]++;
            there++;
        }
        assert_int_equal(sl_order_sort(&order), 0);
        for (int i = rand() % 40; i > 0 && there; i--) {
            size_t count;
            const struct sl_item *item = sl_order_peek(&order, 0, &count);

            while (!waiting[lowest])
                lowest++;
            assert_non_null(item);
            assert_int_equal(item->correlation, lowest);
            assert_int_equal(count, waiting[lowest]);
            there -= count;
            waiting[lowest] = 0;
            sl_order_take(&order, count);
        }
    }
}

/* Items fill nearly two thirds of the memory. The rest is reserved for sorting, even of two equally
 * long runs that interleave, and for the results. */
static void at_the_bound_it_refuses_and_keeps(void **state)
{
    struct sl_item item = {0};
    size_t count = 0, together;
    (void)state;

    for (;; count++) {
        item.correlation = 1 + (2 * count) % 44001;
        if (put_item(&item) != 0)
            break;
    }
    assert_int_equal(put_item(&item), -ENOMEM);
    assert_true(count * sizeof item <= store.cap_bytes * 2 / 3);
    assert_true(count * sizeof item > store.cap_bytes * 6 / 10);
    assert_int_equal(sl_order_sort(&order), 0);
    assert_true(store.used_bytes <= store.cap_bytes - store.cap_bytes / 16);
    for (uint64_t last = 0; count > 0; count -= together) {
        const struct sl_item *first = sl_order_peek(&order, 0, &together);

        assert_non_null(first);
        assert_true(first->correlation > last);
        last = first->correlation;
        sl_order_take(&order, together);
    }
    assert_null(sl_order_peek(&order, 0, &together));
    assert_int_equal(store.used_bytes, 0);
}

/* An item needs 48 bytes, and 24 more while the list grows. The memory of taken items is used
 * again. */
static void what_was_taken_leaves_no_hole(void **state)
{
    size_t count, slots;
    (void)state;

    for (uint64_t i = 1; i <= 600; i++)
        put(i, 0);
    assert_int_equal(sl_order_sort(&order), 0);
    slots = order.slots;
    for (uint64_t i = 601; i <= 100000; i++) {
        put(i, 0);
        assert_int_equal(sl_order_sort(&order), 0);
        assert_int_equal(sl_order_peek(&order, 0, &count)->correlation, i - 600);
        sl_order_take(&order, 1);
    }
    assert_true(order.slots <= 2 * slots);
}

static void put_call(uint64_t correlation, uint32_t thread, uint64_t start_ns, uint64_t end_ns)
{
    struct sl_item item = {.correlation = correlation,
                           .kind = SL_EV_RUNTIME,
                           .where = thread,
                           .start_ns = start_ns,
                           .end_ns = end_ns};

    assert_int_equal(put_item(&item), 0);
    item.kind = SL_EV_KERNEL;
    item.start_ns += 1000;
    assert_int_equal(put_item(&item), 0);
}

static void assert_first(uint64_t correlation)
{
    size_t skip, count;
    const struct sl_item *item = sl_order_first(&order, &skip, &count);

    assert_non_null(item);
    assert_int_equal(item->correlation, correlation);
    item = sl_order_bring(&order, skip, count);
    assert_int_equal(count, 2);
    assert_int_equal(item[0].correlation, correlation);
    assert_int_equal(item[0].kind, SL_EV_RUNTIME);
    assert_int_equal(item[1].correlation, correlation);
    assert_int_equal(item[1].kind, SL_EV_KERNEL);
    sl_order_take(&order, count);
}

/* A thread was stopped between getting the correlation id of its call and getting the call's start
 * time. The call is ordered after calls of other threads that returned before this start time. */
static void a_call_that_was_held_up_goes_behind_those_that_returned_before_it_began(void **state)
{
    size_t skip, count;
    (void)state;

    put_call(1, 100, 50, 60);
    put_call(2, 200, 10, 12);
    put_call(3, 300, 80, 90); /* this thread was stopped, too */
    put_call(4, 200, 20, 22);
    put_call(5, 200, 55, 57); /* this call overlaps the first call, so the ids decide the order */
    put_call(6, 200, 70, 75);
    assert_int_equal(sl_order_sort(&order), 0);
    assert_first(2);
    assert_first(4);
    put_call(7, 100, 95, 97);
    assert_int_equal(sl_order_sort(&order), 0);
    assert_first(1);
    assert_first(5);
    assert_first(6);
    assert_first(3);
    assert_first(7);
    assert_null(sl_order_first(&order, &skip, &count));
}

/* The clock was set back. The calls of one thread stay in the order of their ids. */
static void calls_of_one_thread_stay_in_order(void **state)
{
    (void)state;
    put_call(1, 100, 50, 60);
    put_call(2, 100, 10, 12);
    assert_int_equal(sl_order_sort(&order), 0);
    assert_first(1);
    assert_first(2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_call_comes_out_whole, make, drop),
        cmocka_unit_test_setup_teardown(any_order_of_coming_gives_one_order, make, drop),
        cmocka_unit_test_setup_teardown(at_the_bound_it_refuses_and_keeps, make, drop),
        cmocka_unit_test_setup_teardown(what_was_taken_leaves_no_hole, make, drop),
        cmocka_unit_test_setup_teardown(
            a_call_that_was_held_up_goes_behind_those_that_returned_before_it_began, make, drop),
        cmocka_unit_test_setup_teardown(calls_of_one_thread_stay_in_order, make, drop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
