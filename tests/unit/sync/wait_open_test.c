/*
 * wait_open_test.c - a list of waits. Waits are taken in the order of their returns, whatever the
 * order in which they were inserted.
 */
#include "sync/wait.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

enum {
    MANY = 5000
};

static uint64_t state_of_dice;

static uint64_t dice(uint64_t below)
{
    state_of_dice = state_of_dice * 6364136223846793005u + 1442695040888963407u;
    return (state_of_dice >> 33) % below;
}

static int add(struct sl_open *o, struct sl_store *store, uint64_t from_ns, uint64_t to_ns)
{
    struct sl_wait wait = {.when = {.from_ns = from_ns, .to_ns = to_ns}};

    return sl_open_add(o, store, &wait);
}

static void they_come_out_as_they_return(void **state)
{
    struct sl_store store = {.cap_bytes = 16 << 20};
    struct sl_open o = {0};
    struct sl_wait wait;
    size_t in = 0, out = 0;
    uint64_t now = 0;
    (void)state;

    state_of_dice = 7;
    assert_int_equal(sl_open_since(&o), UINT64_MAX);
    while (out < MANY) {
        uint64_t last = 0;

        for (uint64_t n = dice(40); n && in < MANY; n--, in++)
            assert_int_equal(add(&o, &store, now + dice(10), now + 10 + dice(500)), 0);
        now += dice(100);
        while (sl_open_take(&o, now, &wait)) {
            assert_in_range(wait.when.to_ns, last, now);
            last = wait.when.to_ns;
            out++;
        }
        assert_int_equal(o.count, in - out);
        for (size_t i = 0; i < o.count; i++) {
            assert_true(o.wait[i].when.to_ns > now);
            assert_true(sl_open_since(&o) <= o.wait[i].when.from_ns);
        }
    }
    assert_int_equal(sl_open_since(&o), UINT64_MAX);
    sl_open_forget(&o, &store);
    assert_int_equal(store.used_bytes, 0);
}

/* Shorter waits begin and end during a long wait. When the long wait ends, the earliest begin in
 * the list moves to a later wait. */
static void when_the_earliest_began_moves_on(void **state)
{
    struct sl_store store = {.cap_bytes = 1 << 20};
    struct sl_open o = {0};
    struct sl_wait wait;
    (void)state;

    for (uint64_t at = 0; at < 1000; at++) {
        assert_int_equal(add(&o, &store, at, at + 10), 0);
        while (sl_open_take(&o, at, &wait))
            ;
    }
    assert_in_range(sl_open_since(&o), 970, 990);
    sl_open_forget(&o, &store);
}

/* A wait begins at 100 and returns at 200. sl_open_between() says whether the wait may have been
 * for the first of two operations, but not for the second. */
static void one_may_have_waited_for_the_first_of_two(void **state)
{
    struct sl_store store = {.cap_bytes = 1 << 20};
    struct sl_open o = {0};
    (void)state;

    assert_false(sl_open_between(&o, 150, 180, 250));
    assert_int_equal(add(&o, &store, 100, 200), 0);
    assert_int_equal(add(&o, &store, 20, 30), 0);
    assert_true(sl_open_between(&o, 150, 180, 250));
    assert_true(sl_open_between(&o, 0, 180, 0));
    assert_false(sl_open_between(&o, 90, 180, 250)); /* the wait was for both operations */
    /* the wait was for the second operation, which implies the first */
    assert_false(sl_open_between(&o, 150, 180, 190));
    assert_false(sl_open_between(&o, 150, 220, 250)); /* the wait was for neither operation */
    sl_open_forget(&o, &store);
}

static void past_the_cap_none_is_taken(void **state)
{
    struct sl_store store = {.cap_bytes = 64 * 1024};
    struct sl_open o = {0};
    struct sl_wait wait;
    size_t in = 0, out = 0;
    (void)state;

    while (add(&o, &store, in, 100000 - in) == 0)
        in++;
    assert_int_equal(add(&o, &store, 1, 2), -ENOMEM);
    assert_in_range(in, 64, 1000);
    while (sl_open_take(&o, UINT64_MAX - 1, &wait))
        assert_int_equal(wait.when.to_ns, 100000 - in + ++out);
    assert_int_equal(out, in);
    sl_open_forget(&o, &store);
    assert_int_equal(store.used_bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_come_out_as_they_return),
        cmocka_unit_test(when_the_earliest_began_moves_on),
        cmocka_unit_test(one_may_have_waited_for_the_first_of_two),
        cmocka_unit_test(past_the_cap_none_is_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
