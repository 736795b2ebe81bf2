/* wait_sites_test.c - syncline intercepts PyTorch's calls of the CUDA runtime, and passes the calls
 * on unchanged. tests/torch/test_lines.py checks the source lines that syncline records at these
 * calls. The tests share one process, as in a job. */
#include "test.h"

#include <dlfcn.h>

#include "collect/python/frames.h"
#include "collect/torch/ops.h"
#include "collect/torch/ops_abi.h"
#include "collect/torch/wait_sites.h"
#include "unit/collect/torch/fixture_waits.h"
#include "unit/collect/torch/records.h"

static const struct fixture_c10 *pytorch;

/* The last call that reached the CUDA runtime. */
static struct {
    const char *name;
    void *object;
    unsigned calls;
} asked;

static int answer(const char *name, void *object)
{
    asked.name = name;
    asked.object = object;
    return (int)++asked.calls;
}

static int set_up(void **state)
{
    void *library = dlopen(FIXTURE_C10_CUDA, RTLD_NOW | RTLD_LOCAL);
    int (**to)(const char *, void *);

    if (!library)
        return -1;
    pytorch = dlsym(library, "fixture_c10");
    to = (int (**)(const char *, void *))dlsym(library, "fixture_cuda");
    if (!pytorch || !to || sl_lanes_init(8 << 20))
        return -1;
    *to = answer;
    return 0;
}

static void all_of_it_is_passed_on(void **state)
{
    int object;

    assert_int_equal(pytorch->stream_synchronize(&object), 1);
    sl_wait_sites_watch();
    assert_int_equal(pytorch->stream_synchronize(&object), 2);
    assert_string_equal(asked.name, "cudaStreamSynchronize");
    assert_ptr_equal(asked.object, &object);
    assert_int_equal(pytorch->device_synchronize(), 3);
    assert_string_equal(asked.name, "cudaDeviceSynchronize");
    assert_int_equal(pytorch->event_query(&asked), 4);
    assert_string_equal(asked.name, "cudaEventQuery");
    assert_ptr_equal(asked.object, &asked);
    assert_int_equal(pytorch->empty_cache(&object), 5);
    assert_string_equal(asked.name, "cudaFree");
    assert_ptr_equal(asked.object, &object);
    assert_int_equal(read_seen(), 0); /* no records: there is no window and no Python */
    sl_torch_ops_enable(1);
    pytorch->device_synchronize();
    assert_int_equal(read_seen(), 0);
}

static void after_a_fork_calls_are_passed_on(void **state)
{
    sl_torch_ops_stop();
    sl_python_lines_stop();
    asked.calls = 0;
    assert_int_equal(pytorch->device_synchronize(), 1);
    assert_int_equal(read_seen(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_of_it_is_passed_on),
        cmocka_unit_test(after_a_fork_calls_are_passed_on),
    };

    return cmocka_run_group_tests(tests, set_up, NULL);
}
