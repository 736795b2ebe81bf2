/* cuda_device_test.c - asking a driver that may not be there. What a driver answers is in the
 * end-to-end tests: the trace's deviceProperties and occupancy, on the simulated GPU. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "collect/cuda_device.h"

static void without_a_driver_nothing_is_written(void **state)
{
    struct sl_device facts, before;

    (void)state;
    memset(&facts, 0x5a, sizeof(facts));
    before = facts;
    assert_int_equal(sl_cuda_device_query(0, &facts), -ENOENT);
    assert_memory_equal(&facts, &before, sizeof(facts));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_driver_nothing_is_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
