/* futex_test.c - a sleeping thread wakes when another thread wakes it. It does not sleep if the
 * word has changed, and stops sleeping after its time limit. */
#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/futex.h"

#define LONG_NS 3600000000000ull

static _Atomic uint32_t word;

static void *change_and_wake(void *arg)
{
    (void)arg;
    atomic_store(&word, 1);
    sl_futex_wake(&word);
    return NULL;
}

/* A thread sleeps and another thread wakes it. If the thread missed the wake-up, or did not check
 * the word before sleeping, the test would take an hour. */
static void a_sleeper_wakes(void **state)
{
    pthread_t thread;

    atomic_store(&word, 0);
    assert_int_equal(pthread_create(&thread, NULL, change_and_wake, NULL), 0);
    while (atomic_load(&word) == 0)
        sl_futex_wait(&word, 0, LONG_NS);
    pthread_join(thread, NULL);
    sl_futex_wait(&word, 0, LONG_NS); /* the word has changed, so there is no sleep */
}

static void it_gives_up_after_the_timeout_and_keeps_errno(void **state)
{
    uint64_t begun = sl_clock_monotonic();

    atomic_store(&word, 5);
    errno = ECHILD;
    while (sl_clock_monotonic() - begun < 2000000)
        sl_futex_wait(&word, 5, 2000000);
    sl_futex_wait(&word, 5, 0);
    sl_futex_wake(&word);
    assert_int_equal(errno, ECHILD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sleeper_wakes),
        cmocka_unit_test(it_gives_up_after_the_timeout_and_keeps_errno),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
