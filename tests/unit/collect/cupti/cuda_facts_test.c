/* cuda_facts_test.c - queries of the CUDA driver on a machine without a driver. With a driver, the
 * trace has deviceProperties, versions and occupancy; end-to-end tests with the simulated GPU check
 * these. */
#include "test.h"

#include <errno.h>
#include <string.h>

#include "collect/cupti/cuda_facts.h"

static void without_a_driver_nothing_is_written(void **state)
{
    struct sl_device facts, before;

    memset(&facts, 0x5a, sizeof(facts));
    before = facts;
    assert_int_equal(sl_cuda_facts_device(0, &facts), -ENOENT);
    assert_memory_equal(&facts, &before, sizeof(facts));
    assert_false(sl_cuda_facts_has_context());
}

static void without_cuda_there_is_no_version(void **state)
{
    uint32_t driver = 1, runtime = 1;

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
