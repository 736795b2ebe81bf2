/* load_test.c - reads the number of runnable threads, and detects that there are more runnable
 * threads than processors. */
#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/load.h"

static void the_fourth_field_is_read(void **state)
{
    assert_int_equal(sl_load_runnable("0.20 0.18 0.12 3/480 11206\n"), 3);
    assert_int_equal(sl_load_runnable("120.00 99.18 70.12 1024/4480 11206\n"), 1024);
    assert_int_equal(sl_load_runnable(""), 0);
    assert_int_equal(sl_load_runnable("0.20 0.18"), 0);
    assert_int_equal(sl_load_runnable("0.20 0.18 0.12 "), 0);
    assert_int_equal(sl_load_runnable("0.20 0.18 0.12 7"), 0);
}

static _Atomic int over;

static void *spin(void *unused)
{
    (void)unused;
    while (!atomic_load_explicit(&over, memory_order_relaxed))
        ;
    return NULL;
}

static void more_threads_than_processors_is_high(void **state)
{
    long count = sysconf(_SC_NPROCESSORS_ONLN) + 1;
    pthread_t *thread = calloc((size_t)count, sizeof(*thread));

    assert_non_null(thread);
    for (long i = 0; i < count; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, spin, NULL), 0);
    errno = 77;
    while (!sl_load_is_high()) /* ctest's time limit ends this loop if high load is never noticed */
        ;
    assert_int_equal(errno, 77);
    over = 1;
    for (long i = 0; i < count; i++)
        pthread_join(thread[i], NULL);
    free(thread);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fourth_field_is_read),
        cmocka_unit_test(more_threads_than_processors_is_high),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
