/* cuda_test.c - CUDA handles are converted to CUPTI ids. If CUPTI or the driver is missing, there
 * is no id. */
#include "test.h"

#include <dlfcn.h>
#include <errno.h>

#include "collect/nvtx/cuda.h"
#include "unit/collect/nvtx/fixture_driver.h"

static struct fixture_driver *cuda;
static void *cupti;

static void without_cupti_or_the_driver_there_are_none(void **state)
{
    assert_null(sl_nvtx_cuda_ids(cupti)); /* CUPTI and the driver are missing */
    cupti = dlopen(NULL, RTLD_NOW);
    assert_null(sl_nvtx_cuda_ids(cupti)); /* the driver is missing */
    cuda = dlsym(dlopen(FIXTURE_DRIVER, RTLD_NOW), "fixture_driver");
    assert_non_null(cuda);
    assert_null(sl_nvtx_cuda_ids(cupti)); /* CUPTI lacks the functions */
    cupti = NULL;
    assert_null(sl_nvtx_cuda_ids(cupti)); /* CUPTI is missing */
}

static const struct sl_nvtx_ids *ids(void)
{
    const struct sl_nvtx_ids *got;

    cupti = dlopen(FIXTURE_DRIVER, RTLD_NOW); /* this library has CUPTI's functions, too */
    got = sl_nvtx_cuda_ids(cupti);
    assert_non_null(got);
    return got;
}

static void a_context_has_an_id_and_a_device(void **state)
{
    uint32_t id = 0, device = 0;

    assert_int_equal(ids()->context((void *)7, &id, &device), 0);
    assert_int_equal(id, 1007);
    assert_int_equal(device, 2007);
    cuda->no_context = 1;
    assert_int_equal(ids()->context((void *)7, &id, &device), -ENOENT);
    cuda->no_context = 0;
    cuda->no_device = 1;
    assert_int_equal(ids()->context((void *)7, &id, &device), -ENOENT);
    cuda->no_device = 0;
}

static void a_stream_is_known_in_its_thread_s_context(void **state)
{
    uint32_t id = 0, context = 0;

    assert_int_equal(ids()->stream((void *)5, &id, &context), -ENOENT); /* no context is current */
    cuda->current = (void *)7;
    assert_int_equal(ids()->stream((void *)5, &id, &context), 0);
    assert_int_equal(id, 3005);
    assert_int_equal(context, 1007);
    cuda->no_stream = 1; /* the stream belongs to another context or does not exist */
    assert_int_equal(ids()->stream((void *)5, &id, &context), -ENOENT);
    cuda->no_stream = 0;
    cuda->no_current = 1; /* CUDA is shutting down */
    assert_int_equal(ids()->stream((void *)5, &id, &context), -ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_cupti_or_the_driver_there_are_none),
        cmocka_unit_test(a_context_has_an_id_and_a_device),
        cmocka_unit_test(a_stream_is_known_in_its_thread_s_context),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
