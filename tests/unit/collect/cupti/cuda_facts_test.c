/* cuda_facts_test.c - queries the properties of a CUDA that is not installed. The end-to-end tests
 * check the answers of a CUDA on the simulated GPU: the trace's deviceProperties, versions and
 * occupancy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "collect/cupti/cuda_facts.h"

static void without_a_driver_nothing_is_written(void **state)
{
    struct sl_device facts, before;

    (void)state;
    memset(&facts, 0x5a, sizeof(facts));
    before = facts;
    assert_int_equal(sl_cuda_facts_device(0, &facts), -ENOENT);
    assert_memory_equal(&facts, &before, sizeof(facts));
    assert_false(sl_cuda_facts_has_context());
}

static void without_cuda_there_is_no_version(void **state)
{
    uint32_t driver = 1, runtime = 1;

    (void)state;
    sl_cuda_facts_versions(&driver, &runtime);
    assert_int_equal(driver, 0);
    assert_int_equal(runtime, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_driver_nothing_is_written),
        cmocka_unit_test(without_cuda_there_is_no_version),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
