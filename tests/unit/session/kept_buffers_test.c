/*
 * kept_buffers_test.c - syncline keeps completed buffers of another client until that client
 * flushes. Every buffer is delivered exactly once.
 */
#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "session/kept_buffers.h"

enum {
    THREADS = 4,
    EACH = 20000
};

static uint8_t bytes[THREADS * EACH];
static _Atomic unsigned char seen[THREADS * EACH];
static _Atomic unsigned came, kept;
static _Atomic int is_over;

static void complete(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                     size_t valid_size)
{
    size_t at = (size_t)(buffer - bytes);

    assert_ptr_equal(context, &bytes[at]);
    assert_int_equal(stream, at);
    assert_int_equal(size, 2 * at);
    assert_int_equal(valid_size, at);
    assert_int_equal(atomic_fetch_add(&seen[at], 1), 0);
    atomic_fetch_add(&came, 1);
}

static int put(size_t at)
{
    return sl_kept_buffers_put(complete, &bytes[at], (uint32_t)at, &bytes[at], 2 * at, at);
}

static int setup(void **state)
{
    for (size_t i = 0; i < THREADS * EACH; i++)
        seen[i] = 0;
    came = kept = 0;
    is_over = 0;
    return 0;
}

static void they_are_kept_from_open_to_deliver(void **state)
{
    assert_int_equal(put(1), -ENOENT);
    sl_kept_buffers_open();
    assert_int_equal(put(2), 0);
    assert_int_equal(put(3), 0);
    sl_kept_buffers_close();
    assert_int_equal(put(4), -ENOENT);
    assert_int_equal(came, 0);
    sl_kept_buffers_deliver();
    assert_int_equal(came, 2);
    assert_true(seen[2] && seen[3]);
    sl_kept_buffers_deliver();
    assert_int_equal(came, 2);
    assert_int_equal(put(5), -ENOENT);
}

static void those_without_room_are_the_clients(void **state)
{
    sl_kept_buffers_open();
    for (size_t i = 0; i < SL_KEPT_BUFFERS_MOST; i++)
        assert_int_equal(put(i), 0);
    assert_int_equal(put(SL_KEPT_BUFFERS_MOST), -ENOENT);
    sl_kept_buffers_deliver();
    assert_int_equal(came, SL_KEPT_BUFFERS_MOST);
    sl_kept_buffers_open();
    assert_int_equal(put(SL_KEPT_BUFFERS_MOST), 0);
    sl_kept_buffers_deliver();
    assert_int_equal(came, SL_KEPT_BUFFERS_MOST + 1);
}

static void *put_all(void *first)
{
    for (size_t i = 0; i < EACH; i++)
        kept += put((size_t)(uintptr_t)first + i) == 0;
    is_over++;
    return NULL;
}

/* Threads keep buffers during a delivery. After the delivery no buffer is kept until a thread keeps
 * a new one. */
static void threads_leave_none_behind(void **state)
{
    pthread_t putting[THREADS];
    unsigned delivered;

    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&putting[i], NULL, put_all, (void *)(i * EACH)), 0);
    while (is_over < THREADS) {
        sl_kept_buffers_open();
        sched_yield();
        sl_kept_buffers_deliver();
        delivered = came;
        sched_yield();
        sl_kept_buffers_deliver();
        assert_int_equal(came, delivered);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(putting[i], NULL);
    assert_int_equal(came, kept);
}

static unsigned to_another;

static void complete_another(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                             size_t valid_size)
{
    (void)context;
    (void)stream;
    (void)buffer;
    (void)size;
    (void)valid_size;
    to_another++;
}

/* Another client registered after the buffer was filled. Each buffer is delivered to its own
 * client. */
static void each_goes_to_its_own_client(void **state)
{
    sl_kept_buffers_open();
    assert_int_equal(put(1), 0);
    assert_int_equal(sl_kept_buffers_put(complete_another, NULL, 0, bytes, 1, 1), 0);
    sl_kept_buffers_deliver();
    assert_int_equal(came, 1);
    assert_int_equal(to_another, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(they_are_kept_from_open_to_deliver, setup),
        cmocka_unit_test_setup(those_without_room_are_the_clients, setup),
        cmocka_unit_test_setup(threads_leave_none_behind, setup),
        cmocka_unit_test_setup(each_goes_to_its_own_client, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
